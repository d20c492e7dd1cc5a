"""A model of the memory that units with places read: lines of nodes for descents, or lines of leaves for
slots and overflow values."""

import random
from collections import deque
from dataclasses import dataclass, replace

from buffers import PAGE_LINES
from cocotb import start_soon
from cocotb.triggers import RisingEdge
from honeycomb_layout import LockAndSize, NodeHeader
from nodes import Memory
from ports import LINE_BITS, LINE_BYTES, ValuePorts, Wire, element, line
from records import record
from streams import end_of_reset

PLACE_READ, PLACE_LINE = record("place_read_t"), record("place_line_t")
# Maximum number of cycles for which a current header is late.
LATE_MAX = 40


def earlier(data: bytes) -> bytes:
    """Returns a header as it may have been before: with fewer log entries, and with any siblings."""
    header = NodeHeader.unpack(data)
    state = LockAndSize.from_int(header.lock_and_size)
    entries = random.randint(0, state.log_count)
    log_bytes = state.size - header.sorted_end
    state = replace(
        state, log_count=entries, size=header.sorted_end + log_bytes * entries // max(state.log_count, 1),
        lock=random.getrandbits(1), sequence_number=random.getrandbits(31),
    )
    left, right = random.getrandbits(48), random.getrandbits(48)
    tags = tuple(tag if at < entries else 0 for at, tag in enumerate(header.tags))
    return replace(header, lock_and_size=state.to_int(), left=left, right=right, tags=tags).pack()


@dataclass
class Flight:
    """A read in flight: the cycles until its first line, the fields of its lines that are left, and whether
    lines have arrived."""

    wait: int
    lines: deque[dict[str, int]]
    begun: bool = False


class PlacePorts:
    """Memory behind the ports read_* and memory_* of one or more units, and with `values` behind those for
    values. The first line of a read arrives after `latency` cycles plus at most `jitter` cycles; lines of
    reads in flight arrive in any order. A read fails with the probability `failures` at a random line. A read
    by LID of columns gets the header of a copy with the probability `copies`; the current one may come later
    than the columns."""

    def __init__(self, dut, memory: Memory, ports=1, latency=2, jitter=0, stall=0.0, failures=0.0,
                 copies=0.0, values=True):
        self.dut, self.memory, self.ports = dut, memory, ports
        self.latency, self.jitter, self.stall = latency, jitter, stall
        self.failures, self.copies = failures, copies
        self.values = None
        if values:
            self.values = ValuePorts(dut, memory, ports, latency, jitter, stall, failures)
        # By unit and place: the address of the buffer, and whether the read by LID got the header of a
        # copy.
        self.address, self.copied = {}, {}
        # For tests: the reads of lines of nodes, the number of those that failed, the number of those that
        # were accepted before another one of the place had ended, and the cycles in which reads of a unit
        # were in flight but none had begun.
        self.line_reads, self.failed_reads, self.followed, self.waited = [], 0, 0, 0
        self.ready = Wire(dut.read_ready_i, 1)
        self.valid, self.line = Wire(dut.memory_valid_i, 1), Wire(dut.memory_i, PLACE_LINE.width)
        # by unit: the reads in flight by place and number
        self.flights: list[dict[tuple[int, int], Flight]] = [{} for _ in range(ports)]
        start_soon(self.run())

    @property
    def reads(self) -> list[dict[str, int]]:
        return self.line_reads + self.values.reads if self.values else self.line_reads

    @property
    def failed(self) -> int:
        return self.failed_reads + (self.values.failed if self.values else 0)

    def answer(self, unit: int, word: int):
        """Prepares the lines of a read."""
        read = PLACE_READ.unpack(word)
        place, number = read["place"], read["number"]
        flights = self.flights[unit]
        assert (place, number) not in flights
        assert read["first"] // PAGE_LINES == (read["first"] + read["count"] - 1) // PAGE_LINES, "two pages"
        self.line_reads.append(read)
        self.followed += (place, 1 - number) in flights
        if not read["follows"]:
            assert (place, 1 - number) not in flights
            by_lid = self.memory.lids.get(read["lid"])
            self.address[unit, place] = by_lid if read["by_lid"] else read["address"]
            self.copied[unit, place] = False
        flight = Flight(self.latency + random.randint(0, self.jitter), deque())
        if read["follows"] and not read["first"] and self.copied[unit, place]:
            flight.wait += random.randint(0, LATE_MAX)
        for data in self.lines(unit, place, read):
            word = random.getrandbits(LINE_BITS) if data is None else line(data)
            copied = self.copied[unit, place]
            flight.lines.append({"place": place, "number": number, "last": 0, "error": data is None,
                                 "copied": copied, "data": word})
        flight.lines[-1]["last"] = 1
        flights[place, number] = flight

    def lines(self, unit: int, place: int, read: dict[str, int]) -> list[bytes | None]:
        """Returns the lines of a read. If the read fails, the last one is None."""
        address = self.address[unit, place]
        if not address:
            self.failed_reads += 1
            return [None]
        lines: list[bytes | None] = list(self.memory.lines(address, read["first"], read["count"]))
        if read["columns"]:
            lines[0] = self.column((unit, place), read, address, lines[0])
        if random.random() < self.failures:
            self.failed_reads += 1
            lines = [*lines[:random.randrange(len(lines))], None]
        return lines

    def column(self, index: tuple[int, int], read: dict[str, int], address: int, data: bytes) -> bytes:
        """Checks a read of columns. Returns its first line, which may be the header of a copy."""
        header = NodeHeader.unpack(self.memory.lines(address, 0, 1)[0])
        end = LINE_BYTES * (read["first"] + read["count"])
        assert end <= header.sorted_end, "log entries are not columns"
        assert read["first"] or not read["follows"], "the current header is not a column"
        self.copied[index] |= bool(read["by_lid"] and not read["first"]) and random.random() < self.copies
        return earlier(data) if self.copied[index] and not read["first"] else data

    async def drained(self):
        """Waits until no line is left, including unused ones."""
        while any(self.flights):
            await RisingEdge(self.dut.clk_i)
        if self.values:
            await self.values.drained()

    def give(self, unit: int):
        """Passes the next line of one of the reads, or none."""
        flights = self.flights[unit]
        for flight in flights.values():
            flight.wait -= flight.wait > 0
        ready = [key for key, flight in flights.items() if not flight.wait]
        gives = bool(ready) and random.random() >= self.stall
        self.valid.set(unit, int(gives))
        if gives:
            # Without stalls the oldest read comes first.
            key = random.choice(ready) if self.stall else ready[0]
            flights[key].begun = True
            self.line.set(unit, PLACE_LINE.pack(**flights[key].lines.popleft()))
            if not flights[key].lines:
                del flights[key]

    async def run(self):
        await end_of_reset(self.dut)
        while True:
            accepts = [random.random() >= self.stall for _ in range(self.ports)]
            for unit in range(self.ports):
                self.ready.set(unit, int(accepts[unit]))
                self.give(unit)
            await RisingEdge(self.dut.clk_i)
            valid = int(self.dut.read_valid_o.value)
            for unit in range(self.ports):
                flights = self.flights[unit].values()
                self.waited += bool(flights) and not any(flight.begun for flight in flights)
                if accepts[unit] and valid >> unit & 1:
                    self.answer(unit, element(self.dut.read_o, unit, PLACE_READ.width))
