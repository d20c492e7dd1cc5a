"""The timing and the size of a module, and the clock that it is granted."""

from dataclasses import dataclass

from hierarchy import Hierarchy, Place, Use
from netlist import Netlist
from timing import Longest, Timing
from yosys import without_dsp

# The gate: a delay in ns and levels of logic between registers, at which the paper's device has its clock in
# MHz. It has a margin of 15 % to a public design of 512 bits that ships at 250 MHz.
GATE = Longest(5.0, 10)
MEGAHERTZ = 220


@dataclass
class Report:
    """A synthesized module: its resources and its longest paths between registers, of all instances of each
    part and in total; its longest paths from or to pins; and its outputs that have logic before them."""

    total: Use
    parts: dict[Place, Use]
    pins: Longest
    behind_logic: set[str]
    loops: int

    @property
    def paths(self) -> tuple[Longest, Longest]:
        """The longest path between registers and the one from or to pins."""
        return self.total.longest, self.pins

    @property
    def is_within_gate(self) -> bool:
        return all(path.within(GATE) for path in self.paths)

    @property
    def megahertz(self) -> float:
        """The clock that the paths between registers are granted."""
        longest = self.total.longest
        return MEGAHERTZ / max(1.0, longest.delay / GATE.delay, longest.levels / GATE.levels)


def report(module: str, parameters: dict[str, int]) -> Report:
    """Synthesizes a module and returns its report."""
    return report_of(Timing(Netlist(without_dsp(module, parameters))))


def report_of(timing: Timing) -> Report:
    parts = Hierarchy(timing).uses()
    total = Use(longest=timing.to_registers(timing.registered))
    for use in parts.values():
        total.luts, total.registers, total.blocks = (
            total.luts + use.luts, total.registers + use.registers, total.blocks + use.blocks)
    pins = timing.to_outputs(timing.registered)
    for other in (timing.to_registers(timing.from_inputs), timing.to_outputs(timing.from_inputs)):
        pins.add(other.delay, other.levels, other.end)
    return Report(total, parts, pins, timing.netlist.behind_logic(), timing.loops)
