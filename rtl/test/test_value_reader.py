"""A value reader returns the lines of values in order, and is ready for the next value although the request
of the one before has failed at any moment."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from ports import BEAT, LINE_BITS, READ
from runner import simulate
from streams import STALLS, end_of_reset, start


class Bench:
    """The module, and the memory that it reads."""

    def __init__(self, dut, stall: float):
        self.dut, self.stall, self.beats, self.offers = dut, stall, [], False
        # the values that were requested, and the reads that memory has accepted
        self.values, self.reads = [], []
        cocotb.start_soon(self.run())

    async def run(self):
        """Accepts reads and returns their beats. Each beat stays until it is accepted."""
        dut = self.dut
        await end_of_reset(dut)
        while True:
            accepts = not self.beats and random.random() >= self.stall
            dut.read_ready_i.value = int(accepts)
            self.offers = self.offers or (bool(self.beats) and random.random() >= self.stall)
            dut.beat_valid_i.value = int(self.offers)
            if self.offers:
                dut.beat_i.value = BEAT.pack(**self.beats[0])
            await RisingEdge(dut.clk_i)
            if self.offers and dut.beat_ready_o.value == 1:
                self.beats.pop(0)
                self.offers = False
            if accepts and dut.read_valid_o.value == 1:
                self.accept(READ.unpack(int(dut.read_o.value)))

    def accept(self, read: dict[str, int]):
        """Prepares the beats of a read. Some reads fail."""
        value = self.values[-1]
        assert (read["address"], read["count"]) == (value["address"], len(value["lines"]))
        self.reads.append(read)
        bad = random.randrange(read["count"]) if random.random() < 0.2 else read["count"]
        for at, data in enumerate(value["lines"][:bad + 1]):
            last = at in (bad, read["count"] - 1)
            self.beats.append({"error": at == bad, "last": last, "data": data})

    async def read(self, fails_in: int) -> tuple[bool, bool]:
        """Requests a value. Its request fails after some cycles, or when its read does, and ends when all
        lines have arrived. Returns whether it has failed, and whether its lines are right."""
        dut, lines, failed, is_taken = self.dut, [], False, False
        count = random.randint(1, 5)
        value = {"address": 64 * random.getrandbits(30), "lines": random_lines(count)}
        dut.value_valid_i.value, dut.address_i.value, dut.count_i.value = 1, value["address"], count
        while len(lines) < count:
            failed = failed or fails_in <= 0
            dut.failed_i.value, dut.line_ready_i.value = int(failed), int(is_taken and random.random() < 0.7)
            await RisingEdge(dut.clk_i)
            if is_taken and dut.line_ready_i.value == 1 and dut.line_valid_o.value == 1:
                lines.append(int(dut.line_o.value))
            if not is_taken and dut.value_ready_o.value == 1:
                is_taken, dut.value_valid_i.value = True, 0
                self.values += [] if failed else [value]
            fails_in -= is_taken
            failed = failed or dut.fails_o.value == 1
        dut.failed_i.value = dut.line_ready_i.value = 0
        return failed, lines == value["lines"]


def random_lines(count: int) -> list[int]:
    return [random.getrandbits(LINE_BITS) for _ in range(count)]


@cocotb.test()
@cocotb.parametrize(stall=STALLS)
async def values_are_read_after_failures(dut, stall):
    await start(dut, failed_i=0, value_valid_i=0, line_ready_i=0, read_ready_i=0, beat_valid_i=0)
    bench, whole = Bench(dut, stall), 0
    await end_of_reset(dut)
    for _ in range(300):
        fails_in = random.choice((random.randint(0, 3), random.randint(4, 30), 10_000))
        failed, is_right = await bench.read(fails_in)
        assert failed or is_right
        whole += not failed
        for _ in range(random.choice((0, 0, 1, 9))):
            await RisingEdge(dut.clk_i)
    assert whole > 50 and len(bench.reads) > whole


def test_value_reader():
    simulate("value_reader")
