"""Bursts arrive in any order and leave in order. An error ends its read: the remaining lines of this read are
discarded, and those of other reads leave as ever."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from records import record
from runner import simulate
from streams import STALLS, cycles, end_of_reset, start

LINE = record("burst_line_t")


class Reads:
    """Requests the bursts of reads, each after a pause, and delivers their lines in random order. A read is a
    list of its bursts, a burst a list of its lines, and an error is None."""

    def __init__(self, dut, reads: list[list[list]], stall: float, pause=0):
        self.dut, self.stall, self.pause, self.reads = dut, stall, pause, reads
        # bank to its remaining lines; a bank to which no line comes yet
        self.in_flight, self.held = {}, None
        # the number of bursts that were requested while a burst of an earlier read was in flight
        self.mixed = self.requested = 0
        dut.reserve_i.value = dut.line_valid_i.value = dut.out_ready_i.value = 0

    async def request(self):
        """Requests the bursts of all reads."""
        dut = self.dut
        await end_of_reset(dut)
        for read in self.reads:
            earlier = set(self.in_flight)
            for at, burst in enumerate(read):
                await cycles(dut, self.pause)
                while random.random() < self.stall / 2:
                    await RisingEdge(dut.clk_i)
                await self.reserve(burst, at == len(read) - 1)
                self.mixed += bool(earlier & set(self.in_flight))

    async def reserve(self, burst: list, is_last: bool):
        dut = self.dut
        await RisingEdge(dut.clk_i)
        while dut.reserve_ready_o.value != 1:
            await RisingEdge(dut.clk_i)
        dut.reserve_i.value, dut.reserve_last_i.value = 1, int(is_last)
        await RisingEdge(dut.clk_i)
        dut.reserve_i.value = 0
        bank = int(dut.bank_o.value)
        assert bank not in self.in_flight
        self.in_flight[bank] = list(burst)
        self.requested += 1

    async def come(self):
        """Delivers the lines of all bursts in flight, interleaved."""
        dut = self.dut
        await end_of_reset(dut)
        while True:
            banks = [bank for bank in self.in_flight if bank != self.held]
            comes = bool(banks) and random.random() >= self.stall
            dut.line_valid_i.value = int(comes)
            if comes:
                bank = random.choice(banks)
                data = self.in_flight[bank].pop(0)
                last, fails = not self.in_flight[bank], data is None
                dut.line_bank_i.value = bank
                dut.line_i.value = LINE.pack(data=data or 0, last=int(last), error=int(fails))
                if last:
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

    def begin(self):
        cocotb.start_soon(self.come())
        cocotb.start_soon(self.request())

    async def run(self):
        self.begin()
        await end_of_reset(self.dut)
        for read in self.reads:
            check(await self.leave(), read)


def check(got: list, read: list[list]):
    """Compares the lines of a read. An error may overtake earlier lines of its burst."""
    lines = [line for burst in read for line in burst]
    if None in lines:
        at = next(at for at, burst in enumerate(read) if None in burst)
        least, most = (sum(map(len, read[:count])) for count in (at, at + 1))
        assert got[-1] is None and least < len(got) <= most
        got, lines = got[:-1], lines[:len(got) - 1]
    assert got == lines


def burst_of(count: int, errors: float) -> list:
    """Returns the lines of a burst. An error is in the last line: see failed_bursts."""
    lines = [random.getrandbits(512) for _ in range(count)]
    if random.random() < errors:
        lines = [*lines[:random.randrange(count)], None]
    return lines


def random_reads(errors=0.0) -> list[list[list]]:
    """Returns reads of one to five bursts."""
    counts = (1, 2, 2, random.randint(1, 64), 64)
    return [[burst_of(random.choice(counts), errors) for _ in range(random.choice((1, 1, 2, 5)))]
            for _ in range(40)]


@cocotb.test()
@cocotb.parametrize(stall=STALLS, errors=(0.0, 0.2))
async def an_error_ends_only_its_read(dut, stall, errors):
    reads = Reads(dut, random_reads(errors), stall)
    await start(dut)
    await reads.run()
    assert any(None in burst for read in reads.reads for burst in read) == bool(errors)
    assert reads.mixed > 5


@cocotb.test()
@cocotb.parametrize(failed=(0, 1, 2), pause=(0, 20))
async def other_bursts_of_a_failed_read_are_discarded(dut, failed, pause):
    """Also those that come before the error, and those that are requested after it has left."""
    wrong = burst_of(3, 0.0) + [None]
    broken = [burst_of(4, 0.0) if at != failed else wrong for at in range(3)]
    before, after = [burst_of(5, 0.0)], [burst_of(6, 0.0)]
    reads = Reads(dut, [before, broken, after, broken, broken, after], 0.0, pause)
    await start(dut)
    await reads.run()


@cocotb.test()
async def a_burst_waits_for_a_bank(dut):
    """While the first of them has no lines, no line leaves, and the bursts are as many as the banks."""
    banks = int(dut.Banks.value)
    reads = Reads(dut, [[burst_of(2, 0.0)] for _ in range(2 * banks + 1)], 0.0)
    reads.held = 0
    await start(dut)
    reads.begin()
    await cycles(dut, 100)
    assert reads.requested == banks and set(reads.in_flight) == {0}
    assert dut.reserve_ready_o.value == 0 and dut.out_valid_o.value == 0
    reads.held = None
    for read in reads.reads:
        check(await reads.leave(), read)


@cocotb.test()
async def returns_a_line_per_cycle(dut):
    reads = Reads(dut, [[burst_of(64, 0.0)]], 0.0)
    await start(dut)
    task = cocotb.start_soon(reads.run())
    waited = 0
    while not task.done():
        await RisingEdge(dut.clk_i)
        waited += 1
    assert waited < 64 + 12, waited


def test_burst_buffer():
    for banks in (2, 8):
        simulate("burst_buffer", Banks=banks)
