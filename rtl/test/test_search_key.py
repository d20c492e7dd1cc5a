"""A search key returns eight bytes from any byte on, one read a cycle."""

import random

import cocotb
from cocotb.triggers import FallingEdge
from columns import head
from ports import line
from records import record
from runner import simulate
from streams import start

READ = record("head_read_t")
CYCLES = 4


async def write(dut, place: int, key: bytes):
    """Writes the lines of a key, with random bytes behind it."""
    dut.write_key_i.value, dut.write_i.value = place, 1
    lines = list(range(0, len(key), 64))
    random.shuffle(lines)
    for at in lines:
        dut.write_line_i.value = at // 64
        dut.write_data_i.value = line(key[at:at + 64].ljust(64, b"\xee"))
        await FallingEdge(dut.clk_i)
    dut.write_i.value = 0


def offsets(length: int) -> list[int]:
    """Returns places at the edges of lanes, lines and the key, and random ones."""
    lanes, ends = (0, 1, 7, 8, 55, 56, 57, 63, 64), (-9, -8, -7, -1, 0, 8)
    edges = [*lanes, *(length + end for end in ends)]
    return [at for at in (*edges, *random.choices(range(length + 1), k=4)) if 0 <= at <= 468]


@cocotb.test()
async def returns_heads(dut):
    await start(dut, write_i=0, write_key_i=0, read_valid_i=0)
    await FallingEdge(dut.clk_i)
    kept: dict[int, bytes] = {}
    for _ in range(60):
        place = random.randrange(int(dut.Keys.value))
        kept[place] = random.randbytes(random.choice((1, 8, 63, 64, 65, 459, 460, random.randint(1, 460))))
        await write(dut, place, kept[place])
        place, key = random.choice(list(kept.items()))
        await check(dut, place, key)


async def check(dut, place: int, key: bytes):
    """Reads a key at several places, with and without gaps between the reads."""
    waiting, expected = offsets(len(key)), {}
    cycle, tags = 0, 1 << int(dut.TagBits.value)
    while waiting or expected:
        reads = bool(waiting) and random.random() < 0.7
        dut.read_valid_i.value = int(reads)
        if reads:
            at, tag = waiting.pop(), random.randrange(tags)
            dut.read_key_i.value, dut.read_tag_i.value = place, tag
            dut.read_i.value = READ.pack(offset=at, length=len(key))
            expected[cycle + CYCLES] = head(key[at:]), tag
        await FallingEdge(dut.clk_i)
        cycle += 1
        assert dut.head_valid_o.value == int(cycle in expected)
        if cycle in expected:
            assert (int(dut.head_o.value), int(dut.head_tag_o.value)) == expected.pop(cycle)


def test_search_key():
    for keys in (1, 3):
        simulate("search_key", Keys=keys, TagBits=2)
