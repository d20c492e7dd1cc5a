"""A client port returns the lines of its reads in their order, with several reads in flight. An error ends
only its read."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from records import record
from runner import simulate
from streams import STALLS, Sink, Source, cycles, end_of_reset, start

READ, BEAT, LINE = record("line_read_t"), record("line_beat_t"), record("burst_line_t")
BURST = record("memory_pkg::burst_t")
PAGE = 4096


def line(address: int) -> int:
    """Returns the line at an address."""
    return random.Random(address).getrandbits(512)


class Memory:
    """Memory, whose bursts arrive in any order. A burst that contains one of the addresses `broken` ends
    there, and others fail with the probability `errors`."""

    def __init__(self, dut, stall: float, errors=0.0):
        self.dut, self.stall, self.errors, self.broken = dut, stall, errors, set()
        # Bank to the next address and the remaining lines; the bursts, and the most of them in flight. No
        # line comes while `holds`.
        self.in_flight, self.bursts, self.most, self.holds = {}, [], 0, False
        dut.burst_ready_i.value = dut.line_valid_i.value = 0
        cocotb.start_soon(self.accept_bursts())
        cocotb.start_soon(self.return_lines())

    async def accept_bursts(self):
        dut = self.dut
        await end_of_reset(dut)
        while True:
            accepts = random.random() >= self.stall
            dut.burst_ready_i.value = int(accepts)
            await RisingEdge(dut.clk_i)
            if accepts and dut.burst_valid_o.value == 1:
                burst, bank = BURST.unpack(int(dut.burst_o.value)), int(dut.burst_bank_o.value)
                assert bank not in self.in_flight and not burst["on_board"]
                assert burst["address"] % PAGE + 64 * burst["lines"] <= PAGE
                self.in_flight[bank] = (burst["address"], burst["lines"])
                self.bursts.append(burst)
                self.most = max(self.most, len(self.in_flight))

    def fails(self, address: int, lines: int) -> bool:
        return address in self.broken or random.random() < self.errors / lines

    async def return_lines(self):
        dut = self.dut
        await end_of_reset(dut)
        while True:
            gives = bool(self.in_flight) and not self.holds and random.random() >= self.stall
            dut.line_valid_i.value = int(gives)
            if gives:
                bank = random.choice(list(self.in_flight))
                address, lines = self.in_flight.pop(bank)
                error = self.fails(address, lines)
                last = lines == 1 or error
                dut.line_bank_i.value = bank
                dut.line_i.value = LINE.pack(data=line(address), last=int(last), error=int(error))
                if not last:
                    self.in_flight[bank] = (address + 64, lines - 1)
            await RisingEdge(dut.clk_i)


class Bench:
    """The port, its client, and memory."""

    def __init__(self, dut, stall=0.0, errors=0.0):
        self.memory = Memory(dut, stall, errors)
        self.source, self.sink = Source(dut, "read", stall=stall), Sink(dut, "beat", stall=stall)

    async def read(self, *reads: tuple[int, int]) -> list[int | None]:
        """Executes reads of an address and a number of lines. Returns for each the number of lines before its
        error, or None without one, and checks these lines."""
        self.source.put(*(READ.pack(address=address, count=count) for address, count in reads))
        return [await self.end(address, count) for address, count in reads]

    async def end(self, address: int, count: int) -> int | None:
        beats = []
        while not beats or not beats[-1]["last"]:
            await self.sink.count(1)
            beats.append(BEAT.unpack(self.sink.got.pop(0)))
            assert not beats[-1]["error"] or beats[-1]["last"]
        error = beats[-1]["error"]
        lines = [beat["data"] for beat in beats[:len(beats) - error]]
        assert lines == [line(address + 64 * at) for at in range(len(lines))]
        assert error or len(lines) == count
        return len(lines) if error else None


def random_read() -> tuple[int, int]:
    return 64 * random.getrandbits(30), random.choice((1, 2, random.randint(1, 9), random.randint(1, 64), 64))


@cocotb.test()
@cocotb.parametrize(stall=STALLS, errors=(0.0, 0.3))
async def returns_the_lines_of_its_reads(dut, stall, errors):
    bench = Bench(dut, stall, errors)
    await start(dut)
    ends = await bench.read(*(random_read() for _ in range(60)))
    assert any(end is not None for end in ends) == bool(errors)
    assert bench.memory.most > (1 if stall else int(dut.Banks.value) // 2)


@cocotb.test()
@cocotb.parametrize(count=(4, 64), bad=(0, 1, 3))
async def an_error_ends_only_its_read(dut, count, bad):
    """In the first line, in the middle, or in the last line, with reads before it and after it in flight. The
    long read crosses a page, and fails in either of its bursts."""
    bench = Bench(dut)
    await start(dut)
    address, at = PAGE - 64 * (count // 2), bad if count == 4 else 21 * bad
    for _ in range(5):
        bench.memory.broken = {address + 64 * at}
        bad_read = (address, count)
        reads = [(5 * PAGE, 3), bad_read, (6 * PAGE, 2), (7 * PAGE, 64), bad_read, (8 * PAGE, 1)]
        bench.memory.holds = True
        reading = cocotb.start_soon(bench.read(*reads))
        await cycles(dut, 40)
        bench.memory.holds = False
        before, first, after, long, second, last = await reading
        assert [before, after, long, last] == [None] * 4
        # The error may overtake earlier lines of its burst.
        least = count // 2 if at >= count // 2 else 0
        assert least <= first <= at and least <= second <= at
    assert bench.memory.most == int(dut.Banks.value)


@cocotb.test()
async def a_read_that_crosses_a_page_is_two_bursts(dut):
    bench = Bench(dut)
    await start(dut)
    await bench.read((3 * PAGE - 64, 64), (3 * PAGE, 64))
    bursts = [(burst["address"], burst["lines"]) for burst in bench.memory.bursts]
    assert bursts == [(3 * PAGE - 64, 1), (3 * PAGE, 63), (3 * PAGE, 64)]


@cocotb.test()
async def more_reads_wait_for_banks(dut):
    """As many reads of a burst are in flight as there are banks. One more is accepted and waits."""
    bench, banks = Bench(dut), int(dut.Banks.value)
    bench.memory.holds = True
    await start(dut)
    reads = [(PAGE * at, 2) for at in range(banks + 3)]
    reading = cocotb.start_soon(bench.read(*reads))
    await cycles(dut, 100)
    assert bench.source.accepted == banks + 1 and len(bench.memory.bursts) == banks
    assert dut.read_ready_o.value == 0 and not bench.sink.got
    bench.memory.holds = False
    assert await reading == [None] * len(reads)


def test_client_port():
    for banks in (2, 8):
        simulate("client_port", Banks=banks)
