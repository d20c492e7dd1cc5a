"""The cache contains the last fill of each entry, unless it was dropped."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from records import record
from runner import simulate
from streams import STALLS, end_of_reset, start

LOOKUP = record("memory_pkg::lookup_t")
ENTRIES = 4
# Several LIDs share an entry; some differ only in their highest bits.
LIDS = (0, 1, 4, 5, 8, 1 << 47, (1 << 47) + 4)
LOOKUPS = 400


class Kept:
    """Fills and drops entries at random times, and models the cache: one word per entry."""

    def __init__(self, dut):
        self.dut, self.places = dut, {}
        dut.fill_i.value = dut.drop_i.value = 0
        cocotb.start_soon(self.run())

    def drive(self) -> str:
        """Drives the requests of this cycle."""
        dut, change = self.dut, random.choice(("fill", "drop", "", "", "", ""))
        dut.fill_i.value, dut.drop_i.value = int(change == "fill"), int(change == "drop")
        dut.fill_lid_i.value = dut.drop_lid_i.value = random.choice(LIDS)
        dut.fill_address_i.value = random.randrange(1, 1 << 48)
        return change

    async def run(self):
        dut = self.dut
        await end_of_reset(dut)
        # Nothing is filled while the memory is cleared.
        while dut.lookup_ready_o.value != 1:
            await RisingEdge(dut.clk_i)
        while True:
            change = self.drive()
            await RisingEdge(dut.clk_i)
            lid = int(dut.fill_lid_i.value)
            if change == "fill":
                self.places[lid % ENTRIES] = (lid, int(dut.fill_address_i.value))
            elif change == "drop":
                self.places.pop(lid % ENTRIES, None)

    def find(self, lid: int) -> int | None:
        """Returns the word of a LID that is cached, or else None."""
        kept, address = self.places.get(lid % ENTRIES, (None, None))
        return address if kept == lid else None


async def offer(dut, lid: int, client: int):
    """Offers a lookup until it is accepted."""
    dut.lookup_i.value, dut.lookup_client_i.value = LOOKUP.pack(lid=lid, kept=1), client
    dut.lookup_valid_i.value = 1
    await RisingEdge(dut.clk_i)
    while dut.lookup_ready_o.value != 1:
        await RisingEdge(dut.clk_i)
    dut.lookup_valid_i.value = 0


async def answer(dut, stall: float) -> int | None:
    """Returns the address of a hit, or None for a miss."""
    while True:
        accepts = int(random.random() >= stall)
        dut.hit_ready_i.value = dut.miss_ready_i.value = accepts
        await RisingEdge(dut.clk_i)
        if accepts and (dut.hit_valid_o.value == 1 or dut.miss_valid_o.value == 1):
            dut.hit_ready_i.value = dut.miss_ready_i.value = 0
            return int(dut.hit_address_o.value) if dut.hit_valid_o.value == 1 else None


@cocotb.test()
@cocotb.parametrize(stall=STALLS)
async def finds_the_last_fill(dut, stall):
    kept, hits = Kept(dut), 0
    await start(dut, lookup_valid_i=0, hit_ready_i=0, miss_ready_i=0)
    for _ in range(LOOKUPS):
        lid, client = random.choice(LIDS), random.randrange(4)
        await offer(dut, lid, client)
        # The state of the previous cycle, because reads and writes exclude each other.
        expected = kept.find(lid)
        found = await answer(dut, stall)
        assert found == expected, (lid, found, expected)
        assert LOOKUP.unpack(int(dut.lookup_o.value))["lid"] == lid
        assert int(dut.client_o.value) == client
        hits += found is not None
    assert 0 < hits < LOOKUPS


def test_page_table_cache():
    simulate("page_table_cache", Entries=ENTRIES)
