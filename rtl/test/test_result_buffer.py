"""A result buffer returns the packed chunks of each answer with its outcome, in whatever order the two
arrive."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from ports import line
from records import record
from runner import simulate
from scans import BEAT
from streams import STALLS, Sink, Source, start

OUTCOME, CHUNK = record("outcome_t"), record("byte_chunk_t")
LINES = 4


def chunks(data: bytes) -> list[int]:
    """Cuts the bytes into random chunks."""
    cut = []
    while data:
        count = random.randint(1, min(64, len(data)))
        chunk, data = data[:count], data[count:]
        room = 64 - count
        first = random.choice((0, room))
        garbage = random.randbytes(first) + chunk + random.randbytes(room - first)
        cut.append(CHUNK.pack(first=first, count=count, bytes=line(garbage)))
    return cut


def beats(outcome: dict[str, int], data: bytes) -> list[dict[str, int]]:
    """Returns the expected beats of an answer."""
    lines = [line(data[at:at + 64]) for at in range(0, len(data), 64)] or [None]
    return [outcome | {"data": data, "last": int(at == len(lines) - 1)} for at, data in enumerate(lines)]


async def give(source: Source, element):
    """Offers an element and waits until it was accepted."""
    source.put(element)
    await source.drained()


@cocotb.test()
@cocotb.parametrize(source_stall=STALLS, sink_stall=STALLS)
async def returns_answers(dut, source_stall, sink_stall):
    parts = Source(dut, "chunk", stall=source_stall)
    outcomes = Source(dut, "outcome", stall=source_stall)
    answers = Sink(dut, "answer", stall=sink_stall)
    await start(dut)
    expected = []
    for _ in range(40):
        comes_first = random.random() < 0.4
        drops = not comes_first and random.random() < 0.2
        most = 64 * (7 if comes_first else LINES)
        data = random.randbytes(random.choice((0, 1, 64, random.randint(0, most))))
        outcome = {name: random.getrandbits(width) for name, (_, width) in OUTCOME.fields.items()}
        outcome["bytes"] = 0 if drops else len(data)
        word = {"outcome_i": OUTCOME.pack(**outcome), "outcome_first_i": int(comes_first)}
        if comes_first:
            await give(outcomes, word)
        cut = chunks(data)
        for at, chunk in enumerate(cut):
            last = comes_first and at == len(cut) - 1
            await give(parts, {"chunk_i": chunk, "chunk_last_i": int(last)})
        if not comes_first:
            await give(outcomes, word)
        expected += beats(outcome, b"" if drops else data)
    await answers.count(len(expected))
    for _ in range(5):
        await RisingEdge(dut.clk_i)
    got = [BEAT.unpack(beat) for beat in answers.got]
    assert [beat | {"data": beat["data"] if beat["bytes"] else None} for beat in got] == expected


def test_result_buffer():
    simulate("result_buffer", LinesMax=LINES)
