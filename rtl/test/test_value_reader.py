"""A value reader requests all lines of values, in order, in reads of at most 64 lines."""

import random

import cocotb
from ports import READ
from records import record
from runner import simulate
from streams import STALLS, Sink, Source, start

VALUE = record("value_t")
LINE_BYTES, READ_LINES = 64, 64


def some_bytes() -> int:
    """Returns the length of a value, often at the end of a line or of a read."""
    around = (READ_LINES - 1, READ_LINES, READ_LINES + 1)
    lines = random.choice((1, 2, *around, 2 * READ_LINES, random.randint(1, 300)))
    return max(1, LINE_BYTES * lines + random.choice((-1, 0, 1)))


def reads(value: dict[str, int]) -> list[tuple[int, int, int]]:
    """Returns the reads of a value: the slot, the address and the number of lines of each."""
    lines = -(-value["bytes"] // LINE_BYTES)
    return [(value["slot"], value["address"] + LINE_BYTES * at, min(READ_LINES, lines - at))
            for at in range(0, lines, READ_LINES)]


class Reads(Sink):
    """The reads, each with its slot."""

    def sample(self):
        read = READ.unpack(super().sample())
        return int(self.dut.slot_o.value), read["address"], read["count"]


@cocotb.test()
@cocotb.parametrize(source_stall=STALLS, sink_stall=STALLS)
async def requests_all_lines(dut, source_stall, sink_stall):
    source, sink = Source(dut, "value", stall=source_stall), Reads(dut, "read", stall=sink_stall)
    await start(dut)
    values = [{"slot": random.getrandbits(8), "address": 64 * random.getrandbits(40), "bytes": some_bytes()}
              for _ in range(60)]
    # The greatest length has more than 2^25 lines, so a test reads the start of such a value only.
    values.append({"slot": 1, "address": 0, "bytes": 2**32 - 1})
    source.put(*(VALUE.pack(**value) for value in values))
    expected = [read for value in values[:-1] for read in reads(value)]
    await sink.count(len(expected) + 3)
    more = [(1, LINE_BYTES * READ_LINES * at, READ_LINES) for at in range(3)]
    assert sink.got[:len(expected) + 3] == expected + more


def test_value_reader():
    simulate("value_reader")
