"""A queue returns its elements in order between clocks of unrelated periods, under all stalls."""

import random

import cocotb
from cocotb import start_soon
from cocotb.clock import Clock
from cocotb.handle import Immediate
from cocotb.triggers import RisingEdge, Timer
from runner import simulate
from streams import STALLS, Sink, Source

# The periods of the two clocks, in steps.
PERIODS = ((2000, 2000), (2000, 2014), (6734, 2000), (2000, 9998), (3006, 2002))


class Side:
    """One side of the queue, as a module with one clock."""

    def __init__(self, dut, name: str, period: int):
        self.dut, self.period = dut, period
        self.clk_i, self.rst_i = getattr(dut, f"{name}_clk_i"), getattr(dut, f"{name}_rst_i")
        self.clk_i.set(Immediate(0))
        self.rst_i.set(Immediate(1))

    def __getattr__(self, name: str):
        return getattr(self.dut, name)

    async def start(self):
        """Starts the clock at a random time, and ends the reset at one of its edges."""
        await Timer(random.randint(1, self.period), "step")
        start_soon(Clock(self.clk_i, self.period, "step").start(start_high=False))
        for _ in range(12):
            await RisingEdge(self.clk_i)
        self.rst_i.value = 0


@cocotb.test()
@cocotb.parametrize(periods=PERIODS, stalls=[(0.0, 0.0), *zip(STALLS, reversed(STALLS)), (0.9, 0.9)])
async def returns_elements_in_order(dut, periods, stalls):
    sides = [Side(dut, name, period) for name, period in zip(("in", "out"), periods)]
    source, sink = Source(sides[0], "in", stall=stalls[0]), Sink(sides[1], "out", stall=stalls[1])
    for side in sides:
        start_soon(side.start())
    sent = [random.getrandbits(32) for _ in range(200)]
    source.put(*sent)
    await sink.count(len(sent))
    assert sink.got == sent
    await RisingEdge(dut.out_clk_i)
    assert dut.out_valid_o.value == 0


@cocotb.test()
async def transfers_an_element_in_each_cycle(dut):
    """With equal clocks, eight elements hide the cycles until a side sees the pointer of the other one."""
    sides = [Side(dut, name, 2000) for name in ("in", "out")]
    source, sink = Source(sides[0], "in"), Sink(sides[1], "out")
    for side in sides:
        start_soon(side.start())
    source.put(*range(1000))
    await sink.count(100)
    for _ in range(500):
        await RisingEdge(dut.out_clk_i)
    assert len(sink.got) >= (595 if dut.Depth.value == 8 else 100)


def test_fifo_async():
    for depth in (2, 8):
        simulate("fifo_async", Depth=depth)
