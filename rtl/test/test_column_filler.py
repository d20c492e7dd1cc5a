"""The columns of a leaf are copied completely and then marked, or they are not marked."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from records import record
from runner import simulate
from streams import STALLS, Sink, Source, end_of_reset, start

READ, BEAT, PLACE = record("line_read_t"), record("line_beat_t"), record("memory_pkg::column_place_t")
LOOKUP = record("lookup_t")
READERS, NODE_LINES, COLUMN_LINES = 3, 24, 32


class Neighbours:
    """The page table, host memory, on-board memory, and the writer of the page table. Each beat, write and
    acknowledgement has an error with the probability `errors`."""

    def __init__(self, dut, stall: float, errors: float):
        self.dut, self.errors, self.has_failed = dut, errors, False
        self.lookups = Sink(dut, "lookup", stall=stall)
        self.reads = Sink(dut, "read", stall=stall)
        self.beats = Source(dut, "beat", stall=stall)
        self.writes = Sink(dut, "write", ["write_place_o", "write_o"], stall=stall)
        self.marks = Sink(dut, "mark", ["mark_lid_o", "mark_address_o"], stall=stall)
        self.acknowledged = 0
        dut.written_i.value = dut.written_error_i.value = 0
        cocotb.start_soon(self.acknowledge())

    async def find(self, lid: int, address: int):
        """Awaits the lookup of a LID, and returns the address of its buffer."""
        await self.lookups.count(1)
        assert LOOKUP.unpack(self.lookups.got.pop(0)) == {"kept": 0, "columns": 0, "lid": lid}
        self.dut.found_valid_i.value, self.dut.found_i.value = 1, address
        await RisingEdge(self.dut.clk_i)
        self.dut.found_valid_i.value = 0

    def give(self, lines: list[int]):
        """Returns the lines of a buffer. The last of them may have an error."""
        if random.random() < self.errors:
            self.has_failed = True
            del lines[random.randrange(len(lines)) + 1:]
        for at, line in enumerate(lines):
            last = at + 1 == len(lines)
            error = int(last and self.has_failed)
            self.beats.put(BEAT.pack(data=line, last=int(last), error=error))

    async def acknowledge(self):
        dut = self.dut
        await end_of_reset(dut)
        while True:
            answers = self.acknowledged < len(self.writes.got) and random.random() < 0.3
            error = answers and random.random() < self.errors / 10
            self.has_failed |= error
            self.acknowledged += answers
            dut.written_i.value, dut.written_error_i.value = int(answers), int(error)
            await RisingEdge(dut.clk_i)


async def cycles(dut, count: int):
    for _ in range(count):
        await RisingEdge(dut.clk_i)


async def begin(dut, stall: float, errors=0.0) -> Neighbours:
    neighbours = Neighbours(dut, stall, errors)
    await start(dut, enable_i=1, node_lines_i=NODE_LINES, lacks_valid_i=0, map_valid_i=0, reads_columns_i=0,
                found_valid_i=0)
    return neighbours


async def lack(dut, lid: int):
    """Reports that a leaf has no columns in on-board memory."""
    dut.lacks_valid_i.value, dut.lacks_lid_i.value = 1, lid
    await RisingEdge(dut.clk_i)
    dut.lacks_valid_i.value = 0


async def map_lid(dut, lid: int):
    dut.map_valid_i.value, dut.map_lid_i.value = 1, lid
    await cycles(dut, 6)
    dut.map_valid_i.value = 0


@cocotb.test()
@cocotb.parametrize(stall=STALLS, errors=(0.0, 0.4))
async def columns_are_copied_and_marked(dut, stall, errors):
    """Other leaves are mapped all the time. A leaf whose copy has failed is not marked."""
    neighbours = await begin(dut, stall, errors)
    for lid in range(1, 25):
        neighbours.has_failed, neighbours.acknowledged = False, 0
        for sink in (neighbours.reads, neighbours.writes, neighbours.marks):
            sink.got.clear()
        await lack(dut, lid)
        await lack(dut, lid + 100)
        address = 512 * random.getrandbits(30) + 512
        await neighbours.find(lid, address)
        await neighbours.reads.count(1)
        assert READ.unpack(neighbours.reads.got[0]) == {"address": address, "count": NODE_LINES}
        lines = [random.getrandbits(512) for _ in range(NODE_LINES)]
        neighbours.give(list(lines))
        await map_lid(dut, lid + 100)
        await neighbours.beats.drained()
        while neighbours.acknowledged < len(neighbours.writes.got):
            await RisingEdge(dut.clk_i)
        await cycles(dut, 10 if stall < 0.9 else 200)
        assert len(neighbours.reads.got) == 1
        assert len(neighbours.marks.got) == int(not neighbours.has_failed)
        if not neighbours.has_failed:
            places = [PLACE.pack(lid=lid, line=at) for at in range(NODE_LINES)]
            written = [tuple(write.values()) for write in neighbours.writes.got]
            assert written == list(zip(places, lines, strict=True))
            assert neighbours.marks.got == [{"mark_lid_o": lid, "mark_address_o": address}]


@cocotb.test()
async def a_leaf_that_is_mapped_meanwhile_is_not_marked(dut):
    """At whatever time the mapping begins: before the mark is accepted."""
    neighbours = await begin(dut, 0.3)
    neighbours.marks.stall = 1.0
    for wait in (0, 1, 5, 20, 60, 300):
        neighbours.reads.got.clear()
        await lack(dut, 7)
        mapping = cocotb.start_soon(later(dut, wait, 7))
        await neighbours.find(7, 512)
        await neighbours.reads.count(1)
        neighbours.give([random.getrandbits(512) for _ in range(NODE_LINES)])
        await mapping
        await neighbours.beats.drained()
        await cycles(dut, 300)
        assert dut.mark_valid_o.value == 0
    assert not neighbours.marks.got


async def later(dut, wait: int, lid: int):
    await cycles(dut, wait)
    await map_lid(dut, lid)


@cocotb.test()
async def nothing_is_written_before_earlier_bursts_have_ended(dut):
    """A burst that was in flight when the first line came may read the place. Later ones are not awaited."""
    neighbours = await begin(dut, 0.0)
    dut.reads_columns_i.value = 0b101
    await lack(dut, 3)
    await neighbours.find(3, 512)
    neighbours.give([random.getrandbits(512) for _ in range(NODE_LINES)])
    await cycles(dut, 50)
    dut.reads_columns_i.value = 0b110
    await cycles(dut, 50)
    assert not neighbours.writes.got
    dut.reads_columns_i.value = 0b011
    await neighbours.marks.count(1)


@cocotb.test()
async def a_leaf_that_is_not_mapped_is_not_read(dut):
    neighbours = await begin(dut, 0.3)
    for _ in range(5):
        await lack(dut, 3)
        await neighbours.find(3, 0)
        await cycles(dut, 50)
    assert not neighbours.reads.got
    await lack(dut, 4)
    await neighbours.find(4, 512)
    await neighbours.reads.count(1)


@cocotb.test()
async def a_filler_that_is_off_reads_nothing(dut):
    neighbours = await begin(dut, 0.0)
    dut.enable_i.value = 0
    await lack(dut, 3)
    await cycles(dut, 100)
    assert not neighbours.lookups.got and not neighbours.reads.got


def test_column_filler():
    simulate("column_filler", Readers=READERS)
