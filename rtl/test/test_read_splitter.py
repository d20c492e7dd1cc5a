"""A read is split at page boundaries and nowhere else."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from records import record
from runner import simulate
from streams import STALLS, Sink, start

BURST = record("memory_pkg::burst_t")
PAGE_LINES = 64


def bursts_of(first: int, count: int) -> list[dict]:
    """Returns the expected bursts of a read."""
    bursts = []
    while count:
        lines = min(count, PAGE_LINES - first % PAGE_LINES)
        first, count = first + lines, count - lines
        burst = {"address": 64 * (first - lines), "lines": lines, "last": int(count == 0)}
        bursts.append({"on_board": 0, **burst})
    return bursts


@cocotb.test()
@cocotb.parametrize(stall=STALLS)
async def splits_at_page_boundaries(dut, stall):
    sink = Sink(dut, "burst", stall=stall)
    await start(dut, start_i=0)
    expected = []
    for _ in range(40):
        first = random.choice((0, 63, random.getrandbits(40)))
        to_page = PAGE_LINES - first % PAGE_LINES
        count = random.choice((1, 64, max(to_page - 1, 1), to_page, to_page + 1, random.randint(1, 300)))
        dut.start_i.value, dut.first_i.value, dut.count_i.value = 1, first, count
        await RisingEdge(dut.clk_i)
        dut.start_i.value = 0
        expected += bursts_of(first, count)
        await sink.count(len(expected))
    assert [BURST.unpack(burst) for burst in sink.got] == expected


def test_read_splitter():
    simulate("read_splitter")
