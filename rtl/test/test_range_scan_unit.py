"""A range scan unit returns the same answers as the reader of trees."""

import itertools
import random
from dataclasses import replace
from os.path import commonprefix

import cocotb
from cocotb import start_soon
from cocotb.triggers import RisingEdge
from honeycomb_layout import (
    COLUMN_HEADS_OFFSET,
    INLINE_VALUE_BYTES_MAX,
    STATUS_FAULT,
    STATUS_FOUND,
    CompletionPair,
    LockAndSize,
    NodeHeader,
)
from keys import around, nested_keys, random_keys
from nodes import SHAPES, Entry, Item, Memory, Plan, Shape, child
from place_ports import PlacePorts
from ports import LINE_BYTES, KeyPorts
from runner import SEEDS, simulate
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

# The default capacities of the unit.
LOG_ENTRIES, NODE_BYTES = 64, 8192
# Fewer than by default, so that a scan reaches the limit.
EMPTY_LEAVES = 128


class Bench:
    """The unit with its memory, its key buffers, the source of requests, and a model of the search engine
    for repeated descents."""

    def __init__(self, dut, memory: Memory, stall=0.0, **ports):
        self.dut, self.memory, self.slot = dut, memory, 0
        self.ports = PlacePorts(dut, memory, stall=stall, **ports)
        self.keys = KeyPorts(dut, stall=stall)
        self.leaves = Source(dut, "leaf", stall=stall)
        self.repeated_leaves = Source(dut, "repeated_leaf", stall=stall)
        self.descents = Sink(dut, "repeated", stall=stall)
        self.key_writes = Sink(dut, "key_write", stall=stall)
        self.searches = Searches(memory, self.keys.keys)
        self.answers, self.parts = Sink(dut, "answer", stall=stall), Parts()

    async def start(self):
        geometry = GEOMETRY.pack(node_bytes=self.memory.shape.node_bytes)
        await start(self.dut, geometry_i=geometry)
        start_soon(self.search())

    async def search(self):
        """Writes fence keys into the key buffers and executes repeated descents with them."""
        await end_of_reset(self.dut)
        while True:
            while self.key_writes.got:
                self.searches.write_key(KEY_WRITE.unpack(self.key_writes.got.pop(0)))
            while self.descents.got:
                self.repeated_leaves.put(self.searches.descend(DESCENT.unpack(self.descents.got.pop(0))))
            await RisingEdge(self.dut.clk_i)

    def request(self, read: Read, root: int):
        """Offers the leaf of a read to the unit, by LID or by the address of its buffer."""
        self.slot = (self.slot + 1) % 256
        self.keys.keys[self.slot, 0], self.keys.keys[self.slot, 1] = read.lower, read.upper
        lid, address = self.leaf_of(read, root)
        self.leaves.put(LEAF.pack(lid=lid, address=address, request=read.task(self.slot, root)))

    def leaf_of(self, read: Read, root: int) -> tuple[int, int]:
        """Returns the leaf of a read, with the address of its buffer or without."""
        reader = Reader(self.memory, read.version)
        lid = read.leaf(reader, root)
        return lid, random.choice((0, reader.address(lid) or 0))

    async def next_answer(self, cycles_max=30_000) -> tuple[int, Answer, int]:
        """Returns the slot of the next answer, the answer, and its cycles."""
        for cycles in range(cycles_max):
            while self.answers.got:
                done = self.parts.take(self.answers.got.pop(0))
                if done is not None:
                    return *done, cycles
            await RisingEdge(self.dut.clk_i)
        raise AssertionError(f"no answer in {cycles_max} cycles")

    async def answer(self) -> Answer:
        """Returns the answer to the last request, which must be the next answer."""
        slot, answer, _ = await self.next_answer()
        assert slot == self.slot
        return answer

    async def answer_all(self, reads: list[Read], root: int) -> int:
        """Offers all requests as the unit accepts them and compares the answers, which arrive in any order.
        Returns the number of cycles."""
        requested, cycles_taken = {}, 0
        for read in reads:
            self.request(read, root)
            requested[self.slot] = read
        while requested:
            slot, answer, cycles = await self.next_answer()
            read, cycles_taken = requested.pop(slot), cycles_taken + cycles
            reference = expected(read, Reader(self.memory, read.version), root)
            assert answer == reference, f"{read}\n{answer}\n{reference}"
        return cycles_taken

    async def check(self, read: Read, root: int):
        """Compares an answer with the reader's."""
        await self.answer_all([read], root)

    async def fails(self, read: Read, root: int):
        """Expects the answer for a fault."""
        self.request(read, root)
        assert await self.answer() == Answer(STATUS_FAULT)


def some_version(tree: Tree) -> int:
    """Returns the version of the last write, or a random older one: the oldest precedes the tree."""
    return random.choice((tree.version, random.randint(0, tree.version)))


async def bench_of(dut, shape: str, stall: float, writes=None, value_bytes=VALUE_BYTES, version=1, **ports):
    """Returns a bench, the tree in its memory, and keys of this tree."""
    memory = Memory(SHAPES[shape])
    tree, keys = grow(memory, writes or {"default": 400, "tiny": 150}.get(shape, 200), value_bytes, version)
    bench = Bench(dut, memory, stall, jitter=5 if stall else 0, **{"copies": 0.5} | ports)
    await bench.start()
    return bench, tree, keys


@cocotb.test()
@cocotb.parametrize(shape=list(SHAPES), stall=STALLS)
async def gets(dut, shape, stall):
    bench, tree, keys = await bench_of(dut, shape, stall)
    for _ in range(20):
        await bench.check(random_get(keys, bench.memory.shape.key_bytes_max, some_version(tree)), tree.root)


@cocotb.test()
@cocotb.parametrize(shape=list(SHAPES), stall=STALLS[:2])
async def scans(dut, shape, stall):
    bench, tree, keys = await bench_of(dut, shape, stall)
    for at in range(45):
        flags = ({}, {"floor_start": True}, {"backward": True})[at % 3]
        read = random_scan(keys, bench.memory.shape.key_bytes_max, some_version(tree), **flags)
        await bench.check(read, tree.root)
    if shape == "default":
        assert bench.ports.followed > 0, "the log and the columns were never in flight together"
    half = len(keys) // 2
    for at in range(20):
        # The bound is before the start of the scan.
        bounds = random.choice(keys[half:]), random.choice(keys[:half])
        flags = {"backward": True} if at % 2 else {}
        await bench.check(Read(tree.version, *bounds, flags=flags), tree.root)


@cocotb.test()
async def keys_with_equal_heads(dut):
    """All heads of the leaf are equal, so only longer comparisons decide."""
    memory = Memory(SHAPES["default"])
    tree, keys = Tree(memory), [b"one head%06d" % number for number in range(10, 250, 2)]
    for key in keys:
        tree.put(key, bytes(16))
    bench = Bench(dut, memory, jitter=5)
    await bench.start()
    for at in range(60):
        flags = ({}, {"floor_start": True}, {"backward": True})[at % 3]
        await bench.check(random_get(keys, 40, tree.version), tree.root)
        await bench.check(replace(random_scan(keys, 40, tree.version, **flags), pairs_max=4), tree.root)


@cocotb.test()
@cocotb.parametrize(bits=(32, 40))
async def versions_have_64_bits(dut, bits):
    """Versions of leaves and log entries are below and above a power of two, at which a shorter number
    wraps around."""
    middle = 1 << bits
    bench, tree, keys = await bench_of(dut, "tiny", stall=0.0, version=middle - 75)
    assert tree.version > middle + 50
    for at in range(40):
        newest = tree.version
        beyond = random.randint(middle - 75, newest) + middle
        version = random.choice((middle - 1, middle, middle + 1, middle + 20, newest, beyond))
        make = random_get if at % 2 else random_scan
        await bench.check(make(keys, bench.memory.shape.key_bytes_max, version), tree.root)
    # In the low bits, these read versions are older than an entry and not older than its leaf.
    plans = map(bench.memory.current, bench.memory.lids)
    entries = [entry for plan in plans for entry in plan.entries if entry.version > plan.version]
    assert entries, "no leaf has a log"
    for entry in random.sample(entries, min(10, len(entries))):
        await bench.check(Read(entry.version - 1 + middle, entry.key, is_scan=False), tree.root)


@cocotb.test()
@cocotb.parametrize(version=(1, (1 << 40) - (1 << 30)))
async def versions_of_entries_are_far_from_their_leaf(dut, version):
    """A log word has 31 bits for the distance of its version from that of the leaf, and the age of a leaf has
    64 bits."""
    memory = Memory(SHAPES["default"])
    root, middle, most = memory.reserve_lid(), 1 << 30, (1 << 31) - 1
    keys = [b"key%d" % number for number in range(8)]
    deltas = (0, 1, middle - 1, middle, middle + 1, most - 1, most)
    entries = tuple(Entry(key, version + delta, Item(key, b"new")) for key, delta in zip(keys, deltas))
    items = tuple(Item(key, b"old") for key in keys[1:])
    memory.map(root, memory.place_node(Plan(items=items, entries=entries, version=version)))
    bench = Bench(dut, memory)
    await bench.start()
    ages = [delta + more for delta in (0, middle, most) for more in (-1, 0, 1) if delta + more >= 0]
    # In their low bits, the last ones are as old as some entries.
    ages += [high + age for high in (1 << 31, 1 << 32, 1 << 40) for age in (1, middle)]
    for age in ages:
        for key in keys:
            await bench.check(Read(version + age, key, is_scan=False), root)
        for flags in ({}, {"backward": True}):
            await bench.check(Read(version + age, flags=flags), root)


@cocotb.test()
async def the_newest_visible_entry_of_a_key_decides(dut):
    """All keys have several entries in the log, some of them tombstones."""
    memory = Memory(replace(SHAPES["default"], log_threshold_bytes=6000))
    tree, keys = Tree(memory), [random.randbytes(16) for _ in range(6)]
    for at in range(24):
        tree.write(keys[at % 6], memory.item(keys[at % 6], bytes([at])) if at % 5 else None)
    assert not memory.current(tree.root).items, "the log was consolidated"
    bench = Bench(dut, memory)
    await bench.start()
    for at, key in enumerate(keys):
        for version in range(at + 1, tree.version + 1, 3):
            await bench.check(Read(version, key, is_scan=False), tree.root)
        await bench.check(Read(tree.version, key, is_scan=False), tree.root)


def bounds(key: bytes) -> list[dict]:
    """Returns scans that start or end at a key or beside it, forward and backward."""
    found = []
    for bound in around(key):
        for excluded in (False, True):
            found.append({"upper": bound, "flags": {"upper_excluded": excluded}})
            found.append({"lower": bound, "flags": {"lower_excluded": excluded}})
            found.append({"lower": bound, "flags": {"lower_excluded": excluded, "backward": True}})
    return found


@cocotb.test()
async def bounds_at_fence_keys(dut):
    """A forward scan up to the high fence key of a leaf includes this key, which is in the sibling. A
    backward scan down to the low fence key ends in the leaf."""
    keys = [b"key" + bytes([number]) for number in range(100)]
    memory = Memory(SHAPES["tiny"])
    tree = Tree(memory)
    for key in keys:
        tree.put(key, bytes(30))
    fences = [plan.high for plan in map(memory.current, memory.lids) if plan.level == 0 and plan.high]
    assert len(fences) >= 3 and set(fences) <= set(keys)
    bench = Bench(dut, memory)
    await bench.start()
    for fence in fences[:3]:
        at = keys.index(fence)
        for each in bounds(fence):
            read = Read(tree.version, keys[max(at - 4, 0)], keys[min(at + 4, len(keys) - 1)])
            await bench.check(replace(read, **each), tree.root)


def leaf_with_prefix(length: int, low=b"a", endings=(b"b", b"bb", b"c", b"d" * 70, b"e")):
    """Returns a memory, a root that is a leaf whose keys share this number of bytes, and its keys."""
    memory, prefix = Memory(SHAPES["default"]), random.randbytes(length)
    root, keys = memory.reserve_lid(), [prefix + ending for ending in endings]
    items = tuple(Item(key, bytes(at)) for at, key in enumerate(keys))
    plan = Plan(low=prefix + low, high=prefix + b"f", items=items)
    assert plan.prefix_length == length
    memory.map(root, memory.place_node(plan))
    return memory, root, keys


@cocotb.test()
@cocotb.parametrize(more=(-1, 0, 1))
async def prefixes_have_the_width_of_a_register(dut, more):
    """The unit keeps as many bytes of a prefix as fit into a line with the header of a pair."""
    memory, root, keys = leaf_with_prefix(64 - CompletionPair.SIZE + more)
    bench = Bench(dut, memory)
    await bench.start()
    for key in keys:
        await bench.check(Read(1, key, is_scan=False), root)
    for flags in ({}, {"backward": True}):
        await bench.check(Read(1, flags=flags), root)
        await bench.check(Read(1, flags=flags, keys_only=True), root)
    prefix = commonprefix(keys)
    for bound in (prefix[:-1], prefix, prefix + b"\0", *around(keys[0]), *around(keys[3])):
        await bench.check(Read(1, upper=bound), root)
        await bench.check(Read(1, lower=bound, flags={"backward": True}), root)


@cocotb.test()
async def scans_start_at_the_prefix(dut):
    """The prefix of a leaf is its low fence key and its first key. Scans start there and one byte behind."""
    memory, root, keys = leaf_with_prefix(20, low=b"", endings=(b"", b"\0", b"\0\0", b"b"))
    bench = Bench(dut, memory)
    await bench.start()
    for key in keys:
        await bench.check(Read(1, key, is_scan=False), root)
        await bench.check(Read(1, key), root)
        await bench.check(Read(1, key, flags={"lower_excluded": True}), root)
        await bench.check(Read(1, upper=key, flags={"backward": True}), root)


@cocotb.test()
@cocotb.parametrize(consolidates=(False, True))
async def keys_have_the_length_of_windows(dut, consolidates):
    """Only the length of the longer key decides, where the compared bytes begin or end: of items and of log
    entries."""
    memory = Memory(replace(SHAPES["default"], log_threshold_bytes=0 if consolidates else 6000))
    # Head and first bytes after it.
    first = 8 + 52
    tree, keys = Tree(memory), nested_keys(8, 32, first, 64 + first)
    for key in keys[::2]:
        tree.put(key, bytes(5))
    bench = Bench(dut, memory)
    await bench.start()
    assert bool(memory.current(tree.root).items) == consolidates
    for key in keys:
        await bench.check(Read(tree.version, key, is_scan=False), tree.root)
        for bound in around(key):
            await bench.check(Read(tree.version, bound, pairs_max=1), tree.root)
        await bench.check(Read(tree.version, upper=key), tree.root)


@cocotb.test()
@cocotb.parametrize(length=(0, 20))
async def values_have_the_greatest_length_in_an_item(dut, length):
    """One byte less, as many as an item may have, and one more, which is an overflow value."""
    lengths = [INLINE_VALUE_BYTES_MAX + more for more in (-1, 0, 1)]
    memory, prefix, roots = Memory(SHAPES["default"]), random.randbytes(length), []
    keys = [prefix + b"b%d" % number + rest for number, rest in enumerate((b"", b"x" * 60, b"y" * 400))]
    for values in itertools.permutations(map(random.randbytes, lengths)):
        items = tuple(map(memory.item, keys, values))
        assert [item.overflow for item in items] == [len(value) > INLINE_VALUE_BYTES_MAX for value in values]
        roots.append(memory.reserve_lid())
        memory.map(roots[-1], memory.place_node(Plan(low=prefix + b"a", high=prefix + b"c", items=items)))
    bench = Bench(dut, memory)
    await bench.start()
    for root in roots:
        for key in keys:
            await bench.check(Read(1, key, is_scan=False), root)
        for flags in ({}, {"backward": True}):
            await bench.check(Read(1, flags=flags), root)


@cocotb.test()
@cocotb.parametrize(keys_only=(False, True))
async def limits_end_with_a_pair(dut, keys_only):
    """A scan may emit the bytes of some pairs, one less, or one more, in one leaf or in several."""
    memory = Memory(SHAPES["tiny"])
    lids = leaves_in_a_row(memory, [b"one", b"", b"two", b"three", b""])
    first = memory.current(lids[0])
    items = tuple(Item(first.low + b"%d" % at, bytes(9 * at)) for at in range(4))
    memory.change(lids[0], items=items)
    bench = Bench(dut, memory)
    bench.leaf_of = lambda *_: (lids[0], 0)
    await bench.start()
    scan = Read(1, keys_only=keys_only)
    pairs = [pair for lid in lids for pair in Reader(memory, 1).pairs(lid)]
    sizes = [len(key) + (0 if keys_only else len(value)) for key, value in pairs]
    for count, more in itertools.product(range(len(pairs) + 1), (-1, 0, 1)):
        limits = {"bytes_max": sum(sizes[:count]) + more, "pairs_max": count + more}
        for name, limit in limits.items():
            read = replace(scan, **{name: max(limit, 0)})
            bench.request(read, lids[0])
            answer = await bench.answer()
            assert (answer.pairs, answer.more) == within_limits(read, pairs), read


def within_limits(read: Read, pairs: list[tuple[bytes, bytes]]) -> tuple[list[tuple[bytes, bytes]], bool]:
    """Returns the pairs that a scan of all pairs returns, and whether there are more."""
    found, bytes_left = [], read.bytes_max
    for key, value in pairs:
        if len(found) == read.pairs_max or bytes_left <= 0:
            return found, True
        found.append((key, b"" if read.keys_only else value))
        bytes_left -= len(key) + len(found[-1][1])
    return found, False


class Sizes(Parts):
    """Answers, and the bytes of their parts."""

    def __init__(self):
        super().__init__()
        self.sizes = []

    def add(self, head: dict[str, int], body: bytes):
        self.sizes.append(head["bytes"])
        super().add(head, body)


@cocotb.test()
@cocotb.parametrize(more=(-1, 0, 1), length=(0, 20), last=(30, 150))
async def pairs_fill_a_part_of_an_answer(dut, more, length, last):
    """A pair lacks a byte of the end of a part, ends with it, or needs a byte more and begins another part.
    It is read at once, or moved."""
    memory, prefix = Memory(SHAPES["default"]), random.randbytes(length)
    keys = [prefix + b"key%02d" % number for number in range(5)]
    # The pairs before it; another one follows.
    room = RESULT_BYTES - 4 * (CompletionPair.SIZE + len(keys[0])) - last
    sizes = (room // 3, room // 3, room - 2 * (room // 3), last + more, 30)
    items = tuple(Item(key, random.randbytes(size)) for key, size in zip(keys, sizes))
    root = memory.reserve_lid()
    memory.map(root, memory.place_node(Plan(low=prefix + b"a", high=prefix + b"z", items=items)))
    bench = Bench(dut, memory)
    bench.parts = Sizes()
    await bench.start()
    await bench.check(Read(1), root)
    begins_part = CompletionPair.SIZE + len(items[3].key) + len(items[3].value) if more > 0 else 0
    assert bench.parts.sizes[0] == RESULT_BYTES + more - begins_part


@cocotb.test()
@cocotb.parametrize(backward=[False, True])
async def scans_of_older_versions_repeat_descents(dut, backward):
    bench, tree, keys = await bench_of(dut, "tiny", stall=0.3, writes=400)
    for _ in range(30):
        version = random.randint(0, tree.version)
        read = random_scan(keys, bench.memory.shape.key_bytes_max, version, backward=backward)
        await bench.check(replace(read, pairs_max=NO_LIMIT, bytes_max=NO_LIMIT), tree.root)
    assert bench.searches.count > 0


@cocotb.test()
@cocotb.parametrize(backward=[False, True])
async def a_floor_is_in_a_distant_leaf(dut, backward):
    """Most leaves are empty, so the floor is in a leaf far from the first one."""
    bench, tree, keys = await bench_of(dut, "tiny", stall=0.0, writes=100, value_bytes=(30,))
    left = {key for key, _ in Reader(bench.memory, tree.version).pairs(tree.root)}
    for key in sorted(left)[1:-1]:
        tree.delete(key)
    for _ in range(8):
        flags = {"backward": True} if backward else {"floor_start": True}
        # The floor is in the range even if the start of the scan is beyond it.
        upper = random.choice((b"", max(keys), min(left)))
        await bench.check(Read(tree.version, random.choice(keys), upper, flags=flags), tree.root)


@cocotb.test()
async def reads_of_failing_memory(dut):
    bench, tree, keys = await bench_of(dut, "odd", stall=0.3, failures=0.15)
    outcomes = set()
    for at in range(80):
        make = random_get if at % 2 else random_scan
        read = make(keys, bench.memory.shape.key_bytes_max, tree.version)
        reference = expected(read, Reader(bench.memory, read.version), tree.root)
        bench.request(read, tree.root)
        failed = bench.ports.failed
        answer = await bench.answer()
        outcomes.add(answer.status)
        if answer.status == STATUS_FAULT:
            assert bench.ports.failed > failed
        else:
            assert answer == reference
    assert outcomes >= {STATUS_FAULT, STATUS_FOUND}


@cocotb.test()
async def failing_reads_beside_each_other(dut):
    """A read may fail in any cycle, such as that in which its slot is chosen for a step."""
    bench, tree, keys = await bench_of(dut, "default", stall=0.0, failures=0.1)
    answers = []
    for _ in range(100):
        requested = {}
        for _ in range(6):
            make = random_get if random.random() < 0.6 else random_scan
            read = make(keys, bench.memory.shape.key_bytes_max, tree.version)
            bench.request(read, tree.root)
            requested[bench.slot] = read
        while requested:
            slot, answer, _ = await bench.next_answer()
            read = requested.pop(slot)
            answers.append(answer.status)
            if answer.status != STATUS_FAULT:
                assert answer == expected(read, Reader(bench.memory, read.version), tree.root)
    assert set(answers) >= {STATUS_FAULT, STATUS_FOUND}


@cocotb.test()
@cocotb.parametrize(node_bytes=(NODE_BYTES, 2 * NODE_BYTES))
async def leaves_that_are_too_large(dut, node_bytes):
    """A log with more entries than the sorter has room for, and a node larger than the leaf buffer: the
    unit returns no incorrect answer."""
    memory = Memory(Shape(node_bytes=node_bytes, log_threshold_bytes=4000))
    tree = Tree(memory)
    bench = Bench(dut, memory)
    await bench.start()
    for at in range(70):
        tree.put(b"%02d" % at, b"value")
    get = Read(tree.version, b"33", is_scan=False)
    if node_bytes > NODE_BYTES:
        await bench.fails(get, tree.root)
    else:
        await bench.check(get, tree.root)
        await bench.check(Read(LOG_ENTRIES + 1, b"33"), tree.root)
    await bench.fails(Read(tree.version, b"33"), tree.root)


@cocotb.test()
async def log_entries_beside_heads(dut):
    """In a small leaf, log entries share a line with heads, which is not read as columns."""
    memory = Memory(SHAPES["default"])
    root, key = memory.reserve_lid(), b"b"
    entries = (Entry(b"a", 2, Item(b"a", b"1")), Entry(b"b", 3, Item(b"b", b"2")))
    memory.map(root, memory.place_node(Plan(items=(Item(key, b"0"),), entries=entries)))
    bench = Bench(dut, memory, copies=0.5)
    await bench.start()
    for version in (1, 2, 3) * 4:
        await bench.check(Read(version, key, is_scan=False), root)
        await bench.check(Read(version), root)
    line = COLUMN_HEADS_OFFSET // LINE_BYTES
    heads = [read for read in bench.ports.line_reads if read["follows"] and read["first"] == line]
    assert heads and not any(read["columns"] for read in heads)


@cocotb.test()
async def log_entries_that_a_copy_lacks(dut):
    """A get returns the newest log entry of its key, also if the header of the copy does not have it yet."""
    memory = Memory(SHAPES["default"])
    root, keys = memory.reserve_lid(), [b"key%02d" % number for number in range(20)]
    entries = tuple(Entry(key, 2, Item(key, b"new")) for key in keys[:6])
    memory.map(root, memory.place_node(Plan(items=tuple(Item(key, b"old") for key in keys), entries=entries)))
    bench = Bench(dut, memory, copies=1.0)
    await bench.start()
    for key in keys[:8] * 3:
        await bench.check(Read(random.choice((1, 2)), key, is_scan=False), root)


def set_size(memory: Memory, lid: int, size: int):
    """Writes a size into the header of a node, whose other bytes remain."""
    address = memory.lids[lid]
    header, rest = NodeHeader.unpack(memory.buffers[address][:64]), memory.buffers[address][64:]
    state = replace(LockAndSize.from_int(header.lock_and_size), size=size)
    memory.buffers[address] = replace(header, lock_and_size=state.to_int()).pack() + rest


@cocotb.test()
async def a_leaf_ends_where_its_buffer_does(dut):
    """A leaf without a log may fill its buffer. A size of a byte more is a fault, one less may be."""
    memory = Memory(SHAPES["tiny"])
    keys = [b"%d" % number for number in range(8)]
    plans = (Plan(items=tuple(Item(key, bytes(fill)) for key in keys[1:]) + (Item(b"8", bytes(last)),))
             for fill in range(90, 100) for last in range(100))
    full = next(plan for plan in plans if (data := plan.build(memory.shape)) and size_in(data) == len(data))
    root = memory.reserve_lid()
    memory.map(root, memory.place_node(full))
    bench = Bench(dut, memory)
    await bench.start()
    for flags in ({}, {"backward": True}):
        await bench.check(Read(1, flags=flags), root)
    for key in (b"0", b"1", b"8", b"80"):
        await bench.check(Read(1, key, is_scan=False), root)
    set_size(memory, root, memory.shape.node_bytes - 1)
    await bench.check(Read(1, b"1", is_scan=False), root)
    set_size(memory, root, memory.shape.node_bytes + 1)
    await bench.fails(Read(1, b"1", is_scan=False), root)
    await bench.fails(Read(1), root)


def size_in(node: bytes) -> int:
    """Returns the size that a node states."""
    return LockAndSize.from_int(NodeHeader.unpack(node[:64]).lock_and_size).size


@cocotb.test()
async def current_headers_that_are_too_large(dut):
    """A header that exceeds the buffer is noticed, also if that of a copy did not."""
    memory = Memory(SHAPES["default"])
    tree, bench = Tree(memory), Bench(dut, memory, copies=1.0)
    await bench.start()
    for at in range(4):
        tree.put(b"%d" % at, b"value")
    set_size(memory, tree.root, NODE_BYTES + 64)
    for _ in range(12):
        await bench.fails(Read(tree.version, b"absent", is_scan=False), tree.root)


async def every_read_fails(bench: Bench, lid: int, version: int):
    """Expects faults of a get and of scans that begin at a leaf."""
    await bench.fails(Read(version, b"a", is_scan=False), lid)
    for flags in ({}, {"backward": True}):
        await bench.fails(Read(version, flags=flags), lid)


@cocotb.test()
@cocotb.parametrize(copies=(0.0, 1.0))
async def previous_versions_are_older(dut, copies):
    """Previous versions of a leaf that are not older lead to a fault."""
    memory = Memory(SHAPES["tiny"])
    lid, plan = memory.reserve_lid(), Plan(items=(Item(b"a", b"value"),), version=9)
    memory.map(lid, memory.place_node(plan))
    bench = Bench(dut, memory, copies=copies)
    bench.leaf_of = lambda *_: (lid, 0)
    await bench.start()
    memory.change(lid, previous=memory.lids[lid])
    await every_read_fails(bench, lid, 8)
    for version in (9, 10, 1 << 40):
        previous = replace(plan, version=version, previous=memory.lids[lid])
        memory.change(lid, previous=memory.place_node(previous))
        await every_read_fails(bench, lid, 8)
    memory.change(lid, previous=memory.place_node(replace(plan, version=8)))
    bench.request(Read(8), lid)
    assert (await bench.answer()).pairs == [(b"a", b"value")]


@cocotb.test()
async def a_leaf_has_the_level_0(dut):
    """A descent that ends at an interior node leads to a fault, unless the tree is too new."""
    memory = Memory(SHAPES["tiny"])
    lid = memory.reserve_lid()
    memory.map(lid, memory.place_node(Plan(level=1, left=lid, items=(child(b"a", lid),), version=5)))
    bench = Bench(dut, memory)
    bench.leaf_of = lambda *_: (lid, 0)
    await bench.start()
    await every_read_fails(bench, lid, 5)
    await bench.check(Read(4), lid)
    await bench.check(Read(4, b"a", is_scan=False), lid)


def leaves_in_a_row(memory: Memory, pairs: list[bytes]) -> list[int]:
    """Returns leaves that are siblings: each has the pair of a key, or none."""
    lids = [memory.reserve_lid() for _ in pairs]
    for at, (lid, key) in enumerate(zip(lids, pairs)):
        low, high = (b"%05d" % (at + more) for more in (0, 1))
        items = (Item(low + key, b"value"),) if key else ()
        siblings = {"left": lids[at - 1] if at else 0, "right": (lids + [0])[at + 1]}
        memory.map(lid, memory.place_node(Plan(low=low, high=high, items=items, **siblings)))
    return lids


@cocotb.test()
@cocotb.parametrize(length=(1, 2, 3))
async def siblings_in_a_ring(dut, length):
    """Empty leaves that are siblings of each other lead to a fault, also behind a leaf with a pair."""
    memory = Memory(SHAPES["tiny"])
    first, *ring = leaves_in_a_row(memory, [b"pair"] + [b""] * length)
    memory.change(ring[0], left=ring[-1])
    memory.change(ring[-1], right=ring[0])
    bench = Bench(dut, memory)
    await bench.start()
    for flags in ({}, {"backward": True}):
        bench.leaf_of = lambda *_: (ring[0], 0)
        await bench.fails(Read(1, flags=flags), ring[0])
    await bench.fails(Read(1, b"00001", flags={"floor_start": True}), ring[0])
    bench.leaf_of = lambda *_: (first, 0)
    bench.request(Read(1), first)
    assert (await bench.answer()).status == STATUS_FAULT


@cocotb.test()
async def leaves_without_pairs_are_counted_from_the_last_pair(dut):
    """One leaf less than the unit allows is before each pair."""
    memory, most = Memory(SHAPES["tiny"]), int(dut.EmptyLeaves.value)
    empty = [b""] * most
    lids = leaves_in_a_row(memory, [*empty[1:], b"one", *empty[1:], b"two", *empty[1:], b""])
    bench = Bench(dut, memory)
    bench.leaf_of = lambda *_: (lids[0], 0)
    await bench.start()
    bench.request(Read(1), lids[0])
    slot, answer, _ = await bench.next_answer(100_000)
    assert (slot, answer.status, len(answer.pairs)) == (bench.slot, STATUS_FOUND, 2)
    lids = leaves_in_a_row(memory, [*empty, b"one"])
    await bench.fails(Read(1), lids[0])


@cocotb.test()
@cocotb.parametrize(shape=["default", "tiny"], stall=STALLS[:2])
async def many_reads(dut, shape, stall):
    """Several requests in flight do not see each other's data."""
    bench, tree, keys = await bench_of(dut, shape, stall)
    bench.ports.jitter = bench.ports.values.jitter = 40
    bytes_max = bench.memory.shape.key_bytes_max
    for _ in range(3):
        reads = []
        for at in range(30):
            flags = ({}, {"floor_start": True}, {"backward": True})[at % 3]
            version = some_version(tree)
            scan = random_scan(keys, bytes_max, version, **flags)
            reads.append(random.choice((random_get(keys, bytes_max, version), scan)))
        await bench.answer_all(reads, tree.root)


@cocotb.test()
@cocotb.parametrize(value_bytes=[16, 90])
async def pairs_wait_for_the_receiver(dut, value_bytes):
    """The unit reads pairs faster than the receiver accepts them, so it waits while it emits a pair. The
    bytes of a long pair stay those of the pair while the unit prepares the next item."""
    memory = Memory(SHAPES["sorted"])
    tree, keys = Tree(memory), [b"key%05d" % number for number in range(90)]
    for key in keys:
        tree.put(key, random.randbytes(value_bytes))
    bench = Bench(dut, memory)
    bench.answers.stall = 0.95
    await bench.start()
    for flags in ({}, {"backward": True}):
        await bench.check(Read(tree.version, flags=flags), tree.root)


@cocotb.test()
@cocotb.parametrize(backward=[False, True])
async def short_scans_wait_for_no_line(dut, backward):
    """All lines of a scan within a leaf without a log are requested before the unit needs them."""
    memory = Memory(SHAPES["sorted"])
    tree, keys = Tree(memory), [b"key%05d" % number for number in range(90)]
    for key in keys:
        tree.put(key, bytes(16))
    bench = Bench(dut, memory)
    await bench.start()
    start_soon(no_line_is_missing(dut))
    for key in random.sample(keys, 20):
        bounds = {"upper": key, "flags": {"backward": True}} if backward else {"lower": key}
        await bench.check(Read(tree.version, pairs_max=4, **bounds), tree.root)


@cocotb.test()
async def a_scan_after_the_searched_heads_waits_for_no_line(dut):
    """The position of an absent key can be the item after the searched heads, whose offset can be in the next
    line: with these numbers of items, lines of offsets start where groups of heads do. The slot has had this
    line of another leaf, whose offsets name other lines."""
    memory = Memory(SHAPES["sorted"])
    trees, keys = [Tree(memory), Tree(memory)], [b"key%05d" % number for number in range(2 * 88)]
    for value_bytes, tree in zip((8, 16), trees):
        for number, key in enumerate(keys[::2]):
            tree.put(key, bytes(value_bytes + 4 * (number % 2)))
        assert memory.current(tree.root).level == 0, "the tree has several leaves"
    bench = Bench(dut, memory)
    await bench.start()
    start_soon(no_line_is_missing(dut))
    for key in keys[1::2]:
        for tree in trees:
            await bench.check(Read(tree.version, key, pairs_max=2), tree.root)


async def no_line_is_missing(dut):
    """Checks that no window lacks a line."""
    while True:
        await RisingEdge(dut.clk_i)
        assert dut.u_slots.u_lines.lacks_valid.value == 0, "a line was not requested before"


@cocotb.test()
async def leaves_arrive_during_other_requests(dut):
    """While the leaf of one request arrives, the unit works on others."""
    memory = Memory(SHAPES["default"])
    tree, keys = Tree(memory), [random.randbytes(16) for _ in range(120)]
    for key in keys:
        tree.put(key, bytes(16))
    bench = Bench(dut, memory, latency=300)
    await bench.start()
    reads = [Read(tree.version, random.choice(keys), pairs_max=1) for _ in range(24)]
    one = sum([await bench.answer_all([read], tree.root) for read in reads])
    assert one > len(reads) * 600, "the reads did not wait twice"
    together = await bench.answer_all(reads, tree.root)
    assert together < one / int(dut.Slots.value) + 1000, f"{one}, {together}"


@cocotb.test()
@cocotb.parametrize(pairs=[0, 4], value_bytes=[500, 2000])
async def values_arrive_during_other_requests(dut, pairs, value_bytes):
    """While overflow values arrive, the unit works on other requests, and reads their values."""
    memory = Memory(SHAPES["default"])
    tree, keys = Tree(memory), [random.randbytes(16) for _ in range(80)]
    for key in keys:
        tree.put(key, random.randbytes(value_bytes))
    bench = Bench(dut, memory)
    bench.ports.values.latency = 600
    await bench.start()
    keys = random.sample(keys, 24)
    reads = [Read(tree.version, key, is_scan=bool(pairs), pairs_max=pairs or 1) for key in keys]
    one = sum([await bench.answer_all([read], tree.root) for read in reads])
    assert one > len(reads) * 600, "the reads did not wait"
    together = await bench.answer_all(reads, tree.root)
    assert together < one / 2, f"{one}, {together}"
    assert bench.ports.values.most == bench.ports.values.OPEN_MAX


@cocotb.test()
async def a_value_that_fails_fails_only_its_request(dut):
    """Requests whose values are in flight at the same time, and scans that continue with siblings between the
    results of others, fail if and only if a read of theirs fails."""
    memory = Memory(SHAPES["tiny"])
    tree, keys = Tree(memory), random_keys(40, SHAPES["tiny"].key_bytes_max)
    for key in keys:
        tree.put(key, random.randbytes(700))
    bench = Bench(dut, memory)
    values, faults = bench.ports.values, 0
    values.latency, values.failures = 200, 0.05
    await bench.start()
    for _ in range(3):
        reads = {}
        for key in keys:
            is_scan = random.random() < 0.5
            bench.request(Read(tree.version, key, is_scan=is_scan, pairs_max=6), tree.root)
            reads[bench.slot] = Read(tree.version, key, is_scan=is_scan, pairs_max=6)
        for _ in keys:
            slot, answer, _ = await bench.next_answer()
            faults += answer.status == STATUS_FAULT
            reference = expected(reads[slot], Reader(memory, tree.version), tree.root)
            assert answer.status == STATUS_FAULT or answer == reference
    # A scan may have several values that fail.
    assert values.failed / 2 < faults <= values.failed


def test_range_scan_unit():
    unit = {"module": "range_scan_unit", "ResultLines": RESULT_BYTES // 64, "EmptyLeaves": EMPTY_LEAVES}
    simulate(**unit, Slots=3)
    # Most tests send one request at a time, so the number of slots makes no difference to them.
    simulate(**unit, Slots=1, only="many_reads", seeds=SEEDS[:1])
