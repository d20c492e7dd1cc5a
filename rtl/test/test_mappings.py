"""Every lookup that begins after a mapping was accepted finds it, in the table or on chip."""

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


class Table:
    """On-board memory, with random contents at first. Reads are answered in any order with the contents when
    the read was accepted or when it is answered. A write takes effect at any time before its response."""

    def __init__(self, dut, stall: float):
        self.dut, self.stall = dut, stall
        self.bytes = bytearray(random.randbytes(8 * LIDS))
        self.in_flight, self.reads = {}, 0
        for port in ("read_ready", "line_valid", "line_error", "burst_ready", "word_ready", "written"):
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
            dut.written_i.value = 1
            await RisingEdge(dut.clk_i)
            dut.written_i.value = 0


class Writer:
    """Maps LIDs. Records all words of each LID and the index of the current one."""

    def __init__(self, dut, stall: float):
        self.dut, self.stall = dut, stall
        self.history, self.in_force = {lid: [0] for lid in CHANGING}, dict.fromkeys(CHANGING, 0)
        dut.map_valid_i.value = dut.mark_valid_i.value = dut.drop_ready_i.value = 0
        cocotb.start_soon(self.drop())
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
            dut.map_valid_i.value, dut.map_lid_i.value, dut.map_address_i.value = 1, lid, word
            self.history[lid].append(word)
            await RisingEdge(dut.clk_i)
            while dut.map_ready_o.value != 1:
                await RisingEdge(dut.clk_i)
            dut.map_valid_i.value = 0
            self.in_force[lid] = len(self.history[lid]) - 1
            for _ in range(random.randint(0, 100)):
                await RisingEdge(dut.clk_i)


async def look_up(lookups: Lookups, client: int, writer: Writer):
    """The lookups of one client. Each finds the word that was current when it began, or a later one."""
    for _ in range(LOOKUPS):
        lid = random.choice((*CHANGING, 7, LIDS))
        since = writer.in_force.get(lid, 0)
        found, _ = await lookups.find(client, lid, kept=random.random() < 0.8)
        allowed = writer.history.get(lid, [0])[since:]
        assert found in allowed, (lid, found, allowed)


@cocotb.test()
@cocotb.parametrize(stall=STALLS)
async def an_accepted_mapping_is_found(dut, stall):
    table, writer = Table(dut, stall), Writer(dut, stall)
    lookups = Lookups(dut)
    await start(dut, lookup_valid_i=0)
    tasks = [cocotb.start_soon(look_up(lookups, client, writer)) for client in range(CLIENTS)]
    for task in tasks:
        await task
    assert table.reads < CLIENTS * LOOKUPS, "no word was found on chip"
    assert sum(map(len, writer.history.values())) > 2 * len(CHANGING), "mappings hardly changed"


def test_mappings():
    readers = {"Ports": CLIENTS, "ReaderBits": 2, "CachedReaders": CLIENTS}
    simulate("mappings", **readers, LidCount=LIDS, BasePage=BASE // 4096)
