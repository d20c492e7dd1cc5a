"""Every lookup finds the word of its LID, in whatever order memory answers, while mappings change."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from lookups import Lookups
from memories import Beats
from runner import simulate
from streams import STALLS, end_of_reset, start

LIDS = 1024
BASE = 8192
# for each client
LOOKUPS = 100
# LIDs whose mappings change; some of them share an entry on chip.
CHANGING = (0, 1, 4, 5, LIDS - 1)


class Table:
    """On-board memory as the page table reads it. LIDs with address 0 are not mapped. Some reads fail."""

    def __init__(self, dut, stall: float):
        self.dut, self.stall = dut, stall
        self.words = [random.choice((0, random.getrandbits(48))) for _ in range(LIDS)]
        # all words of each LID, and the index of the current one
        self.history = {lid: [self.words[lid]] for lid in CHANGING}
        self.in_force = dict.fromkeys(CHANGING, 0)
        # the reads in flight by their ids; number of all reads
        self.in_flight, self.failed, self.reads = {}, set(), 0
        for port in ("line_read_ready", "line_valid", "map_valid", "drop", "failed"):
            getattr(dut, f"{port}_i").value = 0
        # LIDs that were reported to lack columns
        self.lacking = []
        cocotb.start_soon(self.run())
        cocotb.start_soon(self.change())
        cocotb.start_soon(self.watch())

    async def some_cycles(self, most=30):
        for _ in range(random.randint(0, most)):
            await RisingEdge(self.dut.clk_i)

    async def change(self):
        """Writes words. A word takes effect some cycles later."""
        dut = self.dut
        await end_of_reset(dut)
        while True:
            await self.some_cycles(300)
            lid, word = random.choice(CHANGING), random.choice((0, random.getrandbits(48)))
            dut.map_valid_i.value, dut.map_lid_i.value = 1, lid
            await self.some_cycles()
            dut.drop_i.value = 1
            await RisingEdge(dut.clk_i)
            dut.drop_i.value = 0
            await self.some_cycles()
            self.words[lid] = word
            self.history[lid].append(word)
            await self.some_cycles()
            await RisingEdge(dut.clk_i)
            dut.map_valid_i.value = 0
            self.in_force[lid] = len(self.history[lid]) - 1

    async def watch(self):
        await end_of_reset(self.dut)
        while True:
            await RisingEdge(self.dut.clk_i)
            if self.dut.lacks_valid_o.value == 1:
                self.lacking.append(int(self.dut.lacks_lid_o.value))

    def allowed(self, lid: int, since: int) -> list[int]:
        """Returns the words that a lookup may find if it began when this word was current."""
        if lid >= LIDS:
            return [0]
        return self.history[lid][since:] if lid in CHANGING else [self.words[lid]]

    def line(self, address: int) -> int:
        """Returns the eight words of a line. Leaves with odd addresses have their columns on board; the bits
        above that are random."""
        first = (address - BASE) // 8
        words = [self.words[first + at] for at in range(8)]
        words = [random.getrandbits(15) << 49 | (word & 1) << 48 | word for word in words]
        return sum(word << 64 * at for at, word in enumerate(words))

    def answer(self):
        """Answers one of the reads in flight, or none."""
        dut = self.dut
        answers = bool(self.in_flight) and random.random() >= self.stall
        dut.line_valid_i.value = int(answers)
        if answers:
            identifier = random.choice(list(self.in_flight))
            fails = random.random() < 0.05
            if fails:
                self.failed.add(identifier)
            dut.line_i.value, dut.line_error_i.value = self.in_flight.pop(identifier).step()[0], int(fails)
            dut.line_id_i.value = identifier

    async def run(self):
        dut = self.dut
        await end_of_reset(dut)
        while True:
            accepts = random.random() >= self.stall
            dut.line_read_ready_i.value = int(accepts)
            self.answer()
            await RisingEdge(dut.clk_i)
            if accepts and dut.line_read_valid_o.value == 1:
                identifier, address = int(dut.line_read_id_o.value), int(dut.line_read_address_o.value)
                assert BASE <= address < BASE + 8 * LIDS and address % 64 == 0
                self.in_flight[identifier] = Beats(self.line, address, 1, 0)
                self.reads += 1


async def look_up(lookups: Lookups, client: int, table: Table):
    """Executes lookups of one client, one at a time."""
    for _ in range(LOOKUPS):
        target = random.choice((*CHANGING, LIDS, random.randrange(LIDS), random.getrandbits(48)))
        since = table.in_force.get(target, 0)
        # Some LIDs are never on chip.
        kept, columns = target % 3 > 0 and random.random() < 0.8, random.random() < 0.5
        before = table.lacking.count(target)
        found, has_columns = await lookups.find(client, target, kept, columns)
        allowed = [0] if client in table.failed else table.allowed(target, since)
        assert found in allowed, (target, allowed)
        if target % 3 == 0 and found:
            assert has_columns == found & 1
            await RisingEdge(lookups.dut.clk_i)
            assert has_columns or not columns or table.lacking.count(target) > before
        assert not found or has_columns <= found & 1
        table.failed.discard(client)


@cocotb.test()
@cocotb.parametrize(stall=STALLS)
async def finds_the_word_of_each_lid(dut, stall):
    count = int(dut.Ports.value)
    table = Table(dut, stall)
    lookups = Lookups(dut)
    await start(dut, lookup_valid_i=0)
    await end_of_reset(dut)
    tasks = [cocotb.start_soon(look_up(lookups, client, table)) for client in range(count)]
    for task in tasks:
        await task
    assert table.reads < LOOKUPS * count, "no word was found on chip"
    lacking = {lid for lid in table.lacking if lid not in CHANGING}
    assert table.lacking and all(table.words[lid] and not table.words[lid] & 1 for lid in lacking)


def test_page_table():
    for count in (1, 5):
        readers = {"Ports": count, "ReaderBits": 3, "CachedReaders": count}
        simulate("page_table", **readers, LidCount=LIDS, KeptLids=4, BasePage=BASE // 4096)
