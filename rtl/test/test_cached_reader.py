"""Bursts return the correct lines from every source, while switches and buffers change."""

import random

import cocotb
from buffers import Buffers, Burst
from cocotb.triggers import RisingEdge
from memories import OKAY, AxiPort
from records import record
from runner import simulate
from streams import Lanes, Sink, Source, end_of_reset, start

BURST, BURST_LINE = record("memory_pkg::burst_t"), record("burst_line_t")
NAME, BUFFER = record("node_name_t"), record("buffer_name_t")
ACTIVITY = record("cache_activity_t")
CLIENTS, CLIENT_BANKS, BURSTS, NODE_UNITS, LEAF_UNITS, PLACES = 2, 8, 2, 1, 2, 2
UNITS = NODE_UNITS + LEAF_UNITS
# The ports: units, the filler of columns, clients. Their tags: the two fillers, the places of units, clients.
PORTS, FIRST_PLACE_TAG, FIRST_CLIENT_TAG = UNITS + 1 + CLIENTS, 2 * BURSTS, 16
# Lines of the cache; those of columns follow.
CACHE_LINES, LIDS, COLUMN_LINES = 2 * 2 * 128, 512, 32
SWITCHES = ("cache_i", "balance_i", "levels_on_chip_i")
# Bursts of this tag copy nodes to the chip.
FILL_TAG = BURSTS


class Columns:
    """A burst that reads columns from on-board memory."""

    def __init__(self):
        self.lines = random.randint(1, 8)
        self.place = COLUMN_LINES * random.randrange(LIDS) + random.randint(1, COLUMN_LINES - self.lines)
        self.address = 64 * self.place

    def data(self, at: int) -> int:
        return columns(self.place + at)


def columns(place: int) -> int:
    """Returns a line of columns."""
    return random.Random(place).getrandbits(512)


class OnBoard:
    """On-board memory. Lines are written in the order of their responses; beats of several reads are
    interleaved."""

    def __init__(self, dut, stall: float):
        self.dut, self.lines = dut, {}
        self.reads = Sink(dut, "hit", ["hit_tag_o", "hit_place_o", "hit_lines_o"], stall=stall)
        self.beats = Source(dut, "hit_line", stall=stall)
        self.writes = Sink(dut, "write", ["write_tag_o", "write_place_o", "write_o"], stall=stall)
        for task in (self.read(), self.write(), self.count()):
            cocotb.start_soon(task)

    async def count(self):
        """Tells the balancer of lines one cycle after they arrive."""
        dut = self.dut
        while True:
            await RisingEdge(dut.clk_i)
            dut.hit_beat_i.value = int(dut.hit_line_valid_i.value) & int(dut.hit_line_ready_o.value)

    async def read(self):
        in_flight = []
        while True:
            await RisingEdge(self.dut.clk_i)
            while self.reads.got:
                tag, place, lines = self.reads.got.pop(0).values()
                in_flight.append((tag, [place + at for at in range(lines)]))
            if in_flight and len(self.beats.queue) < 3:
                tag, left = random.choice(in_flight)
                place = left.pop(0)
                data = self.lines[place] if place < CACHE_LINES else columns(place - CACHE_LINES)
                line = {"data": data, "last": int(not left)}
                self.beats.put({"hit_line_tag_i": tag, "hit_line_i": BURST_LINE.pack(**line)})
                if not left:
                    in_flight.remove((tag, left))

    async def write(self):
        dut = self.dut
        dut.written_i.value = dut.written_error_i.value = 0
        while True:
            await RisingEdge(dut.clk_i)
            dut.written_i.value = 0
            if self.writes.got and random.random() < 0.3:
                tag, place, data = self.writes.got.pop(random.randrange(len(self.writes.got))).values()
                dut.written_i.value, dut.written_tag_i.value = 1, tag
                error = random.random() < 0.01
                dut.written_error_i.value = int(error)
                if not error:
                    self.lines[place] = data


class Ports:
    """Ports that read some bursts at a time, all of the same buffer. They also model host memory. A unit
    reads for a random place."""

    def __init__(self, dut, stall: float, buffers: Buffers):
        self.dut, self.stall, self.buffers = dut, stall, buffers
        self.valid, self.ready = Lanes(dut.burst_valid_i), Lanes(dut.burst_ready_o)
        tag_bits = len(dut.burst_tag_i) // PORTS
        self.burst, self.tag = Lanes(dut.burst_i, BURST.width), Lanes(dut.burst_tag_i, tag_bits)
        self.name = Lanes(dut.name_i, NAME.width)
        self.line_valid, self.line_tag = Lanes(dut.line_valid_o), Lanes(dut.line_tag_o, tag_bits)
        self.line = Lanes(dut.line_o, BURST_LINE.width)
        self.host = AxiPort(dut, "m_axi_host", {"read": "host"})
        # by tag: the burst, the number of lines that arrived, and address, lines and number of lines that
        # host memory has returned
        self.in_flight, self.arrived, self.given = {}, {}, {}
        self.activity = dict.fromkeys(ACTIVITY.fields, 0)
        self.valid.set(0, 0)
        self.host.set(arready=0, rvalid=0)
        cocotb.start_soon(self.accept_reads())
        cocotb.start_soon(self.serve())
        cocotb.start_soon(self.watch())

    async def accept_reads(self):
        """Host memory: accepts reads."""
        await end_of_reset(self.dut)
        while True:
            accepts = random.random() >= self.stall
            self.host.set(arready=accepts)
            await RisingEdge(self.dut.clk_i)
            if accepts and self.host.get("arvalid"):
                tag, address, lines = self.host.burst("ar")
                if tag != FILL_TAG:
                    assert (address, lines) == (self.in_flight[tag].address, self.in_flight[tag].lines)
                self.given[tag] = [address, lines, 0]

    async def serve(self):
        """Host memory: returns lines."""
        await end_of_reset(self.dut)
        while True:
            gives = bool(self.given) and random.random() >= self.stall
            self.host.set(rvalid=gives)
            if gives:
                tag = random.choice(list(self.given))
                address, lines, at = self.given[tag]
                is_fill, last = tag == FILL_TAG, at + 1 == lines
                data = self.buffers.line(address + 64 * at) if is_fill else self.in_flight[tag].data(at)
                self.host.set(rid=tag, rlast=last, rresp=OKAY, rdata=data)
                self.given[tag][2] += 1
                if last:
                    del self.given[tag]
            await RisingEdge(self.dut.clk_i)

    async def watch(self):
        """Checks each line that arrives."""
        await end_of_reset(self.dut)
        while True:
            await RisingEdge(self.dut.clk_i)
            for name, happens in ACTIVITY.unpack(int(self.dut.activity_o.value)).items():
                self.activity[name] += happens.bit_count() if name == "chip_lines" else happens
            for port in range(PORTS):
                if self.line_valid.get(port):
                    tag = self.line_tag.get(port)
                    assert port == port_of(tag)
                    self.take(tag, self.line.get(port))

    def take(self, tag: int, line: int):
        burst, at = self.in_flight[tag], self.arrived[tag]
        last = at + 1 == burst.lines
        assert BURST_LINE.unpack(line) == {"data": burst.data(at), "last": int(last), "error": 0}, burst
        self.arrived[tag] += 1
        if last and isinstance(self.in_flight.pop(tag), Burst):
            self.buffers.end(burst)

    async def request(self, port: int, tag: int, burst: Burst | Columns):
        """Requests a burst."""
        self.in_flight[tag], self.arrived[tag] = burst, 0
        on_board = int(isinstance(burst, Columns))
        self.burst.set(port, BURST.pack(address=burst.address, lines=burst.lines, on_board=on_board))
        self.tag.set(port, tag)
        self.valid.set(port, 1)
        await RisingEdge(self.dut.clk_i)
        while not self.ready.get(port):
            await RisingEdge(self.dut.clk_i)
        self.valid.set(port, 0)

    async def run(self, port: int, rounds: int):
        for _ in range(rounds):
            first = self.buffers.begin()
            cacheable = int(random.random() < 0.9)
            buffer = BUFFER.pack(cacheable=cacheable, lid=first.lid, address=first.buffer)
            if port < NODE_UNITS:
                self.name.set(port, NAME.pack(depth=first.lid % 3, buffer=buffer))
            tags = tags_of(port)
            # Only units read columns, and these read no cacheable nodes.
            if NODE_UNITS <= port < UNITS and random.random() < 0.5:
                bursts = [Columns() for _ in range(random.randint(1, len(tags)))]
                self.buffers.end(first)
            else:
                more = random.randrange(len(tags))
                bursts = [first] + [self.buffers.begin(beside=first) for _ in range(more)]
            for tag, burst in zip(tags, bursts):
                await self.request(port, tag, burst)
            while any(tag in self.in_flight for tag in tags):
                await RisingEdge(self.dut.clk_i)


def tags_of(port: int) -> range:
    """Returns the tags of a port; of a unit those of a random place."""
    if port < UNITS:
        first, count = FIRST_PLACE_TAG + BURSTS * (PLACES * port + random.randrange(PLACES)), BURSTS
    elif port == UNITS:
        first, count = 0, BURSTS
    else:
        first, count = FIRST_CLIENT_TAG + CLIENT_BANKS * (port - UNITS - 1), CLIENT_BANKS
    return range(first, first + count)


def port_of(tag: int) -> int:
    """Returns the port of a tag."""
    if tag >= FIRST_CLIENT_TAG:
        return UNITS + 1 + (tag - FIRST_CLIENT_TAG) // CLIENT_BANKS
    return (tag - FIRST_PLACE_TAG) // (BURSTS * PLACES) if tag >= FIRST_PLACE_TAG else UNITS


async def write(dut, buffers: Buffers):
    """Drops buffers as writers do, and changes the switches."""
    await end_of_reset(dut)
    while True:
        for _ in range(random.randint(0, random.choice((300, 3000)))):
            await RisingEdge(dut.clk_i)
        lid = random.choice(buffers.lids)
        switch = random.choice(SWITCHES)
        getattr(dut, switch).value = (1 + switch.startswith("levels")) * int(random.random() < 0.8)
        dut.drop_valid_i.value, dut.drop_lid_i.value = 1, lid
        await RisingEdge(dut.clk_i)
        while dut.drop_ready_o.value != 1:
            await RisingEdge(dut.clk_i)
        dut.drop_valid_i.value = 0
        buffers.drop(lid)


@cocotb.test()
@cocotb.parametrize(stall=(0.0, 0.3, 0.7))
async def bursts_have_the_correct_lines(dut, stall):
    buffers = Buffers(lids=3, buffers=1, apart=True)
    OnBoard(dut, stall)
    ports = Ports(dut, stall, buffers)
    await start(dut, **dict.fromkeys(SWITCHES, 1), hit_beat_i=0, cache_halvings_i=0, node_lines_i=80,
                drop_valid_i=0)
    cocotb.start_soon(write(dut, buffers))
    for task in [cocotb.start_soon(ports.run(port, 300)) for port in range(PORTS)]:
        await task
    assert all(count > 10 for count in ports.activity.values()), ports.activity


def test_cached_reader():
    places = {"NodeUnits": NODE_UNITS, "NodePlaces": PLACES, "LeafUnits": LEAF_UNITS, "LeafPlaces": PLACES}
    simulate("cached_reader", ClientCount=CLIENTS, **places, CacheSets=2, CacheWays=2, LidCount=LIDS)
