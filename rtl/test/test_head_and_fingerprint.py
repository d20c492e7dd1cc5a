"""The module computes head and fingerprint of key suffixes of all lengths."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from nodes import crc32c, head
from ports import line
from runner import simulate
from streams import start


async def windows(dut, key: bytes):
    """Answers reads of the key with a window two cycles later, with random bytes behind the key."""
    arriving = [None]
    while True:
        await RisingEdge(dut.clk_i)
        at = int(dut.key_byte_o.value) if dut.key_read_o.value == 1 else None
        arriving.append(at)
        at = arriving.pop(0)
        if at is not None:
            window = key[at:at + 64]
            dut.key_window_i.value = line(window + random.randbytes(64 - len(window)))


async def check(dut, key: bytes, first: int):
    """Compares one suffix with the reference."""
    task = cocotb.start_soon(windows(dut, key))
    dut.first_i.value, dut.last_i.value, dut.start_i.value = first, len(key), 1
    await RisingEdge(dut.clk_i)
    dut.start_i.value = 0
    await RisingEdge(dut.clk_i)
    assert dut.head_valid_o.value == 0 and dut.fingerprint_valid_o.value == 0
    seen = None
    while dut.fingerprint_valid_o.value == 0:
        seen = int(dut.head_o.value) if dut.head_valid_o.value == 1 else None
        assert seen in (None, head(key[first:]))
        await RisingEdge(dut.clk_i)
    assert int(dut.head_o.value) == head(key[first:]) and dut.head_valid_o.value == 1
    assert int(dut.fingerprint_o.value) == crc32c(key[first:]) & 0xFF
    task.cancel()


@cocotb.test()
async def computes_head_and_fingerprint(dut):
    await start(dut, start_i=0, key_window_i=0)
    lengths = [*range(20), 63, 64, 65, 128, 129, 460]
    for length in lengths + [random.randint(0, 460) for _ in range(20)]:
        key = random.randbytes(length)
        await check(dut, key, random.choice((0, length, random.randint(0, length))))


def test_head_and_fingerprint():
    simulate("head_and_fingerprint")
