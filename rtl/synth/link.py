"""Connects the netlists of engines into the netlist of the accelerator, so that the timing pass follows paths
from a register of an engine through its pins into another engine."""

from itertools import chain

from netlist import places

Wire = int | str


class Joined:
    """Sets of wires that are one net. A constant, "0" or "1", names its net."""

    def __init__(self):
        self.parents: dict[Wire, Wire] = {}

    def net(self, wire: Wire) -> Wire:
        while wire in self.parents:
            wire = self.parents[wire]
        return wire

    def join(self, first: Wire, second: Wire):
        first, second = self.net(first), self.net(second)
        if isinstance(first, str):
            first, second = second, first
        if first != second and isinstance(first, int):
            self.parents[first] = second


def link(top: dict, parts: dict[str, dict]) -> dict:
    """Returns the netlist of a module with the netlists of its parts in place of the cells of their types.
    A port of such a cell that its part does not have is left open; all others have the same widths."""
    joined, cells, nets = Joined(), {}, dict(top["netnames"])
    above = highest(top) + 1
    for name, cell in top["cells"].items():
        if cell["type"] not in parts:
            cells[name] = cell
            continue
        part = moved(parts[cell["type"]], above)
        above = highest(part) + 1
        for port, inside in part["ports"].items():
            for pair in zip(inside["bits"], cell["connections"][port], strict=True):
                joined.join(*pair)
        cells |= {f"{name}.{inner}": each for inner, each in part["cells"].items()}
        nets |= {f"{name}.{inner}": each for inner, each in part["netnames"].items()}
    linked = {"ports": top["ports"], "cells": cells, "netnames": nets}
    return rewired(linked, joined.net)


def highest(netlist: dict) -> int:
    """Returns the highest wire of a netlist."""
    cells = (places(cell["connections"]) for cell in netlist["cells"].values())
    ports = places({name: port["bits"] for name, port in netlist["ports"].items()})
    nets = places({name: net["bits"] for name, net in netlist["netnames"].items()})
    return max((wire for _, _, wire in chain(ports, nets, *cells)), default=0)


def moved(netlist: dict, above: int) -> dict:
    return rewired(netlist, lambda wire: wire if isinstance(wire, str) else wire + above)


def rewired(netlist: dict, wire_of) -> dict:
    """Returns a netlist with other wires."""
    def bits(named: dict) -> dict:
        return {name: each | {"bits": list(map(wire_of, each["bits"]))} for name, each in named.items()}

    cells = {}
    for name, cell in netlist["cells"].items():
        connections = {port: list(map(wire_of, wires)) for port, wires in cell["connections"].items()}
        cells[name] = cell | {"connections": connections}
    return {"ports": bits(netlist["ports"]), "cells": cells, "netnames": bits(netlist["netnames"])}
