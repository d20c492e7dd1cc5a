"""The module returns the correct lines of the root and passes all other bursts on unchanged."""

import random

import cocotb
from buffers import Buffers, Burst
from cocotb.triggers import RisingEdge
from records import record
from runner import simulate
from streams import Sink, Source, end_of_reset, start

NAME, LINE = record("node_name_t"), record("burst_line_t")
OTHER = ["other_address_o", "other_lines_o", "other_tag_o", "other_name_o"]
TAGS = 8


class Memories:
    """Clients with one burst per tag, host memory behind the module, and writers."""

    def __init__(self, dut, stall: float, buffers: Buffers, errors=0.0):
        self.dut, self.stall, self.buffers, self.errors = dut, stall, buffers, errors
        self.bursts = Source(dut, "burst", stall=stall)
        self.other = Sink(dut, "other", OTHER, stall=stall)
        self.beats = Sink(dut, "beat", ["beat_tag_o", "beat_o"], stall=stall)
        # by tag: the burst and its node; the number of lines that came from the chip; the number of lines
        # that host memory has returned
        self.in_flight, self.arrived, self.arriving = {}, {}, {}
        # number of lines by source
        self.lines = {"chip": 0, "host": 0}
        for task in (self.accept_others(), self.return_lines(), self.accept_beats()):
            cocotb.start_soon(task)

    def request(self, tag: int, burst: Burst, cacheable=1):
        name = {"cacheable": cacheable, "lid": burst.lid, "address": burst.buffer}
        self.in_flight[tag], self.arrived[tag] = (burst, name), 0
        self.bursts.put({"burst_address_i": burst.address, "burst_lines_i": burst.lines, "burst_tag_i": tag,
                         "name_i": NAME.pack(**name)})

    def end(self, tag: int):
        self.buffers.end(self.in_flight.pop(tag)[0])

    async def ended(self):
        while self.in_flight:
            await RisingEdge(self.dut.clk_i)

    async def accept_others(self):
        while True:
            await RisingEdge(self.dut.clk_i)
            while self.other.got:
                read = self.other.got.pop(0)
                burst, name = self.in_flight[read["other_tag_o"]]
                assert (read["other_address_o"], read["other_lines_o"]) == (burst.address, burst.lines)
                named = NAME.unpack(read["other_name_o"])
                assert {**named, "cacheable": 0} == {**name, "cacheable": 0}
                assert named["cacheable"] <= name["cacheable"]
                self.arriving[read["other_tag_o"]] = 0

    async def return_lines(self):
        """Returns lines of several tags, interleaved."""
        dut = self.dut
        await end_of_reset(dut)
        while True:
            gives = bool(self.arriving) and random.random() >= self.stall
            dut.line_valid_i.value = int(gives)
            if gives:
                tag = random.choice(list(self.arriving))
                burst, at = self.in_flight[tag][0], self.arriving[tag]
                error = random.random() < self.errors
                last = error or at + 1 == burst.lines
                dut.line_tag_i.value = tag
                dut.line_i.value = LINE.pack(data=burst.data(at), last=int(last), error=int(error))
                self.arriving[tag] += 1
                self.lines["host"] += 1
                if last:
                    del self.arriving[tag]
            await RisingEdge(dut.clk_i)
            if gives and last:
                self.end(tag)

    async def accept_beats(self):
        while True:
            await RisingEdge(self.dut.clk_i)
            while self.beats.got:
                beat = self.beats.got.pop(0)
                tag, line = beat["beat_tag_o"], LINE.unpack(beat["beat_o"])
                (burst, name), at = self.in_flight[tag], self.arrived[tag]
                assert name["cacheable"] and tag not in self.arriving
                assert line == {"data": burst.data(at), "last": int(at + 1 == burst.lines), "error": 0}
                self.arrived[tag] += 1
                self.lines["chip"] += 1
                if line["last"]:
                    self.end(tag)


async def write(dut, buffers: Buffers, pause: int):
    """Models writers: drops, and sometimes another root."""
    await end_of_reset(dut)
    while True:
        for _ in range(random.randint(0, pause)):
            await RisingEdge(dut.clk_i)
        lid = random.choice(buffers.lids)
        names_root = random.random() < 0.2
        dut.root_valid_i.value, dut.root_i.value = int(names_root), random.choice((lid, 0))
        dut.drop_valid_i.value, dut.drop_lid_i.value = 1, lid
        await RisingEdge(dut.clk_i)
        dut.root_valid_i.value = dut.drop_valid_i.value = 0
        buffers.drop(lid)


async def name_root(dut, lid: int):
    dut.root_valid_i.value, dut.root_i.value = 1, lid
    await RisingEdge(dut.clk_i)
    dut.root_valid_i.value = 0


@cocotb.test()
@cocotb.parametrize(stall=(0.0, 0.5), errors=(0.0, 0.02))
async def lines_are_correct(dut, stall, errors):
    buffers = Buffers(lids=2, buffers=2)
    memories = Memories(dut, stall, buffers, errors)
    await start(dut, enable_i=1, root_valid_i=0, drop_valid_i=0, line_valid_i=0)
    await name_root(dut, 1)
    writing = cocotb.start_soon(write(dut, buffers, pause=500))
    for _ in range(1200):
        free = [tag for tag in range(TAGS) if tag not in memories.in_flight]
        if free:
            burst = buffers.begin(first_max=130 if random.random() < 0.1 else 70)
            memories.request(random.choice(free), burst, int(random.random() < 0.95))
        for _ in range(random.randint(1, 4)):
            await RisingEdge(dut.clk_i)
    writing.cancel()
    await memories.ended()
    assert memories.lines["chip"] > 0 and memories.lines["host"] > 100


@cocotb.test()
@cocotb.parametrize(change=("none", "root", "same root", "drop", "other drop", "disable", "buffer"))
async def a_root_stays_until_it_changes(dut, change):
    buffers = Buffers(lids=1, buffers=1)
    memories = Memories(dut, 0.0, buffers)
    await start(dut, enable_i=1, root_valid_i=0, drop_valid_i=0, line_valid_i=0)
    await name_root(dut, 1)
    burst = buffers.begin()
    for _ in range(2):
        memories.request(0, burst)
        await memories.ended()
    assert memories.lines == {"chip": burst.lines, "host": burst.lines}
    if "root" in change:
        await name_root(dut, 2 - change.startswith("same"))
    if "drop" in change:
        dut.drop_valid_i.value, dut.drop_lid_i.value = 1, 1 + change.startswith("other")
        await RisingEdge(dut.clk_i)
        dut.drop_valid_i.value = 0
    dut.enable_i.value = int(change != "disable")
    if change == "buffer":
        burst = Burst(1, burst.buffer + 8192, burst.address + 8192, burst.lines, 0)
    memories.request(0, burst)
    await memories.ended()
    stays = change in ("none", "same root", "other drop")
    assert memories.lines["chip"] == burst.lines * (1 + stays)


@cocotb.test()
async def a_root_changes_while_a_burst_is_compared(dut):
    """The lines of the former root are not stored for the new one, which has the same buffer."""
    buffers = Buffers(lids=2, buffers=1)
    memories = Memories(dut, 0.0, buffers)
    await start(dut, enable_i=1, root_valid_i=0, drop_valid_i=0, line_valid_i=0)
    buffer = buffers.buffers[0]
    for delay in range(8):
        await name_root(dut, 1)
        memories.request(0, Burst(1, buffer, buffer, 3, 0))
        for _ in range(delay):
            await RisingEdge(dut.clk_i)
        await name_root(dut, 2)
        await memories.ended()
        memories.request(0, Burst(2, buffer, buffer, 3, 0))
        await memories.ended()
    assert memories.lines["chip"] == 0


def test_root_on_chip():
    simulate("root_on_chip")
