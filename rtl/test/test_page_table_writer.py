"""The table is cleared before all other accesses, and a mapping that was accepted is in memory, unless memory
rejects its write again and again: then the table has failed."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from runner import simulate
from streams import STALLS, end_of_reset, start, transfer

LIDS = 1024
BASE = 4096
# of a word: the columns of the leaf are in on-board memory
HAS_COLUMNS = 1 << 48
# attempts to write a burst: see page_table_writer
ATTEMPTS = 4


class Words:
    """On-board memory as the writer uses it, one burst at a time. Its contents are random at first. It
    rejects up to `rejections` attempts to write a burst, of which some change memory nevertheless."""

    def __init__(self, dut, stall: float, rejections: int = 0):
        self.dut, self.stall, self.rejections, self.attempts = dut, stall, rejections, 0
        self.rejects_all = False
        self.bytes = bytearray(random.randbytes(BASE + 8 * LIDS + 4096))
        dut.burst_ready_i.value = dut.word_ready_i.value = dut.done_valid_i.value = 0
        cocotb.start_soon(self.run())

    def word(self, lid: int) -> int:
        """Returns the entry of a LID."""
        return int.from_bytes(self.bytes[BASE + 8 * lid:][:8], "little")

    def write(self, address: int):
        data, strobe = int(self.dut.word_o.value).to_bytes(64, "little"), int(self.dut.word_strobe_o.value)
        for at in range(64):
            if strobe >> at & 1:
                self.bytes[address + at] = data[at]

    async def run(self):
        dut, left = self.dut, 0
        await end_of_reset(dut)
        while True:
            await transfer(dut, self.stall, dut.burst_ready_i, dut.burst_valid_o)
            self.attempts += 1
            left = left - 1 if left else random.randint(0, self.rejections)
            error = self.rejects_all or left > 0
            is_executed = not error or random.random() < 0.5
            address, beats = int(dut.burst_address_o.value), int(dut.burst_len_o.value) + 1
            assert address % 64 == 0 and address % 4096 + 64 * beats <= 4096
            for at in range(beats):
                await transfer(dut, self.stall, dut.word_ready_i, dut.word_valid_o)
                assert dut.word_last_o.value == (at == beats - 1)
                if is_executed:
                    self.write(address + 64 * at)
            await self.respond(error)

    async def respond(self, error: bool):
        dut = self.dut
        dut.done_error_i.value = int(error)
        while random.random() < self.stall:
            await RisingEdge(dut.clk_i)
        dut.done_valid_i.value = 1
        await RisingEdge(dut.clk_i)
        while dut.done_ready_o.value != 1:
            await RisingEdge(dut.clk_i)
        dut.done_valid_i.value = 0


class Drops:
    """Accepts drops of LIDs, and records the contents of the table at these times."""

    def __init__(self, dut, words: Words):
        self.dut, self.words, self.seen, self.repeats = dut, words, None, False
        cocotb.start_soon(self.run())

    async def run(self):
        while True:
            await transfer(self.dut, self.words.stall, self.dut.drop_ready_i, self.dut.drop_valid_o)
            assert self.seen is None or self.repeats
            self.seen = self.words.word(int(self.dut.map_lid_i.value))


async def map_lid(dut, lid: int, address: int):
    dut.map_valid_i.value, dut.map_lid_i.value, dut.map_address_i.value = 1, lid, address
    await RisingEdge(dut.clk_i)
    while dut.map_ready_o.value != 1:
        await RisingEdge(dut.clk_i)
    dut.map_valid_i.value = 0


async def mark(dut, lid: int, address: int):
    """Marks a leaf. Returns when the mark was accepted, before it is written."""
    dut.mark_valid_i.value, dut.mark_lid_i.value, dut.mark_address_i.value = 1, lid, address
    await RisingEdge(dut.clk_i)
    while dut.mark_ready_o.value != 1:
        await RisingEdge(dut.clk_i)
    dut.mark_valid_i.value, dut.mark_lid_i.value, dut.mark_address_i.value = 0, 0, 0


async def idle(dut):
    """Waits until everything is written."""
    await RisingEdge(dut.clk_i)
    while dut.mark_ready_o.value != 1:
        await RisingEdge(dut.clk_i)


@cocotb.test()
@cocotb.parametrize(stall=STALLS)
async def a_mark_waits_for_mappings_and_they_for_it(dut, stall):
    """A mark that is offered together with a mapping is written after it. A mapping that begins while the
    mark is written forgets it."""
    words = Words(dut, stall)
    await start(dut, map_valid_i=0, mark_valid_i=0)
    Drops(dut, words).repeats = True
    while dut.is_clear_o.value != 1:
        await RisingEdge(dut.clk_i)
    for lid in range(8, 16):
        address = random.randrange(1, 1 << 48)
        mapping = cocotb.start_soon(map_lid(dut, lid, address))
        await mark(dut, lid, address)
        assert mapping.done() and words.word(lid) == address
        if lid % 2:
            await map_lid(dut, lid, address + 1)
            assert words.word(lid) == address + 1
        await idle(dut)
        assert words.word(lid) == (address + 1 if lid % 2 else address | HAS_COLUMNS)


@cocotb.test()
@cocotb.parametrize(stall=STALLS, rejections=[0, ATTEMPTS - 1])
async def writes_accepted_mappings(dut, stall, rejections):
    words = Words(dut, stall, rejections)
    await start(dut, map_valid_i=0, mark_valid_i=0)
    drops = Drops(dut, words)
    while dut.is_clear_o.value != 1:
        await RisingEdge(dut.clk_i)
    table = [0] * LIDS
    outside = bytes(words.bytes[:BASE]), bytes(words.bytes[BASE + 8 * LIDS:])
    assert [words.word(lid) for lid in range(LIDS)] == table
    for _ in range(30):
        lid = random.choice((0, LIDS - 1, LIDS, random.randrange(LIDS), 1 << 47))
        address = random.getrandbits(48)
        drops.seen = None
        await map_lid(dut, lid, address)
        if lid < LIDS:
            assert drops.seen == table[lid], "the LID was not dropped exactly once before the table changed"
            table[lid] = address
            assert words.word(lid) == address
            if address and random.random() < 0.5:
                await mark(dut, lid, address)
                table[lid] |= HAS_COLUMNS
    await idle(dut)
    assert [words.word(lid) for lid in range(LIDS)] == table
    assert outside == (words.bytes[:BASE], words.bytes[BASE + 8 * LIDS:])
    assert dut.failed_o.value == 0


@cocotb.test()
@cocotb.parametrize(fails_at=["clear", "mapping", "mark"])
async def a_table_that_memory_rejects_has_failed_until_reset(dut, fails_at):
    """The writer gives up after some attempts, and goes on with what follows."""
    words = Words(dut, 0.3)
    words.rejects_all = fails_at == "clear"
    await start(dut, map_valid_i=0, mark_valid_i=0)
    Drops(dut, words).repeats = True
    while dut.is_clear_o.value != 1:
        await RisingEdge(dut.clk_i)
    assert dut.failed_o.value == (fails_at == "clear")
    await map_lid(dut, 5, 4096)
    attempts, words.rejects_all = words.attempts, True
    if fails_at == "mark":
        await mark(dut, 5, 4096)
        await idle(dut)
    else:
        await map_lid(dut, 5, 8192)
    assert dut.failed_o.value == 1 and words.attempts == attempts + ATTEMPTS
    words.rejects_all = False
    await map_lid(dut, 6, 4096)
    assert dut.failed_o.value == 1 and words.word(6) == 4096
    dut.rst_i.value = 1
    for _ in range(2):
        await RisingEdge(dut.clk_i)
    assert dut.failed_o.value == 0


def test_page_table_writer():
    simulate("page_table_writer", LidCount=LIDS, BasePage=BASE // 4096)
