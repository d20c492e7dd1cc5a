"""Bursts have the ids of their tags, and lines are returned with their tags."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from memories import HostMemory
from records import record
from runner import simulate
from streams import STALLS, Source, cycles_until, end_of_reset, start

LINE = record("burst_line_t")
# Longer than the longest read of a test takes when each beat is stalled nine of ten times.
TIMEOUT_BITS = 14


def line(address: int) -> int:
    """Returns the line at an address."""
    return random.Random(address).getrandbits(512)


class Lines:
    """The expected lines of each tag, and the check of the lines that arrive."""

    def __init__(self, dut):
        self.dut = dut
        # tag to its remaining lines
        self.expected, self.failed, self.begun = {}, 0, 0
        cocotb.start_soon(self.run())

    def burst(self, tag: int, lines_max: int = 64) -> dict:
        """Returns a burst for a free tag as values of the ports."""
        lines = random.randint(1, lines_max)
        address = 4096 * random.getrandbits(20) + 64 * random.randint(0, 64 - lines)
        self.begun += 1
        self.expected[tag] = [line(address + 64 * at) for at in range(lines)]
        return {"burst_address_i": address, "burst_lines_i": lines, "burst_tag_i": tag}

    async def run(self):
        await end_of_reset(self.dut)
        while True:
            await RisingEdge(self.dut.clk_i)
            if self.dut.line_valid_o.value == 1:
                self.check(int(self.dut.line_tag_o.value), LINE.unpack(int(self.dut.line_o.value)))

    def check(self, tag: int, arrived: dict):
        lines = self.expected[tag]
        expected = lines.pop(0)
        assert arrived["error"] or arrived["data"] == expected
        self.failed += arrived["error"]
        assert arrived["last"] == (arrived["error"] or not lines)
        if arrived["last"]:
            del self.expected[tag]


@cocotb.test()
@cocotb.parametrize(stall=STALLS, errors=(0.0, 0.02))
async def lines_reach_their_clients(dut, stall, errors):
    HostMemory(dut, line, stall=stall, errors=errors)
    lines, source = Lines(dut), Source(dut, "burst", stall=stall)
    await start(dut)
    tags = 2 ** int(dut.TagBits.value)
    for _ in range(20):
        free = [tag for tag in range(tags) if tag not in lines.expected]
        if free:
            source.put(lines.burst(random.choice(free)))
        for _ in range(random.randint(0, 40)):
            await RisingEdge(dut.clk_i)
    while lines.expected:
        await RisingEdge(dut.clk_i)
    assert errors == 0 or stall > 0.5 or lines.failed > 0


@cocotb.test()
async def no_burst_begins_before_flags_are_cleared(dut):
    """A flag takes a cycle. Flags that a reset finds set would fail bursts that succeed."""
    HostMemory(dut, line)
    await start(dut, burst_valid_i=0)
    await end_of_reset(dut)
    assert await cycles_until(dut, dut.burst_ready_o) >= 2 ** int(dut.TagBits.value) - 1


async def any_bursts(dut, lines: Lines, source: Source, count: int, lines_max: int = 64):
    """Begins bursts with free tags, and waits until all have ended."""
    for _ in range(count):
        free = [tag for tag in range(2 ** int(dut.TagBits.value)) if tag not in lines.expected]
        if free:
            source.put(lines.burst(random.choice(free), lines_max))
        await RisingEdge(dut.clk_i)
    while lines.expected:
        await RisingEdge(dut.clk_i)


@cocotb.test()
async def all_reads_fail_after_one_without_an_answer(dut):
    """The others succeed until then. Later reads fail whether or not memory accepts reads, and answers that
    come late are not used."""
    memory, lines, source = HostMemory(dut, line), Lines(dut), Source(dut, "burst")
    await start(dut)
    await any_bursts(dut, lines, source, 20)
    succeeded = lines.begun
    memory.silence = 1.0
    source.put(lines.burst(0))
    while not memory.in_flight:
        await RisingEdge(dut.clk_i)
    memory.silence, waited = 0.0, 0
    while lines.expected:
        await RisingEdge(dut.clk_i)
        waited += 1
    assert 2**TIMEOUT_BITS <= waited <= 2 * 2**TIMEOUT_BITS + 100
    assert dut.timed_out_o.value == 1 and lines.failed == 1
    memory.break_silence()
    await any_bursts(dut, lines, source, 20)
    memory.stall = 1.0
    await any_bursts(dut, lines, source, 20)
    assert lines.failed == lines.begun - succeeded


@cocotb.test(timeout_time=50 * 2**TIMEOUT_BITS, timeout_unit="ns")
async def reads_fail_although_memory_accepts_none(dut):
    """Reads that wait at the time of the timeout leave no room for later ones, which fail as well."""
    HostMemory(dut, line, stall=1.0)
    lines, source = Lines(dut), Source(dut, "burst")
    await start(dut)
    await any_bursts(dut, lines, source, 40)
    await any_bursts(dut, lines, source, 40)
    assert dut.timed_out_o.value == 1 and lines.failed == lines.begun


@cocotb.test()
async def reads_with_answers_do_not_time_out(dut):
    """Also if a read with a tag is in flight at each visit: it is another one."""
    HostMemory(dut, line, latency=4)
    lines, source = Lines(dut), Source(dut, "burst")
    await start(dut)
    await any_bursts(dut, lines, source, 3 * 2**TIMEOUT_BITS, lines_max=2)
    assert dut.timed_out_o.value == 0 and lines.failed == 0


def test_host_reader():
    for bits in (1, 4):
        simulate("host_reader", TagBits=bits, TimeoutBits=TIMEOUT_BITS)
