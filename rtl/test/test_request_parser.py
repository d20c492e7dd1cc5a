"""The request parser finds the same requests as the software accelerator, and emits whole keys."""

import random

import cocotb
import honeycomb_layout as layout
from records import record
from request_bytes import LINE_BYTES, any_get, any_hostile, any_scan, beats, mutate, parse
from runner import simulate
from streams import STALLS, Sink, Source, start

SLOTS = 8


class Bench:
    """A parser, what it is fed with and what it gave."""

    def __init__(self, dut, source_stall: float, sink_stall: float):
        self.dut = dut
        self.packets = Source(dut, "in", stall=source_stall)
        self.slots = Source(dut, "slot", stall=source_stall)
        self.keys = Sink(dut, "key", stall=sink_stall)
        self.requests = Sink(dut, "request", stall=sink_stall)

    async def check(self, packets: list[bytes]):
        """Sends the packets and checks all that comes."""
        await start(self.dut)
        wanted = [parsed for packet in packets for parsed in parse(packet)]
        self.slots.put(*[number % SLOTS for number in range(len(wanted) + 1)])
        for packet in packets:
            ports = ("in_data_i", "in_keep_i", "in_last_i")
            self.packets.put(*[dict(zip(ports, beat)) for beat in beats(packet)])
        await self.requests.count(len(wanted))
        await self.packets.drained()
        found = [record("parsed_request_t").unpack(word) for word in self.requests.got]
        keys = self.key_lines()
        for number, (one, parsed) in enumerate(zip(found, wanted, strict=True)):
            self.check_one(one, parsed, number % SLOTS, keys)
        assert not keys or wanted[-1].header is None, "only what was cut off leaves lines"

    def key_lines(self) -> list[dict]:
        return [record("key_write_t").unpack(word) for word in self.keys.got]

    def check_one(self, found, parsed, slot, keys):
        assert found["slot"] == slot
        assert found["status"] == parsed.status, parsed
        header = layout.Request.from_int(found["request"] & (1 << 8 * layout.Request.SIZE) - 1)
        assert header.identifier == parsed.identifier, parsed
        if parsed.header is None:
            # What was cut off may have written lines, which nobody reads.
            while keys and keys[0]["slot"] == slot:
                keys.pop(0)
            return
        assert header == parsed.header
        if max(len(parsed.lower), len(parsed.upper)) <= layout.KEY_BYTES_MAX:
            for upper, key in enumerate([parsed.lower, parsed.upper]):
                self.check_key(slot, upper, key, keys)

    def check_key(self, slot, upper, key, keys):
        for line, at in enumerate(range(0, len(key), LINE_BYTES)):
            write, part = keys.pop(0), key[at : at + LINE_BYTES]
            assert (write["slot"], write["upper"], write["line"]) == (slot, upper, line)
            assert write["data"].to_bytes(LINE_BYTES, "little")[: len(part)] == part


def packet_of(makers) -> bytes:
    return b"".join(random.choice(makers)().bytes() for _ in range(random.randint(1, 6)))


@cocotb.test()
@cocotb.parametrize(source_stall=STALLS, sink_stall=STALLS)
async def finds_requests(dut, source_stall, sink_stall):
    packets = [packet_of([any_get, any_scan]) for _ in range(15)]
    await Bench(dut, source_stall, sink_stall).check(packets)


@cocotb.test()
@cocotb.parametrize(stall=STALLS[:2])
async def rejects_what_is_not_allowed(dut, stall):
    packets = [packet_of([any_get, any_scan, any_hostile]) for _ in range(60)]
    await Bench(dut, stall, stall).check(packets)


@cocotb.test()
async def mutated_packets_do_no_harm(dut):
    packets = [mutate(packet_of([any_get, any_scan, any_hostile])) for _ in range(150)]
    await Bench(dut, 0.0, 0.3).check(packets)


@cocotb.test()
async def truncated_requests_are_rejected(dut):
    whole = any_scan().bytes()
    packets = []
    for length in range(1, len(whole), 1 + len(whole) // 60):
        packets += [any_get().bytes() + whole[:length], any_get().bytes()]
    await Bench(dut, 0.0, 0.0).check(packets)


def test_request_parser():
    simulate("request_parser")
