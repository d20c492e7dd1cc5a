"""A head counter counts heads over several lines and returns an element of the last one."""

import random

import cocotb
from cocotb.triggers import FallingEdge
from records import record
from runner import simulate
from streams import start

LINE, USE, COUNTS = record("column_line_t"), record("column_use_t"), record("column_counts_t")
CYCLES = 2
GREATEST = (1 << 64) - 1


def random_heads(count: int) -> list[int]:
    """Returns heads in order, often close to each other or at the ends."""
    values = [random.getrandbits(64) for _ in range(3)] + [0, 1, 1 << 63, GREATEST - 1, GREATEST]
    heads = [random.choice(values) + random.choice((-1, 0, 0, 1)) for _ in range(count)]
    return sorted(min(max(value, 0), GREATEST) for value in heads)


def lines(elements: list[int], head: int, heads: int, skips_first: bool, element: int) -> list[int]:
    """Returns the lines of a count. Only the first `heads` elements are heads."""
    words = []
    for at in range(0, len(elements), 8):
        data = sum(value << 64 * place for place, value in enumerate(elements[at:at + 8]))
        skips = skips_first and at == 0
        use = USE.pack(head=head, heads=min(max(heads - at, 0), 8), skips_first=skips, element=element)
        words.append(LINE.pack(use_as=use, data=data))
    return words


@cocotb.test()
async def counts(dut):
    await start(dut, line_valid_i=0)
    await FallingEdge(dut.clk_i)
    cycle, expected, offered = 0, {}, []
    for _ in range(400):
        if not offered:
            count = random.choice((1, 2, 4, 8))
            elements = random_heads(8 * count)
            heads, skips, element = random.randint(0, 8 * count), random.getrandbits(1), random.randrange(8)
            searched = min(max(random.choice(elements) + random.choice((-1, 0, 1)), 0), GREATEST)
            offered, tag = lines(elements, searched, heads, skips, element), random.getrandbits(1)
            counted = elements[skips:max(heads, skips)]
            result = COUNTS.pack(less=sum(value < searched for value in counted),
                                 not_greater=sum(value <= searched for value in counted),
                                 element=elements[-8 + element])
        gives = random.random() < 0.8
        dut.line_valid_i.value, dut.line_tag_i.value = int(gives), tag
        if gives:
            dut.line_i.value, dut.line_last_i.value = offered.pop(0), int(not offered)
            if not offered:
                expected[cycle + CYCLES] = result, tag
        await FallingEdge(dut.clk_i)
        cycle += 1
        assert dut.counts_valid_o.value == int(cycle in expected)
        if cycle in expected:
            assert (int(dut.counts_o.value), int(dut.counts_tag_o.value)) == expected.pop(cycle)


def test_head_counter():
    simulate("head_counter")
