"""Requests descend from the roots of their tables or are rejected. The window contains all requests in
flight."""

import random

import cocotb
import honeycomb_layout as layout
from cocotb.triggers import RisingEdge
from records import record
from request_bytes import any_get, any_scan
from runner import simulate
from streams import STALLS, Sink, end_of_reset, start

SLOTS = 16
REFUSALS = [layout.STATUS_MALFORMED, layout.STATUS_KEY_LENGTH, layout.STATUS_UNKNOWN_OPCODE]


class Bench:
    """Models the parser, the root table, the engines and the completion writer."""

    def __init__(self, dut, stall: float, ends: float, before: int = 0):
        self.dut, self.stall, self.ends, self.before = dut, stall, ends, before
        self.requests, self.statuses, self.roots, self.versions = [], [], {}, []
        # by number: requests in flight, requests that are done
        self.in_flight, self.done, self.begun = set(), set(), before
        self.descents = Sink(dut, "descent", stall=stall)
        self.rejections = Sink(dut, "rejection", stall=stall)
        cocotb.start_soon(self.feed())
        cocotb.start_soon(self.look_up())
        cocotb.start_soon(self.finish())
        cocotb.start_soon(self.watch())

    async def feed(self):
        """Requests a slot, and later offers the request."""
        dut = self.dut
        dut.slot_ready_i.value = dut.request_valid_i.value = 0
        await end_of_reset(dut)
        for request, status in zip(self.requests, self.statuses):
            dut.slot_ready_i.value = 1
            await self.until(lambda: dut.slot_valid_o.value == 1)
            slot = int(dut.slot_o.value)
            dut.slot_ready_i.value = 0
            self.begun += 1
            self.in_flight.add(self.begun)
            assert slot == self.begun % SLOTS
            while random.random() < self.stall:
                await RisingEdge(dut.clk_i)
            header = request.header().to_int()
            word = record("parsed_request_t").pack(slot=slot, status=status, request=header)
            dut.request_i.value, dut.request_valid_i.value = word, 1
            await self.until(lambda: dut.request_ready_o.value == 1)
            # the value of the register in the cycle in which the request was accepted
            self.versions.append(int(dut.read_version_i.value))
            dut.request_valid_i.value = 0
            dut.read_version_i.value = int(dut.read_version_i.value) + random.randrange(3)

    async def until(self, holds):
        while True:
            await RisingEdge(self.dut.clk_i)
            if holds():
                return

    async def look_up(self):
        """Models the root table: the root is valid in the next cycle."""
        dut = self.dut
        dut.root_read_ready_i.value = 0
        await end_of_reset(dut)
        while True:
            dut.root_read_ready_i.value = int(random.random() >= self.stall)
            await RisingEdge(dut.clk_i)
            if dut.root_read_valid_o.value == 1 and dut.root_read_ready_i.value == 1:
                dut.root_i.value = self.roots.get(int(dut.root_table_o.value), 0)

    async def finish(self):
        """Ends requests that were sent to the search engine or rejected, in any order."""
        dut = self.dut
        dut.done_valid_i.value = 0
        await end_of_reset(dut)
        while True:
            slots = {self.slot_of(word) for word in self.descents.got}
            slots |= {record("answer_beat_t").unpack(word)["slot"] for word in self.rejections.got}
            waiting = self.in_flight - self.done
            ready = [number for number in waiting if number % SLOTS in slots and self.is_sent(number)]
            is_done = ready and random.random() < self.ends
            if is_done:
                number = random.choice(ready)
                self.done.add(number)
                dut.done_slot_i.value = number % SLOTS
            dut.done_valid_i.value = int(bool(is_done))
            await RisingEdge(dut.clk_i)
            if is_done:
                self.in_flight.discard(number)

    def slot_of(self, word: int) -> int:
        return record("task_t").unpack(record("descent_t").unpack(word)["request"])["slot"]

    def is_sent(self, number: int) -> bool:
        return number - self.before <= len(self.descents.got) + len(self.rejections.got)

    async def watch(self):
        """The window contains all requests in flight, and no more numbers than slots."""
        await end_of_reset(self.dut)
        while True:
            await RisingEdge(self.dut.clk_i)
            oldest, newest = int(self.dut.window_oldest_o.value), int(self.dut.window_newest_o.value)
            assert newest - oldest < SLOTS
            assert (self.dut.idle_o.value == 1) == (newest < oldest)
            assert all(oldest <= number <= newest for number in self.in_flight - {newest + 1})


def expected(request, version: int, root: int, slot: int) -> dict:
    flags = layout.RequestFlags.from_int(request.flags)
    direction = "DirectionKey"
    if not (request.upper if flags.backward else request.lower):
        direction = "DirectionLast" if flags.backward else "DirectionFirst"
    task = {
        "slot": slot, "is_scan": int(request.opcode == layout.OPCODE_SCAN), "keys_only": flags.keys_only,
        "backward": flags.backward, "floor_start": flags.floor_start, "upper_excluded": flags.upper_excluded,
        "lower_excluded": flags.lower_excluded, "lower_length": len(request.lower),
        "upper_length": len(request.upper), "pairs_max": request.pairs_max, "bytes_max": request.bytes_max,
        "read_version": request.read_version or version, "root": root,
    }
    directions = ["DirectionKey", "DirectionBefore", "DirectionFirst", "DirectionLast"]
    request = record("task_t").pack(**task)
    index = directions.index(direction)
    return {"direction": index, "by_upper": flags.backward, "repeated": 0, "request": request}


@cocotb.test()
@cocotb.parametrize(stall=STALLS[:2], ends=(0.5, 0.03))
async def starts_or_rejects_requests(dut, stall, ends):
    """The requests of some runs end so slowly that all slots are in use."""
    await check_requests(dut, Bench(dut, stall, ends))


@cocotb.test()
@cocotb.parametrize(bits=(32, 40))
async def sequence_numbers_have_64_bits(dut, bits):
    """The window passes a power of two, at which a shorter number wraps around."""
    await check_requests(dut, Bench(dut, 0.0, 0.1, before=(1 << bits) - 2 * SLOTS))


async def check_requests(dut, bench):
    """Executes random requests, the first one after those that came before."""
    ends, before = bench.ends, bench.before
    count = 200 if ends > 0.1 else 3 * SLOTS
    bench.requests = [random.choice([any_get, any_scan])() for _ in range(count)]
    bench.statuses = [random.choice([0, 0, 0, 0, *REFUSALS]) for _ in bench.requests]
    roots = [0, *(random.randrange(1, 1 << 48) for _ in range(4))]
    bench.roots = {one.table: random.choice(roots) for one in bench.requests}
    await start(dut, root_i=0, read_version_i=1, name_read_i=0, name_slot_i=0, done_slot_i=0)
    dut.newest_q.value, dut.oldest_q.value = before, before + 1
    cycles = 0
    while len(bench.descents.got) + len(bench.rejections.got) < len(bench.requests):
        await RisingEdge(dut.clk_i)
        cycles += 1
        assert cycles < 100_000
    descents, rejections = iter(bench.descents.got), iter(bench.rejections.got)
    for number, (request, status) in enumerate(zip(bench.requests, bench.statuses), before + 1):
        slot, root = number % SLOTS, bench.roots[request.table]
        if status or not root:
            rejection = record("answer_beat_t").unpack(next(rejections))
            fields = {"slot": slot, "status": status or layout.STATUS_UNKNOWN_TABLE, "last": 1}
            assert rejection == dict.fromkeys(rejection, 0) | fields
        else:
            version = bench.versions[number - before - 1]
            assert record("descent_t").unpack(next(descents)) == expected(request, version, root, slot)
    while bench.in_flight:
        await RisingEdge(dut.clk_i)
    for _ in range(SLOTS + 2):
        await RisingEdge(dut.clk_i)
    last = before + len(bench.requests)
    assert int(dut.window_oldest_o.value) == int(dut.window_newest_o.value) + 1 == last + 1
    await check_names(dut, bench)


async def check_names(dut, bench):
    """The identifiers of the last requests are still in their slots."""
    for at in range(len(bench.requests) - SLOTS, len(bench.requests)):
        request, status = bench.requests[at], bench.statuses[at]
        dut.name_read_i.value, dut.name_slot_i.value = 1, (bench.before + at + 1) % SLOTS
        await RisingEdge(dut.clk_i)
        dut.name_read_i.value = 0
        await RisingEdge(dut.clk_i)
        is_rejected = status or not bench.roots[request.table]
        version = 0 if is_rejected else request.read_version or bench.versions[at]
        assert int(dut.name_identifier_o.value) == request.identifier
        assert int(dut.name_read_version_o.value) == version


def test_request_slots():
    simulate("request_slots", SlotCount=SLOTS)
