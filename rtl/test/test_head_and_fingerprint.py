"""The module computes head and fingerprint of key suffixes of all lengths."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from columns import head
from nodes import crc32c
from records import record
from runner import simulate
from streams import start

READ = record("head_read_t")
# Cycles after which a search_key returns eight bytes.
CYCLES = 4


async def reads(dut, key: bytes):
    """Answers reads of the key as a search_key does, with random bytes in other cycles."""
    arriving = [None] * (CYCLES - 1)
    while True:
        await RisingEdge(dut.clk_i)
        read = READ.unpack(int(dut.read_o.value)) if dut.read_valid_o.value == 1 else None
        arriving.append(read and (head(key[read["offset"]:read["length"]]), int(dut.read_last_o.value)))
        came = arriving.pop(0)
        dut.head_valid_i.value = int(came is not None)
        dut.head_i.value, dut.head_last_i.value = came or (random.getrandbits(64), random.getrandbits(1))


async def check(dut, key: bytes, first: int, last: int):
    """Compares one suffix with the reference."""
    task = cocotb.start_soon(reads(dut, key))
    dut.first_i.value, dut.last_i.value, dut.start_i.value = first, last, 1
    await RisingEdge(dut.clk_i)
    dut.start_i.value = 0
    await RisingEdge(dut.clk_i)
    assert dut.done_o.value == 0
    while dut.done_o.value == 0:
        await RisingEdge(dut.clk_i)
    assert int(dut.head_o.value) == head(key[first:last])
    assert int(dut.fingerprint_o.value) == crc32c(key[first:last]) & 0xFF
    task.cancel()


@cocotb.test()
async def computes_head_and_fingerprint(dut):
    await start(dut, start_i=0, head_valid_i=0)
    lengths = [*range(20), 31, 32, 33, 63, 64, 65, 127, 128, 129, 459, 460]
    for length in lengths + [random.randint(0, 460) for _ in range(20)]:
        key = random.randbytes(length)
        await check(dut, key, random.choice((0, length, random.randint(0, length))), length)
        await check(dut, key, 0, random.randint(0, length))


@cocotb.test()
async def suffixes_end_at_steps(dut):
    """The last step has all bytes but one, all, or one, wherever in the key the suffix begins."""
    await start(dut, start_i=0, head_valid_i=0)
    key = random.randbytes(460)
    for length in (width + more for width in (8, 16, 32, 64, 256) for more in (-1, 0, 1)):
        for first in (0, 1, 7, 460 - length):
            await check(dut, key, first, first + length)


def test_head_and_fingerprint():
    simulate("head_and_fingerprint")
