"""The root table is empty after reset. Then a read returns the last write."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from runner import simulate
from streams import STALLS, Source, end_of_reset, start

TABLES = [0, 1, 15, 16, 255, 256, 40_000, 65_534, 65_535]


async def note_roots(dut, roots):
    """Records the root that follows each accepted read."""
    await end_of_reset(dut)
    was_read = False
    while True:
        await RisingEdge(dut.clk_i)
        if was_read:
            roots.append(int(dut.root_o.value))
        was_read = dut.read_valid_i.value == 1 and dut.read_ready_o.value == 1


@cocotb.test()
@cocotb.parametrize(stall=STALLS[:2])
async def returns_written_data(dut, stall):
    writes, reads = Source(dut, "write", stall=stall), Source(dut, "read", "read_table_i", stall=stall)
    roots, expected, held = [], [], {}
    cocotb.start_soon(note_roots(dut, roots))
    await start(dut)
    for _ in range(100):
        for _ in range(random.randrange(3)):
            table, root = random.choice(TABLES), random.choice([0, random.getrandbits(48)])
            writes.put({"write_table_i": table, "write_root_i": root})
            held[table] = root
        await writes.drained()
        requested = random.sample(TABLES, 3)
        reads.put(*requested)
        expected += [held.get(table, 0) for table in requested]
        await reads.drained()
    for _ in range(3):
        await RisingEdge(dut.clk_i)
    assert roots == expected


def test_root_table():
    simulate("root_table", Banks=256)
    simulate("root_table", seeds=(3,), Banks=16)
