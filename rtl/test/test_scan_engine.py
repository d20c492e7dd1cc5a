"""A scan engine executes many reads concurrently and returns the same answers as the reader of trees. A
model of the search engine executes repeated descents."""

import random

import cocotb
from cocotb import start_soon
from cocotb.triggers import RisingEdge
from nodes import SHAPES, Memory
from place_ports import PlacePorts
from ports import KeyPorts, element
from runner import simulate
from scans import (
    BEAT,
    DESCENT,
    GEOMETRY,
    KEY_WRITE,
    LEAF,
    Parts,
    Read,
    Searches,
    expected,
    grow,
    random_get,
    random_scan,
)
from streams import Sink, Source, end_of_reset, start
from trees import Reader

UNITS, SLOTS = 2, 3


class Bench:
    """The engine with its memory, its key buffers, the source of requests, and a search engine."""

    def __init__(self, dut, memory: Memory, stall: float):
        self.dut, self.memory, self.stall = dut, memory, stall
        self.ports = PlacePorts(dut, memory, ports=UNITS, stall=stall, jitter=20, copies=0.5)
        self.keys = KeyPorts(dut, ports=UNITS, stall=stall)
        self.leaves = Source(dut, "leaf", stall=stall)
        self.repeated_leaves = Source(dut, "repeated_leaf", stall=stall)
        self.descents, self.answers = Sink(dut, "repeated", stall=stall), Sink(dut, "answer", stall=stall)
        self.searches = Searches(memory, self.keys.keys)
        # by slot: the read, and the parts of its answer
        self.requested, self.parts = {}, {}

    async def start(self):
        geometry = GEOMETRY.pack(node_bytes=self.memory.shape.node_bytes)
        await start(self.dut, geometry_i=geometry)
        start_soon(self.accept_key_writes())
        start_soon(self.search())

    async def accept_key_writes(self):
        await end_of_reset(self.dut)
        while True:
            ready = random.getrandbits(UNITS)
            self.dut.key_write_ready_i.value = ready
            await RisingEdge(self.dut.clk_i)
            accepted = ready & int(self.dut.key_write_valid_o.value)
            for unit in range(UNITS):
                if accepted >> unit & 1:
                    word = element(self.dut.key_write_o, unit, KEY_WRITE.width)
                    self.searches.write_key(KEY_WRITE.unpack(word))

    async def search(self):
        """Delays repeated descents, so that several units wait, and returns their leaves in any order."""
        descents = []
        while True:
            await RisingEdge(self.dut.clk_i)
            descents += self.descents.got
            self.descents.got.clear()
            if descents and random.random() < 0.001:
                descent = descents.pop(random.randrange(len(descents)))
                self.repeated_leaves.put(self.searches.descend(DESCENT.unpack(descent)))

    def request(self, slot: int, read, root: int):
        self.requested[slot], self.parts[slot] = read, Parts()
        self.keys.keys[slot, 0], self.keys.keys[slot, 1] = read.lower, read.upper
        lid = read.leaf(Reader(self.memory, read.version), root)
        self.leaves.put(LEAF.pack(lid=lid, request=read.task(slot, root)))

    def check_answers(self, root: int) -> int:
        """Compares the answers that have arrived. Returns the number of those that are complete."""
        complete = 0
        while self.answers.got:
            word = self.answers.got.pop(0)
            slot = BEAT.unpack(word)["slot"]
            done = self.parts[slot].take(word)
            if done is not None:
                read = self.requested.pop(slot)
                assert done == (slot, expected(read, Reader(self.memory, read.version), root)), read
                complete += 1
        return complete


def random_read(keys: list[bytes], bytes_max: int, version: int) -> Read:
    """Returns a get, a scan of a range, or a scan of everything."""
    flags = random.choice(({}, {"backward": True}, {"floor_start": True}))
    match random.randrange(3):
        case 0:
            return random_get(keys, bytes_max, version)
        case 1:
            return random_scan(keys, bytes_max, version, **flags)
    return Read(version, flags=flags)


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.3])
async def answers_many_reads(dut, stall):
    memory = Memory(SHAPES["tiny"])
    tree, keys = grow(memory, 250)
    bench = Bench(dut, memory, stall)
    await bench.start()
    reads, answered = 90, 0
    free = list(range(9))
    for _ in range(200_000):
        if free and reads:
            reads -= 1
            version = random.randint(0, tree.version)
            bench.request(free.pop(), random_read(keys, memory.shape.key_bytes_max, version), tree.root)
        await RisingEdge(dut.clk_i)
        before = set(bench.requested)
        answered += bench.check_answers(tree.root)
        free += before - set(bench.requested)
        if answered == 90:
            break
    assert answered == 90 and bench.searches.count > 0


def test_scan_engine():
    simulate("scan_engine", Units=UNITS, Slots=SLOTS, ResultLines=16)
