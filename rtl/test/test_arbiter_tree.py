"""A tree of arbiters merges streams, and each gets a share of its group."""

import cocotb
from merges import merge_all_streams
from runner import simulate
from streams import STALLS


@cocotb.test()
@cocotb.parametrize(stall=STALLS[:2], sink_stall=STALLS[:2])
async def merges_all_streams(dut, stall, sink_stall):
    await merge_all_streams(dut, stall, sink_stall, turns=16 * int(dut.Count.value))


def test_arbiter_tree():
    for count in (1, 6, 17):
        simulate("arbiter_tree", Count=count)
