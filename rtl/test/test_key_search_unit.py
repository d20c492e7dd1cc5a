"""A key search unit finds the same leaves as the reader of trees."""

import random
from dataclasses import replace

import cocotb
from cocotb.triggers import RisingEdge
from descents import LEAF, TASK, Descent, random_descent
from keys import around, near, nested_keys
from honeycomb_layout import NODE_BYTES_DEFAULT, NODE_BYTES_MAX
from nodes import SHAPES, Memory, Plan, Shape, child
from place_ports import PlacePorts
from ports import KeyPorts
from runner import simulate
from streams import STALLS, Sink, Source, start
from trees import child_for, grow

# Heads of nodes at the edges of lines and groups.
HEADS = (1, 15, 16, 17, 31, 32, 33, 127, 128, 129, 255, 256, 257, 287, 288, 289, 484)


class Bench:
    """The unit with its memory and its key buffers, and the source of descents."""

    def __init__(self, dut, memory: Memory, stall=0.0, **ports):
        self.dut, self.memory = dut, memory
        self.ports = PlacePorts(dut, memory, stall=stall, values=False, **ports)
        self.keys = KeyPorts(dut, stall=stall)
        self.descents = Source(dut, "descent", stall=stall)
        self.leaves = Sink(dut, "leaf", stall=stall)

    async def start(self):
        await start(self.dut)

    async def find_leaf(self, descent: Descent) -> dict[str, int]:
        """Executes a single descent and returns its leaf."""
        [leaf] = await self.find_leaves([descent])
        return leaf

    async def find_leaves(self, descents: list[Descent]) -> list[dict[str, int]]:
        """Executes descents of different slots, as many at a time as the unit accepts. Returns their
        leaves."""
        self.keys.keys = {(descent.slot, descent.by_upper): descent.key for descent in descents}
        self.descents.put(*(descent.word for descent in descents))
        await self.leaves.count(len(descents))
        leaves = {TASK.unpack(leaf["request"])["slot"]: leaf for leaf in map(LEAF.unpack, self.leaves.got)}
        self.leaves.got.clear()
        return [leaves[descent.slot] for descent in descents]

    async def lid(self, direction: str, key: bytes, root: int) -> int:
        """Returns the leaf at the newest version."""
        leaf = await self.find_leaf(Descent(direction, key, root, 1 << 60, random.randrange(256)))
        assert not leaf["failed"]
        return leaf["lid"]


class Busy:
    """Counts the cycles in which the unit searches."""

    def __init__(self, dut):
        self.cycles = 0
        cocotb.start_soon(self.run(dut))

    async def run(self, dut):
        while True:
            await RisingEdge(dut.clk_i)
            self.cycles += int(dut.busy_o.value) != 0


@cocotb.test()
@cocotb.parametrize(shape=list(SHAPES), stall=STALLS)
async def finds_the_leaf(dut, shape, stall):
    memory = Memory(SHAPES[shape])
    tree, keys = grow(memory, writes={"default": 700, "tiny": 150}.get(shape, 300))
    bench = Bench(dut, memory, stall, jitter=5 if stall else 0)
    await bench.start()
    descents = [random_descent(tree, keys, slot, random.getrandbits(1)) for slot in range(60)]
    for descent, leaf in zip(descents, await bench.find_leaves(descents)):
        descent.check(memory, leaf)


@cocotb.test()
async def older_versions_are_read_after_all_lines(dut):
    """The first line of a node tells that it is too new, long before its other lines arrive."""
    memory = Memory(SHAPES["tiny"])
    tree, keys = grow(memory, writes=400)
    bench = Bench(dut, memory, stall=0.9)
    await bench.start()
    descents = [random_descent(tree, keys, slot) for slot in range(60)]
    descents = [replace(descent, version=random.randrange(tree.version)) for descent in descents]
    for descent, leaf in zip(descents, await bench.find_leaves(descents)):
        descent.check(memory, leaf)
    steps = [read for read in bench.ports.reads if read["address"] and read["count"] > 1]
    assert len(steps) > 10, "few nodes below the root are too new"


@cocotb.test()
@cocotb.parametrize(bits=(32, 40))
async def versions_have_64_bits(dut, bits):
    """Versions of nodes are below and above a power of two, at which a shorter number wraps around."""
    memory, middle = Memory(SHAPES["tiny"]), 1 << bits
    tree, keys = grow(memory, writes=200, version=middle - 120)
    versions = [plan.version for plan in memory.plans.values()]
    assert min(versions) < middle <= max(versions)
    bench = Bench(dut, memory)
    await bench.start()
    descents = [random_descent(tree, keys, slot) for slot in range(60)]
    versions = (middle - 1, middle, middle + 1, tree.version, tree.version + middle)
    descents = [replace(descent, version=random.choice(versions)) for descent in descents]
    for descent, leaf in zip(descents, await bench.find_leaves(descents)):
        descent.check(memory, leaf)


@cocotb.test()
@cocotb.parametrize(stall=STALLS)
async def reports_failures_of_memory(dut, stall):
    memory = Memory(SHAPES["tiny"])
    tree, keys = grow(memory, writes=150)
    bench, failures = Bench(dut, memory, stall, failures=0.2), 0
    await bench.start()
    for slot in range(100):
        descent, before = random_descent(tree, keys, slot), bench.ports.failed
        leaf = await bench.find_leaf(descent)
        if bench.ports.failed == before:
            descent.check(memory, leaf)
        else:
            failures += leaf["failed"]
    # A prefetched beat that the unit does not need may fail as well.
    assert 0 < failures <= bench.ports.failed
    assert (await bench.find_leaf(Descent("first", b"", memory.next_lid, tree.version, 0)))["failed"]


def parent_of(keys: list[bytes], shape: str, version: int = 1) -> tuple[Memory, int]:
    """Returns a root whose children are leaves that do not exist in memory."""
    memory = Memory(SHAPES[shape])
    root = memory.reserve_lid()
    items = tuple(child(key, 1001 + at) for at, key in enumerate(keys))
    memory.map(root, memory.place_node(Plan(level=1, left=1000, items=items, version=version)))
    return memory, root


@cocotb.test()
async def reads_tell_the_distance_from_the_root(dut):
    memory = Memory(SHAPES["tiny"])
    lids = [memory.reserve_lid() for _ in range(4)]
    for level, lid, left in zip((4, 3, 2, 1), lids, [*lids[1:], 1000]):
        plan = Plan(level=level, left=left, items=(child(b"m", 1001),), version=1)
        memory.map(lid, memory.place_node(plan))
    bench = Bench(dut, memory)
    await bench.start()
    assert await bench.lid("key", b"a", lids[0]) == 1000
    nodes = list(dict.fromkeys((read["lid"], read["depth"]) for read in bench.ports.reads))
    assert nodes == list(zip(lids, (1, 2, 0, 0)))


@cocotb.test()
@cocotb.parametrize(node_bytes=(NODE_BYTES_DEFAULT, NODE_BYTES_MAX))
async def reads_lines_in_two_pages(dut, node_bytes):
    """The last heads of a full node and those in the middle of the largest one continue in the next page."""
    memory = Memory(Shape(node_bytes=node_bytes))
    count = (node_bytes - 272) // 16
    keys = sorted({random.randbytes(5) + b"x" for _ in range(count)})
    lids = [memory.reserve_lid() for _ in range(3)]
    items = tuple(child(key, 1001 + at) for at, key in enumerate(keys))
    plans = [Plan(level=3, left=lids[1], version=1), Plan(level=2, left=lids[2], version=1),
             Plan(level=1, left=1000, items=items, version=1)]
    for lid, plan in zip(lids, plans):
        memory.map(lid, memory.place_node(plan))
    bench = Bench(dut, memory, 0.3, jitter=9)
    await bench.start()
    node, searched = memory.current(lids[2]), [*keys[::7], keys[-1]]
    for key in searched:
        assert await bench.lid("key", key, lids[0]) == child_for(node, key)
    last = [read["first"] + read["count"] for read in bench.ports.reads]
    assert 64 in last and max(last) > 64


async def check_around(bench: Bench, root: int, keys: list[bytes], parent: int | None = None):
    """Searches for keys and for keys close to them, and for the leaves before them. Their parent is the root
    or another node."""
    node = bench.memory.current(parent or root)
    for key in keys:
        for search_key in around(key):
            assert await bench.lid("key", search_key, root) == child_for(node, search_key)
        assert await bench.lid("before", key, root) == child_for(node, key, before=True)


@cocotb.test()
async def halves_separators_with_equal_heads(dut):
    """If separators have equal heads, their items are compared, in a binary search over these separators."""
    keys = sorted(b"one head" + random.randbytes(9) for _ in range(90))
    memory, root = parent_of(keys, "default")
    bench = Bench(dut, memory)
    await bench.start()
    # Reads: header, samples, heads and children, the heads of the group before, and a child and an item for
    # each step.
    most = 5 + 2 * (1 + len(keys).bit_length())
    for at in range(0, len(keys), 3):
        bench.ports.line_reads.clear()
        assert await bench.lid("key", keys[at], root) == 1001 + at
        assert 4 < len(bench.ports.reads) <= most
        assert await bench.lid("before", keys[at], root) == 1000 + at
    bench.ports.line_reads.clear()
    assert await bench.lid("key", b"one heae", root) == 1000 + len(keys)
    assert len(bench.ports.reads) == 4
    assert await bench.lid("key", b"one head", root) == 1000


@cocotb.test()
async def separators_have_the_length_of_words(dut):
    """Only the length of the longer key decides, where words or lines of items begin or end."""
    keys = nested_keys(8, 12, 16, 32, 64, 68, 128)
    memory, root = parent_of(keys, "default")
    bench = Bench(dut, memory)
    await bench.start()
    await check_around(bench, root, keys)


@cocotb.test()
async def items_end_with_the_node(dut):
    """The items of separators are in the last line of the node, and the search key is longer than the rest of
    this line."""
    keys = sorted(b"one head" + number.to_bytes(2, "big") for number in random.sample(range(1 << 16), 32))
    memory, root = parent_of(keys, "tiny")
    node = memory.current(root)
    bench = Bench(dut, memory)
    await bench.start()
    for key in keys[-4:]:
        for search_key in (key + bytes(400), key[:-1] + bytes([key[-1] ^ 1]) + bytes(400)):
            assert await bench.lid("key", search_key, root) == child_for(node, search_key)


@cocotb.test()
async def separators_end_with_zeros(dut):
    """Heads do not show zeros at the end of a key."""
    keys = [b"a" + bytes(count) for count in range(11)] + [bytes(count) for count in (1, 2, 8, 9)]
    memory, root = parent_of(sorted(keys), "default")
    bench = Bench(dut, memory)
    await bench.start()
    await check_around(bench, root, keys)


@cocotb.test()
async def heads_are_the_greatest_number(dut):
    """Missing samples are the greatest number, so they equal the head of such keys."""
    keys = [b"\xff" * count for count in range(1, 21)]
    memory, root = parent_of(keys, "default")
    bench = Bench(dut, memory)
    await bench.start()
    await check_around(bench, root, keys)


@cocotb.test()
@cocotb.parametrize(count=HEADS, is_root=(True, False))
async def groups_end_at_edges(dut, count, is_root):
    """The last group of a node has one head, all but one, or all; a group has 16 heads, or 32 of many. The
    samples of a root are read after its header, those of other nodes with it."""
    numbers = random.sample([number for number in range(1, 1 << 20) if number % 256], count)
    keys = sorted(number.to_bytes(3, "big") for number in numbers)
    memory, lid = parent_of(keys, "default")
    root = lid if is_root else memory.reserve_lid()
    if not is_root:
        memory.map(root, memory.place_node(Plan(level=2, left=lid, version=1)))
    bench = Bench(dut, memory)
    await bench.start()
    edges = {at + more for at in (0, 8, 16, 32, 240, 256, 288) for more in (-1, 0, 1)} | {len(keys) - 1}
    await check_around(bench, root, [keys[at] for at in sorted(edges) if 0 <= at < len(keys)], lid)
    bench.ports.line_reads.clear()
    assert await bench.lid("last", b"", root) == 1000 + len(keys)
    assert [read["count"] for read in bench.ports.reads] == ([1, 1] if is_root else [1, 3, 1])


@cocotb.test()
@cocotb.parametrize(children=(0, 3))
async def finds_the_leftmost_child(dut, children):
    """For a node without separators, or for the first leaf, the header is sufficient."""
    memory, root = parent_of([b"middle", b"of", b"the alphabet"][:children], "default")
    bench = Bench(dut, memory)
    await bench.start()
    assert await bench.lid("first", b"", root) == 1000
    assert len(bench.ports.reads) == 1
    assert await bench.lid("key", b"a", root) == 1000
    assert await bench.lid("before", b"a", root) == 1000
    assert len(bench.ports.reads) == (7 if children else 3)
    assert await bench.lid("last", b"", root) == 1000 + children


@cocotb.test()
async def a_tree_that_is_too_new_ends_at_its_root(dut):
    """The reader of this leaf finds that it is too new."""
    memory, root = parent_of([b"key"], "default", version=5)
    bench = Bench(dut, memory)
    await bench.start()
    for version, lid in ((4, root), (5, 1001)):
        leaf = await bench.find_leaf(Descent("key", b"key", root, version, 0))
        assert (leaf["failed"], leaf["lid"], leaf["address"]) == (0, lid, 0)


async def fails(bench: Bench, root: int, version: int):
    """Expects that descents in each direction end with a failure."""
    for slot, direction in enumerate(("key", "before", "first", "last")):
        leaf = await bench.find_leaf(Descent(direction, b"key", root, version, slot))
        assert leaf["failed"], direction


@cocotb.test()
@cocotb.parametrize(stall=STALLS[:2])
async def children_have_lower_levels(dut, stall):
    """Children that lead to the root, or to a node of the same level, end the descent."""
    memory = Memory(SHAPES["tiny"])
    root, below = memory.reserve_lid(), memory.reserve_lid()
    memory.map(root, memory.place_node(Plan(level=2, left=root, items=(child(b"a", root),))))
    memory.map(below, memory.place_node(Plan(level=3, left=root, items=(child(b"a", root),))))
    bench = Bench(dut, memory, stall)
    await bench.start()
    await fails(bench, root, 1)
    await fails(bench, below, 1)
    memory.map(root, memory.place_node(Plan(level=2, left=below, items=(child(b"a", below),))))
    for level, child_of_it in ((2, 1000), (255, 1000), (3, root)):
        memory.change(below, level=level, left=child_of_it, items=(child(b"a", child_of_it),))
        await fails(bench, root, 1)
    memory.change(below, level=1, left=1000, items=(child(b"a", 1001),))
    assert await bench.lid("key", b"key", root) == 1001


@cocotb.test()
@cocotb.parametrize(stall=STALLS[:2], below=(False, True))
async def previous_versions_are_older(dut, stall, below):
    """Previous versions that are not older end the descent, of the root or of a node below it."""
    memory = Memory(SHAPES["tiny"])
    lid, root = memory.reserve_lid(), memory.reserve_lid()
    memory.map(root, memory.place_node(Plan(level=2, left=lid, items=(child(b"a", lid),))))
    plan = Plan(level=1, left=1000, items=(child(b"a", 1001),), version=9)
    memory.map(lid, memory.place_node(plan))
    bench = Bench(dut, memory, stall)
    await bench.start()
    start = root if below else lid
    memory.change(lid, previous=memory.lids[lid])
    await fails(bench, start, 8)
    for version in (9, 10, 1 << 40):
        previous = replace(plan, version=version, previous=memory.lids[lid])
        memory.change(lid, previous=memory.place_node(previous))
        await fails(bench, start, 8)
    memory.change(lid, previous=memory.place_node(replace(plan, version=8)))
    leaf = await bench.find_leaf(Descent("key", b"key", start, 8, 0))
    assert (leaf["failed"], leaf["lid"]) == (0, 1001)


@cocotb.test()
async def previous_versions_have_no_higher_levels(dut):
    """A previous version below the root leads to the parent, and one of the root may have any level."""
    memory = Memory(SHAPES["tiny"])
    lid, root = memory.reserve_lid(), memory.reserve_lid()
    memory.map(root, memory.place_node(Plan(level=2, left=lid, items=(child(b"a", lid),))))
    higher = memory.place_node(Plan(level=4, left=root, items=(child(b"a", root),)))
    plan = Plan(level=1, left=1000, items=(child(b"a", 1001),), version=9, previous=higher)
    memory.map(lid, memory.place_node(plan))
    bench = Bench(dut, memory)
    await bench.start()
    await fails(bench, root, 8)
    memory.change(root, level=1, left=1000, items=(child(b"a", 1001),))
    leaf = await bench.find_leaf(Descent("key", b"key", lid, 8, 0))
    assert (leaf["failed"], leaf["lid"]) == (0, 1001)
    memory.change(root, level=3, left=lid, items=(child(b"a", lid),))
    memory.change(lid, previous=0, version=1)
    assert await bench.lid("key", b"key", root) == 1001


def full_node() -> tuple[list[bytes], Memory, int]:
    """Returns the keys of a full node of 8 KiB, and its memory and its LID."""
    keys = sorted({random.randbytes(5) + b"x" for _ in range(484)})
    return keys, *parent_of(keys, "default")


@cocotb.test()
async def needs_few_cycles_per_level(dut):
    """Cycles in addition to memory latency, for a full node."""
    keys, memory, root = full_node()
    bench, busy = Bench(dut, memory, latency=100), Busy(dut)
    await bench.start()
    descents = 100
    for _ in range(descents):
        key = near(random.choice(keys), 16)
        assert await bench.lid("key", key, root) == child_for(memory.current(root), key)
    cycles = (busy.cycles - bench.ports.waited) / descents
    dut._log.info("%.1f cycles a level beyond memory latency", cycles)
    assert cycles <= 54


@cocotb.test()
async def searches_while_others_wait(dut):
    """Descents share the logic that compares for a line each, so that their number hardly matters."""
    keys, memory, root = full_node()
    bench, busy = Bench(dut, memory, latency=30), Busy(dut)
    descents = [Descent("key", key, root, 1, slot) for slot, key in enumerate(random.sample(keys, 60))]
    await bench.start()
    for descent in descents:
        await bench.find_leaf(descent)
    one_by_one = busy.cycles
    await bench.find_leaves(descents)
    gain = one_by_one / (busy.cycles - one_by_one)
    dut._log.info("%.2f times as fast", gain)
    assert gain >= 0.85 * int(dut.Descents.value)


def test_key_search_unit():
    for descents in (2, 5):
        simulate("key_search_unit", Descents=descents)
