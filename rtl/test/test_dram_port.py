"""Page table and cache share an AXI4 port; each receives its own responses, in order, with their errors."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from memories import LINE, Dram
from records import record
from runner import simulate
from streams import Sink, Source, cycles_until, end_of_reset, start

BURST_LINE = record("burst_line_t")
CLIENTS, TAGS = 4, 8
# The addresses of reads and writes do not overlap.
READ, WRITTEN = 0, 1 << 20


class Watch:
    """Records outputs that have no ready signal: `<name>_valid_o`, or `<name>_o` alone."""

    def __init__(self, dut, valid: str, ports: list[str]):
        self.dut, self.valid, self.ports, self.got = dut, valid, ports, []
        cocotb.start_soon(self.run())

    async def run(self):
        while True:
            await RisingEdge(self.dut.clk_i)
            if self.dut.rst_i.value == 0 and getattr(self.dut, self.valid).value == 1:
                self.got.append([int(getattr(self.dut, port).value) for port in self.ports])


async def look_up(dut, dram, answers: Watch, count: int):
    """Lookups, one at a time for each client."""
    source, requested, seen, failed = Source(dut, "table_read", stall=0.3), {}, 0, 0
    while count or requested:
        free = [client for client in range(CLIENTS) if client not in requested]
        if count and free:
            client, address = random.choice(free), READ + LINE * random.randrange(64)
            requested[client], count = address, count - 1
            source.put({"table_read_id_i": client, "table_read_address_i": address})
        await RisingEdge(dut.clk_i)
        for client, line, error in answers.got[seen:]:
            seen += 1
            address = requested.pop(client)
            assert error or line == dram.line(address)
            failed += error
    assert (failed > 0) == (dram.errors > 0)


async def read_bursts(dut, dram, lines: Sink, count: int):
    """Bursts of the cache, one at a time for each tag. One that fails ends with its last line."""
    source, requested, seen, failed = Source(dut, "hit", stall=0.3), {}, 0, 0
    while count or requested:
        free = [tag for tag in range(TAGS) if tag not in requested]
        if count and free:
            tag, length, count = random.choice(free), random.randint(1, 8), count - 1
            address = READ + 4096 * random.randrange(4) + LINE * random.randrange(56)
            requested[tag] = [address + LINE * at for at in range(length)]
            source.put({"hit_tag_i": tag, "hit_address_i": address, "hit_lines_i": length})
        await RisingEdge(dut.clk_i)
        for line in lines.got[seen:]:
            seen += 1
            left = requested[line["hit_line_tag_o"]]
            beat, address = BURST_LINE.unpack(line["hit_line_o"]), left.pop(0)
            assert beat["error"] or beat["data"] == dram.line(address)
            assert beat["last"] == (beat["error"] or not left)
            failed += beat["error"]
            if beat["last"]:
                del requested[line["hit_line_tag_o"]]
    assert (failed > 0) == (dram.errors > 0)


async def write_lines(dut, dram, written: dict, answers: Watch, count: int):
    """Writes lines to the cache. Each tag receives one response for each of its lines."""
    source, tags = Source(dut, "line", stall=0.3), []
    for _ in range(count):
        address, data = WRITTEN + LINE * random.randrange(1 << 10), random.getrandbits(8 * LINE)
        # Each address is written once, because the order of two writes is undefined.
        if address not in written:
            written[address] = data
            tags.append(random.randrange(TAGS))
            source.put({"line_tag_i": tags[-1], "line_address_i": address, "line_i": data})
    while len(answers.got) < len(tags):
        await RisingEdge(dut.clk_i)
    assert sorted(tag for tag, _ in answers.got) == sorted(tags)
    assert any(error for _, error in answers.got) == (dram.errors > 0)


async def write_table(dut, dram, written: dict, answers: Watch, count: int):
    """Bursts of the page table, one at a time."""
    bursts, words = Source(dut, "burst"), Source(dut, "word", stall=0.3)
    for index in range(count):
        length, base = random.choice((1, 4)), 2 * WRITTEN + 4096 * index
        bursts.put({"burst_address_i": base, "burst_len_i": length - 1})
        await bursts.drained()
        for at in range(length):
            written[base + LINE * at] = random.getrandbits(8 * LINE)
            words.put({"word_i": written[base + LINE * at], "word_strobe_i": 2**LINE - 1,
                       "word_last_i": int(at + 1 == length)})
        while len(answers.got) == index:
            await RisingEdge(dut.clk_i)
    assert len(answers.got) == count and ([1] in answers.got) == (dram.errors > 0)


@cocotb.test()
@cocotb.parametrize(stall=(0.0, 0.3, 0.8), errors=(0.0, 0.5))
async def each_receives_its_own_responses(dut, stall, errors):
    dram = Dram(dut, stall=stall, errors=errors)
    found = Watch(dut, "table_line_valid_o", ["table_line_id_o", "table_line_o", "table_line_error_o"])
    lines = Sink(dut, "hit_line", ["hit_line_tag_o", "hit_line_o"], stall=stall)
    line_answers = Watch(dut, "line_written_o", ["line_written_tag_o", "line_written_error_o"])
    table_answers = Watch(dut, "table_written_o", ["table_written_error_o"])
    await start(dut)
    written = {}
    tasks = [look_up(dut, dram, found, 40), read_bursts(dut, dram, lines, 40),
             write_lines(dut, dram, written, line_answers, 40),
             write_table(dut, dram, written, table_answers, 20)]
    for task in [cocotb.start_soon(task) for task in tasks]:
        await task
    for address, data in written.items():
        assert errors or dram.lines[address] == data


@cocotb.test()
async def no_burst_begins_before_flags_are_cleared(dut):
    """A flag takes a cycle. Flags that a reset finds set would fail bursts that succeed."""
    Dram(dut)
    Sink(dut, "hit_line", ["hit_line_tag_o", "hit_line_o"])
    others = dict.fromkeys(("table_read_valid_i", "line_valid_i", "burst_valid_i", "word_valid_i"), 0)
    await start(dut, hit_valid_i=1, hit_tag_i=0, hit_address_i=READ, hit_lines_i=1, **others)
    await end_of_reset(dut)
    assert await cycles_until(dut, dut.hit_ready_o) >= TAGS - 1


def test_dram_port():
    simulate("dram_port")
