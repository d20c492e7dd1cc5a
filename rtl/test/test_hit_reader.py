"""Lines of the cache arrive at their clients in order, in cycles in which host memory has no line for these
clients."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from records import record
from runner import simulate
from streams import STALLS, Source, end_of_reset, start

LINE = record("burst_line_t")
BANKS = 2


@cocotb.test()
@cocotb.parametrize(stall=STALLS, busy=(0.0, 0.6))
async def lines_wait_for_those_of_host_memory(dut, stall, busy):
    clients = int(dut.ClientCount.value)
    source = Source(dut, "beat", stall=stall)
    await start(dut, busy_i=0)
    sent = [(random.randrange(clients * BANKS), LINE.pack(data=random.getrandbits(512), last=at & 1))
            for at in range(100)]
    source.put(*({"beat_tag_i": tag, "beat_i": line} for tag, line in sent))
    await end_of_reset(dut)
    got = []
    while len(got) < len(sent):
        others = sum((random.random() < busy) << index for index in range(clients))
        dut.busy_i.value = others
        await RisingEdge(dut.clk_i)
        valid = int(dut.line_valid_o.value)
        if valid:
            assert not valid & others
            client = valid.bit_length() - 1
            assert valid == 1 << client
            got.append((client * BANKS + int(dut.line_bank_o.value), int(dut.line_o.value)))
    assert got == sent


def test_hit_reader():
    simulate("hit_reader", ClientCount=3)
