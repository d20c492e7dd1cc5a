"""A skid buffer returns its elements in order and at full rate."""

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
    await sink.count(len(sent))
    assert sink.got == sent


@cocotb.test()
async def runs_at_full_rate(dut):
    source, sink = Source(dut, "in"), Sink(dut, "out")
    await start(dut)
    source.put(*range(100))
    for _ in range(102):
        await RisingEdge(dut.clk_i)
    assert len(sink.got) >= 99, len(sink.got)


def test_skid_buffer():
    simulate("skid_buffer")
