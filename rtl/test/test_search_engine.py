"""A search engine finds the leaves of its descents, in any order, and has no deadlock."""

import random

import cocotb
from cocotb.triggers import ClockCycles
from descents import LEAF, TASK, Descent, random_descent
from nodes import SHAPES, Memory
from place_ports import PlacePorts
from ports import KeyPorts
from records import record
from runner import simulate
from streams import STALLS, Sink, Source, start
from trees import grow

COUNTS = record("search_counts_t")


class Bench:
    """The engine with its memory and its key buffers, and the sources of descents. Slots below 128 belong
    to requests, the others to repeated descents of scans."""

    def __init__(self, dut, stall: float, leaf_stall: float, **ports):
        units, self.places = int(dut.Units.value), int(dut.Places.value)
        self.dut, self.memory = dut, Memory(SHAPES["tiny"])
        self.tree, self.candidates = grow(self.memory, writes=150)
        self.ports = PlacePorts(dut, self.memory, units, stall=stall, values=False, **ports)
        self.keys = KeyPorts(dut, units, stall=stall)
        self.sources = Source(dut, "descent", stall=stall), Source(dut, "repeated", stall=stall)
        self.sinks = Sink(dut, "leaf", stall=leaf_stall), Sink(dut, "repeated_leaf", stall=stall)
        self.requested: dict[int, Descent] = {}

    async def start(self):
        await start(self.dut)

    def request(self, repeated: int, count: int):
        """Offers this number of descents."""
        for slot in range(128 * repeated, 128 * repeated + count):
            descent = random_descent(self.tree, self.candidates, slot, repeated)
            self.requested[slot] = descent
            self.keys.keys[slot, descent.by_upper] = descent.key
            self.sources[repeated].put(descent.word)

    async def check(self, repeated: int, count: int):
        """Waits for this number of leaves and compares them."""
        await self.sinks[repeated].count(count)
        leaves = [LEAF.unpack(word) for word in self.sinks[repeated].got]
        slots = [TASK.unpack(leaf["request"])["slot"] for leaf in leaves]
        assert sorted(slots) == list(range(128 * repeated, 128 * repeated + count))
        for slot, leaf in zip(slots, leaves):
            self.requested[slot].check(self.memory, leaf)


@cocotb.test()
@cocotb.parametrize(stall=STALLS)
async def finds_all_leaves(dut, stall):
    bench = Bench(dut, stall, stall, jitter=20)
    await bench.start()
    bench.request(0, 60)
    bench.request(1, 20)
    await bench.check(0, 60)
    await bench.check(1, 20)
    await bench.ports.drained()
    await ClockCycles(dut.clk_i, 2)
    counts, reads = COUNTS.unpack(int(dut.counts_o.value)), bench.ports.reads
    steps = [read for read in reads if not read["cacheable"] and read["first"] == 0]
    assert counts["version_steps"] == len(steps)
    assert counts["lines"] == sum(read["count"] for read in reads)
    assert 0 < counts["nodes"] < counts["busy"] < counts["lines"] < counts["descents"]


@cocotb.test()
async def repeats_descents_while_no_leaf_is_accepted(dut):
    """Repeated descents end although the leaves of requests wait for scan units."""
    bench = Bench(dut, 0.0, 1.0, jitter=20)
    await bench.start()
    bench.request(0, 100)
    await ClockCycles(dut.clk_i, 3000)
    assert bench.sources[0].accepted == int(dut.Leaves.value)
    bench.request(1, 20)
    await bench.check(1, 20)
    bench.sinks[0].stall = 0.0
    await bench.check(0, 100)


@cocotb.test()
async def uses_all_units_before_their_second_descents(dut):
    """Concurrent descents need little longer than a single one. No unit has two before each has one."""
    bench = Bench(dut, 0.0, 0.0, latency=300)
    await bench.start()
    bench.request(0, bench.places)
    await ClockCycles(dut.clk_i, 2 + int(dut.Units.value))
    busy, descents = int(dut.busy.value), int(dut.Descents.value)
    assert all(busy >> at & (1 << descents) - 1 for at in range(0, bench.places, descents))
    await ClockCycles(dut.clk_i, 100)
    assert bench.sources[0].accepted == bench.places == len(bench.ports.reads)
    await bench.check(0, bench.places)


def test_search_engine():
    for units, descents in ((1, 1), (1, 3), (5, 2)):
        simulate("search_engine", Units=units, Descents=descents)
