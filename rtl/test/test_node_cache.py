"""A hit returns a position that contains the correct lines and keeps them until the hit is done. No drop
waits for memory."""

import random

import cocotb
from buffers import LINE, Buffers, Burst
from cocotb.triggers import RisingEdge
from records import record
from runner import simulate
from streams import Sink, Source, end_of_reset, start

NAME = record("buffer_name_t")
BURST = ["address_o", "lines_o", "tag_o"]
TAGS = 8
SETS, WAYS, LINES = 2, 2, 128


class Memories:
    """Models host memory, the cache memory and the clients, with bursts of random clients."""

    def __init__(self, dut, stall: float, buffers: Buffers, failures=0.1):
        self.dut, self.buffers, self.failures = dut, buffers, failures
        self.bursts = Source(dut, "burst", stall=stall)
        self.filled = Source(dut, "filled", stall=stall)
        self.host = Sink(dut, "host", [f"host_{part}" for part in BURST], stall=stall)
        self.hits = Sink(dut, "hit", ["hit_place_o", "hit_lines_o", "hit_tag_o"], stall=stall)
        # the bursts in flight by tag; the lines in the cache by position; the position to fill for each tag
        self.in_flight, self.places, self.fills = {}, {}, {}
        # hits that have not ended, and the number of all hits
        self.ending, self.served = [], 0
        self.counted = {"hit": 0, "miss": 0}
        for task in (self.watch(), self.serve_host(), self.serve_hits(), self.end_hits()):
            cocotb.start_soon(task)

    def request(self, tag: int, burst: Burst, cacheable: int):
        self.in_flight[tag] = burst
        is_inside = burst.address + LINE * burst.lines <= burst.buffer + LINE * LINES
        name = NAME.pack(cacheable=cacheable & is_inside, lid=burst.lid, address=burst.buffer)
        self.bursts.put({"burst_address_i": burst.address, "burst_lines_i": burst.lines, "burst_tag_i": tag,
                         "name_i": name})

    async def some_cycles(self, most: int):
        for _ in range(random.randint(0, most)):
            await RisingEdge(self.dut.clk_i)

    async def watch(self):
        dut = self.dut
        await end_of_reset(dut)
        while True:
            await RisingEdge(dut.clk_i)
            if dut.fill_start_o.value == 1:
                tag = int(dut.fill_tag_o.value)
                assert tag not in self.fills
                self.fills[tag] = self.in_flight[tag], int(dut.fill_place_o.value)
            for name in self.counted:
                self.counted[name] += int(getattr(dut, f"counts_{name}_o").value)

    async def serve_host(self):
        while True:
            await RisingEdge(self.dut.clk_i)
            while self.host.got:
                read = self.host.got.pop(0)
                burst = self.in_flight[read["host_tag_o"]]
                assert (read["host_address_o"], read["host_lines_o"]) == (burst.address, burst.lines)
                cocotb.start_soon(self.read_host(read["host_tag_o"], burst))

    async def read_host(self, tag: int, burst: Burst):
        """The client may receive its lines long before they are written to the cache."""
        fills = self.fills.get(tag, (None, 0))[0] is burst
        await self.some_cycles(20)
        del self.in_flight[tag]
        self.buffers.end(burst)
        if not fills:
            return
        await self.some_cycles(60)
        place, failed = self.fills.pop(tag)[1], random.random() < self.failures
        for at in range(burst.lines - failed):
            self.places[place + at] = burst.data(at)
        self.filled.put({"filled_tag_i": tag, "filled_failed_i": int(failed)})

    def check(self, place: int, burst: Burst):
        for at in range(burst.lines):
            assert self.places.get(place + at) == burst.data(at), (burst, at)

    async def serve_hits(self):
        while True:
            await RisingEdge(self.dut.clk_i)
            while self.hits.got:
                hit = self.hits.got.pop(0)
                burst = self.in_flight[hit["hit_tag_o"]]
                assert hit["hit_lines_o"] == burst.lines
                self.check(hit["hit_place_o"], burst)
                self.served += 1
                self.ending.append((hit["hit_tag_o"], hit["hit_place_o"]))

    async def end_hits(self):
        """The lines of a hit are stable until it is done."""
        dut = self.dut
        while True:
            dut.hit_done_i.value = int(bool(self.ending))
            if self.ending:
                tag, place = self.ending.pop(random.randrange(len(self.ending)))
                dut.hit_done_tag_i.value = tag
                burst = self.in_flight.pop(tag)
                self.check(place, burst)
                self.buffers.end(burst)
            await RisingEdge(dut.clk_i)
            dut.hit_done_i.value = 0
            await self.some_cycles(8)


async def drop(dut, lid: int) -> int:
    """Executes a drop and returns the number of its cycles."""
    dut.drop_valid_i.value, dut.drop_lid_i.value = 1, lid
    cycles = 0
    while True:
        await RisingEdge(dut.clk_i)
        cycles += 1
        if dut.drop_ready_o.value == 1:
            dut.drop_valid_i.value = 0
            return cycles


async def keep_dropping(dut, buffers: Buffers, pause: int):
    await end_of_reset(dut)
    while True:
        for _ in range(random.randint(0, pause)):
            await RisingEdge(dut.clk_i)
        lid = random.choice(buffers.lids)
        await drop(dut, lid)
        buffers.drop(lid)


async def read_bursts(dut, memories: Memories, most: int):
    """Requests random bursts with up to this number of cycles between them."""
    for _ in range(900):
        free = [tag for tag in range(TAGS) if tag not in memories.in_flight]
        if free:
            burst = memories.buffers.begin(first_max=130 if random.random() < 0.1 else 70)
            memories.request(random.choice(free), burst, int(random.random() < 0.95))
        dut.redirects_i.value = int(random.random() < 0.1)
        await RisingEdge(dut.clk_i)
        await memories.some_cycles(most)
    while memories.in_flight:
        await RisingEdge(dut.clk_i)


@cocotb.test()
async def bursts_of_one_set_follow_each_other(dut):
    """Bursts, fills and drops of one set begin in every cycle."""
    buffers = Buffers(lids=3, buffers=2)
    memories = Memories(dut, 0.0, buffers)
    await start(dut, enable_i=1, redirects_i=0, halvings_i=1, drop_valid_i=0, hit_done_i=0)
    dropping = cocotb.start_soon(keep_dropping(dut, buffers, 60))
    await read_bursts(dut, memories, 0)
    dropping.cancel()
    assert memories.counted["hit"] > 0


@cocotb.test()
@cocotb.parametrize(stall=(0.0, 0.5), pause=(60, 300), halvings=(0, 1))
async def hits_have_the_correct_lines(dut, stall, pause, halvings):
    buffers = Buffers(lids=3, buffers=2)
    memories = Memories(dut, stall, buffers)
    await start(dut, enable_i=1, redirects_i=0, halvings_i=halvings, drop_valid_i=0, hit_done_i=0)
    dropping = cocotb.start_soon(keep_dropping(dut, buffers, pause))
    await read_bursts(dut, memories, 8)
    dropping.cancel()
    # A smaller cache has fewer hits.
    assert memories.counted["hit"] > 20 >> 2 * halvings and memories.counted["miss"] > 20
    entries = SETS * WAYS >> halvings
    assert entries // 2 <= max(memories.places) // LINES < entries


@cocotb.test()
@cocotb.parametrize(switch=("enable_i", "redirects_i"))
async def a_filled_line_is_a_hit_unless_switched_off(dut, switch):
    buffers = Buffers(lids=1, buffers=1)
    memories = Memories(dut, 0.0, buffers, failures=0.0)
    await start(dut, enable_i=1, redirects_i=0, halvings_i=0, drop_valid_i=0, hit_done_i=0)
    burst = Burst(1, buffers.buffers[0], buffers.buffers[0] + LINE, 3, 0)
    for hits in (0, 1, 1):
        memories.request(0, burst, 1)
        while memories.in_flight or memories.fills:
            await RisingEdge(dut.clk_i)
        # Waits until the fill is reported.
        for _ in range(10):
            await RisingEdge(dut.clk_i)
        assert memories.served == hits
        if hits:
            getattr(dut, switch).value = int(switch == "redirects_i")


@cocotb.test()
@cocotb.parametrize(hits=(0, 1))
async def a_drop_waits_for_no_memory(dut, hits):
    """A burst waits forever for host memory, and a hit for on-board memory."""
    bursts, filled = Source(dut, "burst"), Source(dut, "filled")
    name = NAME.pack(cacheable=1, lid=1, address=8192)
    await start(dut, enable_i=1, redirects_i=0, halvings_i=0, drop_valid_i=0, hit_done_i=0, host_ready_i=hits,
                hit_ready_i=0)
    for _ in range(1 + hits):
        bursts.put({"burst_address_i": 8192, "burst_lines_i": 1, "burst_tag_i": 0, "name_i": name})
        await bursts.drained()
        for _ in range(8):
            await RisingEdge(dut.clk_i)
        if dut.hit_valid_o.value == dut.host_valid_o.value:
            filled.put({"filled_tag_i": 0, "filled_failed_i": 0})
            await filled.drained()
            for _ in range(8):
                await RisingEdge(dut.clk_i)
    assert (dut.host_valid_o.value, dut.hit_valid_o.value) == (1 - hits, hits)
    for lid in (1, 2):
        assert await drop(dut, lid) < 8


def test_node_cache():
    simulate("node_cache", Sets=SETS, Ways=WAYS, EntryLines=LINES)
