"""An item walker tells the order of an interior node's keys beside the wanted one, and their children."""

import random

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge
from keys import near, random_keys
from nodes import SHAPES, Item, Plan, Shape, child, child_lid
from ports import line
from runner import simulate
from streams import STALLS, Source, start

CHUNK = 32


class Wanted:
    """A search_key: chunks of a key, each some cycles after it was asked for."""

    def __init__(self, dut, stall: float):
        self.dut, self.stall, self.key, self.at, self.wait = dut, stall, b"", 0, 0
        cocotb.start_soon(self.run())

    def aim(self, key: bytes):
        """Goes to the first chunk of a key."""
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
    """An interior node that is full, or nearly so."""
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
    """Where the items begin, and where the last one ends."""
    found = [shape.sorted_start + len(plan.fences())]
    for item in plan.items:
        found.append(found[-1] + len(item.pack(plan.prefix_length)))
    return found


class User:
    """Walks over some of the items of a node."""

    def __init__(self, dut, stall: float):
        self.dut, self.stall = dut, stall
        self.source, self.wanted = Source(dut, "line", stall=stall), Wanted(dut, stall)

    async def begin(self, data: bytes, begin: int, end: int, wanted: bytes):
        """Starts the walker and offers it the lines."""
        dut = self.dut
        dut.start_i.value, dut.begin_i.value, dut.end_i.value = 1, begin, end
        await RisingEdge(dut.clk_i)
        dut.start_i.value = 0
        await FallingEdge(dut.clk_i)
        self.wanted.aim(wanted)
        if begin < end:
            self.source.put(*(line(data[at:at + 64]) for at in range(begin // 64 * 64, end, 64)))

    async def until(self, signal):
        for _ in range(2000):
            await FallingEdge(self.dut.clk_i)
            if signal.value == 1:
                return
        raise AssertionError(f"{signal._name} never came")

    async def check(self, item: Item, suffix: bytes, wanted: bytes):
        """Looks at the next item."""
        dut = self.dut
        await self.until(dut.item_valid_o)
        order = int(dut.item_less_o.value), int(dut.item_equal_o.value)
        assert order == (suffix < wanted, suffix == wanted), (suffix, wanted)
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
            wanted = near(random.choice(suffixes), shape.key_bytes_max)
            await user.begin(data, starts[first], starts[last], wanted)
            for item, suffix in zip(plan.items[first:last], suffixes[first:last]):
                await user.check(item, suffix, wanted)
            await user.until(dut.end_o)
            assert dut.item_valid_o.value == 0 and not user.source.queue


@cocotb.test()
async def starts_anew_wherever_it_is(dut):
    """A user who has seen enough starts the next walk."""
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
async def looks_at_an_item_in_two_cycles(dut):
    """Short items, in whatever line they begin and end."""
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
