"""A completion consists of the identifier of its request, the fields of its answer and its body."""

import random

import cocotb
import honeycomb_layout as layout
from cocotb.triggers import RisingEdge
from records import record
from runner import simulate
from streams import STALLS, Sink, Source, end_of_reset, start

LINE_BYTES = 64


def any_answer(slot: int) -> tuple[dict, bytes]:
    """Returns random values for the fields that all beats of an answer share, and a body."""
    length = random.choice([0, 0, 1, 7, 8, 16, 31, 32, 33, 40, 63, 64, 65, 96, 97, 128, 1000, 4096])
    fields = {
        "slot": slot,
        "status": random.getrandbits(8),
        "continued": random.getrandbits(1),
        "more": random.getrandbits(1),
        "pairs": random.getrandbits(22),
        "pair_version": random.getrandbits(64),
        "bytes": length,
    }
    return fields, random.randbytes(length)


def beats(fields: dict, body: bytes) -> list[int]:
    lines = [body[at : at + LINE_BYTES] for at in range(0, max(len(body), 1), LINE_BYTES)]
    pack = record("answer_beat_t").pack
    return [
        pack(**fields, last=int(index == len(lines) - 1), data=int.from_bytes(line, "little"))
        for index, line in enumerate(lines)
    ]


def completion(fields: dict, body: bytes, name: tuple[int, int]) -> bytes:
    names = ("status", "continued", "more", "pairs")
    outcome = layout.CompletionOutcome(**{name: fields[name] for name in names})
    header = layout.Completion(
        identifier=name[0], read_version=name[1], pair_version=fields["pair_version"],
        bytes=len(body), outcome=outcome.to_int(),
    )
    return header.pack() + body + bytes(-len(body) % 8)


def packets(beats_got: list[dict]) -> list[bytes]:
    found, packet = [], b""
    for beat in beats_got:
        count = beat["out_keep_o"].bit_count()
        assert beat["out_keep_o"] == (1 << count) - 1 and count > 0
        assert count == LINE_BYTES or beat["out_last_o"], "a beat before the last one is not full"
        packet += beat["out_data_o"].to_bytes(LINE_BYTES, "little")[:count]
        if beat["out_last_o"]:
            found.append(packet)
            packet = b""
    assert packet == b""
    return found


class Names:
    """Returns identifiers and read versions of requests, and records which requests are done."""

    def __init__(self, dut):
        self.dut, self.done = dut, []
        self.names = [(random.getrandbits(64), random.getrandbits(64)) for _ in range(256)]
        cocotb.start_soon(self.run())

    async def run(self):
        await end_of_reset(self.dut)
        while True:
            await RisingEdge(self.dut.clk_i)
            if self.dut.done_valid_o.value == 1:
                self.done.append(int(self.dut.done_slot_o.value))
            if self.dut.name_read_o.value == 1:
                identifier, version = self.names[int(self.dut.name_slot_o.value)]
                self.dut.name_identifier_i.value = identifier
                self.dut.name_read_version_i.value = version


@cocotb.test()
@cocotb.parametrize(source_stall=STALLS, sink_stall=STALLS)
async def writes_completions(dut, source_stall, sink_stall):
    source = Source(dut, "answer", stall=source_stall)
    sink = Sink(dut, "out", ["out_data_o", "out_keep_o", "out_last_o"], stall=sink_stall)
    names = Names(dut)
    await start(dut, name_identifier_i=0, name_read_version_i=0)
    answers = [any_answer(random.randrange(256)) for _ in range(60)]
    for fields, body in answers:
        source.put(*beats(fields, body))
    expected = [completion(fields, body, names.names[fields["slot"]]) for fields, body in answers]
    await sink.count(sum(-(-len(packet) // LINE_BYTES) for packet in expected))
    assert packets(sink.got) == expected
    assert names.done == [fields["slot"] for fields, _ in answers if not fields["continued"]]


def test_completion_writer():
    simulate("completion_writer")
