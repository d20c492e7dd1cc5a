import random

import cocotb
from cocotb import start_soon
from cocotb.triggers import RisingEdge
from runner import simulate
from streams import STALLS, Sink, Source, start

DEPTH = 17


async def check_gaps(dut):
    """Fails if the offer pauses within a packet."""
    within = False
    while True:
        await RisingEdge(dut.clk_i)
        valid = dut.rst_i.value == 0 and dut.out_valid_o.value == 1
        assert valid or not within, "a packet has a gap"
        if valid and dut.out_ready_i.value == 1:
            within = dut.out_last_o.value == 0


@cocotb.test()
@cocotb.parametrize(stall=STALLS, slow=STALLS)
async def packets_leave_without_gaps(dut, stall, slow):
    """Among them are packets that fill the queue."""
    source = Source(dut, "in", stall=slow)
    sink = Sink(dut, "out", ["out_o", "out_last_o"], stall=stall)
    start_soon(check_gaps(dut))
    await start(dut)
    sent = []
    for _ in range(100):
        length = random.choice((1, 1, 2, 3, DEPTH - 1, DEPTH))
        sent += [(random.getrandbits(32), int(at == length - 1)) for at in range(length)]
    source.put(*({"in_i": element, "in_last_i": last} for element, last in sent))
    await sink.count(len(sent))
    assert [(got["out_o"], got["out_last_o"]) for got in sink.got] == sent


def test_packet_fifo():
    simulate("packet_fifo", Depth=DEPTH)
