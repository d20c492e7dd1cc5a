"""An item walker outputs the order of the keys of an interior node relative to the search key, and their
children."""

import random

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge
from keys import around, near, nested_keys, random_keys
from nodes import SHAPES, Item, Plan, Shape, child, child_lid
from ports import line
from runner import simulate
from streams import STALLS, Source, start

CHUNK = 32


class SearchKey:
    """Models a search_key, which outputs chunks of a key some cycles after each request."""

    def __init__(self, dut, stall: float):
        self.dut, self.stall, self.key, self.at, self.wait = dut, stall, b"", 0, 0
        cocotb.start_soon(self.run())

    def aim(self, key: bytes):
        """Selects the first chunk of a key."""
        self.key = key
        self.move(0)
        self.dut.search_key_valid_i.value = 0

    def move(self, at: int):
        self.at, self.wait = at, 2 + (random.randint(0, 6) if random.random() < self.stall else 0)

    async def run(self):
        dut = self.dut
        while True:
            chunk = self.key[CHUNK * self.at:][:CHUNK]
            dut.search_key_valid_i.value = int(self.wait == 0)
            dut.search_key_count_i.value = len(chunk)
            dut.search_key_chunk_i.value = line(chunk + random.randbytes(CHUNK - len(chunk)))
            await RisingEdge(dut.clk_i)
            if self.wait:
                self.wait -= 1
            if dut.search_key_next_o.value == 1:
                self.move(self.at + 1)
            elif dut.search_key_rewind_o.value == 1:
                self.move(0)


def random_node(shape: Shape) -> Plan:
    """Returns an interior node that is full or nearly full."""
    keys = random_keys(shape.node_bytes // 20, shape.key_bytes_max - 20)
    prefix = random.randbytes(random.choice((0, 1, 20)))
    low, high = (prefix + b"\0", prefix + b"\xff") if prefix else (b"", None)
    while True:
        items = tuple(child(prefix + key, random.getrandbits(48)) for key in keys)
        plan = Plan(level=1, low=low, high=high, left=1, items=items)
        if plan.build(shape) is not None:
            return plan
        keys = sorted(random.sample(keys, len(keys) * 9 // 10))


def offsets(shape: Shape, plan: Plan) -> list[int]:
    """Returns the offsets of the items and of the end of the last one."""
    found = [shape.sorted_start + len(plan.fences())]
    for item in plan.items:
        found.append(found[-1] + len(item.pack(plan.prefix_length)))
    return found


class User:
    """Walks over some of the items of a node."""

    def __init__(self, dut, stall: float):
        self.dut, self.stall = dut, stall
        self.source, self.search_key = Source(dut, "line", stall=stall), SearchKey(dut, stall)

    async def begin(self, data: bytes, begin: int, end: int, search_key: bytes):
        """Starts the walker and offers the lines."""
        dut = self.dut
        dut.start_i.value, dut.begin_i.value, dut.end_i.value = 1, begin, end
        await RisingEdge(dut.clk_i)
        dut.start_i.value = 0
        await FallingEdge(dut.clk_i)
        self.search_key.aim(search_key)
        if begin < end:
            self.source.put(*(line(data[at:at + 64]) for at in range(begin // 64 * 64, end, 64)))

    async def until(self, signal):
        for _ in range(2000):
            await FallingEdge(self.dut.clk_i)
            if signal.value == 1:
                return
        raise AssertionError(f"{signal._name} never came")

    async def check(self, item: Item, suffix: bytes, search_key: bytes):
        """Checks the next item."""
        dut = self.dut
        await self.until(dut.item_valid_o)
        order = int(dut.item_less_o.value), int(dut.item_equal_o.value)
        assert order == (suffix < search_key, suffix == search_key), (suffix, search_key)
        if dut.child_valid_o.value != 1:
            await self.until(dut.child_valid_o)
        while random.random() < self.stall:
            await FallingEdge(dut.clk_i)
        assert int(dut.child_o.value) == child_lid(item)
        dut.next_i.value = 1
        await RisingEdge(dut.clk_i)
        dut.next_i.value = 0


@cocotb.test()
@cocotb.parametrize(shape=("default", "tiny"), stall=STALLS)
async def walks_over_items(dut, shape, stall):
    shape = SHAPES[shape]
    user = User(dut, stall)
    await start(dut, start_i=0, next_i=0)
    for _ in range(5):
        plan = random_node(shape)
        data, starts = plan.build(shape), offsets(shape, plan)
        suffixes = [item.key[plan.prefix_length:] for item in plan.items]
        for _ in range(3):
            first, last = sorted(random.choices(range(len(starts)), k=2))
            search_key = near(random.choice(suffixes), shape.key_bytes_max)
            await user.begin(data, starts[first], starts[last], search_key)
            for item, suffix in zip(plan.items[first:last], suffixes[first:last]):
                await user.check(item, suffix, search_key)
            await user.until(dut.end_o)
            assert dut.item_valid_o.value == 0 and not user.source.queue


@cocotb.test()
async def keys_have_the_length_of_chunks(dut):
    """Only the length of the longer key decides, where chunks begin or end."""
    shape, user = SHAPES["default"], User(dut, 0.0)
    await start(dut, start_i=0, next_i=0)
    keys = nested_keys(8, CHUNK, 2 * CHUNK, 3 * CHUNK)
    plan = Plan(level=1, left=1, items=tuple(child(key, at + 1) for at, key in enumerate(keys)))
    data, starts = plan.build(shape), offsets(shape, plan)
    for key in keys:
        for search_key in around(key):
            at = keys.index(key)
            first, last = max(at - 1, 0), min(at + 2, len(keys))
            await user.begin(data, starts[first], starts[last], search_key)
            for item in plan.items[first:last]:
                await user.check(item, item.key, search_key)


@cocotb.test()
async def restarts_at_any_time(dut):
    """A user can start the next walk at any time."""
    shape, user = SHAPES["default"], User(dut, 0.0)
    await start(dut, start_i=0, next_i=0)
    keys = sorted(random.randbytes(3) + bytes(200) + random.randbytes(1) for _ in range(20))
    plan = Plan(level=1, left=1, items=tuple(child(key, at + 1) for at, key in enumerate(keys)))
    data, starts = plan.build(shape), offsets(shape, plan)
    for cycles in range(60):
        await user.begin(data, starts[0], starts[1], keys[0])
        for _ in range(cycles):
            await RisingEdge(dut.clk_i)
        await user.source.drained()
        at = random.randrange(20)
        await user.begin(data, starts[at], starts[at + 1], keys[at])
        await user.check(plan.items[at], keys[at], keys[at])


@cocotb.test()
async def compares_an_item_in_two_cycles(dut):
    """A short item needs two cycles, at any position in a line."""
    shape, user = SHAPES["default"], User(dut, 0.0)
    keys = sorted(random.randbytes(16) for _ in range(100))
    plan = Plan(level=1, left=1, items=tuple(child(key, at + 1) for at, key in enumerate(keys)))
    starts = offsets(shape, plan)
    await start(dut, start_i=0, next_i=0)
    await user.begin(plan.build(shape), starts[0], starts[-1], keys[50])
    items = cycles = 0
    while dut.end_o.value != 1 or items == 0:
        await FallingEdge(dut.clk_i)
        dut.next_i.value = int(dut.child_valid_o.value)
        items += int(dut.child_valid_o.value)
        cycles += items > 0
    assert items == 100 and cycles <= 202


def test_item_walker():
    simulate("item_walker")
