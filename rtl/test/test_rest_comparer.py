"""A rest comparer orders the item of a separator and a search key that has the same head."""

import random

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge
from columns import head, item
from keys import around, nested_keys
from ports import line
from records import record
from runner import simulate
from streams import STALLS, start

REST, READ = record("rest_read_t"), record("head_read_t")


class Bench:
    """The comparer between a model of the lines of a node and one of the search key."""

    def __init__(self, dut, stall: float):
        self.dut, self.stall = dut, stall

    def stalls(self) -> bool:
        return random.random() < self.stall

    async def compare(self, separator: bytes, key: bytes, place: int) -> tuple[int, int]:
        """Returns whether the separator is less, and whether it is equal. The item begins at this word of a
        line."""
        dut, prefix = self.dut, random.randbytes(random.choice((0, 3, 40)))
        data = random.randbytes(4 * place) + item(separator)
        lines = [data[at:at + 64] for at in range(0, len(data), 64)]
        dut.start_i.value = REST.pack(suffix_length=len(key), prefix_length=len(prefix), place=place)
        dut.start_valid_i.value = 1
        wants_line, reads = False, []
        while True:
            dut.line_valid_i.value = dut.head_valid_i.value = 0
            if wants_line and not self.stalls():
                wants_line, dut.line_valid_i.value = False, 1
                dut.line_i.value = line(lines.pop(0).ljust(64, b"\xa5"))
            if reads and not self.stalls():
                read, dut.head_valid_i.value = READ.unpack(reads.pop()), 1
                assert read["length"] == len(prefix + key)
                dut.head_i.value = head((prefix + key)[read["offset"]:])
            dut.key_ready_i.value = int(not self.stalls())
            await RisingEdge(dut.clk_i)
            if dut.key_valid_o.value and dut.key_ready_i.value:
                reads.append(int(dut.key_o.value))
            wants_line |= bool(dut.wants_line_o.value)
            await FallingEdge(dut.clk_i)
            dut.start_valid_i.value = 0
            if dut.done_o.value:
                return int(dut.less_o.value), int(dut.equal_o.value)

    async def check(self, separator: bytes, key: bytes, place: int | None = None):
        found = await self.compare(separator, key, random.randrange(16) if place is None else place)
        assert found == (separator < key, separator == key), (separator, key)


def separators() -> list[bytes]:
    """Returns separators with items and one head: with lengths at the edges of words and lines, or with zeros
    at the end."""
    nested = [key for key in nested_keys(12, 16, 32, 64, 68, 72, 128, 460) if 8 < len(key) <= 460]
    zeros = [b"ab" + b"\0" * count for count in range(1, 12)]
    return nested + zeros


@cocotb.test()
@cocotb.parametrize(stall=STALLS)
async def orders_rests(dut, stall):
    await start(dut, start_valid_i=0, line_valid_i=0, head_valid_i=0, key_ready_i=0)
    await FallingEdge(dut.clk_i)
    bench = Bench(dut, stall)
    known = separators()
    for separator in known:
        for key in around(separator):
            if head(key) == head(separator) and len(key) <= 460:
                await bench.check(separator, key)
    for _ in range(60):
        separator = random.choice(known)
        changed = bytearray(random.choice([key for key in known if head(key) == head(separator)]))
        changed[-1] ^= random.choice((0, 1, 0x80))
        if head(changed) == head(separator):
            await bench.check(separator, bytes(changed))


@cocotb.test()
@cocotb.parametrize(stall=STALLS[:2])
async def rests_end_at_words_and_lines(dut, stall):
    """Separator and search key have all bytes of their last word but one, all, or one more, at each place of
    a line."""
    await start(dut, start_valid_i=0, line_valid_i=0, head_valid_i=0, key_ready_i=0)
    await FallingEdge(dut.clk_i)
    bench, rest = Bench(dut, stall), random.randbytes(80)
    for place in range(16):
        # bytes up to the end of the line, behind the head and the word with the lengths
        room = 4 * (15 - place)
        lengths = {8 + words + more for words in (4, 8, room) for more in (-1, 0, 1)}
        for separator in (rest[:length] for length in lengths if length > 8):
            for key in around(separator):
                await bench.check(separator, key, place)


def test_rest_comparer():
    simulate("rest_comparer")
