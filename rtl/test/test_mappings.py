"""Every lookup that begins after a mapping was accepted finds it, in the table or on chip, unless memory
fails: then it finds no buffer."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from lookups import Lookups
from memories import Beats
from runner import simulate
from streams import STALLS, end_of_reset, start, transfer

# More LIDs than words on chip, so some share an entry.
LIDS = 2048
CLIENTS = 3
BASE = 8192
CHANGING = (1, 2, 1025, 2047)
LOOKUPS = 60
# The maximum cycles of a read: none, or longer than a mapping takes.
LATENCIES = (0, 300)
# Memory rejects each write up to this many times, if at all; the table fails at one more.
REJECTIONS = 3


class Table:
    """On-board memory, with random contents at first. Reads are answered in any order with the contents when
    the read was accepted or when it is answered. A write takes effect at any time before its response.
    `errors` is the share of reads with an error, and of writes that are rejected some times."""

    def __init__(self, dut, stall: float, errors: float = 0.0):
        self.dut, self.stall, self.errors, self.rejections = dut, stall, errors, 0
        self.bytes = bytearray(random.randbytes(8 * LIDS))
        self.in_flight, self.reads = {}, 0
        for port in ("read_ready", "line_valid", "line_error", "burst_ready", "word_ready", "written",
                     "written_error"):
            getattr(dut, f"{port}_i").value = 0
        cocotb.start_soon(self.read())
        cocotb.start_soon(self.write())

    def line(self, address: int) -> int:
        return int.from_bytes(self.bytes[address - BASE:][:64], "little")

    async def read(self):
        dut = self.dut
        await end_of_reset(dut)
        while True:
            accepts, answers = (random.random() >= self.stall for _ in range(2))
            dut.read_ready_i.value = int(accepts)
            due = [client for client, read in self.in_flight.items() if read.wait <= 0]
            dut.line_valid_i.value = int(answers and bool(due))
            if answers and due:
                client = random.choice(due)
                dut.line_id_i.value, dut.line_i.value = client, self.in_flight.pop(client).step()[0]
                dut.line_error_i.value = int(random.random() < self.errors)
            await RisingEdge(dut.clk_i)
            for read in self.in_flight.values():
                read.pass_cycle()
            if accepts and dut.read_valid_o.value == 1:
                read = Beats(self.line, int(dut.read_address_o.value), 1, random.choice(LATENCIES))
                self.in_flight[int(dut.read_id_o.value)] = read
                self.reads += 1

    async def write(self):
        dut = self.dut
        await end_of_reset(dut)
        while True:
            await transfer(dut, self.stall, dut.burst_ready_i, dut.burst_valid_o)
            at, beats = int(dut.burst_address_o.value) - BASE, int(dut.burst_len_o.value) + 1
            for beat in range(beats):
                await transfer(dut, self.stall, dut.word_ready_i, dut.word_valid_o)
                data = int(dut.word_o.value).to_bytes(64, "little")
                for byte in range(64):
                    if int(dut.word_strobe_o.value) >> byte & 1:
                        self.bytes[at + 64 * beat + byte] = data[byte]
            while random.random() < self.stall:
                await RisingEdge(dut.clk_i)
            dut.written_error_i.value = int(self.rejects())
            dut.written_i.value = 1
            await RisingEdge(dut.clk_i)
            dut.written_i.value = 0

    def rejects(self) -> bool:
        """Returns whether memory rejects the current attempt to write a burst."""
        if self.errors == 1.0:
            return True
        if self.rejections == 0 and random.random() < self.errors:
            self.rejections = random.randint(1, REJECTIONS) + 1
        self.rejections = max(self.rejections - 1, 0)
        return self.rejections > 0


class Writer:
    """Maps LIDs. Records all words of each LID and the index of the current one."""

    def __init__(self, dut, stall: float, runs=True):
        self.dut, self.stall = dut, stall
        self.history, self.in_force = {lid: [0] for lid in CHANGING}, dict.fromkeys(CHANGING, 0)
        dut.map_valid_i.value = dut.mark_valid_i.value = dut.drop_ready_i.value = 0
        cocotb.start_soon(self.drop())
        if runs:
            cocotb.start_soon(self.run())

    async def drop(self):
        await end_of_reset(self.dut)
        while True:
            self.dut.drop_ready_i.value = int(random.random() >= self.stall)
            await RisingEdge(self.dut.clk_i)

    async def run(self):
        dut = self.dut
        await end_of_reset(dut)
        while True:
            lid, word = random.choice(CHANGING), random.choice((0, random.getrandbits(48)))
            self.history[lid].append(word)
            await self.map(lid, word)
            self.in_force[lid] = len(self.history[lid]) - 1
            for _ in range(random.randint(0, 100)):
                await RisingEdge(dut.clk_i)

    async def map(self, lid: int, word: int):
        dut = self.dut
        dut.map_valid_i.value, dut.map_lid_i.value, dut.map_address_i.value = 1, lid, word
        await RisingEdge(dut.clk_i)
        while dut.map_ready_o.value != 1:
            await RisingEdge(dut.clk_i)
        dut.map_valid_i.value = 0


async def look_up(lookups: Lookups, client: int, writer: Writer, may_fail: bool):
    """The lookups of one client. Each finds the word that was current when it began, or a later one, or none
    if memory may fail. Returns the number of lookups that failed."""
    failed = 0
    for _ in range(LOOKUPS):
        lid = random.choice((*CHANGING, 7, LIDS))
        since = writer.in_force.get(lid, 0)
        found, _ = await lookups.find(client, lid, kept=random.random() < 0.8)
        allowed = writer.history.get(lid, [0])[since:]
        assert found in allowed or (may_fail and not found), (lid, found, allowed)
        failed += found not in allowed
    return failed


@cocotb.test()
@cocotb.parametrize(stall=STALLS, errors=[0.0, 0.3])
async def an_accepted_mapping_is_found(dut, stall, errors):
    table, writer = Table(dut, stall, errors), Writer(dut, stall)
    lookups = Lookups(dut)
    await start(dut, lookup_valid_i=0)
    tasks = [cocotb.start_soon(look_up(lookups, client, writer, errors > 0))
             for client in range(CLIENTS)]
    failed = sum([await task for task in tasks])
    assert (failed > 0) == (errors > 0) and dut.failed_o.value == 0
    assert table.reads < CLIENTS * LOOKUPS, "no word was found on chip"
    assert sum(map(len, writer.history.values())) > 2 * len(CHANGING), "mappings hardly changed"


@cocotb.test()
@cocotb.parametrize(kept=[False, True])
async def a_table_that_has_failed_names_no_buffer(dut, kept):
    """Lookups find nothing from the first mapping on that memory rejects, not even on chip or later."""
    table, writer, lookups = Table(dut, 0.3), Writer(dut, 0.3, runs=False), Lookups(dut)
    await start(dut, lookup_valid_i=0)
    lids = (1, 2, 1030)
    for lid in lids:
        await writer.map(lid, 4096 * lid)
        for _ in range(2):
            assert await lookups.find(0, lid, kept) == (4096 * lid, 0)
    table.errors = 1.0
    await writer.map(2, 8192)
    table.errors = 0.0
    assert dut.failed_o.value == 1
    await writer.map(1030, 16384)
    for client in range(CLIENTS):
        for lid in lids:
            assert (await lookups.find(client, lid, kept))[0] == 0
    assert dut.failed_o.value == 1


def test_mappings():
    readers = {"Ports": CLIENTS, "ReaderBits": 2, "CachedReaders": CLIENTS}
    simulate("mappings", **readers, LidCount=LIDS, BasePage=BASE // 4096)
