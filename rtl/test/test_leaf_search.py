"""A leaf search finds the items with the head of the search key, in steps for which only some lines have
arrived."""

import random
from bisect import bisect_left, bisect_right

import cocotb
from cocotb import start_soon
from cocotb.triggers import FallingEdge
from honeycomb_layout import Columns, Fences, NodeHeader
from keys import near, random_keys
from nodes import SHAPES, Item, Plan, Shape, head
from place_ports import earlier
from ports import line
from records import record
from runner import simulate
from streams import STALLS, start

COLUMNS, INDEXES, SEARCH = record("leaf_columns_t"), record("indexes_t"), record("search_t")
# Steps, as in slot_state_e.
SAMPLES, HEADS, CURRENT = 3, 4, 5


def equal_heads(count: int) -> list[bytes]:
    """Returns keys of which most have the same head; the last ones have the greatest head."""
    most = {b"one head" + bytes([first, second]) for first in range(40) for second in range(count // 40)}
    others = {random.choice((b"", b"one", b"p")) + random.randbytes(4) for _ in range(count // 4)}
    return sorted(most | others | {b"\xff" * (8 + more) for more in range(random.randint(0, 3))})


def random_leaf(shape: Shape) -> tuple[Plan, bytes]:
    """Returns a leaf with any number of items, including none, and its bytes. Some leaves have a stride."""
    keys = random_keys(600, random.choice((2, 9, 16))) if random.random() < 0.6 else equal_heads(600)
    length = random.choice((None, 0, 5))
    while True:
        values = (random.randbytes(random.randint(0, 20) if length is None else length) for _ in keys)
        items = tuple(Item(key, value) for key, value in zip(keys, values))
        plan = Plan(items=items, right=random.getrandbits(48), version=random.getrandbits(64))
        data = plan.build(shape)
        if data is not None:
            return plan, data
        keys = sorted(random.sample(keys, random.randrange(len(keys))))


class Bench:
    """The search of one leaf after the other."""

    def __init__(self, dut, stall: float):
        self.dut, self.stall = dut, stall

    async def serve(self):
        """Returns the lines that the search requests, those that have arrived; the others are undefined."""
        dut, requested = self.dut, None
        while True:
            await FallingEdge(dut.clk_i)
            ready = random.random() >= self.stall
            dut.line_ready_i.value = int(ready)
            dut.line_i.value = random.getrandbits(512)
            if requested is not None:
                assert requested in self.arrived, f"line {requested} is not requested"
                dut.line_i.value = line(self.data[64 * requested:64 * requested + 64])
            # The request depends on no input of the same cycle.
            valid = dut.line_valid_o.value == 1
            requested = int(dut.line_number_o.value) if ready and valid else None

    def arrive(self, begin: int, end: int):
        """The lines with these bytes of the leaf have arrived."""
        self.arrived |= set(range(begin // 64, (end + 63) // 64))

    async def step(self, step: int, key: dict[str, int], before: int):
        """Executes a step and returns its result."""
        dut = self.dut
        for name, value in {**key, "step_i": step, "before_i": before, "start_i": 1}.items():
            getattr(dut, name).value = value
        await FallingEdge(dut.clk_i)
        dut.start_i.value = 0
        for _ in range(10_000):
            if dut.done_o.value == 1:
                break
            await FallingEdge(dut.clk_i)
        else:
            raise AssertionError("the step does not end")
        assert int(dut.header_o.value) == line(self.data[:64])
        result = dict(has_groups=int(dut.has_groups_o.value), from_copy=0, groups=int(dut.groups_o.value),
                      equal=int(dut.equal_o.value), item_offset=int(dut.item_offset_o.value))
        await FallingEdge(dut.clk_i)
        return result

    async def search(self, data: bytes, key: dict[str, int]):
        """Searches another leaf. Its header changes before the last step, as that of a copy does."""
        self.data, self.arrived, self.groups = earlier(data[:64]) + data[64:], set(), None
        header = NodeHeader.unpack(data[:64])
        self.columns, self.count = Columns.unpack(data[64:192]), header.sorted_count
        self.arrive(0, 192)
        result = await self.step(SAMPLES, key, random.getrandbits(SEARCH.width))
        if result["has_groups"]:
            self.groups = INDEXES.unpack(result["groups"])
            self.arrive(192 + 8 * self.groups["first"], 192 + 8 * self.groups["last"])
            if not self.columns.stride:
                after = self.groups["last"] + (self.groups["last"] < self.count)
                start = 192 + 8 * self.count
                self.arrive(start + 2 * self.groups["first"], start + 2 * after)
            result = await self.step(HEADS, key, SEARCH.pack(**result))
        self.data = data
        assert await self.step(CURRENT, key, SEARCH.pack(**result)) == result
        self.result = result

    def check(self, first: int, last: int):
        """Checks the result: the range of the items, and the offset of the first one."""
        equal = INDEXES.unpack(self.result["equal"])
        assert (equal["first"], equal["last"]) == (first, last)
        offset = self.columns.items_start + first * self.columns.stride
        if not self.columns.stride and self.count:
            stored = 192 + 8 * self.count + 2 * first
            offset = 4 * int.from_bytes(self.data[stored:stored + 2], "little")
        if first == 0:
            offset = self.columns.items_start
        if first == self.count:
            offset = NodeHeader.unpack(self.data[:64]).sorted_end
        assert self.result["item_offset"] == offset

    def check_columns(self, plan: Plan):
        """Checks the fields of the columns, and the offset of the fence keys."""
        columns = COLUMNS.unpack(int(self.dut.columns_o.value))
        for name in ("items_start", "stride", "suffix_length", "value_length"):
            assert columns[name] == getattr(self.columns, name), name
        at = columns["fences_start"]
        assert self.data[at:at + Fences.SIZE] == Fences(len(plan.low), 0).pack()
        assert columns["items_start"] == at + Fences.SIZE + -at % 4


async def begin(dut, stall: float) -> Bench:
    bench = Bench(dut, stall)
    keys = dict(has_key_i=1, at_end_i=0, head_i=0)
    await start(dut, start_i=0, step_i=SAMPLES, before_i=0, line_ready_i=0, line_i=0, **keys)
    await FallingEdge(dut.clk_i)
    start_soon(bench.serve())
    return bench


@cocotb.test()
@cocotb.parametrize(shape=list(SHAPES), stall=STALLS)
async def finds_items_with_the_head_of_a_key(dut, shape, stall):
    bench = await begin(dut, stall)
    for _ in range(25):
        plan, data = random_leaf(SHAPES[shape])
        heads = [head(item.key) for item in plan.items]
        known = [number.to_bytes(8, "big") for number in heads] or [b"\0" * 8]
        for _ in range(3):
            some = random.choice((random.choice(known), known[-1], b"\xff" * 8))
            searched = head(near(some, 8))
            await bench.search(data, {"has_key_i": 1, "at_end_i": random.getrandbits(1), "head_i": searched})
            bench.check(bisect_left(heads, searched), bisect_right(heads, searched))
            bench.check_columns(plan)
            assert (bench.groups is not None) == bool(heads)


@cocotb.test()
@cocotb.parametrize(at_end=(0, 1))
async def begins_at_an_end_without_a_key(dut, at_end):
    bench = await begin(dut, 0.3)
    for _ in range(25):
        plan, data = random_leaf(SHAPES["default"])
        await bench.search(data, {"has_key_i": 0, "at_end_i": at_end})
        bench.check(*[len(plan.items) if at_end else 0] * 2)
        assert bench.groups is None


def leaf_of(count: int, lengths: tuple[int, ...]) -> tuple[Plan, bytes]:
    """Returns a leaf with this number of items, whose values have some of these lengths, and its bytes."""
    numbers = random.sample(range(1, 1 << 20), count)
    keys = sorted((2 * number).to_bytes(8, "big") for number in numbers)
    items = tuple(Item(key, bytes(random.choice(lengths))) for key in keys)
    plan = Plan(items=items, version=1)
    data = plan.build(SHAPES["default"])
    assert data is not None, "the items do not fit"
    return plan, data


@cocotb.test()
@cocotb.parametrize(
    count=(1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 255, 256, 257, 287, 288, 289), lengths=((0,), (0, 4)),
)
async def groups_end_at_edges(dut, count, lengths):
    """The last group of a leaf has one head, all but one, or all; a group has 16 heads, or 32 of many. The
    items have a stride or offsets."""
    bench = await begin(dut, 0.0)
    plan, data = leaf_of(count, lengths)
    heads = [head(item.key) for item in plan.items]
    assert NodeHeader.unpack(data[:64]).group_bits == (4 if count <= 256 else 5)
    ends = (0, 8, 16, 32, 240, 256, 288, count)
    edges = {at + more for at in ends for more in (-1, 0, 1) if 0 <= at + more < count}
    for searched in (heads[at] + more for at in sorted(edges) for more in (0, 1)):
        await bench.search(data, {"has_key_i": 1, "at_end_i": 0, "head_i": searched})
        bench.check(bisect_left(heads, searched), bisect_right(heads, searched))
        bench.check_columns(plan)


@cocotb.test()
@cocotb.parametrize(count=(15, 16, 17, 255, 256, 257, 288))
async def equal_heads_end_at_edges(dut, count):
    """Items with the greatest head, or with one head, begin in any group of a leaf and fill it to its end."""
    bench = await begin(dut, 0.0)
    for first in {0, max(count - 17, 1), count - 1}:
        for stem in (b"\xff" * 8, b"one head"):
            keys = [at.to_bytes(8, "big") for at in range(first)]
            keys += [stem + at.to_bytes(2, "big") for at in range(first, count)]
            data = Plan(items=tuple(Item(key, b"") for key in keys), version=1).build(SHAPES["default"])
            heads = [head(key) for key in keys]
            for searched in {head(stem), head(stem) - 1, heads[0], heads[max(first - 1, 0)]}:
                await bench.search(data, {"has_key_i": 1, "at_end_i": 0, "head_i": searched})
                bench.check(bisect_left(heads, searched), bisect_right(heads, searched))


def test_leaf_search():
    simulate("leaf_search")
