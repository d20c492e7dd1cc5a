"""A client port returns lines in order: by LID after a lookup, by address at once. An error comes last."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from records import record
from runner import simulate
from streams import STALLS, Sink, Source, end_of_reset, start

READ, BEAT, LINE = record("line_read_t"), record("line_beat_t"), record("burst_line_t")
BURST, LOOKUP = record("memory_pkg::burst_t"), record("memory_pkg::lookup_t")


def line(address: int) -> int:
    """Returns the line at an address."""
    return random.Random(address).getrandbits(512)


class Neighbours:
    """The page table, which maps only even LIDs, and memory, whose bursts arrive in any order."""

    def __init__(self, dut, stall: float, errors: float):
        self.dut, self.stall, self.errors = dut, stall, errors
        # bank to the next address and the remaining lines; the number of lines that arrived while others
        # were pending
        self.in_flight, self.mixed = {}, 0
        dut.lookup_ready_i.value = dut.found_valid_i.value = 0
        dut.burst_ready_i.value = dut.line_valid_i.value = 0
        cocotb.start_soon(self.look_up())
        cocotb.start_soon(self.accept_bursts())
        cocotb.start_soon(self.return_lines())

    async def some_cycles(self):
        while random.random() < self.stall:
            await RisingEdge(self.dut.clk_i)

    async def look_up(self):
        dut = self.dut
        await end_of_reset(dut)
        while True:
            await self.some_cycles()
            dut.lookup_ready_i.value = 1
            await RisingEdge(dut.clk_i)
            accepted, lid = dut.lookup_valid_o.value == 1, LOOKUP.unpack(int(dut.lookup_o.value))["lid"]
            dut.lookup_ready_i.value = 0
            if accepted:
                await self.some_cycles()
                dut.found_valid_i.value, dut.found_i.value = 1, buffer_of(lid)
                await RisingEdge(dut.clk_i)
                dut.found_valid_i.value = 0

    async def accept_bursts(self):
        dut = self.dut
        await end_of_reset(dut)
        while True:
            accepts = random.random() >= self.stall
            dut.burst_ready_i.value = int(accepts)
            await RisingEdge(dut.clk_i)
            if accepts and dut.burst_valid_o.value == 1:
                burst, bank = BURST.unpack(int(dut.burst_o.value)), int(dut.burst_bank_o.value)
                assert bank not in self.in_flight
                self.mixed += bool(self.in_flight)
                self.in_flight[bank] = (burst["address"], burst["lines"])

    async def return_lines(self):
        dut = self.dut
        await end_of_reset(dut)
        while True:
            gives = bool(self.in_flight) and random.random() >= self.stall
            dut.line_valid_i.value = int(gives)
            if gives:
                bank = random.choice(list(self.in_flight))
                address, lines = self.in_flight.pop(bank)
                error = random.random() < self.errors
                last = lines == 1 or error
                dut.line_bank_i.value = bank
                dut.line_i.value = LINE.pack(data=line(address), last=int(last), error=int(error))
                if lines > 1 and not error:
                    self.in_flight[bank] = (address + 64, lines - 1)
            await RisingEdge(dut.clk_i)


def buffer_of(lid: int) -> int:
    """Returns the address of the buffer of a LID; 0 if it is not mapped."""
    return 0 if lid % 2 else 512 * (lid + 1)


async def request(dut, source, sink, errors: float):
    """Executes one random read and returns its expected lines."""
    by_lid, lid, address = random.getrandbits(1), random.getrandbits(20), 512 * random.getrandbits(20)
    first, count = random.randrange(200), random.choice((1, random.randint(1, 9), random.randint(1, 255)))
    before = len(sink.got)
    source.put(READ.pack(by_lid=by_lid, lid=lid, address=address, first=first, count=count))
    while len(sink.got) == before or not BEAT.unpack(sink.got[-1])["last"]:
        await RisingEdge(dut.clk_i)
    beats = [BEAT.unpack(beat) for beat in sink.got[before:]]
    buffer = buffer_of(lid) if by_lid else address
    lines = [beat for beat in beats if not beat["error"]]
    expected = [(buffer, line(buffer + 64 * (first + at))) for at in range(len(lines))]
    assert [(beat["address"], beat["data"]) for beat in lines] == expected
    assert [beat["last"] for beat in beats] == [0] * (len(beats) - 1) + [1]
    if by_lid and buffer == 0:
        assert len(beats) == 1 and beats[0]["error"]
    elif not errors:
        assert len(lines) == count


@cocotb.test()
@cocotb.parametrize(stall=STALLS, errors=(0.0, 0.02))
async def returns_the_lines_of_its_reads(dut, stall, errors):
    Neighbours(dut, stall, errors)
    source, sink = Source(dut, "read", stall=stall), Sink(dut, "beat", stall=stall)
    await start(dut)
    for _ in range(15):
        await request(dut, source, sink, errors)


class Beats(Sink):
    """The beats, each with the number of reads that were accepted before it."""

    def __init__(self, dut, source: Source, **ports):
        self.source = source
        super().__init__(dut, "beat", **ports)

    def sample(self):
        return BEAT.unpack(super().sample()), self.source.accepted


def some_reads() -> list[dict[str, int]]:
    """Returns a read of a buffer, by address or LID, and reads that follow it."""
    lid = 2 * random.getrandbits(19)
    reads = []
    for at in range(random.randint(2, 5)):
        name = {"address": buffer_of(lid), "follows": 1} if at else {"by_lid": 1, "lid": lid}
        reads.append(name | {"first": random.randrange(200), "count": random.choice((1, 5, 70))})
    return reads


async def check_reads(dut, beats: Beats, reads: list[dict[str, int]]):
    """The beats of reads arrive in order. An error ends all reads that were accepted."""
    buffer, accepted = buffer_of(reads[0]["lid"]), beats.source.accepted
    beats.source.put(*(READ.pack(**read) for read in reads))
    ended = arrived = 0
    while ended < len(reads):
        await beats.count(1)
        beat, taken_now = beats.got.pop(0)
        if beat["error"]:
            assert beat["last"]
            ended, arrived = taken_now - accepted, 0
            continue
        read = reads[ended]
        assert (beat["address"], beat["data"]) == (buffer, line(buffer + 64 * (read["first"] + arrived)))
        arrived += 1
        assert beat["last"] == (arrived == read["count"])
        if beat["last"]:
            ended, arrived = ended + 1, 0


@cocotb.test()
@cocotb.parametrize(stall=STALLS, errors=(0.0, 0.02))
async def reads_follow_each_other(dut, stall, errors):
    neighbours = Neighbours(dut, stall, errors)
    beats = Beats(dut, Source(dut, "read", stall=stall), stall=stall)
    await start(dut)
    for _ in range(15):
        await check_reads(dut, beats, some_reads())
    assert neighbours.mixed > 0


def test_client_port():
    simulate("client_port")
