"""A segment finder counts heads and returns the bounds of segments."""

import random
from bisect import bisect_left, bisect_right

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge
from honeycomb_layout import NodeHeader
from keys import near, random_keys
from nodes import SHAPES, Item, Plan, Shape, head
from ports import line
from records import record
from runner import simulate
from streams import STALLS, Source, start

HEADER = record("node_header_t")


def random_leaf(shape: Shape) -> bytes:
    """Returns a leaf with any number of items, including none."""
    keys = random_keys(300, random.choice((9, 16, shape.key_bytes_max)))
    while True:
        items = tuple(Item(key, random.randbytes(random.randint(0, 20))) for key in keys)
        data = Plan(items=items, right=random.getrandbits(48), version=random.getrandbits(64)).build(shape)
        if data is not None:
            return data
        keys = sorted(random.sample(keys, random.randrange(len(keys))))


def shortcuts(shape: Shape, data: bytes) -> tuple[list[int], list[int]]:
    """Returns the heads of a node, the offsets of its segments, and the end of the sorted block."""
    header = NodeHeader.unpack(data[:64])
    fields = 64 + 8 * shape.capacity
    heads = [int.from_bytes(data[at:at + 8], "little") for at in range(64, 64 + 8 * header.shortcut_count, 8)]
    starts = [int.from_bytes(data[at:at + 2], "little")
              for at in range(fields, fields + 2 * header.shortcut_count, 2)]
    return heads, [*starts, header.sorted_end]


async def pulse(dut, signal):
    """Sets an input for one cycle."""
    signal.value = 1
    await RisingEdge(dut.clk_i)
    signal.value = 0
    await FallingEdge(dut.clk_i)


async def until(dut, signal) -> int:
    """Waits for an output. Returns the number of cycles."""
    for cycles in range(10_000):
        if signal.value == 1:
            return cycles
        await FallingEdge(dut.clk_i)
    raise AssertionError(f"{signal._name} never came")


async def check_bounds(dut, index: int, starts: list[int]):
    dut.seek_index_i.value = index
    await pulse(dut, dut.seek_i)
    assert await until(dut, dut.bounds_valid_o) == 2
    begin, end = (starts[min(at, len(starts) - 1)] for at in (index, index + 1))
    assert (int(dut.begin_o.value), int(dut.end_o.value)) == (begin, end)


@cocotb.test()
@cocotb.parametrize(shape=list(SHAPES), stall=STALLS)
async def finds_segments(dut, shape, stall):
    shape = SHAPES[shape]
    source = Source(dut, "line", stall=stall)
    await start(dut, start_i=0, seek_i=0, head_valid_i=0, shortcut_capacity_i=shape.capacity)
    await FallingEdge(dut.clk_i)
    for _ in range(12):
        data = random_leaf(shape)
        heads, starts = shortcuts(shape, data)
        await pulse(dut, dut.start_i)
        lines = -(-(64 + 10 * shape.capacity) // 64)
        assert int(dut.lines_o.value) == lines
        source.put(*(line(data[at:at + 64]) for at in range(0, 64 * lines, 64)))
        await until(dut, dut.header_valid_o)
        assert int(dut.header_o.value) == line(data[:64])
        known = [each.to_bytes(8, "big") for each in heads] or [b"\0" * 8]
        search_head = head(near(random.choice(known), 8))
        dut.head_i.value, dut.head_valid_i.value = search_head, 1
        await until(dut, dut.found_o)
        count = bisect_right(heads, search_head)
        assert int(dut.found_index_o.value) == max(count - 1, 0)
        assert int(dut.found_less_o.value) == max(bisect_left(heads, search_head) - 1, 0)
        assert int(dut.found_none_o.value) == (count == 0)
        dut.head_valid_i.value = 0
        for index in (max(count - 1, 0), random.randint(0, len(heads)), len(heads), 0):
            await check_bounds(dut, min(index, 255), starts)
        assert not source.queue


def test_segment_finder():
    simulate("segment_finder")
