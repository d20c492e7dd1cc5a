"""A leaf search finds the items with the head of the search key, and requests the lines that it needs."""

import random
from bisect import bisect_left, bisect_right

import cocotb
from cocotb import start_soon
from cocotb.triggers import FallingEdge, RisingEdge
from honeycomb_layout import Columns, Fences, NodeHeader
from keys import near, random_keys
from nodes import SHAPES, Item, Plan, Shape, head
from ports import earlier, line
from records import record
from runner import simulate
from streams import STALLS, Source, start

HEADER, COLUMNS, INDEXES = record("node_header_t"), record("leaf_columns_t"), record("indexes_t")
USE, COUNTS = record("column_use_t"), record("column_counts_t")
# Cycles from a line to its counts, as of leaf_counter.
COUNTS_LATER = 3


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


def counts(words: int, use: dict[str, int]) -> dict[str, int]:
    """Returns the counts of the heads of a line, and the element."""
    elements = [words >> 64 * at & (1 << 64) - 1 for at in range(8)]
    heads = elements[use["skips_first"]:use["heads"]]
    less, greater = sum(head < use["head"] for head in heads), sum(head > use["head"] for head in heads)
    return {"less": less, "not_greater": len(heads) - greater, "element": elements[use["element"]]}


class Bench:
    """The search of one leaf after the other."""

    def __init__(self, dut, stall: float):
        self.dut, self.source, self.groups = dut, Source(dut, "line", stall=stall), []

    async def count(self):
        """Counts the heads of lines as leaf_counter does."""
        dut, later = self.dut, [None] * (COUNTS_LATER - 1)
        while True:
            await RisingEdge(dut.clk_i)
            if dut.count_valid_o.value == 1:
                later.append(counts(int(dut.line_i.value), USE.unpack(int(dut.count_o.value))))
            else:
                later.append(None)
            found = later.pop(0)
            dut.counts_valid_i.value = int(found is not None)
            dut.counts_i.value = random.getrandbits(COUNTS.width) if found is None else COUNTS.pack(**found)

    async def watch(self):
        """Sends the lines that the search requests."""
        while True:
            await FallingEdge(self.dut.clk_i)
            if self.dut.groups_valid_o.value == 1:
                groups = INDEXES.unpack(int(self.dut.groups_o.value))
                self.groups.append(groups)
                self.send(192 + 8 * groups["first"], 192 + 8 * groups["last"])
                if not self.columns.stride:
                    after = groups["last"] + (groups["last"] < self.count)
                    start = 192 + 8 * self.count
                    self.send(start + 2 * groups["first"], start + 2 * after)

    def send(self, begin: int, end: int):
        """Sends the lines with these bytes of the leaf."""
        self.source.put(*(line(self.data[at:at + 64]) for at in range(begin // 64 * 64, end, 64)))

    async def until(self, signal):
        """Waits for an output."""
        for _ in range(10_000):
            if signal.value == 1:
                return
            await FallingEdge(self.dut.clk_i)
        raise AssertionError(f"{signal._name} never came")

    async def search(self, data: bytes, key: dict[str, int]):
        """Begins another leaf and waits for the result."""
        dut, self.data, self.groups = self.dut, data, []
        header = NodeHeader.unpack(data[:64])
        self.columns, self.count = Columns.unpack(data[64:192]), header.sorted_count
        dut.start_i.value = 1
        await FallingEdge(dut.clk_i)
        dut.start_i.value = 0
        copied, first = random.random() < 0.5, data[:64]
        if copied:
            first = earlier(first)
        dut.line_copied_i.value = int(copied)
        self.source.put(line(first))
        self.send(64, 192)
        await self.until(dut.header_valid_o)
        assert int(dut.header_o.value) == line(first) and dut.header_copied_o.value == copied
        for name, value in key.items():
            getattr(dut, name).value = value
        dut.key_valid_i.value = 1
        await self.until(dut.found_o)
        dut.key_valid_i.value = 0
        assert not self.source.queue, "a line was not expected"
        if copied:
            await self.check_current_header()
        assert int(dut.header_o.value) == line(data[:64])

    async def check_current_header(self):
        """Sends the current header, which replaces that of the copy."""
        assert self.dut.header_copied_o.value == 1
        self.send(0, 64)
        while self.dut.header_copied_o.value == 1:
            await FallingEdge(self.dut.clk_i)
        assert self.dut.found_o.value == 1

    def check(self, first: int, last: int):
        """Checks the result: the range of the items, and the offset of the first one."""
        equal = INDEXES.unpack(int(self.dut.equal_o.value))
        assert (equal["first"], equal["last"]) == (first, last)
        offset = self.columns.items_start + first * self.columns.stride
        if not self.columns.stride and self.count:
            stored = 192 + 8 * self.count + 2 * first
            offset = 4 * int.from_bytes(self.data[stored:stored + 2], "little")
        if first == self.count:
            offset = NodeHeader.unpack(self.data[:64]).sorted_end
        assert int(self.dut.item_offset_o.value) == offset

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
    await start(dut, start_i=0, line_copied_i=0, key_valid_i=0, has_key_i=1, at_end_i=0, head_i=0,
                counts_valid_i=0, counts_i=0)
    await FallingEdge(dut.clk_i)
    start_soon(bench.watch())
    start_soon(bench.count())
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
            await bench.search(data, {"has_key_i": 1, "head_i": searched})
            bench.check(bisect_left(heads, searched), bisect_right(heads, searched))
            bench.check_columns(plan)
            assert len(bench.groups) == bool(heads)


@cocotb.test()
@cocotb.parametrize(at_end=(0, 1))
async def begins_at_an_end_without_a_key(dut, at_end):
    bench = await begin(dut, 0.3)
    for _ in range(25):
        plan, data = random_leaf(SHAPES["default"])
        await bench.search(data, {"has_key_i": 0, "at_end_i": at_end})
        bench.check(*[len(plan.items) if at_end else 0] * 2)
        assert not bench.groups


def test_leaf_search():
    simulate("leaf_search")
