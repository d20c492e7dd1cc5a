"""Elements of each stream leave in order, each with the number of its stream, and no stream waits long."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from runner import simulate
from streams import STALLS, Lanes, Sink, end_of_reset, start

# for each stream
ELEMENTS = 40


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


@cocotb.test()
@cocotb.parametrize(stall=STALLS[:2], sink_stall=STALLS[:2])
async def merges_all_streams(dut, stall, sink_stall):
    count = int(dut.Count.value)
    valid, ready, data = Lanes(dut.in_valid_i), Lanes(dut.in_ready_o), Lanes(dut.in_i, 32)
    sink = Sink(dut, "out", ["out_o", "out_index_o"], stall=sink_stall)
    valid.set(0, 0)
    await start(dut)
    for stream in range(count):
        cocotb.start_soon(offer(dut, valid, ready, data, stream, stall))
    await sink.count(ELEMENTS * count)
    next_of = [0] * count
    for element in sink.got:
        stream = element["out_index_o"]
        assert element["out_o"] == stream << 16 | next_of[stream]
        next_of[stream] += 1
    if stall == sink_stall == 0.0:
        # While all streams offer elements, each is granted once for two grants of any other one.
        seen = {element["out_index_o"] for element in sink.got[:2 * count + 2]}
        assert seen == set(range(count))


def test_wide_arbiter():
    for count in (1, 6, 17):
        simulate("wide_arbiter", Count=count)
