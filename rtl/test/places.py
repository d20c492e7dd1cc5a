"""Units whose places read memory: see place_port."""

from collections import defaultdict

from cocotb import start_soon
from cocotb.triggers import Lock, RisingEdge
from records import record
from streams import Lanes, end_of_reset

PLACE_READ, PLACE_LINE = record("place_read_t"), record("place_line_t")


def places_of_units(dut) -> tuple[list[int], list[int]]:
    """Returns the numbers of places of the units of a memory system that read nodes, and of those that read
    leaves."""
    nodes = [int(dut.NodePlaces.value)] * int(dut.NodeUnits.value)
    return nodes, [int(dut.LeafPlaces.value)] * int(dut.LeafUnits.value)


class Places:
    """The places of all units at the ports <prefix>read_* and <prefix>line_*, with the number of places of
    each unit. They are numbered through. By default the units are those of a memory system."""

    def __init__(self, dut, each: list[int] | None = None, prefix="place_"):
        nodes, leaves = ([], each) if each else places_of_units(dut)
        self.dut, self.units = dut, [*nodes, *leaves]
        self.at = [(unit, place) for unit, count in enumerate(self.units) for place in range(count)]
        # The places that read nodes come first.
        self.nodes, self.count = range(sum(nodes)), len(self.at)
        self.leaves = range(sum(nodes), self.count)
        port = {name: getattr(dut, f"{prefix}{name}")
                for name in ("read_valid_i", "read_ready_o", "read_i", "line_valid_o", "line_o")}
        self.valid, self.ready = Lanes(port["read_valid_i"]), Lanes(port["read_ready_o"])
        self.read = Lanes(port["read_i"], PLACE_READ.width)
        self.line_valid, self.line = Lanes(port["line_valid_o"]), Lanes(port["line_o"], PLACE_LINE.width)
        self.locks = [Lock() for _ in self.units]
        # The number of the next read of each place; by unit, place and number, the lines that have arrived.
        self.number, self.arrived = [0] * self.count, defaultdict(list)
        self.valid.set(0, 0)
        start_soon(self.collect())

    async def collect(self):
        await end_of_reset(self.dut)
        while True:
            await RisingEdge(self.dut.clk_i)
            for unit in range(len(self.locks)):
                if self.line_valid.get(unit):
                    line = PLACE_LINE.unpack(self.line.get(unit))
                    self.arrived[unit, line["place"], line["number"]].append(line)

    async def begin(self, index: int, **fields: int) -> int:
        """Begins a read of a place. Returns its number."""
        unit, place = self.at[index]
        number, self.number[index] = self.number[index], 1 - self.number[index]
        assert not self.arrived[unit, place, number]
        async with self.locks[unit]:
            self.read.set(unit, PLACE_READ.pack(place=place, number=number, **fields))
            self.valid.set(unit, 1)
            await RisingEdge(self.dut.clk_i)
            while not self.ready.get(unit):
                await RisingEdge(self.dut.clk_i)
            self.valid.set(unit, 0)
        return number

    async def end(self, index: int, number: int) -> list[dict]:
        """Waits for the end of a read. Returns its lines."""
        lines = self.arrived[*self.at[index], number]
        while not (lines and lines[-1]["last"]):
            await RisingEdge(self.dut.clk_i)
        return self.arrived.pop((*self.at[index], number))

    async def request(self, index: int, **fields: int) -> list[dict]:
        """Executes one read and returns its lines."""
        return await self.end(index, await self.begin(index, **fields))
