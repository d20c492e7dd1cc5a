"""An answer queue returns chunks, outcomes and the lines of values in the order in which they were accepted.
A read that fails turns the last outcome of its request, and only this, into a fault."""

import random
from collections import deque

import cocotb
from cocotb import start_soon
from cocotb.triggers import RisingEdge
from honeycomb_layout import STATUS_FAULT, STATUS_FOUND
from ports import BEAT, LINE_BITS
from records import record
from runner import simulate
from streams import STALLS, Source, end_of_reset, start

OUTCOME, CHUNK = record("outcome_t"), record("byte_chunk_t")
SLOTS, LINE_BYTES, READ_LINES = 3, 64, 64
# Fields of the last outcome of a request whose read has failed.
FAULT = {"status": STATUS_FAULT, "more": 0, "pairs": 0, "pair_version": 0, "bytes": 0}


class Results:
    """Offers results one after the other, the data of each before its valid."""

    def __init__(self, dut, stall: float):
        self.dut, self.stall, self.queue = dut, stall, deque()
        for kind in ("chunk", "outcome", "value"):
            getattr(dut, f"{kind}_valid_i").value = 0
        start_soon(self.run())

    async def run(self):
        await end_of_reset(self.dut)
        while True:
            if not self.queue or random.random() < self.stall:
                await RisingEdge(self.dut.clk_i)
                continue
            kind, ports = self.queue.popleft()
            for port, value in ports.items():
                getattr(self.dut, port).value = value
            valid, ready = getattr(self.dut, f"{kind}_valid_i"), getattr(self.dut, f"{kind}_ready_o")
            valid.value = 1
            await RisingEdge(self.dut.clk_i)
            while ready.value == 0:
                await RisingEdge(self.dut.clk_i)
            valid.value = 0


class Answers:
    """Receives what leaves the queue, in order."""

    def __init__(self, dut, stall: float):
        self.dut, self.stall, self.got = dut, stall, []
        start_soon(self.run())

    async def run(self):
        dut = self.dut
        await end_of_reset(dut)
        while True:
            accepts = int(random.random() >= self.stall)
            dut.chunk_ready_i.value = dut.outcome_ready_i.value = accepts
            await RisingEdge(dut.clk_i)
            if accepts and dut.chunk_valid_o.value == 1:
                self.got.append((CHUNK.unpack(int(dut.chunk_o.value)), int(dut.chunk_last_o.value)))
            if accepts and dut.outcome_valid_o.value == 1:
                self.got.append((OUTCOME.unpack(int(dut.outcome_o.value)), int(dut.outcome_first_o.value)))

    async def count(self, count: int):
        while len(self.got) < count:
            await RisingEdge(self.dut.clk_i)


class Script:
    """Random results of requests in several slots of a unit, and what should leave."""

    def __init__(self, failures: float, voids: float):
        self.failures, self.voids = failures, voids
        self.results, self.beats, self.expected = [], [], []
        # by slot of the unit: the request has failed
        self.failed = [False] * SLOTS

    def chunk(self, place: int):
        fields = {"first": random.randrange(64), "count": random.randint(1, 64),
                  "bytes": random.getrandbits(LINE_BITS)}
        self.results.append(("chunk", {"place_i": place, "chunk_i": CHUNK.pack(**fields)}))
        self.expected.append((fields, 0))

    def outcome(self, place: int, continued: int, first: int = 0):
        fields = {name: random.getrandbits(width) for name, (_, width) in OUTCOME.fields.items()}
        fields |= {"slot": place, "status": STATUS_FOUND, "continued": continued}
        ports = {"place_i": place, "outcome_i": OUTCOME.pack(**fields), "outcome_first_i": first}
        self.results.append(("outcome", ports))
        if not continued:
            fields |= FAULT if self.failed[place] else {}
            self.failed[place] = False
        self.expected.append((fields, first))

    def value(self, place: int):
        length = max(1, 64 * random.choice((1, 2, 3, 63, 64, 65, 130)) + random.choice((-1, 0, 1)))
        void = random.random() < self.voids
        ports = {"place_i": place, "value_bytes_i": length, "value_void_i": int(void)}
        self.results.append(("value", ports))
        lines = -(-length // LINE_BYTES)
        for first in range(0, lines, READ_LINES):
            self.read(place, length, first, min(READ_LINES, lines - first), void)

    def read(self, place: int, length: int, first: int, count: int, void: bool):
        """The lines of a read. After an error, any bytes take the place of lines."""
        fails = random.random() < self.failures
        bad = random.choice((0, count - 1, random.randrange(count))) if fails else count
        self.failed[place] |= void or bad < count
        for at in range(count):
            data, left = random.getrandbits(LINE_BITS), length - LINE_BYTES * (first + at)
            if not void and at <= bad:
                last = int(at in (bad, count - 1))
                self.beats.append(BEAT.pack(error=int(at == bad), last=last, data=data))
            fields = {"first": 0, "count": min(LINE_BYTES, left)}
            if not void and at < bad:
                fields["bytes"] = data
            self.expected.append((fields, int(left <= LINE_BYTES)))

    def request(self):
        """Some results of a request that has the grant. It may continue later, or end."""
        place = random.randrange(SLOTS)
        for _ in range(random.randint(0, 3)):
            kind = random.randrange(3)
            if kind == 0:
                self.chunk(place)
                self.outcome(place, continued=1)
            else:
                self.outcome(place, continued=1, first=1)
                for _ in range(random.randint(0, 1)):
                    self.chunk(place)
                self.value(place)
        if random.random() < 0.6:
            self.outcome(place, continued=0)


def check(got, expected):
    """Compares results. Bytes that are not expected may be any."""
    for (fields, flag), (expected_fields, expected_flag) in zip(got, expected, strict=True):
        assert flag == expected_flag
        assert {name: fields[name] for name in expected_fields} == expected_fields


@cocotb.test()
@cocotb.parametrize(stall=STALLS, failures=(0.0, 0.3))
async def results_leave_in_order(dut, stall, failures):
    script = Script(failures, voids=0.1 if failures else 0.0)
    for _ in range(60):
        script.request()
    results, answers = Results(dut, stall), Answers(dut, random.choice(STALLS))
    beats = Source(dut, "beat", stall=random.choice(STALLS))
    await start(dut)
    results.queue.extend(script.results)
    beats.put(*script.beats)
    await answers.count(len(script.expected))
    check(answers.got, script.expected)
    await beats.drained()


@cocotb.test()
async def results_are_accepted_while_a_value_is_awaited(dut):
    """The unit goes on as long as the queue has room."""
    script = Script(failures=0.0, voids=0.0)
    while len(script.results) < 2 * int(dut.Depth.value):
        script.request()
    results, answers = Results(dut, 0.0), Answers(dut, 0.0)
    beats = Source(dut, "beat")
    await start(dut)
    results.queue.extend(script.results)
    first = next(at for at, (kind, _) in enumerate(script.results) if kind == "value")
    for _ in range(4 * int(dut.Depth.value)):
        await RisingEdge(dut.clk_i)
    assert len(answers.got) == first, "a result overtook the value"
    assert len(script.results) - len(results.queue) > int(dut.Depth.value), "the queue was full early"
    beats.put(*script.beats)
    await answers.count(len(script.expected))
    check(answers.got, script.expected)


def test_answer_queue():
    simulate("answer_queue", Slots=SLOTS, Depth=16)
