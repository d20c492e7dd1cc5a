"""A queue returns its elements in order under all stalls, and counts them."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from runner import simulate
from streams import STALLS, Sink, Source, start


@cocotb.test()
@cocotb.parametrize(source_stall=STALLS, sink_stall=STALLS)
async def returns_elements_in_order(dut, source_stall, sink_stall):
    source = Source(dut, "in", stall=source_stall)
    sink = Sink(dut, "out", stall=sink_stall)
    await start(dut)
    sent = [random.getrandbits(32) for _ in range(200)]
    source.put(*sent)
    while len(sink.got) < len(sent):
        assert int(dut.count_o.value) == source.accepted - len(sink.got)
        await RisingEdge(dut.clk_i)
    assert sink.got == sent


@cocotb.test()
async def accepts_as_many_elements_as_its_depth(dut):
    source = Source(dut, "in")
    await start(dut, out_ready_i=0)
    source.put(*range(2 * dut.Depth.value.to_unsigned()))
    for _ in range(20):
        await RisingEdge(dut.clk_i)
    assert source.accepted == int(dut.count_o.value) == int(dut.Depth.value)


def test_fifo():
    for depth in (1, 2, 5):
        simulate("fifo", Depth=depth)
