"""A flat netlist of UltraScale+ cells as a graph of bits: how signals pass through cells, and how long that
takes.

The delays, in nanoseconds, are those of a placed design at speed grade -2. A delay of a net grows with the
number of its loads. A lookup table is placed beside the multiplexer or carry cell that is its only load.
"""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

CLOCK_TO_OUTPUT, SETUP = 0.08, 0.05
LUT = 0.12
MUX, MUX_SELECT = 0.07, 0.17
CARRY_IN, CARRY_BIT, CARRY_SUM = 0.16, 0.015, 0.10
BLOCK_MEMORY, LUT_MEMORY, LUT_MEMORY_READ = 0.95, 0.35, 0.17
NET, NET_DOUBLED = 0.22, 0.035

REGISTERS = {"FDRE", "FDSE"}
# block memories of 36 kbit
BLOCKS = {"RAMB36E2": 1.0, "RAMB18E2": 0.5}
# the lookup tables of each cell
LOGIC = {f"LUT{inputs}": 1 for inputs in range(1, 7)}
LUT_MEMORIES = {"RAM32M16": 8, "RAM64M8": 8, "RAM32X1D": 2, "RAM64X1D": 2, "RAM128X1D": 4, "RAM256X1D": 8}
SHIFTERS = {"SRL16E": 1, "SRLC32E": 1}
LUTS = LOGIC | LUT_MEMORIES | SHIFTERS
MUXES = {"MUXF7", "MUXF8", "MUXF9"}
# An inverter becomes part of the cell behind it or in front of it.
FREE = {"INV", "GND", "VCC"}
KINDS = REGISTERS | BLOCKS.keys() | LUTS.keys() | MUXES | FREE | {"CARRY4"}

# The net in front of a cell: a general one; one beside a cell, which is placed there if it is the only load;
# one without delay.
ROUTED, BESIDE, DIRECT = "routed", "beside", "direct"


class Unmapped(Exception):
    """A netlist contains a cell that has no delay here."""


@dataclass(frozen=True)
class Arc:
    """A way through a cell from an input bit to an output bit."""

    source: int
    target: int
    delay: float
    # lookup tables on the way
    levels: int
    # ROUTED, BESIDE or DIRECT
    net: str = ROUTED


@dataclass(frozen=True)
class Cell:
    name: str
    kind: str
    inputs: dict[str, list[int]]
    outputs: dict[str, list[int]]

    @property
    def is_memory(self) -> bool:
        return self.kind in BLOCKS or self.kind in LUT_MEMORIES or self.kind in SHIFTERS

    def starts(self) -> Iterator[tuple[int, float]]:
        """Yields the bits that change after the clock, and the time after it."""
        delays = dict.fromkeys(REGISTERS, CLOCK_TO_OUTPUT) | dict.fromkeys(BLOCKS, BLOCK_MEMORY)
        delays |= dict.fromkeys(LUT_MEMORIES | SHIFTERS, LUT_MEMORY)
        if self.kind in delays:
            yield from ((bit, delays[self.kind]) for bit in bits(self.outputs))

    def ends(self) -> Iterator[int]:
        """Yields the bits that the clock samples."""
        if self.kind in REGISTERS or self.is_memory:
            reads = self.read_addresses()
            yield from bits({port: wires for port, wires in self.inputs.items()
                             if not is_clock(port) and port not in reads})

    def read_addresses(self) -> dict[str, str]:
        """Returns the addresses that select an output without a clock, and that output."""
        if self.kind in SHIFTERS:
            return {port: "Q" for port in self.inputs if port.startswith("A")}
        if self.kind not in LUT_MEMORIES:
            return {}
        pairs = {f"ADDR{letter}": f"DO{letter}" for letter in "ABCDEFG"}
        pairs |= {port: "DPO" for port in self.inputs if port.startswith("DPRA")}
        return {address: output for address, output in pairs.items() if output in self.outputs}

    def arcs(self, carries: set[int]) -> Iterator[Arc]:
        """Yields the ways through the cell that need no clock; `carries` are the bits that leave carry
        cells."""
        if self.kind in LOGIC:
            yield from self.ways(self.inputs, self.outputs, LUT, 1, ROUTED)
        elif self.kind == "INV":
            yield from self.ways(self.inputs, self.outputs, 0.0, 0, DIRECT)
        elif self.kind in MUXES:
            data = {port: wires for port, wires in self.inputs.items() if port != "S"}
            yield from self.ways(data, self.outputs, MUX, 0, BESIDE)
            yield from self.ways({"S": self.inputs["S"]}, self.outputs, MUX_SELECT, 0, ROUTED)
        elif self.kind == "CARRY4":
            yield from self.carry_arcs(carries)
        for port, output in self.read_addresses().items():
            address, data = {port: self.inputs[port]}, {output: self.outputs[output]}
            yield from self.ways(address, data, LUT_MEMORY_READ, 1, ROUTED)

    @staticmethod
    def ways(inputs: dict, outputs: dict, delay: float, levels: int, net: str) -> Iterator[Arc]:
        """Yields an arc from each input to each output."""
        for target in bits(outputs):
            yield from (Arc(source, target, delay, levels, net) for source in bits(inputs))

    def carry_arcs(self, carries: set[int]) -> Iterator[Arc]:
        """A carry or a sum depends on the inputs at its place and below it, a sum not on DI at its place."""
        for output, at, target in places(self.outputs):
            out = CARRY_SUM if output == "O" else 0.0
            for port, below, source in places(self.inputs):
                if port in ("CI", "CYINIT"):
                    along, net = CARRY_BIT * (at + 1) + out, DIRECT if source in carries else ROUTED
                    yield Arc(source, target, along if net == DIRECT else CARRY_IN + along, 0, net)
                elif below < at or (below == at and (output, port) != ("O", "DI")):
                    yield Arc(source, target, CARRY_IN + CARRY_BIT * (at - below) + out, 0, BESIDE)


def places(ports: dict[str, list]) -> Iterator[tuple[str, int, int]]:
    """Yields each port, its places and their bits, without constants."""
    for port, wires in ports.items():
        yield from ((port, at, bit) for at, bit in enumerate(wires) if isinstance(bit, int))


def bits(ports: dict[str, list]) -> Iterator[int]:
    return (bit for _, _, bit in places(ports))


def is_clock(port: str) -> bool:
    return port == "C" or "CLK" in port


class Netlist:
    """The cells of a module, its ports, and the loads of each bit."""

    def __init__(self, module: dict):
        self.module = module
        cells = module["cells"].items()
        self.cells = [read_cell(name, cell) for name, cell in cells if cell["type"] != "$scopeinfo"]
        if unknown := {cell.kind for cell in self.cells} - KINDS:
            raise Unmapped(f"cells {', '.join(sorted(unknown))} have no delay")
        self.inputs, self.outputs = (pins(module, direction) for direction in ("input", "output"))

    @cached_property
    def loads(self) -> Counter:
        """The number of loads of each bit."""
        return Counter(bit for cell in self.cells for bit in bits(cell.inputs)) + Counter(self.outputs)

    @cached_property
    def carries(self) -> set[int]:
        """The bits that leave a carry cell along the chain."""
        cells = (cell for cell in self.cells if cell.kind == "CARRY4")
        return {bit for cell in cells for bit in bits({"CO": cell.outputs.get("CO", [])})}

    @cached_property
    def logic(self) -> set[int]:
        """The bits that leave a lookup table or a multiplexer of lookup tables."""
        return {bit for cell in self.cells if cell.kind in LOGIC.keys() | MUXES for bit in bits(cell.outputs)}

    def net_delay(self, bit: int, net: str = ROUTED) -> float:
        if net == DIRECT or (net == BESIDE and self.loads[bit] == 1 and bit in self.logic):
            return 0.0
        return NET + NET_DOUBLED * math.log2(max(1, self.loads[bit]))

    def arcs(self) -> Iterator[Arc]:
        return (arc for cell in self.cells for arc in cell.arcs(self.carries))


    def behind_logic(self) -> set[str]:
        """Returns the outputs that do not come from registers alone."""
        registers = {bit for cell in self.cells if cell.kind in REGISTERS for bit in bits(cell.outputs)}
        inverters = [cell for cell in self.cells if cell.kind == "INV"]
        registers |= {bit for cell in inverters if registers.issuperset(bits(cell.inputs))
                      for bit in bits(cell.outputs)}
        outputs = {name: port["bits"] for name, port in self.module["ports"].items()
                   if port["direction"] == "output"}
        return {name for name, _, bit in places(outputs) if bit not in registers}


def pins(module: dict, direction: str) -> set[int]:
    ports = (port for port in module["ports"].values() if port["direction"] == direction)
    return {bit for port in ports for bit in port["bits"] if isinstance(bit, int)}


def read_cell(name: str, cell: dict) -> Cell:
    ports = {direction: {port: wires for port, wires in cell["connections"].items()
                         if cell["port_directions"][port] == direction} for direction in ("input", "output")}
    return Cell(name, cell["type"], ports["input"], ports["output"])
