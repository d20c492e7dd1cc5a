"""Static timing: the longest paths between registers, from inputs and to outputs, by delay and by levels of
logic.

A path starts after the clock of a register or memory, or at an input, and ends where a register or memory
samples it, or at an output. Inputs and outputs count as registered outside. A level is a lookup table. The
analysis breaks a loop of logic, which no signal goes around in a correct design, at one bit.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from netlist import CLOCK_TO_OUTPUT, SETUP, Arc, Cell, Netlist


@dataclass
class Longest:
    """The longest paths of some kind: the delay in ns, and the levels of the deepest path."""

    delay: float = 0.0
    levels: int = 0
    # where the path with this delay ends
    end: int | None = None

    def add(self, delay: float, levels: int, end: int):
        if delay > self.delay:
            self.delay, self.end = delay, end
        self.levels = max(self.levels, levels)

    def within(self, gate: "Longest") -> bool:
        return self.delay <= gate.delay and self.levels <= gate.levels


class LongestPaths:
    """When each bit changes, and the bit before it on its longest path."""

    delays: dict[int, float]
    last: dict[int, int]

    def path(self, end: int) -> list[tuple[int, float]]:
        """Returns the bits of the longest path to a bit, from its start, and the time at which each
        changes."""
        found = [end]
        while found[-1] in self.last:
            found.append(self.last[found[-1]])
        return [(bit, self.delays[bit]) for bit in reversed(found)]


class Arrivals(LongestPaths):
    """The longest paths to all bits from some starts."""

    def __init__(self, netlist: Netlist, order: list[int], into: dict, starts: dict[int, float]):
        self.netlist = netlist
        self.delays, self.levels, self.last = dict(starts), dict.fromkeys(starts, 0), {}
        for bit in order:
            for arc in into[bit]:
                if arc.source in self.delays:
                    self.extend(arc)

    def extend(self, arc: Arc):
        delay = self.delays[arc.source] + self.netlist.net_delay(arc.source, arc.net) + arc.delay
        if delay > self.delays.get(arc.target, 0.0):
            self.delays[arc.target], self.last[arc.target] = delay, arc.source
        levels = self.levels[arc.source] + arc.levels
        self.levels[arc.target] = max(levels, self.levels.get(arc.target, 0))


class Timing:
    """The longest paths of a netlist: between registers, from inputs to registers, from registers to outputs,
    and from inputs to outputs."""

    def __init__(self, netlist: Netlist):
        self.netlist = netlist
        self.order, self.into, self.loops = topological_order(netlist)
        clocked = {bit: delay for cell in netlist.cells for bit, delay in cell.starts()}
        inputs = dict.fromkeys(netlist.inputs, CLOCK_TO_OUTPUT)
        self.registered, self.from_inputs = (Arrivals(netlist, self.order, self.into, starts)
                                             for starts in (clocked, inputs))

    def ends(self, arrivals: Arrivals) -> Iterator[tuple[Cell, int, float, int]]:
        """Yields the cells that sample a bit, the bit, and the delay and levels of the longest path to
        them."""
        for cell in self.netlist.cells:
            for bit in cell.ends():
                if bit in arrivals.delays:
                    delay = arrivals.delays[bit] + self.netlist.net_delay(bit) + SETUP
                    yield cell, bit, delay, arrivals.levels[bit]

    def to_registers(self, arrivals: Arrivals) -> Longest:
        longest = Longest()
        for _, bit, delay, levels in self.ends(arrivals):
            longest.add(delay, levels, bit)
        return longest

    def to_outputs(self, arrivals: Arrivals) -> Longest:
        longest = Longest()
        for bit in sorted(self.netlist.outputs & arrivals.delays.keys()):
            longest.add(arrivals.delays[bit] + self.netlist.net_delay(bit), arrivals.levels[bit], bit)
        return longest


def topological_order(netlist: Netlist) -> tuple[list[int], dict[int, list[Arc]], int]:
    """Returns the bits, each after all that it depends on, the arcs into each, and the number of broken
    loops."""
    into, targets = defaultdict(list), defaultdict(list)
    for arc in netlist.arcs():
        into[arc.target].append(arc)
        targets[arc.source].append(arc.target)
    missing = Counter({target: len(arcs) for target, arcs in into.items()})
    ready, order, loops = [bit for bit in targets if not missing[bit]], [], 0
    while ready or (waiting := next((bit for bit in into if missing[bit] > 0), None)) is not None:
        if not ready:
            ready, loops = [bit_of_loop(waiting, into, missing)], loops + 1
            missing[ready[0]] = 0
        bit = ready.pop()
        order.append(bit)
        for target in targets[bit]:
            missing[target] -= 1
            if missing[target] == 0:
                ready.append(target)
    return order, into, loops


def bit_of_loop(bit: int, into: dict[int, list[Arc]], missing: Counter) -> int:
    """Returns a bit of the loop that a bit depends on."""
    seen = set()
    while bit not in seen:
        seen.add(bit)
        bit = next(arc.source for arc in into[bit] if missing[arc.source] > 0)
    return bit
