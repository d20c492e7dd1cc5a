"""A place port returns the lines of the reads of many places: by LID after a lookup, by address at once, or
of the buffer of the read before. Columns come from on-board memory as long as the LID is not mapped again."""

import random

import cocotb
from buffers import within_page
from cocotb.triggers import RisingEdge
from places import Places
from records import record
from runner import simulate
from streams import STALLS, end_of_reset, start

BURST, LOOKUP, LINE = (record(f"memory_pkg::{name}_t") for name in ("burst", "lookup", "burst_line"))
NAME, BUFFER = record("memory_pkg::node_name_t"), record("memory_pkg::buffer_name_t")
COLUMN_LINES, PLACES = 32, 5


def line(address: int) -> int:
    """Returns the line at an address."""
    return random.Random(address).getrandbits(512)


def buffer_of(lid: int) -> int:
    """Returns the address of the buffer of a LID, a multiple of eight lines; 0 if it is not mapped."""
    return 0 if lid % 2 else 512 * (lid + 1)


def has_columns(lid: int) -> int:
    """Returns whether the columns of a leaf are in on-board memory."""
    return int(lid % 3 > 0)


class Neighbours:
    """The page table, which maps only even LIDs, and memory. Both answer in any order."""

    def __init__(self, dut, stall: float, errors: float = 0.0):
        self.dut, self.stall, self.errors = dut, stall, errors
        # lookups in flight by place; bursts in flight by place and number: the next address, and lines left
        self.lookups, self.in_flight = {}, {}
        # the names of the last bursts by place and number; the greatest numbers of lookups and bursts in
        # flight; the lines of columns from on-board memory
        self.names, self.most_lookups, self.most_bursts = {}, 0, 0
        self.columns = []
        for name in ("lookup_ready", "found_valid", "found_any", "columns", "map_valid", "burst_ready",
                     "line_valid"):
            getattr(dut, f"{name}_i").value = 0
        cocotb.start_soon(self.accept_lookups())
        cocotb.start_soon(self.look_up())
        cocotb.start_soon(self.accept_bursts())
        cocotb.start_soon(self.return_lines())

    def happens(self) -> bool:
        return random.random() >= self.stall

    def answers(self) -> bool:
        """Much less often than requests are accepted, so that several are in flight."""
        return random.random() < (1 - self.stall) / 4

    async def accept_lookups(self):
        dut = self.dut
        await end_of_reset(dut)
        while True:
            accepts = self.happens()
            dut.lookup_ready_i.value = int(accepts)
            await RisingEdge(dut.clk_i)
            if accepts and dut.lookup_valid_o.value == 1:
                place = int(dut.lookup_place_o.value)
                assert place not in self.lookups
                self.lookups[place] = LOOKUP.unpack(int(dut.lookup_o.value))["lid"]
                self.most_lookups = max(self.most_lookups, len(self.lookups))

    async def look_up(self):
        dut = self.dut
        await end_of_reset(dut)
        while True:
            # Mostly when several are in flight.
            finds = bool(self.lookups) and self.answers() and random.random() < len(self.lookups) / 5
            dut.found_valid_i.value = int(finds)
            dut.found_any_i.value = int(finds or random.random() < 0.2)
            if finds:
                place = random.choice(list(self.lookups))
                lid = self.lookups.pop(place)
                dut.found_place_i.value, dut.found_i.value = place, buffer_of(lid)
                dut.found_columns_i.value = has_columns(lid)
            await RisingEdge(dut.clk_i)

    async def accept_bursts(self):
        dut = self.dut
        await end_of_reset(dut)
        while True:
            accepts = self.happens()
            dut.burst_ready_i.value = int(accepts)
            await RisingEdge(dut.clk_i)
            if accepts and dut.burst_valid_o.value == 1:
                burst = BURST.unpack(int(dut.burst_o.value))
                tag = int(dut.burst_place_o.value), int(dut.burst_number_o.value)
                assert tag not in self.in_flight
                self.names[tag] = NAME.unpack(int(dut.name_o.value))
                address = self.buffer_address(burst) if burst["on_board"] else burst["address"]
                self.in_flight[tag] = (address, burst["lines"])
                self.most_bursts = max(self.most_bursts, len(self.in_flight))

    def buffer_address(self, burst: dict) -> int:
        """Returns the address in host memory of a burst of columns."""
        lid, number = divmod(burst["address"] // 64, COLUMN_LINES)
        self.columns += range(number, number + burst["lines"])
        assert number + burst["lines"] <= COLUMN_LINES and has_columns(lid)
        return buffer_of(lid) + 64 * number

    async def return_lines(self):
        dut = self.dut
        await end_of_reset(dut)
        while True:
            gives = bool(self.in_flight) and self.answers()
            dut.line_valid_i.value = int(gives)
            if gives:
                tag = random.choice(list(self.in_flight))
                address, lines = self.in_flight.pop(tag)
                error = random.random() < self.errors
                last = lines == 1 or error
                dut.line_place_i.value, dut.line_number_i.value = tag
                dut.line_i.value = LINE.pack(data=line(address), last=int(last), error=int(error))
                if not last:
                    self.in_flight[tag] = (address + 64, lines - 1)
            await RisingEdge(dut.clk_i)


async def read_some(neighbours, places: Places, place: int, errors: float):
    """Reads a buffer by LID or by address, then further lines of it, up to two reads at a time."""
    by_lid, lid, address = random.getrandbits(1), random.getrandbits(20), 512 * random.getrandbits(20)
    first = random.randrange(8)
    count = random.randint(1, 8 - first)
    buffer = buffer_of(lid) if by_lid else address
    # Only nodes with a LID may be cacheable.
    kind = {"cacheable": by_lid and random.getrandbits(1), "depth": random.randrange(3)}
    name = {"by_lid": by_lid, "lid": lid, "address": address}
    number = await places.begin(place, **name, first=first, count=count, **kind)
    lines = await places.end(place, number)
    check(lines, buffer, first, count, errors)
    if lines[-1]["error"]:
        return
    check_name(neighbours.names[place, number], lid, buffer, kind)
    reads = []
    for _ in range(random.randint(0, 2)):
        first = random.randrange(120)
        count = within_page(buffer, first, random.choice((1, 5, 64)))
        reads.append((await places.begin(place, follows=1, first=first, count=count, **kind), first, count))
    for number, first, count in reads:
        check(await places.end(place, number), buffer, first, count, errors)
        check_name(neighbours.names[place, number], lid, buffer, kind)


def check_name(name: dict, lid: int, buffer: int, kind: dict):
    """Compares the name of a burst, if its node may be cached."""
    assert BUFFER.unpack(name["buffer"])["cacheable"] == kind["cacheable"]
    if kind["cacheable"]:
        assert name["depth"] == kind["depth"]
        assert BUFFER.unpack(name["buffer"]) == {"cacheable": 1, "lid": lid, "address": buffer}


def check(lines: list[dict], buffer: int, first: int, count: int, errors: float):
    """Compares the lines of a read."""
    if lines[-1]["error"]:
        assert len(lines) == 1 if buffer == 0 else errors
        lines = lines[:-1]
    else:
        assert len(lines) == count
    assert [each["data"] for each in lines] == [line(buffer + 64 * (first + at)) for at in range(len(lines))]
    assert not any(each["copied"] for each in lines)


@cocotb.test()
@cocotb.parametrize(stall=STALLS, errors=(0.0, 0.02))
async def returns_the_lines_of_its_reads(dut, stall, errors):
    neighbours, places = Neighbours(dut, stall, errors), Places(dut, [PLACES], prefix="")
    await start(dut)

    async def run(place: int):
        for _ in range(20):
            await read_some(neighbours, places, place, errors)

    for task in [cocotb.start_soon(run(place)) for place in range(PLACES)]:
        await task
    assert stall < 0.5 or min(neighbours.most_bursts, neighbours.most_lookups) > 1


async def columns_of(neighbours, places: Places, lid: int, *ranges, **first) -> list[int]:
    """Reads ranges of lines of a leaf as columns. Returns the lines that came from on-board memory."""
    neighbours.columns = []
    name = {"by_lid": 1, "lid": lid} | first
    for start_line, count in ranges:
        known = len(neighbours.columns)
        # The current header is not a column.
        columns = int(start_line > 0 or bool(name.get("by_lid")))
        lines = await places.request(2, **name, columns=columns, first=start_line, count=count)
        expected = [line(buffer_of(lid) + 64 * (start_line + at)) for at in range(count)]
        assert [each["data"] for each in lines] == expected
        assert {each["copied"] for each in lines} == {int(len(neighbours.columns) > known)}
        name = {"follows": 1}
    return neighbours.columns


@cocotb.test()
@cocotb.parametrize(stall=STALLS)
async def columns_come_from_on_board_memory(dut, stall):
    """If the word of the LID says so, and if the port may use them. The current header is the host's."""
    neighbours, places = Neighbours(dut, stall), Places(dut, [PLACES], prefix="")
    await start(dut)
    dut.columns_i.value = 1
    # The last line of columns is number 31. In these buffers each of the reads is within a page.
    ends = (30, 1), (30, 2), (31, 1), (30, 3), (31, 2)
    for lid in random.sample(range(6, 4000, 8), 12):
        on_board = await columns_of(neighbours, places, lid, (0, 3), (5, 2), *ends, (0, 1))
        assert on_board == ([0, 1, 2, 5, 6, 30, 30, 31, 31] if has_columns(lid) else []), lid
    assert await columns_of(neighbours, places, 4, (1, 3), by_lid=0, address=buffer_of(4)) == []
    dut.columns_i.value = 0
    assert await columns_of(neighbours, places, 4, (0, 3)) == []


@cocotb.test()
async def a_mapping_ends_the_use_of_columns(dut):
    """A mapping of another LID does not."""
    neighbours, places = Neighbours(dut, 0.3), Places(dut, [PLACES], prefix="")
    await start(dut)
    dut.columns_i.value = 1
    for mapped in (4, 8, 4, 10):
        assert await columns_of(neighbours, places, 4, (0, 3)) == [0, 1, 2]
        dut.map_valid_i.value, dut.map_lid_i.value = 1, mapped
        for _ in range(5):
            await RisingEdge(dut.clk_i)
        dut.map_valid_i.value = 0
        again = await columns_of(neighbours, places, 4, (7, 2), by_lid=0, follows=1)
        assert again == ([] if mapped == 4 else [7, 8])


@cocotb.test()
async def a_mapping_during_the_lookup_ends_the_use_of_columns(dut):
    """The word may be that of the former buffer, whose columns are about to be replaced."""
    neighbours, places = Neighbours(dut, 0.9), Places(dut, [PLACES], prefix="")
    await start(dut)
    dut.columns_i.value = 1
    reading = cocotb.start_soon(columns_of(neighbours, places, 4, (0, 3)))
    while dut.lookup_valid_o.value != 1:
        await RisingEdge(dut.clk_i)
    dut.map_valid_i.value, dut.map_lid_i.value = 1, 4
    for _ in range(3):
        await RisingEdge(dut.clk_i)
    dut.map_valid_i.value = 0
    assert await reading == []


def test_place_port():
    simulate("place_port", Places=PLACES, LidCount=1 << 20)
