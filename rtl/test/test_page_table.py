"""Every lookup finds the word of its LID, whatever order memory answers in."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from runner import simulate
from streams import STALLS, Lanes, end_of_reset, start

LIDS = 1024
BASE = 8192


class Table:
    """On-board memory as the page table reads it. Entries of address 0 are not mapped; some reads fail."""

    def __init__(self, dut, stall: float):
        self.dut, self.stall = dut, stall
        self.words = [random.choice((0, random.getrandbits(48))) for _ in range(LIDS)]
        # ids in flight and their addresses
        self.flying, self.failed = {}, set()
        dut.line_read_ready_i.value = dut.line_valid_i.value = 0
        cocotb.start_soon(self.run())

    def line(self, address: int) -> int:
        """The eight words of a line, with anything above the addresses."""
        first = (address - BASE) // 8
        words = [random.getrandbits(16) << 48 | self.words[first + at] for at in range(8)]
        return sum(word << 64 * at for at, word in enumerate(words))

    def answer(self):
        """One of the reads in flight, or none."""
        dut = self.dut
        answers = bool(self.flying) and random.random() >= self.stall
        dut.line_valid_i.value = int(answers)
        if answers:
            identifier = random.choice(list(self.flying))
            fails = random.random() < 0.05
            if fails:
                self.failed.add(identifier)
            dut.line_i.value, dut.line_error_i.value = self.line(self.flying.pop(identifier)), int(fails)
            dut.line_id_i.value = identifier

    async def run(self):
        dut = self.dut
        await end_of_reset(dut)
        while True:
            takes = random.random() >= self.stall
            dut.line_read_ready_i.value = int(takes)
            self.answer()
            await RisingEdge(dut.clk_i)
            if takes and dut.line_read_valid_o.value == 1:
                identifier, address = int(dut.line_read_id_o.value), int(dut.line_read_address_o.value)
                assert BASE <= address < BASE + 8 * LIDS and address % 64 == 0
                self.flying[identifier] = address


async def look_up(dut, index: int, ports, table, lookups: int):
    """One client's lookups, one after the other."""
    valid, ready, lid, found = ports
    for _ in range(lookups):
        wanted = random.choice((0, 1, LIDS - 1, LIDS, random.randrange(LIDS), random.getrandbits(48)))
        lid.set(index, wanted)
        valid.set(index, 1)
        await RisingEdge(dut.clk_i)
        while not ready.get(index):
            await RisingEdge(dut.clk_i)
        valid.set(index, 0)
        while not found.get(index):
            await RisingEdge(dut.clk_i)
        mapped = wanted < LIDS and index not in table.failed
        assert int(dut.found_o.value) == (table.words[wanted] if mapped else 0)
        table.failed.discard(index)


@cocotb.test()
@cocotb.parametrize(stall=STALLS)
async def finds_the_word_of_each_lid(dut, stall):
    count = int(dut.ClientCount.value)
    table = Table(dut, stall)
    ports = (Lanes(dut.lookup_valid_i), Lanes(dut.lookup_ready_o), Lanes(dut.lookup_i, 48),
             Lanes(dut.found_valid_o))
    await start(dut, lookup_valid_i=0)
    await end_of_reset(dut)
    tasks = [cocotb.start_soon(look_up(dut, index, ports, table, 40)) for index in range(count)]
    for task in tasks:
        await task


def test_page_table():
    for count in (1, 5):
        simulate("page_table", ClientCount=count, LidCount=LIDS, BasePage=BASE // 4096)
