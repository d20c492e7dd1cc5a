"""Sources and sinks of valid/ready streams, with random stalls.

All random values come from the module `random`, which cocotb seeds, so a seed repeats its run.
"""

import random
from itertools import repeat

from cocotb import start_soon
from cocotb.clock import Clock
from cocotb.handle import Immediate
from cocotb.triggers import RisingEdge, Timer

# Tested probabilities of a stall in a cycle: never, sometimes, usually.
STALLS = (0.0, 0.3, 0.9)


# No test needs this many cycles. A test that reaches the limit waits forever.
CYCLES_MAX = 200_000


async def start(dut, **inputs):
    """Starts the clock and resets the module. The named inputs have these values."""
    for name, value in inputs.items():
        getattr(dut, name).value = value
    # At once: the random initial value of the clock would be an edge outside of reset.
    dut.clk_i.set(Immediate(0))
    dut.rst_i.set(Immediate(1))
    start_soon(Clock(dut.clk_i, 2, "ns").start(start_high=False))
    start_soon(time_out())
    for _ in range(3):
        await RisingEdge(dut.clk_i)
    dut.rst_i.value = 0


async def time_out():
    """Fails a test that does not end."""
    await Timer(2 * CYCLES_MAX, "ns")
    raise AssertionError(f"the test is still waiting after {CYCLES_MAX} cycles")


def pause(channels, stall: float):
    """Makes channels of the models of cocotbext pause in a random share of cycles."""
    for channel in channels:
        channel.set_pause_generator(random.random() < stall for _ in repeat(None))


def hold(channel):
    """Stops a channel of the models of cocotbext. Returns a function that lets it go on, without pauses."""
    channel.set_pause_generator()
    channel.pause = True

    def release():
        channel.pause = False

    return release


async def cycles(dut, count: int):
    """Waits for a number of cycles."""
    for _ in range(count):
        await RisingEdge(dut.clk_i)


async def end_of_reset(dut):
    """Waits until the module is out of reset. Its outputs are undefined before."""
    while True:
        await RisingEdge(dut.clk_i)
        if dut.rst_i.value == 0:
            return


async def cycles_until(dut, port) -> int:
    """Waits until a port is 1, and returns the number of cycles."""
    waited = 0
    while port.value == 0:
        await RisingEdge(dut.clk_i)
        waited += 1
    return waited


async def transfer(dut, stall: float, ready, valid):
    """Transfers one element of a stream after random stalls. The element has arrived when this returns."""
    while True:
        accepts = random.random() >= stall
        ready.value = int(accepts)
        await RisingEdge(dut.clk_i)
        if accepts and valid.value == 1:
            ready.value = 0
            return


class Lanes:
    """A port that is an array of elements with this number of bits."""

    def __init__(self, signal, bits: int = 1):
        self.signal, self.bits, self.mask, self.word = signal, bits, (1 << bits) - 1, 0

    def set(self, index: int, value: int):
        """Drives one element of an input. The others keep their values, which are zero at first."""
        shift = self.bits * index
        self.word = self.word & ~(self.mask << shift) | value << shift
        self.signal.value = self.word

    def get(self, index: int) -> int:
        """Returns one element of an output."""
        return int(self.signal.value) >> self.bits * index & self.mask


class Source:
    """Offers the elements of `queue` with <name>_valid_i. An element is a dict of ports and values, or the
    value of the single port `data`."""

    def __init__(self, dut, name: str, data: str | None = None, stall: float = 0.0):
        self.clock, self.stall, self.queue = dut.clk_i, stall, []
        self.valid, self.ready = getattr(dut, f"{name}_valid_i"), getattr(dut, f"{name}_ready_o")
        self.dut, self.data = dut, data or f"{name}_i"
        self.accepted = 0
        self.valid.value = 0
        start_soon(self.run())

    def put(self, *elements):
        """Appends elements to the queue."""
        self.queue.extend(elements)

    async def drained(self):
        """Waits until all elements were accepted."""
        while self.queue:
            await RisingEdge(self.clock)

    def drive(self, element):
        ports = element if isinstance(element, dict) else {self.data: element}
        for port, value in ports.items():
            getattr(self.dut, port).value = value

    async def run(self):
        offers = False
        await end_of_reset(self.dut)
        while True:
            if not offers and self.queue and random.random() >= self.stall:
                self.drive(self.queue[0])
                offers = True
            self.valid.value = int(offers)
            await RisingEdge(self.clock)
            if offers and self.ready.value == 1:
                self.queue.pop(0)
                self.accepted += 1
                offers = False


class Sink:
    """Accepts the elements that <name>_valid_o offers and appends them to `got`: the value of the single
    port `data`, or a dict of several ports."""

    def __init__(self, dut, name: str, data: str | list[str] | None = None, stall: float = 0.0):
        self.clock, self.stall, self.got = dut.clk_i, stall, []
        self.valid, self.ready = getattr(dut, f"{name}_valid_o"), getattr(dut, f"{name}_ready_i")
        self.dut, self.data = dut, data or f"{name}_o"
        self.ready.value = 0
        start_soon(self.run())

    def sample(self):
        if isinstance(self.data, str):
            return int(getattr(self.dut, self.data).value)
        return {port: int(getattr(self.dut, port).value) for port in self.data}

    async def count(self, elements: int, cycles: int = 100_000):
        """Waits until this number of elements has arrived."""
        for _ in range(cycles):
            if len(self.got) >= elements:
                return
            await RisingEdge(self.clock)
        raise AssertionError(f"{len(self.got)} of {elements} came in {cycles} cycles")

    async def run(self):
        await end_of_reset(self.dut)
        while True:
            accepts = random.random() >= self.stall
            self.ready.value = int(accepts)
            await RisingEdge(self.clock)
            if accepts and self.valid.value == 1:
                self.got.append(self.sample())
