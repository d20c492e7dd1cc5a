"""Reads by LID and by address return the lines of host memory in order, while mappings change."""

import random
from collections import defaultdict

import cocotb
from buffers import within_page
from cocotb.triggers import RisingEdge
from memories import LINE, HostMemory, drams
from places import Places
from records import record
from runner import simulate
from streams import Lanes, end_of_reset, start

READ, BEAT = record("line_read_t"), record("line_beat_t")
COUNTERS = record("memory_counters_t")
LIDS = 512
ARENA = 1 << 20
# Switches that are off.
OFF = dict.fromkeys(("cache_i", "cache_halvings_i", "balance_i", "levels_on_chip_i", "columns_i"), 0) | {
    "node_lines_i": 80}
BUFFER = 16384


def line(address: int) -> int | None:
    """Returns the line at an address of host memory, or None beyond the end of the arena."""
    return random.Random(address).getrandbits(8 * LINE) if address < ARENA else None


class Mappings:
    """Changes mappings and knows which of them a read may find."""

    def __init__(self, dut):
        self.dut = dut
        # LID to all its addresses, and to the index of the current one
        self.addresses, self.in_force = defaultdict(lambda: [0]), defaultdict(int)
        dut.map_valid_i.value = 0

    async def map(self, lid: int, address: int):
        self.addresses[lid].append(address if lid < LIDS else 0)
        self.dut.map_lid_i.value, self.dut.map_address_i.value = lid, address
        self.dut.map_valid_i.value = 1
        await RisingEdge(self.dut.clk_i)
        while self.dut.map_ready_o.value != 1:
            await RisingEdge(self.dut.clk_i)
        self.dut.map_valid_i.value = 0
        self.in_force[lid] = len(self.addresses[lid]) - 1

    async def change(self, lids):
        """Changes mappings until the test ends."""
        await end_of_reset(self.dut)
        while True:
            address = random.choice((0, random.randrange(0, ARENA - BUFFER, 512)))
            await self.map(random.choice(lids), address)


class Clients:
    """Reads at random and checks the lines."""

    def __init__(self, dut, mappings, stall, may_fail=False):
        self.dut, self.mappings, self.stall, self.may_fail = dut, mappings, stall, may_fail
        self.count = int(dut.ClientCount.value)
        self.valid, self.ready = Lanes(dut.read_valid_i), Lanes(dut.read_ready_o)
        self.read = Lanes(dut.read_i, READ.width)
        self.beat_valid, self.beat_ready = Lanes(dut.beat_valid_o), Lanes(dut.beat_ready_i)
        self.beat = Lanes(dut.beat_o, BEAT.width)
        self.failed = self.lines = self.lookups = 0
        for lanes in (self.valid, self.beat_ready):
            lanes.set(0, 0)

    async def request(self, index: int, **fields: int) -> list[dict]:
        """Executes one read and returns its beats."""
        self.read.set(index, READ.pack(**fields))
        self.valid.set(index, 1)
        await RisingEdge(self.dut.clk_i)
        while not self.ready.get(index):
            await RisingEdge(self.dut.clk_i)
        self.valid.set(index, 0)
        beats = []
        while not beats or not beats[-1]["last"]:
            accepts = random.random() >= self.stall
            self.beat_ready.set(index, int(accepts))
            await RisingEdge(self.dut.clk_i)
            if accepts and self.beat_valid.get(index):
                beats.append(BEAT.unpack(self.beat.get(index)))
        self.beat_ready.set(index, 0)
        return beats

    async def check(self, index: int, lids):
        """Executes and checks one random read."""
        first, count = random.randrange(100), random.choice((1, random.randint(1, 8), random.randint(1, 150)))
        if random.random() < 0.5:
            lid = random.choice(lids)
            oldest = self.mappings.in_force[lid]
            beats = await self.request(index, by_lid=1, lid=lid, first=first, count=count)
            self.lookups += 1
            allowed = self.mappings.addresses[lid][oldest:]
        else:
            allowed = [random.randrange(512, ARENA - BUFFER, 512)]
            beats = await self.request(index, address=allowed[0], first=first, count=count)
        self.compare(beats, allowed, first, count)

    def compare(self, beats, allowed, first, count):
        lines = [beat for beat in beats if not beat["error"]]
        assert all(beat["address"] in allowed for beat in lines), (beats[0]["address"], allowed)
        assert len({beat["address"] for beat in lines}) <= 1
        for at, beat in enumerate(lines):
            assert beat["data"] == line(beat["address"] + LINE * (first + at))
        self.lines += len(lines)
        if beats[-1]["error"]:
            self.failed += 1
            assert 0 in allowed or self.may_fail
        else:
            assert len(beats) == count

    async def run(self, index: int, reads: int, lids):
        for _ in range(reads):
            await self.check(index, lids)


class PlacesAtRandom(Places):
    """Places that read at random, up to two reads of each at a time, and check the lines."""

    def __init__(self, dut, mappings, may_fail=False):
        super().__init__(dut)
        self.mappings, self.may_fail = mappings, may_fail
        self.reads = self.failed = self.lines = self.lookups = 0

    async def check(self, index: int, lids):
        """Executes and checks one read of a buffer, and perhaps two that follow it."""
        # Mapped buffers begin at multiples of eight lines, so this read stays within a page.
        first = random.randrange(8)
        count = random.randint(1, 8 - first)
        if random.random() < 0.5:
            lid = random.choice(lids)
            allowed = self.mappings.addresses[lid][self.mappings.in_force[lid]:]
            lines = await self.request(index, by_lid=1, lid=lid, first=first, count=count)
            # Mappings that were accepted meanwhile.
            allowed = self.mappings.addresses[lid][-len(allowed):] + self.mappings.addresses[lid]
            self.lookups += 1
        else:
            allowed = [random.randrange(512, ARENA - BUFFER, 512)]
            lines = await self.request(index, address=allowed[0], first=first, count=count)
        address = self.compare(lines, allowed, first, count)
        if address is None:
            return
        reads = []
        for _ in range(random.randint(0, 2)):
            first = random.randrange(100)
            count = within_page(address, first, random.randint(1, 40))
            number = await self.begin(index, follows=1, first=first, count=count)
            reads.append((number, first, count))
        for number, first, count in reads:
            self.compare(await self.end(index, number), [address], first, count)

    def compare(self, lines, allowed, first, count) -> int | None:
        """Checks the lines of a read, and returns the address of the buffer. A read that failed has none."""
        self.reads += 1
        if lines[-1]["error"]:
            self.failed += 1
            assert 0 in allowed or self.may_fail
            self.lines += len(lines) - 1
            return None
        self.lines += len(lines)
        assert len(lines) == count
        words = [each["data"] for each in lines]
        found = [address for address in set(allowed) - {0}
                 if words == [line(address + LINE * (first + at)) for at in range(count)]]
        assert len(found) == 1, (found, allowed)
        return found[0]

    async def run(self, index: int, reads: int, lids):
        for _ in range(reads):
            await self.check(index, lids)


async def run_clients(dut, clients, reads, lids):
    """Runs all clients concurrently."""
    tasks = [cocotb.start_soon(clients.run(index, reads, lids)) for index in range(clients.count)]
    for task in tasks:
        await task


@cocotb.test()
@cocotb.parametrize(stall=(0.0, 0.3, 0.8))
async def reads_while_mappings_change(dut, stall):
    drams(dut, stall=stall)
    host = HostMemory(dut, line, stall=stall)
    mappings = Mappings(dut)
    clients, places = Clients(dut, mappings, stall), PlacesAtRandom(dut, mappings)
    await start(dut, **OFF)
    lids = [0, 1, 7, 8, LIDS - 1, LIDS, LIDS + 8, 1 << 47]
    cocotb.start_soon(mappings.change(lids))
    tasks = [cocotb.start_soon(places.run(index, 30, lids)) for index in range(places.count)]
    await run_clients(dut, clients, 30, lids)
    for task in tasks:
        await task
    counted = COUNTERS.unpack(int(dut.counters_o.value))
    assert counted["reads"] == 30 * clients.count + places.reads
    assert counted["lookups"] == clients.lookups + places.lookups
    assert counted["host_lines"] == clients.lines + places.lines
    assert counted["host_reads"] == len(host.reads)
    assert clients.failed > 0 and places.failed > 0


@cocotb.test()
async def a_read_after_a_mapping_finds_it(dut):
    drams(dut, stall=0.3)
    HostMemory(dut, line, stall=0.3)
    mappings = Mappings(dut)
    clients, places = Clients(dut, mappings, 0.3), Places(dut)
    await start(dut, **OFF)
    for round_number in range(20):
        address = 512 * random.randrange(1, 1000)
        await mappings.map(3, address)
        beats = await clients.request(round_number % clients.count, by_lid=1, lid=3, first=1, count=2)
        assert [beat["address"] for beat in beats] == [address] * 2
        lines = await places.request(round_number % places.count, by_lid=1, lid=3, first=1, count=2)
        assert [each["data"] for each in lines] == [line(address + LINE), line(address + 2 * LINE)]


@cocotb.test()
@cocotb.parametrize(memory=("host", "on_board"))
async def a_read_that_fails_in_memory_ends_with_an_error(dut, memory):
    """Single beats and bursts fail, and the arena ends. The reads that follow are correct."""
    errors = {"host": 0.0, "on_board": 0.0} | {memory: 0.02}
    drams(dut, errors=errors["on_board"])
    HostMemory(dut, line, stall=0.3, errors=errors["host"])
    mappings = Mappings(dut)
    clients = Clients(dut, mappings, 0.3, may_fail=True)
    places = PlacesAtRandom(dut, mappings, may_fail=True)
    await start(dut, **OFF)
    cocotb.start_soon(mappings.change([1, 2]))
    tasks = [cocotb.start_soon(places.run(index, 40, [1, 2])) for index in range(places.count)]
    await run_clients(dut, clients, 40, [1, 2])
    for task in tasks:
        await task
    assert clients.failed + places.failed > 0 and dut.table_failed_o.value == 0
    beats = await clients.request(0, address=ARENA - LINE, first=0, count=255)
    assert [beat["error"] for beat in beats] in ([0, 1], [1])


@cocotb.test()
async def reads_by_lid_fail_after_a_mapping_that_memory_rejects(dut):
    """Also those of LIDs whose words are on chip. Reads at an address succeed."""
    memories = drams(dut)
    HostMemory(dut, line)
    mappings = Mappings(dut)
    clients, places = Clients(dut, mappings, 0.3), Places(dut)
    await start(dut, **OFF)
    for lid in (3, 4):
        await mappings.map(lid, 4096 * lid)
    read = {"by_lid": 1, "lid": 3, "cacheable": 1, "first": 1, "count": 2}
    assert [beat["error"] for beat in await clients.request(0, **read)] == [0, 0]
    memories[0].errors = 1.0
    await mappings.map(4, 8192)
    memories[0].errors = 0.0
    assert dut.table_failed_o.value == 1
    for lid in (3, 4):
        assert [beat["error"] for beat in await clients.request(0, **read | {"lid": lid})] == [1]
        assert [each["error"] for each in await places.request(0, **read | {"lid": lid})] == [1]
    beats = await clients.request(0, address=8192, first=0, count=1)
    assert [(beat["error"], beat["data"]) for beat in beats] == [(0, line(8192))]


@cocotb.test()
async def reads_of_several_clients_are_in_flight_together(dut):
    """The beats of all clients follow each other without a gap."""
    HostMemory(dut, line, latency=0)
    drams(dut)
    clients = Clients(dut, Mappings(dut), 0.0)
    Places(dut)
    await start(dut, **OFF)
    # No burst begins before the flags of failed bursts are cleared, one for each tag.
    for _ in range(300):
        await RisingEdge(dut.clk_i)
    for index in range(clients.count):
        cocotb.start_soon(clients.request(index, address=4096 * index, first=60, count=8))
    for _ in range(20 + 8 * clients.count):
        await RisingEdge(dut.clk_i)
    assert COUNTERS.unpack(int(dut.counters_o.value))["host_lines"] == 8 * clients.count


def test_memory_system():
    for clients, banks, units in ((1, 2, 1), (3, 4, 2)):
        places = {"NodeUnits": units, "NodePlaces": 2, "LeafUnits": units, "LeafPlaces": 3}
        simulate("memory_system", ClientCount=clients, Banks=banks, **places, LidCount=LIDS, CacheSets=2)
