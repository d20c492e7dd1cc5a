"""Readers of the page table."""

from cocotb.triggers import RisingEdge
from records import record
from streams import Lanes

LOOKUP = record("memory_pkg::lookup_t")


class Lookups:
    """The lookup ports, each with one reader of the same number."""

    def __init__(self, dut):
        self.dut = dut
        self.valid, self.ready = Lanes(dut.lookup_valid_i), Lanes(dut.lookup_ready_o)
        self.lookup = Lanes(dut.lookup_i, LOOKUP.width)
        self.readers = Lanes(dut.lookup_reader_i, int(dut.ReaderBits.value))
        for port in range(int(dut.Ports.value)):
            self.readers.set(port, port)

    async def find(self, client: int, lid: int, kept: bool, columns=False) -> tuple[int, int]:
        """Executes one lookup of a client. Returns the address, and whether columns are on board."""
        self.lookup.set(client, LOOKUP.pack(lid=lid, kept=kept, columns=columns))
        self.valid.set(client, 1)
        await RisingEdge(self.dut.clk_i)
        while not self.ready.get(client):
            await RisingEdge(self.dut.clk_i)
        self.valid.set(client, 0)
        while not (self.dut.found_valid_o.value == 1 and int(self.dut.found_reader_o.value) == client):
            await RisingEdge(self.dut.clk_i)
        return int(self.dut.found_o.value), int(self.dut.found_columns_o.value)
