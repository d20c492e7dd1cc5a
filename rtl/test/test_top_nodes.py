"""The module returns the correct lines of nodes on chip, passes all other bursts on unchanged, and fills what
may be kept."""

import random

import cocotb
from buffers import LINE, Buffers, Burst
from cocotb.triggers import RisingEdge
from records import record
from runner import simulate
from streams import Lanes, Sink, Source, end_of_reset, start

NAME, BUFFER, BURST_LINE = record("node_name_t"), record("buffer_name_t"), record("burst_line_t")
OTHER = ["other_address_o", "other_lines_o", "other_tag_o", "other_name_o"]
TAGS, TAG_BITS, FILL_TAG, STREAMS = 7, 3, 7, 2
BELOW, ROOT, SECOND = range(3)
NODE_LINES = 96


class Memories:
    """Clients with one burst per tag, host memory behind the module, and writers."""

    def __init__(self, dut, stall: float, buffers: Buffers, errors=0.0):
        self.dut, self.stall, self.buffers, self.errors = dut, stall, buffers, errors
        # of the clients, when they take lines from the chip
        self.beat_stall = stall
        self.bursts = Source(dut, "burst", stall=stall)
        self.other = Sink(dut, "other", OTHER, stall=stall)
        self.valid, self.ready = Lanes(dut.beat_valid_o), Lanes(dut.beat_ready_i)
        self.tag, self.beat = Lanes(dut.beat_tag_o, TAG_BITS), Lanes(dut.beat_o, BURST_LINE.width)
        # by tag: the burst, its buffer and its depth; the number of lines that came from the chip; address,
        # lines and number of lines that host memory has returned
        self.in_flight, self.arrived, self.arriving = {}, {}, {}
        # number of lines by source, and the fills
        self.lines, self.fills = {"chip": 0, "host": 0}, 0
        for task in (self.accept_others(), self.return_lines(), self.accept_beats()):
            cocotb.start_soon(task)

    def request(self, tag: int, burst: Burst, depth: int, cacheable=1):
        name = {"cacheable": cacheable, "lid": burst.lid, "address": burst.buffer}
        self.in_flight[tag], self.arrived[tag] = (burst, name, depth), 0
        self.bursts.put({"burst_address_i": burst.address, "burst_lines_i": burst.lines, "burst_tag_i": tag,
                         "name_i": NAME.pack(depth=depth, buffer=BUFFER.pack(**name))})

    async def read(self, burst: Burst, depth: int) -> str:
        """Reads a burst alone and returns its source."""
        before = dict(self.lines)
        self.request(0, burst, depth)
        await self.ended()
        sources = [name for name in before if self.lines[name] - before[name] == burst.lines]
        assert len(sources) == 1
        return sources[0]

    def end(self, tag: int):
        self.buffers.end(self.in_flight.pop(tag)[0])

    async def ended(self):
        while self.in_flight:
            await RisingEdge(self.dut.clk_i)

    async def idle(self):
        """Waits until nothing is in flight, fills neither."""
        quiet = 0
        while quiet < 20:
            await RisingEdge(self.dut.clk_i)
            quiet = 0 if self.in_flight or self.arriving else quiet + 1

    async def accept_others(self):
        while True:
            await RisingEdge(self.dut.clk_i)
            while self.other.got:
                address, lines, tag, other = self.other.got.pop(0).values()
                named = BUFFER.unpack(other)
                if tag == FILL_TAG:
                    assert not named["cacheable"]
                    self.fills += 1
                else:
                    burst, name, _ = self.in_flight[tag]
                    assert (address, lines) == (burst.address, burst.lines)
                    assert {**named, "cacheable": 0} == {**name, "cacheable": 0}
                    is_inside = burst.address - burst.buffer + LINE * burst.lines <= LINE * 128
                    assert named["cacheable"] == (name["cacheable"] and is_inside)
                self.arriving[tag] = [address, lines, 0]

    async def return_lines(self):
        """Returns lines of several tags, interleaved."""
        dut = self.dut
        await end_of_reset(dut)
        while True:
            gives = bool(self.arriving) and random.random() >= self.stall
            dut.line_valid_i.value = int(gives)
            if gives:
                tag = random.choice(list(self.arriving))
                address, lines, at = self.arriving[tag]
                if tag == FILL_TAG:
                    data = self.buffers.line(address + LINE * at)
                else:
                    data = self.in_flight[tag][0].data(at)
                    self.lines["host"] += 1
                error = random.random() < self.errors
                last = error or at + 1 == lines
                dut.line_tag_i.value = tag
                dut.line_i.value = BURST_LINE.pack(data=data, last=int(last), error=int(error))
                self.arriving[tag][2] += 1
                if last:
                    del self.arriving[tag]
            await RisingEdge(dut.clk_i)
            if gives and last and tag != FILL_TAG:
                self.end(tag)

    async def accept_beats(self):
        self.ready.set(0, 0)
        await end_of_reset(self.dut)
        while True:
            accepts = [random.random() >= self.beat_stall for _ in range(STREAMS)]
            for stream, accepted in enumerate(accepts):
                self.ready.set(stream, int(accepted))
            await RisingEdge(self.dut.clk_i)
            for stream, accepted in enumerate(accepts):
                if accepted and self.valid.get(stream):
                    self.take(self.tag.get(stream), BURST_LINE.unpack(self.beat.get(stream)))

    def take(self, tag: int, line: dict):
        (burst, name, depth), at = self.in_flight[tag], self.arrived[tag]
        assert name["cacheable"] and depth != BELOW and tag not in self.arriving
        assert line == {"data": burst.data(at), "last": int(at + 1 == burst.lines), "error": 0}
        self.arrived[tag] += 1
        self.lines["chip"] += 1
        if line["last"]:
            self.end(tag)


async def begin(dut, node_lines=NODE_LINES):
    await start(dut, levels_i=2, node_lines_i=node_lines, drop_valid_i=0, line_valid_i=0)
    await end_of_reset(dut)


async def write(dut, buffers: Buffers, pause: int):
    """Models writers."""
    await end_of_reset(dut)
    while True:
        for _ in range(random.randint(0, pause)):
            await RisingEdge(dut.clk_i)
        await drop(dut, buffers, random.choice(buffers.lids))


async def drop(dut, buffers: Buffers, lid: int):
    dut.drop_valid_i.value, dut.drop_lid_i.value = 1, lid
    await RisingEdge(dut.clk_i)
    dut.drop_valid_i.value = 0
    buffers.drop(lid)


def whole(buffers: Buffers, lid: int, at: int = 0, first: int = 0, lines: int = 8) -> Burst:
    """Begins a burst of a buffer of a node."""
    buffer = buffers.buffers_of(lid)[at]
    buffers.reads[lid, buffer] += 1
    return Burst(lid, buffer, buffer + LINE * first, lines, buffers.contents[lid, buffer])


@cocotb.test()
@cocotb.parametrize(stall=(0.0, 0.5), errors=(0.0, 0.005), buffers=(1, 2))
async def lines_are_correct(dut, stall, errors, buffers):
    """The depth of a node is its LID modulo 3, so there are more nodes than entries."""
    pause = 3000 // buffers
    buffers = Buffers(lids=14, buffers=buffers, apart=True)
    memories = Memories(dut, stall, buffers, errors)
    await begin(dut)
    writing = cocotb.start_soon(write(dut, buffers, pause))
    for _ in range(2500):
        free = [tag for tag in range(TAGS) if tag not in memories.in_flight]
        if free:
            burst = buffers.begin(first_max=130 if random.random() < 0.1 else 70)
            is_inside = burst.address - burst.buffer + LINE * burst.lines <= LINE * NODE_LINES
            depth = burst.lid % 3 if is_inside else BELOW
            memories.request(random.choice(free), burst, depth, int(random.random() < 0.95))
        for _ in range(random.randint(1, 4)):
            await RisingEdge(dut.clk_i)
    writing.cancel()
    await memories.ended()
    assert memories.lines["host"] > 100 and memories.fills > 3
    assert len(buffers.buffers) > 1 or memories.lines["chip"] > 100


@cocotb.test()
@cocotb.parametrize(change=("none", "drop", "other drop", "levels", "buffer", "beyond"), depth=(ROOT, SECOND))
async def a_node_stays_until_it_changes(dut, change, depth):
    buffers = Buffers(lids=1, buffers=2, apart=True)
    memories = Memories(dut, 0.0, buffers)
    await begin(dut)
    assert await memories.read(whole(buffers, 1), depth) == "host"
    await memories.idle()
    for first in (0, 20, NODE_LINES - 8):
        assert await memories.read(whole(buffers, 1, first=first), depth) == "chip"
    fills = memories.fills
    if "drop" in change:
        await drop(dut, buffers, 1 + change.startswith("other"))
    if change == "levels":
        dut.levels_i.value = depth - 1
    at = int(change == "buffer")
    first = 121 if change == "beyond" else 0
    stays = change in ("none", "other drop")
    assert await memories.read(whole(buffers, 1, at, first), depth) == ("chip" if stays else "host")
    await memories.idle()
    assert await memories.read(whole(buffers, 1, at), BELOW) == "host"
    if change in ("drop", "buffer"):
        # The entry is free, and the next burst fills it with the current buffer.
        await memories.read(whole(buffers, 1, at), depth)
        await memories.idle()
        assert await memories.read(whole(buffers, 1, at), depth) == "chip"
    assert (memories.fills > fills) == (change in ("drop", "buffer"))


@cocotb.test()
@cocotb.parametrize(delay=range(0, 180, 6))
async def a_fill_that_is_dropped_is_not_used(dut, delay):
    """Host memory returns lines of two states of the buffer."""
    buffers = Buffers(lids=1, buffers=1, apart=True)
    memories = Memories(dut, 0.2, buffers)
    await begin(dut)
    memories.request(0, whole(buffers, 1), ROOT)
    await memories.ended()
    for _ in range(delay):
        await RisingEdge(dut.clk_i)
    await drop(dut, buffers, 1)
    for _ in range(12):
        await memories.read(whole(buffers, 1, first=random.choice((0, 40, 80))), ROOT)
        await memories.idle()
    assert await memories.read(whole(buffers, 1), ROOT) == "chip"


@cocotb.test()
async def a_drop_while_a_burst_is_compared(dut):
    """A burst that waits behind a stalled one does not read an entry that gets another node meanwhile."""
    buffers = Buffers(lids=2, buffers=1, apart=True)
    memories = Memories(dut, 0.0, buffers)
    await begin(dut)
    for delay in range(6):
        for _ in range(2):
            memories.request(0, whole(buffers, 1), ROOT)
            await memories.idle()
        memories.request(1, whole(buffers, 1), ROOT)
        for _ in range(delay):
            await RisingEdge(dut.clk_i)
        await drop(dut, buffers, 1)
        memories.request(2, whole(buffers, 1), ROOT)
        await memories.idle()


@cocotb.test()
async def an_entry_waits_for_its_readers(dut):
    """Hits of the former node still read the entry when another node gets it."""
    buffers = Buffers(lids=2, buffers=1, apart=True)
    memories = Memories(dut, 0.0, buffers)
    await begin(dut)
    await memories.read(whole(buffers, 1, lines=1), ROOT)
    await memories.idle()
    memories.beat_stall = 0.9
    for tag in range(TAGS - 1):
        memories.request(tag, whole(buffers, 1, first=random.randrange(8)), ROOT)
    await memories.bursts.drained()
    await drop(dut, buffers, 1)
    for _ in range(5):
        await RisingEdge(dut.clk_i)
    memories.request(TAGS - 1, whole(buffers, 2), ROOT)
    await memories.ended()
    assert memories.lines["chip"] == 8 * (TAGS - 1)
    await memories.idle()
    assert await memories.read(whole(buffers, 2), ROOT) == "chip"


@cocotb.test()
async def a_buffer_of_another_node_is_not_the_same(dut):
    """A LID that is retired keeps its mapping, while its buffer is used for another node."""
    buffers = Buffers(lids=2, buffers=1)
    memories = Memories(dut, 0.0, buffers)
    buffer = buffers.buffers[0]
    buffers.line = lambda address: Burst(1, buffer, address, 1, 0).data(0)
    await begin(dut)
    await memories.read(Burst(1, buffer, buffer, 8, 0), SECOND)
    await memories.idle()
    assert await memories.read(Burst(1, buffer, buffer, 8, 0), SECOND) == "chip"
    assert await memories.read(Burst(2, buffer, buffer, 8, 0), SECOND) == "host"


@cocotb.test()
async def nodes_without_an_entry_are_read_elsewhere(dut):
    """Three entries are for children, one for a root. What is on chip stays; what is not read any more
    leaves."""
    buffers = Buffers(lids=8, buffers=1, apart=True)
    memories = Memories(dut, 0.0, buffers)
    await begin(dut)
    depths = {1: SECOND, 2: SECOND, 3: SECOND, 4: SECOND, 5: ROOT, 6: ROOT, 7: BELOW}
    for lid, depth in depths.items():
        await memories.read(whole(buffers, lid), depth)
        await memories.idle()
    for _ in range(2):
        sources = {lid: await memories.read(whole(buffers, lid), depths[lid]) for lid in depths}
        assert sources == {1: "chip", 2: "chip", 3: "chip", 4: "host", 5: "chip", 6: "host", 7: "host"}
    # Nodes 1 and 5 are read in each age.
    for _ in range(250):
        assert await memories.read(whole(buffers, 1), SECOND) == "chip"
        assert await memories.read(whole(buffers, 5), ROOT) == "chip"
    await memories.read(whole(buffers, 4), SECOND)
    await memories.idle()
    assert await memories.read(whole(buffers, 4), SECOND) == "chip"


@cocotb.test()
async def large_nodes_are_not_kept(dut):
    buffers = Buffers(lids=1, buffers=1, apart=True)
    memories = Memories(dut, 0.0, buffers)
    await begin(dut, node_lines=129)
    for _ in range(3):
        assert await memories.read(whole(buffers, 1), ROOT) == "host"
        await memories.idle()


def test_top_nodes():
    for nodes in (4, 1):
        tests = "." if nodes > 1 else "a_fill|large_nodes"
        simulate("top_nodes", only=tests, Nodes=nodes, LidCount=512, AgeBits=11)
