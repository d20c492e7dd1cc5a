"""A key search unit comes to the leaf that the reader of trees comes to."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from descents import LEAF, TASK, Descent, random_descent
from keys import near
from nodes import SHAPES, Memory, Plan, child
from ports import KeyPorts, MemoryPorts
from runner import simulate
from streams import STALLS, Sink, Source, start
from trees import child_for, grow


class House:
    """The unit between its memory, its key buffers and who asks."""

    def __init__(self, dut, memory: Memory, stall=0.0, **ports):
        self.dut, self.memory = dut, memory
        self.ports = MemoryPorts(dut, memory, int(dut.Descents.value), stall=stall, **ports)
        self.keys = KeyPorts(dut, stall=stall)
        self.descents = Source(dut, "descent", stall=stall)
        self.leaves = Sink(dut, "leaf", stall=stall)

    async def start(self):
        await start(self.dut, shortcut_capacity_i=self.memory.shape.capacity)

    async def land(self, descent: Descent) -> dict[str, int]:
        """Where a descent comes to, that is alone."""
        [leaf] = await self.land_all([descent])
        return leaf

    async def land_all(self, descents: list[Descent]) -> list[dict[str, int]]:
        """Where descents come to, of different slots, as many at a time as the unit takes."""
        self.keys.keys = {(descent.slot, descent.by_upper): descent.key for descent in descents}
        self.descents.put(*(descent.word for descent in descents))
        await self.leaves.count(len(descents))
        leaves = {TASK.unpack(leaf["request"])["slot"]: leaf for leaf in map(LEAF.unpack, self.leaves.got)}
        self.leaves.got.clear()
        return [leaves[descent.slot] for descent in descents]

    async def lid(self, direction: str, key: bytes, root: int) -> int:
        """The leaf that the newest version leads to."""
        leaf = await self.land(Descent(direction, key, root, 1 << 60, random.randrange(256)))
        assert not leaf["failed"]
        return leaf["lid"]


class Busy:
    """Counts the cycles in which the unit is at work."""

    def __init__(self, dut):
        self.cycles = 0
        cocotb.start_soon(self.run(dut))

    async def run(self, dut):
        while True:
            await RisingEdge(dut.clk_i)
            self.cycles += int(dut.busy_o.value) != 0


@cocotb.test()
@cocotb.parametrize(shape=list(SHAPES), stall=STALLS)
async def comes_to_the_leaf(dut, shape, stall):
    memory = Memory(SHAPES[shape])
    tree, keys = grow(memory, writes={"default": 700, "tiny": 150}.get(shape, 300))
    house = House(dut, memory, stall, jitter=5 if stall else 0)
    await house.start()
    descents = [random_descent(tree, keys, slot, random.getrandbits(1)) for slot in range(60)]
    for descent, leaf in zip(descents, await house.land_all(descents)):
        descent.check(memory, leaf)


@cocotb.test()
@cocotb.parametrize(stall=STALLS)
async def says_that_memory_failed(dut, stall):
    memory = Memory(SHAPES["tiny"])
    tree, keys = grow(memory, writes=150)
    house, failures = House(dut, memory, stall, failures=0.2), 0
    await house.start()
    for slot in range(100):
        descent, before = random_descent(tree, keys, slot), house.ports.failed
        leaf = await house.land(descent)
        if house.ports.failed == before:
            descent.check(memory, leaf)
        else:
            failures += leaf["failed"]
    # A beat that nobody waited for may have failed as well.
    assert 0 < failures <= house.ports.failed
    assert (await house.land(Descent("first", b"", memory.next_lid, tree.version, 0)))["failed"]


def parent_of(keys: list[bytes], shape: str, version: int = 1) -> tuple[Memory, int]:
    """A root with children that are leaves, which are not there."""
    memory = Memory(SHAPES[shape])
    root = memory.reserve_lid()
    items = tuple(child(key, 1001 + at) for at, key in enumerate(keys))
    memory.map(root, memory.place_node(Plan(level=1, left=1000, items=items, version=version)))
    return memory, root


@cocotb.test()
async def halves_segments_of_equal_heads(dut):
    """Equal heads do not say which of their segments a key is in: it is looked for by halves."""
    keys = sorted(b"one head" + random.randbytes(9) for _ in range(90))
    memory, root = parent_of(keys, "default")
    house = House(dut, memory)
    await house.start()
    segments = memory.buffers[memory.lids[root]][46]
    # Header and shortcuts, first keys, the segment itself if its own first key was not the last.
    most = 1 + segments.bit_length() + 1
    assert most < segments
    for at in range(0, len(keys), 3):
        house.ports.reads.clear()
        assert await house.lid("key", keys[at], root) == 1001 + at
        assert 2 <= len(house.ports.reads) <= most
        assert await house.lid("before", keys[at], root) == 1000 + at
    house.ports.reads.clear()
    assert await house.lid("key", b"one heae", root) == 1000 + len(keys)
    assert len(house.ports.reads) == 2
    assert await house.lid("key", b"one head", root) == 1000


@cocotb.test()
@cocotb.parametrize(children=(0, 3))
async def knows_the_leftmost_child_without_a_segment(dut, children):
    """Of a node without items, and of one whose heads all are greater: header and shortcuts are enough."""
    memory, root = parent_of([b"middle", b"of", b"the alphabet"][:children], "default")
    house = House(dut, memory)
    await house.start()
    assert await house.lid("key", b"a", root) == 1000
    assert await house.lid("before", b"a", root) == 1000
    assert await house.lid("first", b"", root) == 1000
    assert len(house.ports.reads) == 3
    assert await house.lid("last", b"", root) == 1000 + children


@cocotb.test()
async def a_tree_that_is_too_young_leads_to_its_root(dut):
    """Whoever reads it there as a leaf sees that it is too new."""
    memory, root = parent_of([b"key"], "default", version=5)
    house = House(dut, memory)
    await house.start()
    for version, lid, address in ((4, root, memory.lids[root]), (5, 1001, 0)):
        leaf = await house.land(Descent("key", b"key", root, version, 0))
        assert (leaf["failed"], leaf["lid"], leaf["address"]) == (0, lid, address)


@cocotb.test()
async def takes_few_cycles_a_level(dut):
    """Beyond waiting for memory: of a node of 8 KiB that is full of keys of 16 bytes."""
    keys = sorted(random.randbytes(16) for _ in range(290))
    memory, root = parent_of(keys, "default")
    house, busy = House(dut, memory, latency=100), Busy(dut)
    await house.start()
    descents = 100
    for _ in range(descents):
        key = near(random.choice(keys), 16)
        assert await house.lid("key", key, root) == child_for(memory.current(root), key)
    cycles = (busy.cycles - house.ports.waited) / descents
    dut._log.info("%.1f cycles a level beyond memory latency", cycles)
    assert cycles <= 30


@cocotb.test()
async def searches_while_others_wait(dut):
    """Of 87 cycles a descent waits 30 for its node, in which that of another is searched."""
    keys = sorted(random.randbytes(16) for _ in range(290))
    memory, root = parent_of(keys, "default")
    house, busy = House(dut, memory, latency=30), Busy(dut)
    descents = [Descent("key", key, root, 1, slot) for slot, key in enumerate(random.sample(keys, 60))]
    await house.start()
    for descent in descents:
        await house.land(descent)
    one_by_one = busy.cycles
    await house.land_all(descents)
    gain = one_by_one / (busy.cycles - one_by_one)
    dut._log.info("%.2f times as fast", gain)
    assert gain >= 1.4


def test_key_search_unit():
    for descents in (2, 3):
        simulate("key_search_unit", Descents=descents)
