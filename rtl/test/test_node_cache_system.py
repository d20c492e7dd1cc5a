"""Reads of cached nodes return their current contents, although buffers are reused often and memory fails."""

import random
from contextlib import contextmanager
from functools import partial

import cocotb
from buffers import within_page
from cocotb.triggers import RisingEdge
from memories import LINE, HostMemory, drams
from places import Places
from records import record
from runner import simulate
from streams import cycles, start
from test_memory_system import OFF, Clients, Mappings

COUNTERS = record("memory_counters_t")
LIDS = 512
NODE = 64 * 80
# The share of reads and writes of memory that fail. The page table fails once in a million mappings.
ERRORS = 0.03
# The distance of a node from the root, by LID: the root is 3.
DEPTHS = {0: 0, 1: 2, 3: 1}


class Nodes:
    """Nodes whose buffers are replaced. A buffer is reused when all operations that could see it have
    ended. While `may_fail`, reads may end with an error."""

    def __init__(self, dut, buffers: int):
        self.mappings, self.may_fail, self.failed = Mappings(dut), False, 0
        # buffer to the number of its content, which changes with each reuse
        self.contents = {NODE * 2 * at + 512 * random.randrange(1, 8): 0 for at in range(1, buffers + 1)}
        # buffer to the operations that were in flight when it was retired
        self.retired = {}
        self.mapped, self.operations = {}, set()

    def line(self, address: int) -> int:
        """Returns the line at an address."""
        buffer = max(buffer for buffer in self.contents if buffer <= address)
        return random.Random(f"{address} {self.contents[buffer]}").getrandbits(8 * LINE)

    @contextmanager
    def operation(self):
        """An operation, which may see all buffers that are mapped meanwhile."""
        operation = object()
        self.operations.add(operation)
        yield
        self.operations.remove(operation)

    def fails(self, lines: list[dict]) -> bool:
        """Returns whether a read has ended with an error."""
        assert self.may_fail or not lines[-1]["error"]
        self.failed += lines[-1]["error"]
        return bool(lines[-1]["error"])

    def free(self) -> list[int]:
        held = {buffer for buffer, left in self.retired.items() if left & self.operations}
        return [buffer for buffer in self.contents if buffer not in held | set(self.mapped.values())]

    async def replace(self, lid: int):
        """Moves a node to another buffer."""
        buffer = random.choice(self.free())
        self.retired.pop(buffer, None)
        self.contents[buffer] += 1
        old, self.mapped[lid] = self.mapped.get(lid), buffer
        await self.mappings.map(lid, buffer)
        if old is not None:
            self.retired[old] = set(self.operations)

    async def keep_replacing(self, dut, pause: int):
        while True:
            for _ in range(random.randint(0, pause)):
                await RisingEdge(dut.clk_i)
            if self.free():
                await self.replace(random.choice(list(self.mapped)))


async def read_at_place(places, nodes, index: int, count: int, name, more):
    """Executes one operation of a place, which may have two further reads in flight: reads `count` lines of a
    node by LID, then more lines of this buffer. `name` and `more` return the fields of these reads for a LID,
    `more` also the first line and the most lines."""
    with nodes.operation():
        await read_buffer_at_place(places, nodes, index, count, name, more)


async def read_buffer_at_place(places, nodes, index: int, count: int, name, more):
    lid = random.choice(list(nodes.mapped))
    lines = await places.request(index, by_lid=1, lid=lid, first=0, count=count, **name(lid))
    if nodes.fails(lines):
        return
    address = next(buffer for buffer in nodes.contents if nodes.line(buffer) == lines[0]["data"])
    content = nodes.contents[address]
    check_lines(nodes, lines, address, 0, count)
    for _ in range(random.randint(0, 3)):
        reads = []
        for _ in range(random.randint(1, 2)):
            at, most, fields = more(lid)
            count = within_page(address, at, most)
            reads.append((await places.begin(index, follows=1, first=at, count=count, **fields), at, count))
        for number, at, count in reads:
            check_lines(nodes, await places.end(index, number), address, at, count)
    assert nodes.contents[address] == content, "the model reused a buffer too early"


def check_lines(nodes, lines, address: int, first: int, count: int):
    if nodes.fails(lines):
        lines, count = lines[:-1], len(lines) - 1
    words = [nodes.line(address + LINE * (first + at)) for at in range(count)]
    assert [line["data"] for line in lines] == words
    assert not any(line["error"] for line in lines)


def more_of_a_node(lid: int):
    """Returns what a place may read of a node after its first lines."""
    at, most = random.choice(((8, 3), (16, 8), (random.randrange(70), random.randint(1, 10))))
    return at, most, {"lid": lid, "depth": DEPTHS[lid], "cacheable": random.random() < 0.9}


async def read_nodes_at_place(places, nodes, index, rounds):
    def name(lid: int):
        return {"depth": DEPTHS[lid], "cacheable": 1}

    for _ in range(rounds):
        await read_at_place(places, nodes, index, 8, name, more_of_a_node)


async def run(dut, stall, pause, errors=0.0, **switches):
    """Runs all places and returns the counters. If memory fails, it runs them again when it does not."""
    # There are few buffers, so a node often returns to a previous one.
    nodes = Nodes(dut, buffers=5)
    memories = [*drams(dut, stall=stall), HostMemory(dut, nodes.line, stall=stall)]
    places = Places(dut)
    Clients(dut, stall)
    await start(dut, **OFF | switches)
    for lid in DEPTHS:
        await nodes.replace(lid)
    replacing = cocotb.start_soon(nodes.keep_replacing(dut, pause))
    for share in sorted({errors, 0.0}, reverse=True):
        set_errors(memories, nodes, share)
        await read_all(places, nodes)
    replacing.cancel()
    assert (nodes.failed > 0) == (errors > 0)
    return COUNTERS.unpack(int(dut.counters_o.value))


def set_errors(memories, nodes, errors: float):
    """Sets the share of reads and writes of memory that fail from now on. No read is in flight."""
    nodes.may_fail = errors > 0
    for memory in memories:
        memory.errors = errors


async def read_all(places, nodes):
    tasks = [cocotb.start_soon(read_nodes_at_place(places, nodes, index, 25)) for index in places.nodes]
    for task in tasks:
        await task


@cocotb.test()
@cocotb.parametrize(stall=(0.0, 0.3, 0.7), pause=(20, 400))
async def reads_return_current_contents(dut, stall, pause):
    levels = random.choice((0, 1, 2))
    counted = await run(dut, stall, pause, cache_i=1, balance_i=random.getrandbits(1),
                        levels_on_chip_i=levels)
    assert counted["misses"] > 0 and (levels > 0 or counted["chip_lines"] == 0)
    # Nodes that are replaced all the time are rarely read twice, and so is the only node below two levels on
    # chip.
    if pause > 100 and levels < 2:
        assert counted["hits"] > 0 and counted["dram_lines"] > 0


@cocotb.test()
@cocotb.parametrize(stall=(0.0, 0.3), pause=(20, 400))
async def reads_are_correct_or_fail(dut, stall, pause):
    """Memory rejects reads and writes. When it no longer does, all reads succeed."""
    await run(dut, stall, pause, ERRORS, cache_i=1, levels_on_chip_i=random.choice((0, 1, 2)))


@cocotb.test()
async def a_cache_that_is_off_is_not_used(dut):
    counted = await run(dut, 0.0, 100)
    assert not any(counted[name] for name in ("hits", "misses", "dram_lines", "chip_lines"))


@cocotb.test()
@cocotb.parametrize(balance=(0, 1))
async def the_balancer_redirects_hits(dut, balance):
    """With the balancer some hits are read from host memory, without it none."""
    drams(dut, latency=60)
    nodes = Nodes(dut, buffers=12)
    host = HostMemory(dut, nodes.line, latency=0)
    places = Places(dut)
    Clients(dut, 0.0)
    await start(dut, **OFF | {"cache_i": 1, "balance_i": balance})
    await nodes.replace(1)
    read = {"by_lid": 1, "lid": 1, "cacheable": 1, "first": 0, "count": 8}
    for _ in range(2):
        await places.request(0, **read)
        await cycles(dut, 1500)
    before = len(host.reads)
    # The balancer knows a burst some cycles after it began.
    tasks = []
    for index in places.nodes:
        tasks.append(cocotb.start_soon(places.request(index, **read)))
        await cycles(dut, 10)
    for task in tasks:
        await task
    assert before == 1
    assert (len(host.reads) > before) == bool(balance)


@cocotb.test()
@cocotb.parametrize(switches=(("cache_i",), ("levels_on_chip_i",)))
async def a_reused_buffer_returns_new_lines(dut, switches):
    """A reader that began before its node was replaced fills the cache after the drop. A later reader,
    which finds the same buffer in the page table, must not get these lines, even before the mapping is
    accepted."""
    channels = drams(dut, latency=0)
    nodes = Nodes(dut, buffers=2)
    HostMemory(dut, nodes.line, latency=0)
    places = Places(dut)
    Clients(dut, 0.0)
    await start(dut, **OFF | dict.fromkeys(switches, 1))
    first, second = nodes.contents
    node = {"lid": 3, "cacheable": 1, "depth": 1, "first": 0}
    await nodes.mappings.map(3, first)
    await places.request(0, by_lid=1, **node, count=1)
    await nodes.mappings.map(3, second)
    for _ in range(2):
        await places.request(0, follows=1, **node, count=8)
        await cycles(dut, 300)
    nodes.contents[first] += 1
    # The mapping is in the page table after 400 cycles and acknowledged after 800.
    for channel in channels:
        channel.some_cycles = partial(cycles, dut, 400)
    mapping = cocotb.start_soon(nodes.mappings.map(3, first))
    await cycles(dut, 600)
    lines = await places.request(1, by_lid=1, **node, count=8)
    assert not mapping.done()
    check_lines(nodes, lines, first, 0, 8)


@cocotb.test()
async def a_mapping_does_not_wait_for_host_memory(dut):
    """On a shared bus, a store of the writer and the reads that it waits for could block each other."""
    drams(dut, latency=0)
    nodes = Nodes(dut, buffers=2)
    host = HostMemory(dut, nodes.line, stall=1.0)
    clients = Clients(dut, 0.0)
    Places(dut)
    await start(dut, **OFF | {"cache_i": 1})
    for index in range(clients.count):
        cocotb.start_soon(clients.request(index, (max(nodes.contents), 8)))
    for lid in (1, 2):
        await nodes.replace(lid)
    assert host.port.get("arvalid")


def test_node_cache_system():
    sizes = {"ClientCount": 2, "LidCount": LIDS, "CacheSets": 2, "CacheWays": 2,
             "NodeUnits": 2, "NodePlaces": 2}
    simulate("memory_system", tests="test_node_cache_system", **sizes)
