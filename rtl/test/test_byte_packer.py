"""A byte packer joins chunks without gaps and pads only the end of a packet."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from runner import simulate
from streams import STALLS, Sink, Source, start


def chunk(data: bytes, last: bool) -> dict:
    """Returns a chunk between undefined bytes."""
    room = 64 - len(data)
    first = random.choice((0, room, random.randint(0, room)))
    garbage = random.randbytes(first) + data + random.randbytes(room - first)
    return {"in_bytes_i": int.from_bytes(garbage, "little"), "in_first_i": first, "in_count_i": len(data),
            "in_last_i": int(last)}


def lines_of(packet: bytes) -> list[dict]:
    """Returns the expected lines of a packet."""
    padded = packet + bytes(-len(packet) % 64)
    lines = [padded[at:at + 64] for at in range(0, len(padded), 64)]
    return [{"line_o": int.from_bytes(line, "little"), "line_last_o": int(at == len(lines) - 1)}
            for at, line in enumerate(lines)]


@cocotb.test()
@cocotb.parametrize(source_stall=STALLS, sink_stall=STALLS)
async def packs_chunks(dut, source_stall, sink_stall):
    source = Source(dut, "in", stall=source_stall)
    sink = Sink(dut, "line", ["line_o", "line_last_o"], stall=sink_stall)
    await start(dut)
    expected = []
    for _ in range(30):
        sizes = [random.choice((1, 63, 64, random.randint(1, 64))) for _ in range(random.randint(1, 5))]
        chunks = [random.randbytes(size) for size in sizes]
        source.put(*(chunk(data, at == len(chunks) - 1) for at, data in enumerate(chunks)))
        expected += lines_of(b"".join(chunks))
    await sink.count(len(expected))
    for _ in range(5):
        await RisingEdge(dut.clk_i)
    assert sink.got == expected


def test_byte_packer():
    simulate("byte_packer")
