"""A queue in a memory returns its elements in order under all stalls, two in three cycles without stalls, and
accepts as many as its memory and the two registers behind it have room for."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from runner import simulate
from streams import STALLS, Sink, Source, cycles, start

# Registers behind the memory, which have an element each.
BEHIND = 2


@cocotb.test()
@cocotb.parametrize(source_stall=STALLS, sink_stall=STALLS)
async def returns_elements_in_order(dut, source_stall, sink_stall):
    source = Source(dut, "in", stall=source_stall)
    sink = Sink(dut, "out", stall=sink_stall)
    await start(dut)
    sent = [random.getrandbits(32) for _ in range(300)]
    source.put(*sent)
    await sink.count(len(sent))
    await cycles(dut, 10)
    assert sink.got == sent


@cocotb.test()
async def accepts_as_many_elements_as_it_has_room_for(dut):
    source = Source(dut, "in")
    await start(dut, out_ready_i=0)
    source.put(*range(100))
    await cycles(dut, 100)
    assert source.accepted == int(dut.Depth.value) + BEHIND


@cocotb.test()
async def passes_two_elements_in_three_cycles(dut):
    source, sink = Source(dut, "in"), Sink(dut, "out")
    await start(dut)
    source.put(*range(120))
    while not sink.got:
        await RisingEdge(dut.clk_i)
    await cycles(dut, 120)
    assert len(sink.got) >= 80


def test_ram_fifo():
    for depth in (4, 16):
        simulate("ram_fifo", Depth=depth)
