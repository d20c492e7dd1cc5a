"""The test of a unit that merges streams of single elements: the elements of each stream leave in order, each
with the number of its stream, and no stream waits long."""

import random

from cocotb import start_soon
from cocotb.triggers import RisingEdge
from streams import Lanes, Sink, end_of_reset, start

# for each stream
ELEMENTS = 40


async def merge_all_streams(dut, stall: float, sink_stall: float, turns: int):
    """Offers the elements of all streams. Without stalls, each stream is seen among the first `turns`."""
    count = int(dut.Count.value)
    valid, ready, data = Lanes(dut.in_valid_i), Lanes(dut.in_ready_o), Lanes(dut.in_i, 32)
    sink = Sink(dut, "out", ["out_o", "out_index_o"], stall=sink_stall)
    valid.set(0, 0)
    await start(dut)
    for stream in range(count):
        start_soon(offer(dut, valid, ready, data, stream, stall))
    await sink.count(ELEMENTS * count)
    next_of = [0] * count
    for element in sink.got:
        stream = element["out_index_o"]
        assert element["out_o"] == stream << 16 | next_of[stream]
        next_of[stream] += 1
    if stall == sink_stall == 0.0:
        assert {element["out_index_o"] for element in sink.got[:turns]} == set(range(count))


async def offer(dut, valid: Lanes, ready: Lanes, data: Lanes, stream: int, stall: float):
    """Offers the elements of a stream: its number and a count."""
    await end_of_reset(dut)
    for at in range(ELEMENTS):
        while random.random() < stall:
            await RisingEdge(dut.clk_i)
        data.set(stream, stream << 16 | at)
        valid.set(stream, 1)
        await RisingEdge(dut.clk_i)
        while not ready.get(stream):
            await RisingEdge(dut.clk_i)
        valid.set(stream, 0)
