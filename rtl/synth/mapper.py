"""Delays of paths as the mapper of Yosys (abc9) counts them, which differ from those of netlist.py.

The mapper knows the delays of an older family: those in Yosys' models of its cells. It counts every net as
300 ps, and no delay for registers and memories.
"""

import re
from functools import cache
from pathlib import Path

import pyosys
from netlist import LOGIC, MUXES, Cell, Netlist, bits, places
from timing import LongestPaths, topological_order

# The delays of the inputs of a lookup table, and of the net before each, in ps. The mapper connects the
# input that changes last to the fastest one.
PINS = (127, 238, 407, 472, 631, 642)
WIRE = 300

CELLS = Path(pyosys.__file__).parent / "share" / "xilinx" / "cells_sim.v"
ARC = re.compile(r"\((\w+)(?:\[(\d)\])?\s*=> (\w+)(?:\[(\d)\])?\) = (\d+);")


@cache
def box_delays(kind: str) -> dict[tuple[str, int, str, int], int]:
    """Returns the delay in ps from each input of a carry cell or multiplexer to each output."""
    model = re.split(rf"module {kind}\b", CELLS.read_text())[1].split("endmodule")[0]
    arcs = ARC.findall(model)
    return {(source, int(i or 0), target, int(o or 0)): int(delay) for source, i, target, o, delay in arcs}


class MapperArrivals(LongestPaths):
    """The longest paths to all bits by the delays of the mapper, in ps."""

    def __init__(self, netlist: Netlist):
        starts = {bit for cell in netlist.cells for bit, _ in cell.starts()} | netlist.inputs
        self.delays, self.last = dict.fromkeys(starts, 0), {}
        drivers = {bit: cell for cell in netlist.cells for bit in bits(cell.outputs)}
        order, _, _ = topological_order(netlist)
        for bit in order:
            if bit not in self.delays and (ways := list(self.ways(drivers[bit], bit))):
                self.delays[bit], self.last[bit] = max(ways)

    def ways(self, cell: Cell, target: int):
        """Yields the time at which each input of a cell changes the target, and the input."""
        if cell.kind in LOGIC:
            sources = sorted((self.delays[bit], bit) for bit in bits(cell.inputs) if bit in self.delays)
            yield from ((at + WIRE + pin, bit) for pin, (at, bit) in zip(PINS, reversed(sources)))
        elif cell.kind in MUXES or cell.kind == "CARRY4":
            yield from self.box_ways(cell, target)
        else:
            yield from ((self.delays[bit], bit) for bit in bits(cell.inputs) if bit in self.delays)

    def box_ways(self, cell: Cell, target: int):
        output, place = next((port, at) for port, at, bit in places(cell.outputs) if bit == target)
        delays = box_delays(cell.kind)
        for port, at, bit in places(cell.inputs):
            if bit in self.delays and (delay := delays.get((port, at, output, place))) is not None:
                yield self.delays[bit] + delay, bit
