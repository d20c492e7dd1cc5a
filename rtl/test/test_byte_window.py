"""A byte window returns the bytes of its lines in order."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from runner import simulate
from streams import STALLS, Source, start


def line(data: bytes) -> int:
    return int.from_bytes(data, "little")


async def consume_all(dut, data: bytes, eager: bool):
    """Consumes `data` in chunks and checks each window."""
    at = 0
    while at < len(data):
        count = int(dut.count_o.value)
        assert count <= 128
        window = int(dut.bytes_o.value).to_bytes(64, "little")
        known = min(count, 64, len(data) - at)
        assert window[:known] == data[at:at + known]
        take = known if eager else random.choice((0, known, random.randint(0, known)))
        dut.consume_i.value = take
        at += take
        await RisingEdge(dut.clk_i)
        dut.consume_i.value = 0
        await settled(dut)


async def settled(dut):
    """Waits for an edge, and until the outputs have settled."""
    await cocotb.triggers.FallingEdge(dut.clk_i)


@cocotb.test()
@cocotb.parametrize(stall=STALLS)
async def returns_all_bytes(dut, stall):
    source = Source(dut, "line", stall=stall)
    await start(dut, start_i=0, consume_i=0)
    for _ in range(10):
        data = random.randbytes(64 * random.randint(1, 12))
        await settled(dut)
        dut.start_i.value = 1
        await RisingEdge(dut.clk_i)
        dut.start_i.value = 0
        source.put(*(line(data[at:at + 64]) for at in range(0, len(data), 64)))
        await settled(dut)
        assert int(dut.count_o.value) == 0
        await consume_all(dut, data, eager=random.random() < 0.5)


@cocotb.test()
async def keeps_up_with_its_lines(dut):
    """If a line arrives in every cycle, a line leaves in every cycle, even if the window is not aligned."""
    source = Source(dut, "line")
    await start(dut, start_i=0, consume_i=0)
    await settled(dut)
    source.put(*range(1, 101))
    consumed = 0
    for _ in range(103):
        take = min(int(dut.count_o.value), 64 if consumed else 5)
        dut.consume_i.value = take
        consumed += take
        await RisingEdge(dut.clk_i)
        await settled(dut)
    assert source.accepted == 100


@cocotb.test()
async def a_line_accepted_at_the_start_is_the_first(dut):
    await start(dut, start_i=0, consume_i=0, line_valid_i=0)
    for first in (True, False):
        await settled(dut)
        dut.start_i.value, dut.line_valid_i.value = int(first), 1
        dut.line_i.value = line(bytes(range(64)) if first else bytes(range(64, 128)))
        await RisingEdge(dut.clk_i)
    dut.line_valid_i.value = 0
    await settled(dut)
    assert int(dut.count_o.value) == 128
    assert int(dut.bytes_o.value) == line(bytes(range(64)))


def test_byte_window():
    simulate("byte_window")
