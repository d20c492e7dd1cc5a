"""A range scan unit answers as the reader of trees says."""

import random
from dataclasses import replace

import cocotb
from cocotb import start_soon
from cocotb.triggers import RisingEdge
from honeycomb_layout import STATUS_FAULT, STATUS_FOUND
from nodes import SHAPES, Memory, Shape
from ports import KeyPorts, MemoryPorts
from runner import simulate
from scans import (
    DESCENT,
    GEOMETRY,
    KEY_WRITE,
    LEAF,
    NO_LIMIT,
    RESULT_BYTES,
    VALUE_BYTES,
    Answer,
    Parts,
    Read,
    Searches,
    expected,
    grow,
    random_get,
    random_scan,
)
from streams import STALLS, Sink, Source, end_of_reset, start
from trees import Reader, Tree

# Of the unit, by default.
LOG_ENTRIES = 64


class House:
    """The unit between its memory, its key buffers, who asks, and a search that goes down again."""

    def __init__(self, dut, memory: Memory, stall=0.0, **ports):
        self.dut, self.memory, self.slot = dut, memory, 0
        self.ports = MemoryPorts(dut, memory, int(dut.Slots.value), stall=stall, **ports)
        self.keys = KeyPorts(dut, stall=stall)
        self.leaves = Source(dut, "leaf", stall=stall)
        self.repeated_leaves = Source(dut, "repeated_leaf", stall=stall)
        self.descents = Sink(dut, "repeated", stall=stall)
        self.key_writes = Sink(dut, "key_write", stall=stall)
        self.searches = Searches(memory, self.keys.keys)
        self.answers, self.parts = Sink(dut, "answer", stall=stall), Parts()

    async def start(self):
        shape = self.memory.shape
        geometry = GEOMETRY.pack(sorted_start=shape.sorted_start, shortcut_capacity=shape.capacity)
        await start(self.dut, geometry_i=geometry)
        start_soon(self.search())

    async def search(self):
        """Writes keys over those in the key buffers, and goes down again with them."""
        await end_of_reset(self.dut)
        while True:
            while self.key_writes.got:
                self.searches.write_key(KEY_WRITE.unpack(self.key_writes.got.pop(0)))
            while self.descents.got:
                self.repeated_leaves.put(self.searches.go_down(DESCENT.unpack(self.descents.got.pop(0))))
            await RisingEdge(self.dut.clk_i)

    def ask(self, read: Read, root: int):
        """Hands the unit the leaf of a read, by its LID or by its buffer's address."""
        self.slot = (self.slot + 1) % 256
        self.keys.keys[self.slot, 0], self.keys.keys[self.slot, 1] = read.lower, read.upper
        reader = Reader(self.memory, read.version)
        lid = read.leaf(reader, root)
        address = random.choice((0, reader.address(lid) or 0))
        self.leaves.put(LEAF.pack(lid=lid, address=address, request=read.task(self.slot, root)))

    async def next_answer(self, cycles_max=30_000) -> tuple[int, Answer, int]:
        """The slot that the next answer is of, the answer, and how many cycles it took."""
        for cycles in range(cycles_max):
            while self.answers.got:
                done = self.parts.take(self.answers.got.pop(0))
                if done is not None:
                    return *done, cycles
            await RisingEdge(self.dut.clk_i)
        raise AssertionError(f"no answer in {cycles_max} cycles")

    async def answer(self) -> Answer:
        """The answer to what was asked for last, which comes next."""
        slot, answer, _ = await self.next_answer()
        assert slot == self.slot
        return answer

    async def answer_all(self, reads: list[Read], root: int) -> int:
        """Asks for all that the unit takes, and compares their answers, which come one after the other in any
        order of the reads. How many cycles it took."""
        asked, took = {}, 0
        for read in reads:
            self.ask(read, root)
            asked[self.slot] = read
        while asked:
            slot, answer, cycles = await self.next_answer()
            read, took = asked.pop(slot), took + cycles
            wanted = expected(read, Reader(self.memory, read.version), root)
            assert answer == wanted, f"{read}\n{answer}\n{wanted}"
        return took

    async def check(self, read: Read, root: int):
        """Compares an answer with the reader's."""
        await self.answer_all([read], root)

    async def fails(self, read: Read, root: int):
        """Wants the answer that nothing is known."""
        self.ask(read, root)
        assert await self.answer() == Answer(STATUS_FAULT)


def some_version(tree: Tree) -> int:
    """Mostly that of the last write; the oldest is before the tree was made."""
    return random.choice((tree.version, random.randint(0, tree.version)))


async def house_of(dut, shape: str, stall: float, writes=None, value_bytes=VALUE_BYTES, **ports):
    """A house, the tree in its memory, and keys of that."""
    memory = Memory(SHAPES[shape])
    tree, keys = grow(memory, writes or {"default": 400, "tiny": 150}.get(shape, 200), value_bytes)
    house = House(dut, memory, stall, jitter=5 if stall else 0, **ports)
    await house.start()
    return house, tree, keys


@cocotb.test()
@cocotb.parametrize(shape=list(SHAPES), stall=STALLS)
async def gets(dut, shape, stall):
    house, tree, keys = await house_of(dut, shape, stall)
    for _ in range(20):
        await house.check(random_get(keys, house.memory.shape.key_bytes_max, some_version(tree)), tree.root)


@cocotb.test()
@cocotb.parametrize(shape=list(SHAPES), stall=STALLS[:2])
async def scans(dut, shape, stall):
    house, tree, keys = await house_of(dut, shape, stall)
    for at in range(45):
        flags = ({}, {"floor_start": True}, {"backward": True})[at % 3]
        read = random_scan(keys, house.memory.shape.key_bytes_max, some_version(tree), **flags)
        await house.check(read, tree.root)
    if shape == "default":
        assert house.ports.followed > 0, "the log and the segment are on their way together"
    half = len(keys) // 2
    for at in range(20):
        # The bound lies before where the scan starts.
        bounds = random.choice(keys[half:]), random.choice(keys[:half])
        flags = {"backward": True} if at % 2 else {}
        await house.check(Read(tree.version, *bounds, flags=flags), tree.root)


@cocotb.test()
async def keys_of_one_head(dut):
    """A leaf all of whose heads are equal, so that they say nothing."""
    memory = Memory(SHAPES["default"])
    tree, keys = Tree(memory), [b"one head%06d" % number for number in range(10, 250, 2)]
    for key in keys:
        tree.put(key, bytes(16))
    house = House(dut, memory, jitter=5)
    await house.start()
    for at in range(60):
        flags = ({}, {"floor_start": True}, {"backward": True})[at % 3]
        await house.check(random_get(keys, 40, tree.version), tree.root)
        await house.check(replace(random_scan(keys, 40, tree.version, **flags), pairs_max=4), tree.root)


@cocotb.test()
@cocotb.parametrize(backward=[False, True])
async def scans_of_older_versions_go_down_again(dut, backward):
    house, tree, keys = await house_of(dut, "tiny", stall=0.3, writes=250)
    for _ in range(30):
        version = random.randint(0, tree.version)
        read = random_scan(keys, house.memory.shape.key_bytes_max, version, backward=backward)
        await house.check(replace(read, pairs_max=NO_LIMIT, bytes_max=NO_LIMIT), tree.root)
    assert house.searches.count > 0


@cocotb.test()
@cocotb.parametrize(backward=[False, True])
async def a_floor_is_leaves_away(dut, backward):
    """Most leaves are empty: what a scan looks for is in another one than that it starts in."""
    house, tree, keys = await house_of(dut, "tiny", stall=0.0, writes=100, value_bytes=(30,))
    left = {key for key, _ in Reader(house.memory, tree.version).pairs(tree.root)}
    for key in sorted(left)[1:-1]:
        tree.delete(key)
    for _ in range(8):
        flags = {"backward": True} if backward else {"floor_start": True}
        # The floor is in the range even if where the scan starts is beyond it.
        upper = random.choice((b"", max(keys), min(left)))
        await house.check(Read(tree.version, random.choice(keys), upper, flags=flags), tree.root)


@cocotb.test()
async def reads_of_memory_that_fails(dut):
    house, tree, keys = await house_of(dut, "odd", stall=0.3, failures=0.15)
    outcomes = set()
    for at in range(80):
        make = random_get if at % 2 else random_scan
        read = make(keys, house.memory.shape.key_bytes_max, tree.version)
        wanted = expected(read, Reader(house.memory, read.version), tree.root)
        house.ask(read, tree.root)
        failed = house.ports.failed
        answer = await house.answer()
        outcomes.add(answer.status)
        if answer.status == STATUS_FAULT:
            assert house.ports.failed > failed
        elif len(wanted.value) <= house.memory.shape.inline_value_bytes_max:
            assert answer == wanted
    assert outcomes >= {STATUS_FAULT, STATUS_FOUND}


@cocotb.test()
async def leaves_that_are_too_large(dut):
    """A log of more entries than a scan has room for, a node longer than the buffer: no wrong answer."""
    memory = Memory(Shape(node_bytes=16384, log_threshold_bytes=4000))
    tree = Tree(memory)
    house = House(dut, memory)
    await house.start()
    for at in range(70):
        tree.put(b"%02d" % at, b"value")
    await house.check(Read(tree.version, b"33", is_scan=False), tree.root)
    await house.check(Read(LOG_ENTRIES + 1, b"33"), tree.root)
    await house.fails(Read(tree.version, b"33"), tree.root)
    for at in range(30):
        tree.put(b"%02d" % at, bytes(400))
    await house.fails(Read(tree.version, b"33", is_scan=False), tree.root)
    await house.fails(Read(tree.version, b"33"), tree.root)


@cocotb.test()
@cocotb.parametrize(shape=["default", "tiny"], stall=STALLS[:2])
async def many_reads(dut, shape, stall):
    """Of several requests that the unit has at the same time none sees what is another's."""
    house, tree, keys = await house_of(dut, shape, stall)
    house.ports.jitter = 40
    bytes_max = house.memory.shape.key_bytes_max
    for _ in range(3):
        reads = []
        for at in range(30):
            flags = ({}, {"floor_start": True}, {"backward": True})[at % 3]
            version = some_version(tree)
            scan = random_scan(keys, bytes_max, version, **flags)
            reads.append(random.choice((random_get(keys, bytes_max, version), scan)))
        await house.answer_all(reads, tree.root)


@cocotb.test()
async def leaves_come_meanwhile(dut):
    """While the leaf of one request comes, others are worked on."""
    memory = Memory(SHAPES["default"])
    tree, keys = Tree(memory), [random.randbytes(16) for _ in range(120)]
    for key in keys:
        tree.put(key, bytes(16))
    house = House(dut, memory, latency=300)
    await house.start()
    reads = [Read(tree.version, random.choice(keys), pairs_max=1) for _ in range(24)]
    one = sum([await house.answer_all([read], tree.root) for read in reads])
    assert one > len(reads) * 600, "each waits twice"
    together = await house.answer_all(reads, tree.root)
    assert together < one / int(dut.Slots.value) + 1000, f"{one}, {together}"


def test_range_scan_unit():
    for slots in (1, 3):
        simulate("range_scan_unit", Slots=slots, ResultLines=RESULT_BYTES // 64)
