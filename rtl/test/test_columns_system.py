"""Columns of leaves come from on-board memory, and always from the buffer that the read names, although
buffers are reused often."""

import random

import cocotb
from memories import HostMemory, drams
from records import record
from runner import simulate
from streams import start
from test_memory_system import OFF, Clients
from test_node_cache_system import Nodes, check

COUNTERS = record("memory_counters_t")
LIDS = 512


async def read_leaf(clients, nodes, index: int):
    """Executes one operation: reads header and first columns of a leaf by LID, then more columns and other
    lines of this buffer. All must have the same content."""
    operation = object()
    nodes.operations.add(operation)
    lid = random.choice(list(nodes.mapped))
    first = {"by_lid": 1, "lid": lid, "columns": 1, "first": 0, "count": random.choice((1, 3, 3))}
    beats = await clients.request(index, **first)
    address = beats[0]["address"]
    content = nodes.contents[address]
    check(nodes, beats, address, 0)
    assert len(beats) == first["count"]
    for _ in range(random.randint(0, 4)):
        at, count = random.choice(((3, 2), (20, 8), (random.randrange(1, 70), random.randint(1, 10))))
        follows, columns = random.random() < 0.9, random.random() < 0.8
        more = await clients.request(index, address=address, follows=follows, columns=columns, first=at,
                                     count=count)
        check(nodes, more, address, at)
        assert len(more) == count
    assert nodes.contents[address] == content, "the model reused a buffer too early"
    nodes.operations.remove(operation)


async def read_leaves(clients, nodes, index, rounds):
    for _ in range(rounds):
        await read_leaf(clients, nodes, index)


async def run(dut, stall, pause, rounds=40, **switches):
    """Runs all clients and returns the counters."""
    drams(dut, stall=stall)
    # There are few buffers, so a leaf often returns to a previous one.
    nodes = Nodes(dut, buffers=5)
    HostMemory(dut, nodes.line, stall=stall)
    clients = Clients(dut, nodes.mappings, stall)
    await start(dut, **OFF | switches)
    for lid in (0, 1, LIDS - 1):
        await nodes.replace(lid)
    replacing = cocotb.start_soon(nodes.keep_replacing(dut, pause))
    tasks = [cocotb.start_soon(read_leaves(clients, nodes, index, rounds)) for index in range(clients.count)]
    for task in tasks:
        await task
    replacing.cancel()
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
async def columns_that_are_off_are_not_used(dut):
    counted = await run(dut, 0.0, 400)
    assert counted["column_lines"] == 0 and counted["dram_lines"] == 0


def test_columns_system():
    simulate("memory_system", ClientCount=3, Banks=2, LidCount=LIDS, CacheSets=2)
