"""Bursts arrive in any order and leave in order. An error ends a read, and its remaining lines are
discarded."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from records import record
from runner import simulate
from streams import STALLS, end_of_reset, start

LINE = record("burst_line_t")


class Reads:
    """Requests the bursts of reads, delivers their lines in random order, and knows the expected output."""

    def __init__(self, dut, reads: list[list[int]], stall: float, errors: float):
        self.dut, self.stall, self.errors = dut, stall, errors
        # for each read, the lines of its bursts
        self.reads = reads
        # bank to its remaining lines as (data, last, error)
        self.in_flight = {}
        # for each read: the data of its lines, with None for an error
        self.expected = []
        dut.reserve_i.value = dut.line_valid_i.value = dut.more_i.value = dut.out_ready_i.value = 0

    def lines(self, count: int) -> list[tuple]:
        """Returns the lines of a burst. A line with an error may or may not end its burst."""
        lines = []
        for at in range(count):
            fails = random.random() < self.errors
            ends = at == count - 1 or (fails and random.random() < 0.5)
            lines.append((random.getrandbits(512), ends, fails))
            if ends:
                break
        return lines

    def expect(self, lines: list[tuple]):
        self.expected[-1].extend(data if not fails else None for data, _, fails in lines)

    async def request(self, bursts: list[int]):
        """Requests the bursts of one read."""
        dut = self.dut
        self.expected.append([])
        for at, count in enumerate(bursts):
            dut.more_i.value = 1
            await RisingEdge(dut.clk_i)
            while dut.reserve_ready_o.value != 1:
                await RisingEdge(dut.clk_i)
            lines = self.lines(count)
            dut.reserve_i.value, dut.reserve_lines_i.value = 1, count
            dut.reserve_last_i.value = int(at == len(bursts) - 1)
            await RisingEdge(dut.clk_i)
            dut.reserve_i.value, dut.more_i.value = 0, int(at < len(bursts) - 1)
            self.in_flight[int(dut.bank_o.value)] = lines
            self.expect(lines)

    async def come(self):
        """Delivers the lines of all bursts in flight, interleaved."""
        dut = self.dut
        await end_of_reset(dut)
        while True:
            comes = bool(self.in_flight) and random.random() >= self.stall
            dut.line_valid_i.value = int(comes)
            if comes:
                bank = random.choice(list(self.in_flight))
                data, last, fails = self.in_flight[bank].pop(0)
                dut.line_bank_i.value = bank
                dut.line_i.value = LINE.pack(data=data, last=int(last), error=int(fails))
                if not self.in_flight[bank]:
                    del self.in_flight[bank]
            await RisingEdge(dut.clk_i)

    async def leave(self) -> list:
        """Returns the lines of one read up to the last one, with None for an error."""
        dut, got = self.dut, []
        while True:
            accepts = random.random() >= self.stall
            dut.out_ready_i.value = int(accepts)
            await RisingEdge(dut.clk_i)
            if accepts and dut.out_valid_o.value == 1:
                got.append(int(dut.out_o.value) if dut.out_error_o.value != 1 else None)
                if dut.out_last_o.value == 1:
                    dut.out_ready_i.value = 0
                    return got

    async def drained(self):
        """Waits until no line of the read is left."""
        await RisingEdge(self.dut.clk_i)
        while self.dut.drains_o.value == 1:
            await RisingEdge(self.dut.clk_i)

    async def run(self):
        cocotb.start_soon(self.come())
        await end_of_reset(self.dut)
        for bursts in self.reads:
            asks = cocotb.start_soon(self.request(bursts))
            got = await self.leave()
            await asks
            await self.drained()
            self.check(got, self.expected[-1])

    def check(self, got: list, expected: list):
        """Compares the lines. An error may overtake earlier lines of its read."""
        if None in expected:
            assert got[-1] is None
            got, expected = got[:-1], expected[:expected.index(None)][:len(got) - 1]
        assert got == expected


def random_reads() -> list[list[int]]:
    """Returns reads of one to five bursts."""
    lines = (1, 2, random.randint(1, 64), 64)
    return [random.choices(lines, k=random.randint(1, 5)) for _ in range(15)]


@cocotb.test()
@cocotb.parametrize(stall=STALLS)
async def keeps_bursts_in_order(dut, stall):
    reads = Reads(dut, random_reads(), stall, errors=0.0)
    await start(dut)
    await reads.run()


@cocotb.test()
@cocotb.parametrize(stall=(0.0, 0.5))
async def an_error_ends_the_read(dut, stall):
    reads = Reads(dut, random_reads(), stall, errors=0.05)
    await start(dut)
    await reads.run()
    assert any(None in lines for lines in reads.expected)


@cocotb.test()
async def returns_a_line_per_cycle(dut):
    reads = Reads(dut, [[64]], 0.0, errors=0.0)
    await start(dut)
    task = cocotb.start_soon(reads.run())
    cycles = 0
    while not task.done():
        await RisingEdge(dut.clk_i)
        cycles += 1
    assert cycles < 64 + 12, cycles


def test_burst_buffer():
    for banks in (2, 4):
        simulate("burst_buffer", Banks=banks)
