"""A search key is output chunk by chunk from any byte on."""

import random

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge
from nodes import head
from ports import line
from runner import simulate
from streams import start

CHUNK = 32


async def pulse(dut, signal):
    """Sets an input for one cycle."""
    signal.value = 1
    await RisingEdge(dut.clk_i)
    signal.value = 0
    await FallingEdge(dut.clk_i)


async def write(dut, place: int, key: bytes):
    """Writes the lines of a key, with random bytes behind it."""
    dut.write_key_i.value = place
    lines = list(range(0, len(key), 64))
    random.shuffle(lines)
    for at in lines:
        dut.write_line_i.value = at // 64
        dut.write_data_i.value = line(key[at:at + 64].ljust(64, b"\xee"))
        await pulse(dut, dut.write_i)


async def check_chunk(dut, chunk: bytes):
    """Checks the chunk that was requested in the previous cycle."""
    assert dut.chunk_valid_o.value == 0
    await FallingEdge(dut.clk_i)
    for _ in range(random.randrange(3)):
        assert dut.chunk_valid_o.value == 1
        await FallingEdge(dut.clk_i)
    assert int(dut.chunk_count_o.value) == len(chunk)
    assert int(dut.chunk_o.value).to_bytes(CHUNK, "little")[:len(chunk)] == chunk


@cocotb.test()
async def outputs_chunks(dut):
    await start(dut, write_i=0, write_key_i=0, key_i=0, aim_i=0, next_i=0, rewind_i=0)
    await FallingEdge(dut.clk_i)
    kept = {}
    for _ in range(60):
        place = random.randrange(int(dut.Keys.value))
        kept[place] = random.randbytes(random.choice((0, 1, 31, 64, 65, 459, 460, random.randint(1, 460))))
        await write(dut, place, kept[place])
        dut.key_i.value, key = random.choice(list(kept.items()))
        for skip in {0, 1, len(key), min(len(key) + 1, 460), *random.choices(range(len(key) + 1), k=3)}:
            suffix, at = key[skip:], 0
            dut.skip_i.value, dut.length_i.value = skip, len(key)
            await pulse(dut, dut.aim_i)
            await check_chunk(dut, suffix[:CHUNK])
            assert int(dut.head_o.value) == head(suffix)
            for _ in range(8):
                goes_on = random.random() < 0.8 and at <= len(suffix)
                at = at + CHUNK if goes_on else 0
                await pulse(dut, dut.next_i if goes_on else dut.rewind_i)
                await check_chunk(dut, suffix[at:at + CHUNK])


def test_search_key():
    for keys in (1, 3):
        simulate("search_key", Keys=keys)
