"""A search engine comes to the leaves that its descents lead to, in any order, and never waits for itself."""

import random

import cocotb
from cocotb.triggers import ClockCycles
from descents import LEAF, TASK, Descent, random_descent
from nodes import SHAPES, Memory
from ports import KeyPorts, MemoryPorts
from records import record
from runner import simulate
from streams import STALLS, Sink, Source, start
from trees import grow

COUNTS = record("search_counts_t")


class House:
    """The engine between its memory, its key buffers and who asks. Slots below 128 are of requests, the
    others of scans that go down again."""

    def __init__(self, dut, stall: float, leaf_stall: float, **ports):
        units, self.places = int(dut.Units.value), int(dut.Places.value)
        self.dut, self.memory = dut, Memory(SHAPES["tiny"])
        self.tree, self.candidates = grow(self.memory, writes=150)
        self.ports = MemoryPorts(dut, self.memory, self.places, stall=stall, **ports)
        self.keys = KeyPorts(dut, units, stall=stall)
        self.sources = Source(dut, "descent", stall=stall), Source(dut, "repeated", stall=stall)
        self.sinks = Sink(dut, "leaf", stall=leaf_stall), Sink(dut, "repeated_leaf", stall=stall)
        self.asked: dict[int, Descent] = {}

    async def start(self):
        await start(self.dut, shortcut_capacity_i=self.memory.shape.capacity)

    def ask(self, again: int, count: int):
        """Puts so many descents."""
        for slot in range(128 * again, 128 * again + count):
            descent = random_descent(self.tree, self.candidates, slot, again)
            self.asked[slot] = descent
            self.keys.keys[slot, descent.by_upper] = descent.key
            self.sources[repeated].put(descent.word)

    async def check(self, again: int, count: int):
        """Waits for so many leaves and compares them."""
        await self.sinks[repeated].count(count)
        leaves = [LEAF.unpack(word) for word in self.sinks[repeated].got]
        slots = [TASK.unpack(leaf["request"])["slot"] for leaf in leaves]
        assert sorted(slots) == list(range(128 * again, 128 * again + count))
        for slot, leaf in zip(slots, leaves):
            self.asked[slot].check(self.memory, leaf)


@cocotb.test()
@cocotb.parametrize(stall=STALLS)
async def comes_to_all_leaves(dut, stall):
    house = House(dut, stall, stall, jitter=20)
    await house.start()
    house.ask(0, 60)
    house.ask(1, 20)
    await house.check(0, 60)
    await house.check(1, 20)
    await house.ports.drained()
    await ClockCycles(dut.clk_i, 2)
    counts, reads = COUNTS.unpack(int(dut.counts_o.value)), house.ports.reads
    steps = [read for read in reads if not read["cacheable"] and read["first"] == 0]
    assert counts["version_steps"] == len(steps)
    assert counts["lines"] == sum(read["count"] for read in reads)
    assert 0 < counts["nodes"] < counts["lines"] < counts["busy"] < counts["descents"]


@cocotb.test()
async def goes_down_again_while_no_leaf_is_taken(dut):
    """Scans wait for leaves although those of requests wait for scans."""
    house = House(dut, 0.0, 1.0, jitter=20)
    await house.start()
    house.ask(0, 100)
    await ClockCycles(dut.clk_i, 3000)
    assert house.sources[0].taken == int(dut.Leaves.value)
    house.ask(1, 20)
    await house.check(1, 20)
    house.sinks[0].stall = 0.0
    await house.check(0, 100)


@cocotb.test()
async def works_on_as_many_as_it_has_places(dut):
    """Descents that come together take little longer than one; no unit has two before each has one."""
    house = House(dut, 0.0, 0.0, latency=300)
    await house.start()
    house.ask(0, house.places)
    await ClockCycles(dut.clk_i, 2 + int(dut.Units.value))
    busy, descents = int(dut.busy.value), int(dut.Descents.value)
    assert all(busy >> at & (1 << descents) - 1 for at in range(0, house.places, descents))
    await ClockCycles(dut.clk_i, 100)
    assert house.sources[0].taken == house.places == len(house.ports.reads)
    await house.check(0, house.places)


def test_search_engine():
    for units, descents in ((1, 1), (1, 3), (14, 2)):
        simulate("search_engine", Units=units, Descents=descents)
