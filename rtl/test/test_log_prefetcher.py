"""A log prefetcher requests the entries from the first to the last one whose back pointers are in a range."""

import random

import cocotb
from cocotb.triggers import FallingEdge
from honeycomb_layout import LogWord, NodeHeader
from ports import line
from records import record
from runner import simulate
from streams import STALLS, start

GEOMETRY, INDEXES, FETCH, STATE = (
    record(name) for name in ("geometry_t", "indexes_t", "fetch_t", "lock_and_size_t"))
NODE_BYTES = 8192


def random_log(count: int, items: int) -> tuple[list[LogWord], int]:
    """Returns the words of log entries in order of arrival, and the end of the entries."""
    words, end = [], 4 * random.randrange(50, 200)
    for _ in range(count):
        words.append(LogWord(back_pointer=random.randint(0, items), order_hint=random.getrandbits(8),
                             entry_offset=end // 4, version_delta=random.getrandbits(31),
                             repeats=random.getrandbits(1)))
        end += 4 * random.randint(3, 60)
    return words, end


def wanted_lines(words: list[LogWord], end: int, first: int, last: int) -> tuple[int, int] | None:
    """Returns the range of lines to request, if there is one. It has the first 64 bytes of each entry."""
    ends = [word.entry_offset * 4 for word in words[1:]] + [end]
    wanted = [(word.entry_offset * 4, limit) for word, limit in zip(words, ends)
              if first <= word.back_pointer <= last]
    if not wanted:
        return None
    limit = min(max(wanted[-1][1], wanted[-1][0] + 64), end)
    return wanted[0][0] // 64, (limit + 63) // 64


class Bench:
    def __init__(self, dut, stall: float):
        self.dut, self.stall, self.lines = dut, stall, {}

    async def serve(self):
        """Returns the lines of words that are requested."""
        dut, requested = self.dut, None
        while True:
            await FallingEdge(dut.clk_i)
            ready = random.random() >= self.stall
            dut.line_ready_i.value = int(ready)
            dut.line_i.value = random.getrandbits(512) if requested is None else self.lines[requested]
            valid = dut.line_valid_o.value == 1
            requested = int(dut.line_number_o.value) if ready and valid else None

    async def walk(self, words: list[LogWord], end: int, first: int, last: int):
        """Walks over a log. Returns the lines that are requested, if there are any."""
        dut = self.dut
        data = b"".join(word.to_int().to_bytes(8, "little") for word in reversed(words))
        data = data.rjust(-(-len(data) // 64) * 64, random.randbytes(1))
        top = NODE_BYTES // 64
        self.lines = {top - (len(data) - at) // 64: line(data[at:at + 64]) for at in range(0, len(data), 64)}
        state = STATE.pack(size=end, log_count=len(words))
        header = NodeHeader(lock_and_size=state, sorted_end=words[0].entry_offset * 4)
        dut.header_i.value = line(header.pack().ljust(64, b"\0"))
        dut.pairs_i.value = INDEXES.pack(first=first, last=last)
        dut.start_i.value = 1
        await FallingEdge(dut.clk_i)
        dut.start_i.value = 0
        for _ in range(10_000):
            if dut.done_o.value == 1:
                break
            assert dut.fetch_valid_o.value == 0
            await FallingEdge(dut.clk_i)
        else:
            raise AssertionError("the walk does not end")
        fetch = FETCH.unpack(int(dut.fetch_o.value))
        valid = dut.fetch_valid_o.value == 1
        await FallingEdge(dut.clk_i)
        assert not valid or fetch["wakes"] == fetch["columns"] == 0
        return (fetch["first"], fetch["limit"]) if valid else None


@cocotb.test()
@cocotb.parametrize(stall=STALLS)
async def requests_the_entries_of_the_pairs(dut, stall: float):
    await start(dut, geometry_i=GEOMETRY.pack(node_bytes=NODE_BYTES), start_i=0, line_ready_i=0)
    await FallingEdge(dut.clk_i)
    bench = Bench(dut, stall)
    cocotb.start_soon(bench.serve())
    for _ in range(300):
        items = random.choice((0, 5, 200))
        words, end = random_log(random.choice((1, 2, 7, 8, 9, 16, random.randint(1, 25))), items)
        first = random.randint(0, items)
        # often from one back pointer of the log to another
        first, last = sorted(random.choice((first, random.choice(words).back_pointer)) for _ in range(2))
        assert await bench.walk(words, end, first, last) == wanted_lines(words, end, first, last)


def test_log_prefetcher():
    simulate("log_prefetcher")
