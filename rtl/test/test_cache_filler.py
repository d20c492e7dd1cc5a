"""The lines of a fill are written to their addresses. A fill is done after its last response, and reports
whether it failed."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from records import record
from runner import simulate
from streams import STALLS, Sink, start

LINE = record("burst_line_t")
WRITE = ["write_tag_o", "write_place_o", "write_o"]
FILLED = ["filled_tag_o", "filled_failed_o"]


class Answers:
    """Acknowledges writes later, in any order, some with an error."""

    def __init__(self, dut, writes: Sink, errors: float):
        self.dut, self.writes, self.errors = dut, writes, errors
        self.answered, self.failed = 0, set()
        dut.written_i.value = 0
        cocotb.start_soon(self.run())

    async def run(self):
        dut, waiting, seen = self.dut, [], 0
        while True:
            waiting += self.writes.got[seen:]
            seen = len(self.writes.got)
            answers = bool(waiting) and random.random() < 0.5
            dut.written_i.value = int(answers)
            if answers:
                tag = waiting.pop(random.randrange(len(waiting)))["write_tag_o"]
                error = random.random() < self.errors
                dut.written_tag_i.value, dut.written_error_i.value = tag, int(error)
                if error:
                    self.failed.add(tag)
            await RisingEdge(dut.clk_i)


async def return_lines(dut, bursts: dict, errors: float, pause: float) -> set:
    """Delivers the lines of all bursts, interleaved. Returns the tags that ended with an error."""
    left, failed = {tag: list(lines) for tag, lines in bursts.items()}, set()
    while left:
        gives = random.random() >= pause
        dut.line_valid_i.value = int(gives)
        if gives:
            tag = random.choice(list(left))
            data, error = left[tag].pop(0), random.random() < errors
            last = error or not left[tag]
            dut.line_tag_i.value = tag
            dut.line_i.value = LINE.pack(data=data, error=int(error), last=int(last))
            if error:
                failed.add(tag)
            if last:
                del left[tag]
        await RisingEdge(dut.clk_i)
    dut.line_valid_i.value = 0
    return failed


@cocotb.test()
@cocotb.parametrize(stall=STALLS, errors=(0.0, 0.02))
async def fills_are_complete_or_fail(dut, stall, errors):
    writes, filled = Sink(dut, "write", WRITE, stall=stall), Sink(dut, "filled", FILLED, stall=stall)
    answers = Answers(dut, writes, errors)
    await start(dut, start_i=0, line_valid_i=0)
    for _ in range(10):
        writes_before, filled_before = len(writes.got), len(filled.got)
        answers.failed.clear()
        bursts = {tag: [random.getrandbits(512) for _ in range(random.randint(1, 20))]
                  for tag in random.sample(range(8), 4)}
        fills = {tag: 64 * random.getrandbits(10) for tag in random.sample(list(bursts), 3)}
        for tag, place in fills.items():
            dut.start_i.value, dut.start_tag_i.value, dut.start_place_i.value = 1, tag, place
            await RisingEdge(dut.clk_i)
        dut.start_i.value = 0
        failed = await return_lines(dut, bursts, errors, pause=0.5)
        await filled.count(filled_before + len(fills))
        done = {fill["filled_tag_o"]: fill["filled_failed_o"] for fill in filled.got[filled_before:]}
        assert set(done) == set(fills)
        written = {(write["write_tag_o"], write["write_place_o"]): write["write_o"]
                   for write in writes.got[writes_before:]}
        for tag, place in fills.items():
            complete = {(tag, place + at): data for at, data in enumerate(bursts[tag])}
            mine = {key: data for key, data in written.items() if key[0] == tag}
            assert mine.items() <= complete.items()
            assert done[tag] or mine == complete
            assert done[tag] or tag not in failed | answers.failed
            assert not done[tag] or stall > 0.5 or tag in failed | answers.failed or len(mine) < len(complete)


def test_cache_filler():
    simulate("cache_filler")
