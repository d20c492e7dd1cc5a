"""The cache distributes its lines over all channels; the page table is in the first channel."""

import random
from collections import Counter

import cocotb
from buffers import PAGE_LINES
from cocotb.triggers import RisingEdge
from memories import LINE, drams
from records import record
from runner import simulate
from streams import Lanes, Source, end_of_reset, start
from test_dram_port import Watch

BURST_LINE = record("burst_line_t")
TAGS, TAG_BITS, PLACE_BITS = 8, 3, 12
# First address of the cache in each channel. The page table is below it.
CACHE_PAGE = 16


class Channels:
    """The responses of each channel to the cache: the lines of bursts, which may have to wait, and the tags
    of written lines."""

    def __init__(self, dut, stall: float):
        self.dut, self.stall, self.count = dut, stall, int(dut.Channels.value)
        # tag to its lines with their channels; the tags of written lines
        self.lines, self.written = {tag: [] for tag in range(TAGS)}, []
        self.ready, self.valid = Lanes(dut.hit_line_ready_i), Lanes(dut.hit_line_valid_o)
        self.tag, self.line = Lanes(dut.hit_line_tag_o, TAG_BITS), Lanes(dut.hit_line_o, BURST_LINE.width)
        self.is_written = Lanes(dut.line_written_o)
        self.written_tag = Lanes(dut.line_written_tag_o, TAG_BITS)
        dut.hit_line_ready_i.value = 0
        cocotb.start_soon(self.run())

    async def run(self):
        await end_of_reset(self.dut)
        while True:
            accepts = [random.random() >= self.stall for _ in range(self.count)]
            for channel in range(self.count):
                self.ready.set(channel, int(accepts[channel]))
            await RisingEdge(self.dut.clk_i)
            for channel in range(self.count):
                if accepts[channel] and self.valid.get(channel):
                    line = BURST_LINE.unpack(self.line.get(channel))
                    self.lines[self.tag.get(channel)].append((channel, line))
                if self.is_written.get(channel):
                    self.written.append(self.written_tag.get(channel))


async def write_lines(dut, channels: Channels, stall: float) -> dict[int, int]:
    """Writes a line to each address of some pages. Returns the line at each address."""
    source, lines, tags = Source(dut, "line", stall=stall), {}, []
    # Four adjacent pages from a multiple of four on are in four different channels.
    groups = random.sample(range(2**PLACE_BITS // PAGE_LINES // 4), 3)
    for page in (4 * group + member for group in groups for member in range(4)):
        for at in range(8):
            lines[page * PAGE_LINES + at] = random.getrandbits(8 * LINE)
    for place, line in lines.items():
        tags.append(random.randrange(TAGS))
        source.put({"line_tag_i": tags[-1], "line_place_i": place, "line_i": line})
    while len(channels.written) < len(lines):
        await RisingEdge(dut.clk_i)
    assert Counter(channels.written) == Counter(tags)
    return lines


async def read_bursts(dut, channels: Channels, lines: dict[int, int], stall: float) -> set[int]:
    """Reads bursts of written lines, several at a time. Returns the channels of the lines."""
    source, requested, seen, left = Source(dut, "hit", stall=stall), {}, set(), 60
    pages = sorted({place // PAGE_LINES for place in lines})
    while left or requested:
        free = [tag for tag in range(TAGS) if tag not in requested]
        if left and free:
            tag, first, left = random.choice(free), random.randrange(8), left - 1
            place, count = random.choice(pages) * PAGE_LINES + first, random.randint(1, 8 - first)
            requested[tag] = [lines[place + at] for at in range(count)]
            source.put({"hit_tag_i": tag, "hit_place_i": place, "hit_lines_i": count})
        await RisingEdge(dut.clk_i)
        for tag in [tag for tag, expected in requested.items() if len(channels.lines[tag]) == len(expected)]:
            seen |= check(channels.lines[tag], requested.pop(tag))
            channels.lines[tag] = []
    return seen


def check(got: list, expected: list[int]) -> set[int]:
    """Checks that the lines of a burst arrive in order and from one channel. Returns the channel."""
    last = len(expected) - 1
    ends = [{"data": line, "last": int(at == last), "error": 0} for at, line in enumerate(expected)]
    assert [line for _, line in got] == ends
    assert len({channel for channel, _ in got}) == 1
    return {channel for channel, _ in got}


async def look_up(dut, table, answers: Watch, stall: float):
    """Executes concurrent lookups, which read lines of the first channel."""
    source = Source(dut, "table_read", stall=stall)
    for at in range(40):
        address = LINE * random.randrange(PAGE_LINES)
        source.put({"table_read_id_i": at % 4, "table_read_address_i": address})
        while len(answers.got) == at:
            await RisingEdge(dut.clk_i)
        assert answers.got[at] == [at % 4, table.line(address), 0]


@cocotb.test()
@cocotb.parametrize(stall=(0.0, 0.3, 0.8))
async def each_address_has_its_own_line(dut, stall):
    memories, channels = drams(dut, stall=stall), Channels(dut, stall)
    found = Watch(dut, "table_line_valid_o", ["table_line_id_o", "table_line_o", "table_line_error_o"])
    await start(dut, burst_valid_i=0, word_valid_i=0, hit_valid_i=0)
    lookups = cocotb.start_soon(look_up(dut, memories[0], found, stall))
    lines = await write_lines(dut, channels, stall)
    seen = await read_bursts(dut, channels, lines, stall)
    await lookups
    assert seen == set(range(channels.count)), "the cache does not use all channels"
    for memory in memories[1:]:
        assert all(address >= CACHE_PAGE * PAGE_LINES * LINE for address in memory.lines)
    assert int(dut.read_error_o.value) == int(dut.write_error_o.value) == 0


def test_dram_ports():
    for count in (1, 4):
        simulate("dram_ports", Channels=count, PlaceBits=PLACE_BITS, CachePage=CACHE_PAGE)
