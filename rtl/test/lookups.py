"""Clients of the page table."""

from cocotb.triggers import RisingEdge
from records import record
from streams import Lanes

LOOKUP = record("memory_pkg::lookup_t")


class Lookups:
    """The lookup ports of all clients."""

    def __init__(self, dut):
        self.dut = dut
        self.valid, self.ready = Lanes(dut.lookup_valid_i), Lanes(dut.lookup_ready_o)
        self.lookup, self.found = Lanes(dut.lookup_i, LOOKUP.width), Lanes(dut.found_valid_o)

    async def find(self, client: int, lid: int, kept: bool, columns=False) -> tuple[int, int]:
        """Executes one lookup of a client. Returns the address, and whether columns are on board."""
        self.lookup.set(client, LOOKUP.pack(lid=lid, kept=kept, columns=columns))
        self.valid.set(client, 1)
        await RisingEdge(self.dut.clk_i)
        while not self.ready.get(client):
            await RisingEdge(self.dut.clk_i)
        self.valid.set(client, 0)
        while not self.found.get(client):
            await RisingEdge(self.dut.clk_i)
        return int(self.dut.found_o.value), int(self.dut.found_columns_o.value)
