"""Assigns the cells of a flat netlist to the instances of its hierarchy, by the names of nets.

A net has a name in each module that it passes through. The ports of rtl/ end in _i and _o, so the driver of a
net is outside of an instance in which its name ends in _i. A cell without such a name belongs to the instance
that contains all its loads.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from netlist import BLOCKS, LOGIC, LUTS, REGISTERS, Cell, Netlist, bits
from timing import Longest, Timing

# the names of the instances from the top to the one that is meant
Place = tuple[str, ...]


@dataclass
class Use:
    """The resources of all instances with one place, without their parts, and the paths that end there."""

    luts: int = 0
    registers: int = 0
    blocks: float = 0.0
    longest: Longest = field(default_factory=Longest)


def place_of(name: str) -> Place:
    """Returns the instances in a name. Instances of a generated array have one name."""
    return tuple(re.findall(r"\b(u_\w+)\.", name))


def common(first: Place, second: Place) -> Place:
    count = 0
    while count < min(len(first), len(second)) and first[count] == second[count]:
        count += 1
    return first[:count]


def around(cell: Cell, place: Place | None) -> Place | None:
    """Returns the place of the logic in front of a cell: that of a memory is outside of the module of the
    memory."""
    return place[:-1] if cell.is_memory else place


class Hierarchy:
    """The place of each cell of a netlist."""

    def __init__(self, timing: Timing):
        self.timing, self.netlist = timing, timing.netlist
        self.named = self.names()
        self.loads = defaultdict(list)
        for cell in self.netlist.cells:
            for bit in bits(cell.inputs):
                self.loads[bit].append(cell)
        self.places = self.assign()

    def names(self) -> dict[int, Place]:
        """Returns the deepest place of each bit in the names that its driver may have, or else the place
        around the outermost instance that has the bit as an input."""
        inside, outside = {}, {}
        for name, net in self.netlist.module["netnames"].items():
            place, is_input = place_of(name), re.search(r"_i(\[\d+\])*$", name)
            if net["hide_name"] or (is_input and not place):
                continue
            for bit in net["bits"]:
                if is_input:
                    outside[bit] = min(outside.get(bit, place), place[:-1], key=len)
                else:
                    inside[bit] = max(inside.get(bit, place), place, key=len)
        return outside | inside

    def assign(self) -> dict[str, Place]:
        """Assigns cells from the ends of paths to their starts, so that the loads of a cell have a place."""
        places = {cell.name: self.own(cell) for cell in self.netlist.cells}
        drivers = {bit: cell for cell in self.netlist.cells for bit in bits(cell.outputs)}
        for bit in reversed(self.timing.order):
            cell = drivers.get(bit)
            if cell is not None and places[cell.name] is None:
                places[cell.name] = self.of_loads(cell, places)
        return {name: place or () for name, place in places.items()}

    def own(self, cell: Cell) -> Place | None:
        """Returns the place that a cell has by its own name or by that of an output."""
        if cell.is_memory:
            return place_of(cell.name)
        return next((self.named[bit] for bit in bits(cell.outputs) if bit in self.named), None)

    def of_loads(self, cell: Cell, places: dict[str, Place | None]) -> Place:
        found = [around(load, places[load.name]) for bit in bits(cell.outputs) for load in self.loads[bit]]
        known = [place for place in found if place is not None]
        place = known[0] if known else ()
        for other in known[1:]:
            place = common(place, other)
        return place

    def uses(self) -> dict[Place, Use]:
        """Returns the resources and the longest paths of each place."""
        uses = defaultdict(Use)
        for cell in self.netlist.cells:
            use = uses[self.places[cell.name]]
            use.luts += LUTS.get(cell.kind, 0)
            use.registers += cell.kind in REGISTERS
            use.blocks += BLOCKS.get(cell.kind, 0.0)
        for cell, bit, delay, levels in self.timing.ends(self.timing.registered):
            uses[self.places[cell.name]].longest.add(delay, levels, bit)
        return uses
