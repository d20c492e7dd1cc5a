"""A wide arbiter merges streams, and grants each once for two grants of any other one."""

import cocotb
from merges import merge_all_streams
from runner import simulate
from streams import STALLS


@cocotb.test()
@cocotb.parametrize(stall=STALLS[:2], sink_stall=STALLS[:2])
async def merges_all_streams(dut, stall, sink_stall):
    await merge_all_streams(dut, stall, sink_stall, turns=2 * int(dut.Count.value) + 2)


def test_wide_arbiter():
    for count in (1, 6, 17):
        simulate("wide_arbiter", Count=count)
