"""Columns of leaves come from on-board memory, and always from the buffer that the read names, although
buffers are reused often."""

import random

import cocotb
from memories import HostMemory, drams
from places import Places
from records import record
from runner import simulate
from streams import start
from test_memory_system import OFF, Clients
from test_node_cache_system import ERRORS, Nodes, read_at_place, set_errors

COUNTERS = record("memory_counters_t")
LIDS = 512


def more_of_a_leaf(_lid: int):
    """Returns what a place may read of a leaf after its first lines."""
    at, most = random.choice(((3, 2), (20, 8), (random.randrange(1, 70), random.randint(1, 10))))
    return at, most, {"columns": random.random() < 0.8}


async def read_leaves(places, nodes, index, rounds):
    for _ in range(rounds):
        count = random.choice((1, 3, 3))
        await read_at_place(places, nodes, index, count, lambda _lid: {"columns": 1}, more_of_a_leaf)


async def run(dut, stall, pause, rounds=40, errors=0.0, **switches):
    """Runs all places and returns the counters. If memory fails, it runs them again when it does not."""
    # There are few buffers, so a leaf often returns to a previous one.
    nodes = Nodes(dut, buffers=8)
    memories = [*drams(dut, stall=stall), HostMemory(dut, nodes.line, stall=stall)]
    places = Places(dut)
    Clients(dut, stall)
    await start(dut, **OFF | switches)
    for lid in (0, 1, LIDS - 1):
        await nodes.replace(lid)
    replacing = cocotb.start_soon(nodes.keep_replacing(dut, pause))
    for share in sorted({errors, 0.0}, reverse=True):
        set_errors(memories, nodes, share)
        tasks = [cocotb.start_soon(read_leaves(places, nodes, index, rounds)) for index in places.leaves]
        for task in tasks:
            await task
    replacing.cancel()
    assert (nodes.failed > 0) == (errors > 0)
    return COUNTERS.unpack(int(dut.counters_o.value))


@cocotb.test()
@cocotb.parametrize(stall=(0.0, 0.3, 0.7), pause=(20, 400, 2000))
async def columns_are_those_of_the_buffer(dut, stall, pause):
    counted = await run(dut, stall, pause, columns_i=1, cache_i=random.getrandbits(1))
    # Leaves that are replaced all the time are rarely copied.
    if pause > 400:
        assert counted["column_lines"] > 100
        assert counted["dram_lines"] == counted["column_lines"]


@cocotb.test()
@cocotb.parametrize(stall=(0.0, 0.3), pause=(400, 2000))
async def columns_are_correct_or_fail(dut, stall, pause):
    """Memory rejects reads and writes. When it no longer does, columns come from on-board memory again."""
    counted = await run(dut, stall, pause, errors=ERRORS, columns_i=1)
    assert counted["column_lines"] > 0


@cocotb.test()
async def columns_that_are_off_are_not_used(dut):
    counted = await run(dut, 0.0, 400)
    assert counted["column_lines"] == 0 and counted["dram_lines"] == 0


def test_columns_system():
    simulate("memory_system", ClientCount=1, LeafUnits=2, LeafPlaces=3, LidCount=LIDS, CacheSets=2)
