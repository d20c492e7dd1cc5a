"""A memory returns the last write one cycle after a read, and keeps its output stable."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from runner import simulate
from streams import start


@cocotb.test()
async def returns_written_data(dut):
    depth, width = int(dut.Depth.value), int(dut.Width.value)
    await start(dut, write_i=0, read_i=0)
    words, expected = {}, None
    for _ in range(2000):
        writes, reads = random.random() < 0.5, random.random() < 0.5
        write_at, read_at, word = random.randrange(depth), random.randrange(depth), random.getrandbits(width)
        dut.write_i.value, dut.write_address_i.value, dut.write_data_i.value = writes, write_at, word
        dut.read_i.value, dut.read_address_i.value = reads, read_at
        await RisingEdge(dut.clk_i)
        if expected is not None:
            assert int(dut.read_data_o.value) == expected
        if reads:
            expected = words.get(read_at) if not writes or write_at != read_at else None
        if writes:
            words[write_at] = word


def test_ram():
    for width, depth in ((8, 1), (33, 5), (512, 16)):
        simulate("ram", Width=width, Depth=depth)
