"""The request parser finds the same requests as the software accelerator, and emits complete keys."""

import random
from dataclasses import replace

import cocotb
import honeycomb_layout as layout
from cocotb.triggers import RisingEdge
from records import record
from request_bytes import LINE_BYTES, SCAN, any_get, any_hostile, any_scan, beats, mutate, parse
from runner import simulate
from streams import STALLS, Sink, Source, end_of_reset, start

SLOTS = 8


class Requests(Sink):
    """The requests, each with the number of key lines that were accepted before it."""

    def __init__(self, dut, keys: Sink, **ports):
        self.keys, self.lines = keys, []
        super().__init__(dut, "request", **ports)

    def sample(self):
        self.lines.append(len(self.keys.got))
        return super().sample()


class Bench:
    """A parser with its input and its outputs."""

    def __init__(self, dut, source_stall: float, sink_stall: float):
        self.dut = dut
        self.packets = Source(dut, "in", stall=source_stall)
        self.slots = Source(dut, "slot", stall=source_stall)
        self.keys = Sink(dut, "key", stall=sink_stall)
        self.requests = Requests(dut, self.keys, stall=sink_stall)

    async def check(self, packets: list[bytes]):
        """Sends the packets and checks all outputs."""
        await start(self.dut, drain_i=0)
        expected = [parsed for packet in packets for parsed in parse(packet)]
        self.slots.put(*[number % SLOTS for number in range(len(expected) + 1)])
        for packet in packets:
            ports = ("in_data_i", "in_keep_i", "in_last_i")
            self.packets.put(*[dict(zip(ports, beat)) for beat in beats(packet)])
        await self.requests.count(len(expected))
        await self.packets.drained()
        found = [record("parsed_request_t").unpack(word) for word in self.requests.got]
        keys, lines = self.key_lines(), len(self.keys.got)
        for number, (one, parsed) in enumerate(zip(found, expected, strict=True)):
            self.check_one(one, parsed, number % SLOTS, keys)
            assert self.requests.lines[number] >= lines - len(keys), "a request came before its keys"
        assert not keys or expected[-1].header is None, "only a truncated request may leave lines"

    def key_lines(self) -> list[dict]:
        return [record("key_write_t").unpack(word) for word in self.keys.got]

    def check_one(self, found, parsed, slot, keys):
        assert found["slot"] == slot
        assert found["status"] == parsed.status, parsed
        header = layout.Request.from_int(found["request"] & (1 << 8 * layout.Request.SIZE) - 1)
        assert header.identifier == parsed.identifier, parsed
        if parsed.header is None:
            # A truncated request may have written key lines, which no unit reads.
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
async def rejects_invalid_requests(dut, stall):
    packets = [packet_of([any_get, any_scan, any_hostile]) for _ in range(60)]
    await Bench(dut, stall, stall).check(packets)


@cocotb.test()
@cocotb.parametrize(stall=STALLS[:2])
async def keys_have_the_greatest_length(dut, stall):
    """A byte less than a key may have, as many, and a byte more: of one of the keys, or of both."""
    lengths = [layout.KEY_BYTES_MAX + more for more in (-1, 0, 1)]
    keys = [b"", *map(random.randbytes, lengths)]
    requests = [replace(any_get(), lower=key) for key in keys]
    requests += [replace(SCAN, lower=lower, upper=upper) for lower in keys for upper in keys]
    random.shuffle(requests)
    packets = [b"".join(raw.bytes() for raw in requests[at:at + 3]) for at in range(0, len(requests), 3)]
    await Bench(dut, stall, stall).check(packets)


@cocotb.test()
async def survives_mutated_packets(dut):
    packets = [mutate(packet_of([any_get, any_scan, any_hostile])) for _ in range(150)]
    await Bench(dut, 0.0, 0.3).check(packets)


@cocotb.test()
async def truncated_requests_are_rejected(dut):
    complete = any_scan().bytes()
    packets = []
    for length in range(1, len(complete), 1 + len(complete) // 60):
        packets += [any_get().bytes() + complete[:length], any_get().bytes()]
    await Bench(dut, 0.0, 0.0).check(packets)


async def drain_at_random(dut):
    """Sets `drain_i` at random times, until the parser is idle. Checks that no packet begins after the first
    cycle, and that the parser is idle only between packets, when all of their requests have begun."""
    drains = is_closed = in_packet = is_last = False
    begun = received = 0
    packet = b""
    await end_of_reset(dut)
    while True:
        if dut.idle_o.value == 1 or not drains:
            drains ^= random.random() < 0.03
        dut.drain_i.value = int(drains)
        await RisingEdge(dut.clk_i)
        begun += dut.slot_valid_i.value == 1 and dut.slot_ready_o.value == 1
        if dut.idle_o.value == 1:
            assert not in_packet or is_last, "a parser that receives a packet is idle"
            assert begun == received, "an idle parser has a request that has not begun"
            in_packet = is_last = False
        if dut.in_valid_i.value == 1 and dut.in_ready_o.value == 1:
            assert in_packet or not is_closed, "a packet has begun"
            in_packet = True
            packet += int(dut.in_data_i.value).to_bytes(64, "little")[: int(dut.in_keep_i.value).bit_count()]
            is_last = dut.in_last_i.value == 1
            if is_last:
                received += len(parse(packet))
                packet = b""
        is_closed = drains


@cocotb.test()
@cocotb.parametrize(stall=STALLS)
async def begins_no_packet_while_it_drains(dut, stall):
    packets = [packet_of([any_get, any_scan, any_hostile]) for _ in range(30)]
    bench = Bench(dut, stall, stall)
    cocotb.start_soon(drain_at_random(dut))
    await bench.check(packets)


def test_request_parser():
    simulate("request_parser")
