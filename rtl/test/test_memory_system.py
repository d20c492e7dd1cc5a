"""Reads by LID and by address return the lines of host memory in order, while mappings change. Clients have
several reads in flight."""

import random
from collections import defaultdict

import cocotb
from buffers import within_page
from cocotb.triggers import RisingEdge
from memories import LINE, HostMemory, drams
from places import Places
from records import record
from runner import simulate
from streams import Lanes, cycles, end_of_reset, start

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
    """Reads at random, several reads of each client at a time, and checks the lines."""

    # More reads than a client has in flight.
    READS_MAX = 12

    def __init__(self, dut, stall, may_fail=False):
        self.dut, self.stall, self.may_fail = dut, stall, may_fail
        self.count = int(dut.ClientCount.value)
        self.valid, self.ready = Lanes(dut.read_valid_i), Lanes(dut.read_ready_o)
        self.read = Lanes(dut.read_i, READ.width)
        self.beat_valid, self.beat_ready = Lanes(dut.beat_valid_o), Lanes(dut.beat_ready_i)
        self.beat = Lanes(dut.beat_o, BEAT.width)
        self.reads = self.failed = self.lines = 0
        for lanes in (self.valid, self.beat_ready):
            lanes.set(0, 0)

    async def offer(self, index: int, reads: list[tuple[int, int]]):
        """Offers reads of an address and a number of lines, one after the other."""
        for address, count in reads:
            self.read.set(index, READ.pack(address=address, count=count))
            self.valid.set(index, 1)
            await RisingEdge(self.dut.clk_i)
            while not self.ready.get(index):
                await RisingEdge(self.dut.clk_i)
            self.valid.set(index, 0)

    async def end(self, index: int) -> list[dict]:
        """Returns the beats of the next read."""
        beats = []
        while not beats or not beats[-1]["last"]:
            accepts = random.random() >= self.stall
            self.beat_ready.set(index, int(accepts))
            await RisingEdge(self.dut.clk_i)
            if accepts and self.beat_valid.get(index):
                beats.append(BEAT.unpack(self.beat.get(index)))
        self.beat_ready.set(index, 0)
        return beats

    async def request(self, index: int, *reads: tuple[int, int]) -> list[list[dict]]:
        """Executes reads, checks their lines, and returns their beats."""
        offering = cocotb.start_soon(self.offer(index, list(reads)))
        beats = []
        for address, count in reads:
            beats.append(await self.end(index))
            self.compare(beats[-1], address, count)
        await offering
        return beats

    def compare(self, beats, address, count):
        self.reads += 1
        lines = [beat["data"] for beat in beats if not beat["error"]]
        assert lines == [line(address + LINE * at) for at in range(len(lines))]
        self.lines += len(lines)
        if beats[-1]["error"]:
            self.failed += 1
            assert len(lines) == len(beats) - 1 and (self.may_fail or line(address + LINE * count) is None)
        else:
            assert len(lines) == count

    async def run(self, index: int, rounds: int):
        for _ in range(rounds):
            reads = [(random.randrange(0, ARENA - BUFFER, LINE), random.choice((1, 2, random.randint(1, 64))))
                     for _ in range(random.randint(1, self.READS_MAX))]
            await self.request(index, *reads)


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


async def run_all(clients, places, reads, lids):
    """Runs all clients and places concurrently."""
    tasks = [cocotb.start_soon(places.run(index, reads, lids)) for index in range(places.count)]
    tasks += [cocotb.start_soon(clients.run(index, reads // 4)) for index in range(clients.count)]
    for task in tasks:
        await task


@cocotb.test()
@cocotb.parametrize(stall=(0.0, 0.3, 0.8))
async def reads_while_mappings_change(dut, stall):
    drams(dut, stall=stall)
    host = HostMemory(dut, line, stall=stall)
    mappings = Mappings(dut)
    clients, places = Clients(dut, stall), PlacesAtRandom(dut, mappings)
    await start(dut, **OFF)
    lids = [0, 1, 7, 8, LIDS - 1, LIDS, LIDS + 8, 1 << 47]
    cocotb.start_soon(mappings.change(lids))
    await run_all(clients, places, 30, lids)
    counted = COUNTERS.unpack(int(dut.counters_o.value))
    assert counted["reads"] == clients.reads + places.reads
    assert counted["lookups"] == places.lookups
    assert counted["host_lines"] == clients.lines + places.lines
    assert counted["host_reads"] == len(host.reads)
    assert clients.failed == 0 and places.failed > 0


@cocotb.test()
async def a_read_after_a_mapping_finds_it(dut):
    drams(dut, stall=0.3)
    HostMemory(dut, line, stall=0.3)
    mappings = Mappings(dut)
    places = Places(dut)
    Clients(dut, 0.0)
    await start(dut, **OFF)
    for round_number in range(20):
        address = 512 * random.randrange(1, 1000)
        await mappings.map(3, address)
        lines = await places.request(round_number % places.count, by_lid=1, lid=3, first=1, count=2)
        assert [each["data"] for each in lines] == [line(address + LINE), line(address + 2 * LINE)]


@cocotb.test()
@cocotb.parametrize(memory=("host", "on_board"))
async def a_read_that_fails_in_memory_ends_with_an_error(dut, memory):
    """Single beats and bursts fail, and the arena ends. The reads that follow are correct, also those that a
    client has in flight together with them."""
    errors = {"host": 0.0, "on_board": 0.0} | {memory: 0.02}
    drams(dut, errors=errors["on_board"])
    host = HostMemory(dut, line, stall=0.3, errors=errors["host"])
    mappings = Mappings(dut)
    clients = Clients(dut, 0.3, may_fail=memory == "host")
    places = PlacesAtRandom(dut, mappings, may_fail=True)
    await start(dut, **OFF)
    cocotb.start_soon(mappings.change([1, 2]))
    await run_all(clients, places, 40, [1, 2])
    assert clients.failed + places.failed > 0 and dut.table_failed_o.value == 0
    host.errors, clients.may_fail = 0.0, False
    outside = ARENA - LINE
    reads = await clients.request(0, (0, 3), (outside, 64), (4096 - LINE, 64), (outside, 2), (64, 1))
    assert [bool(beats[-1]["error"]) for beats in reads] == [False, True, False, True, False]


@cocotb.test()
async def reads_by_lid_fail_after_a_mapping_that_memory_rejects(dut):
    """Also those of LIDs whose words are on chip. Reads at an address succeed."""
    memories = drams(dut)
    HostMemory(dut, line)
    mappings = Mappings(dut)
    clients, places = Clients(dut, 0.3), Places(dut)
    await start(dut, **OFF)
    for lid in (3, 4):
        await mappings.map(lid, 4096 * lid)
    read = {"by_lid": 1, "lid": 3, "cacheable": 1, "first": 1, "count": 2}
    assert [each["error"] for each in await places.request(0, **read)] == [0, 0]
    memories[0].errors = 1.0
    await mappings.map(4, 8192)
    memories[0].errors = 0.0
    assert dut.table_failed_o.value == 1
    for lid in (3, 4):
        assert [each["error"] for each in await places.request(0, **read | {"lid": lid})] == [1]
    lines = await places.request(0, address=8192, first=0, count=1)
    assert [(each["error"], each["data"]) for each in lines] == [(0, line(8192))]
    await clients.request(0, (8192, 1))


@cocotb.test()
async def reads_of_several_clients_are_in_flight_together(dut):
    """The beats of all reads of all clients follow each other without a gap."""
    HostMemory(dut, line, latency=0)
    drams(dut)
    clients = Clients(dut, 0.0)
    Places(dut)
    await start(dut, **OFF)
    # No burst begins before the flags of failed bursts are cleared, one for each tag.
    await cycles(dut, 300)
    for index in range(clients.count):
        cocotb.start_soon(clients.request(index, *((4096 * (index + 1) - 256, 8) for _ in range(8))))
    await cycles(dut, 20 + 64 * clients.count)
    assert COUNTERS.unpack(int(dut.counters_o.value))["host_lines"] == 64 * clients.count


@cocotb.test()
async def a_client_has_eight_bursts_in_flight(dut):
    """Also while another client has as many, and host memory gives no lines. One more read waits."""
    host = HostMemory(dut, line, latency=0)
    drams(dut)
    clients = Clients(dut, 0.0)
    Places(dut)
    await start(dut, **OFF)
    host.silence = 1.0
    tasks = [cocotb.start_soon(clients.request(index, *((8192 * at, 3) for at in range(11))))
             for index in range(clients.count)]
    await cycles(dut, 500)
    assert len(host.reads) == 8 * clients.count
    assert COUNTERS.unpack(int(dut.counters_o.value))["reads"] == 9 * clients.count
    host.silence = 0.0
    host.break_silence()
    for task in tasks:
        await task


def test_memory_system():
    for clients, units in ((1, 1), (3, 2)):
        places = {"NodeUnits": units, "NodePlaces": 2, "LeafUnits": units, "LeafPlaces": 3}
        simulate("memory_system", ClientCount=clients, **places, LidCount=LIDS, CacheSets=2)
