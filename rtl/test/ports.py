"""Models of the memories that units read, with arrays of ports: memory, which returns one line per beat,
and the key buffers."""

import random
from collections import deque
from dataclasses import dataclass

from cocotb import start_soon
from cocotb.triggers import RisingEdge
from nodes import Memory
from records import record
from streams import end_of_reset

READ, BEAT, KEY = record("line_read_t"), record("line_beat_t"), record("key_read_t")
LINE_BITS, LINE_BYTES = 512, 64


def line(data: bytes) -> int:
    """Returns up to 64 bytes as the bits of a line."""
    return int.from_bytes(data, "little")


class Wire:
    """An input of the module: a single element, or an array of elements with this number of bits."""

    def __init__(self, signal, bits: int):
        self.signal, self.bits, self.word = signal, bits, 0
        signal.value = 0

    def set(self, index: int, value: int):
        """Drives one element."""
        mask = (1 << self.bits) - 1
        self.word = self.word & ~(mask << self.bits * index) | value << self.bits * index
        self.signal.value = self.word


def element(signal, index: int, bits: int) -> int:
    """Returns one element of an output."""
    return int(signal.value) >> bits * index & (1 << bits) - 1


@dataclass
class ValueFlight:
    """A read in flight: the cycles until its first beat, and the fields of its beats that are left."""

    wait: int
    beats: deque[dict[str, int]]


class ValuePorts:
    """Memory behind the ports value_read_* and beat_* of one or more units, with several reads of each in
    flight. The first beat of a read arrives after `latency` cycles plus at most `jitter` cycles, and after
    those of earlier reads of the unit. A read fails with the probability `failures` at a random beat."""

    # Maximum number of reads of a port in flight.
    OPEN_MAX = 8

    def __init__(self, dut, memory: Memory, ports=1, latency=2, jitter=0, stall=0.0, failures=0.0):
        self.dut, self.memory, self.ports = dut, memory, ports
        self.latency, self.jitter, self.stall, self.failures = latency, jitter, stall, failures
        # For tests: the reads, the number of failed reads, and the most reads of a unit in flight.
        self.reads, self.failed, self.most = [], 0, 0
        self.ready = Wire(dut.value_read_ready_i, 1)
        self.valid, self.beat = Wire(dut.beat_valid_i, 1), Wire(dut.beat_i, BEAT.width)
        # by port: the reads in flight, and whether a beat is offered
        self.flights: list[deque[ValueFlight]] = [deque() for _ in range(ports)]
        self.offers = [False] * ports
        start_soon(self.run())

    def answer(self, index: int, read: dict[str, int]):
        """Prepares the beats of a read."""
        self.reads.append(read)
        lines = self.memory.lines(read["address"], 0, read["count"])
        bad = random.randrange(len(lines)) if random.random() < self.failures else len(lines)
        self.failed += bad < len(lines)
        flight = ValueFlight(self.latency + random.randint(0, self.jitter), deque())
        for at, data in enumerate(lines[:bad + 1]):
            last = at in (bad, len(lines) - 1)
            word = random.getrandbits(LINE_BITS) if at == bad else line(data)
            flight.beats.append({"error": at == bad, "last": last, "data": word})
        self.flights[index].append(flight)
        self.most = max(self.most, len(self.flights[index]))

    async def drained(self):
        """Waits until no beat is left, including unused ones."""
        while any(self.flights):
            await RisingEdge(self.dut.clk_i)

    def offer(self, index: int):
        """Offers the next beat, or stalls."""
        flights = self.flights[index]
        for flight in flights:
            flight.wait -= flight.wait > 0
        if not self.offers[index] and flights and not flights[0].wait:
            self.offers[index] = random.random() >= self.stall
            if self.offers[index]:
                self.beat.set(index, BEAT.pack(**flights[0].beats[0]))
        self.valid.set(index, int(self.offers[index]))

    def take(self, index: int):
        """The beat that is offered was accepted."""
        self.offers[index] = False
        beats = self.flights[index][0].beats
        beats.popleft()
        if not beats:
            self.flights[index].popleft()

    async def run(self):
        await end_of_reset(self.dut)
        while True:
            accepts = [len(flights) < self.OPEN_MAX and random.random() >= self.stall
                       for flights in self.flights]
            for index in range(self.ports):
                self.ready.set(index, int(accepts[index]))
                self.offer(index)
            await RisingEdge(self.dut.clk_i)
            valid, ready = int(self.dut.value_read_valid_o.value), int(self.dut.beat_ready_o.value)
            for index in range(self.ports):
                if self.offers[index] and ready >> index & 1:
                    self.take(index)
                if accepts[index] and valid >> index & 1:
                    self.answer(index, READ.unpack(element(self.dut.value_read_o, index, READ.width)))


class KeyPorts:
    """The key buffers behind the ports key_* of one or more units. `keys` maps (slot, is upper) to a key.
    With `lines` the units have ports for the data."""

    def __init__(self, dut, ports=1, latency=1, stall=0.0, lines=True):
        self.dut, self.ports, self.latency, self.stall = dut, ports, latency, stall
        self.keys: dict[tuple[int, int], bytes] = {}
        # the reads, for tests
        self.reads = []
        self.ready = Wire(dut.key_ready_i, 1)
        self.valid = Wire(dut.key_line_valid_i, 1)
        self.line = Wire(dut.key_line_i, LINE_BITS) if lines else None
        self.wait = [0] * ports
        start_soon(self.run())

    def answer(self, index: int, read: dict[str, int]):
        """Prepares a line, with random bytes after the end of the key."""
        key = self.keys[read["slot"], read["upper"]]
        data = key[64 * read["line"]:][:64]
        assert data, "the key does not have this line"
        self.reads.append(read)
        if self.line:
            self.line.set(index, line(data + random.randbytes(64 - len(data))))
        self.wait[index] = self.latency + (random.randint(0, 5) if random.random() < self.stall else 0)

    async def run(self):
        await end_of_reset(self.dut)
        while True:
            accepts = [not self.wait[index] and random.random() >= self.stall for index in range(self.ports)]
            for index in range(self.ports):
                self.ready.set(index, int(accepts[index]))
                self.valid.set(index, int(self.wait[index] == 1))
                self.wait[index] -= self.wait[index] > 0
            await RisingEdge(self.dut.clk_i)
            valid = int(self.dut.key_valid_o.value)
            for index in range(self.ports):
                if accepts[index] and valid >> index & 1:
                    self.answer(index, KEY.unpack(element(self.dut.key_o, index, KEY.width)))
