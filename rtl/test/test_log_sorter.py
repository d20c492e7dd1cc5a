"""A log sorter has the same order as a list with the same insertions, while the list before it is read."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from records import record
from runner import simulate
from streams import start

ENTRY = record("sorted_entry_t")
ENTRIES = 12


class Model:
    """The sorter as a list."""

    def __init__(self):
        self.entries, self.overflow = [], False

    def insert(self, entry: dict[str, int], rank: int):
        self.overflow |= len(self.entries) == ENTRIES
        if not self.overflow:
            self.entries.insert(rank, entry)

    def neighbours(self, rank: int) -> tuple[int, int]:
        """Returns the back pointers before and after a rank. Those of sorted entries ascend."""
        pointers = [0, *(entry["back_pointer"] for entry in self.entries), 40]
        return pointers[rank], pointers[rank + 1]


async def check(dut, model: Model):
    """Checks every position, and every possible back pointer."""
    assert int(dut.count_o.value) == len(model.entries)
    assert int(dut.overflow_o.value) == model.overflow
    for index, entry in enumerate(model.entries):
        dut.index_i.value, dut.position_i.value = index, entry["back_pointer"]
        await RisingEdge(dut.clk_i)
        assert ENTRY.unpack(int(dut.entry_o.value)) == entry
        hidden = index > 0 and model.entries[index - 1]["repeats"]
        assert int(dut.hidden_o.value) == hidden
        await RisingEdge(dut.clk_i)
        before = sum(other["back_pointer"] < entry["back_pointer"] for other in model.entries)
        assert int(dut.before_o.value) == before


async def insert(dut, model: Model):
    """Inserts a random entry at a random rank."""
    entry = {name: random.getrandbits(width) for name, (_, width) in ENTRY.fields.items()}
    rank = random.randint(0, len(model.entries))
    entry["back_pointer"] = random.randint(*model.neighbours(rank))
    dut.insert_i.value, dut.insert_rank_i.value = 1, rank
    dut.insert_entry_i.value = ENTRY.pack(**entry)
    model.insert(entry, rank)
    await RisingEdge(dut.clk_i)
    dut.insert_i.value = 0
    if random.random() < 0.3:
        await RisingEdge(dut.clk_i)


async def take(dut):
    """Takes the entries."""
    dut.take_i.value = 1
    await RisingEdge(dut.clk_i)
    dut.take_i.value = 0
    await RisingEdge(dut.clk_i)


@cocotb.test()
async def sorts(dut):
    await start(dut, take_i=0, insert_i=0, index_i=0, position_i=0)
    taken = Model()
    for _ in range(40):
        model = Model()
        checks = random.randint(0, ENTRIES)
        for number in range(random.choice((random.randint(0, ENTRIES), ENTRIES - 1, ENTRIES, ENTRIES + 2))):
            if number == checks:
                await check(dut, taken)
            await insert(dut, model)
        await check(dut, taken)
        await take(dut)
        taken = model
        await check(dut, taken)


def test_log_sorter():
    simulate("log_sorter", EntriesMax=ENTRIES)
