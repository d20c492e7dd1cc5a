"""Each unit receives one line per cycle: from host memory first, then from the cache, then from the chip. The
filler of columns and clients receive lines from host memory only. No line is lost."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from records import record
from runner import simulate
from streams import STALLS, Lanes, Source, end_of_reset, start

LINE = record("burst_line_t")
BURSTS, CLIENT_READERS, NODE_PLACES, LEAF_PLACES = 2, 4, 2, 3


def ports_of_readers(clients: int, nodes: int, leaves: int) -> tuple[dict[int, int], dict[int, int]]:
    """Returns the port of each place, and of each other reader: the filler of columns, and the clients. The
    filler of nodes on chip has no port."""
    each = nodes * [NODE_PLACES] + leaves * [LEAF_PLACES]
    places = dict(enumerate([unit for unit, count in enumerate(each) for _ in range(count)], 2))
    first = -(-(2 + len(places)) // CLIENT_READERS) * CLIENT_READERS
    others = {0: len(each)}
    for at in range(clients * CLIENT_READERS):
        others[first + at] = len(each) + 1 + at // CLIENT_READERS
    return places, others


@cocotb.test()
@cocotb.parametrize(stall=STALLS, host=(0.0, 0.6))
async def lines_reach_their_ports_in_order(dut, stall, host):
    names = ("ClientCount", "NodeUnits", "LeafUnits")
    clients, nodes, leaves = (int(getattr(dut, name).value) for name in names)
    places, others = ports_of_readers(clients, nodes, leaves)
    port_of, ports = places | others, nodes + leaves + 1 + clients
    tag_bits = len(dut.host_tag_i)
    valid, tags = Lanes(dut.line_valid_o), Lanes(dut.line_tag_o, tag_bits)
    lines = Lanes(dut.line_o, LINE.width)
    sources = {name: Source(dut, name, stall=stall) for name in ("cache", "chip")}
    await start(dut, host_valid_i=0)
    await end_of_reset(dut)

    # by port and source, in order; the data contains the source of a line
    sent = {(port, name): [] for port in range(ports) for name in ("host", *sources)}
    number, gave = 0, False
    for name, source in sources.items():
        for _ in range(100):
            tag, number = BURSTS * random.choice(list(places)) + random.randrange(BURSTS), number + 1
            line = LINE.pack(data=number, last=number & 1)
            sent[port_of[tag // BURSTS], name].append((tag, line))
            source.put({f"{name}_tag_i": tag, f"{name}_i": line})
    rounds = 0
    while any(sent.values()) or rounds < 100:
        rounds += 1
        gives, tag = random.random() < host, BURSTS * random.choice(list(port_of)) + random.randrange(BURSTS)
        if gives:
            number += 1
            line = LINE.pack(data=number)
            sent[port_of[tag // BURSTS], "host"].append((tag, line))
            dut.host_tag_i.value, dut.host_i.value = tag, line
        dut.host_valid_i.value = int(gives)
        await RisingEdge(dut.clk_i)
        for port in range(ports):
            if valid.get(port):
                line = tags.get(port), lines.get(port)
                heads = [queue for (of, _), queue in sent.items() if of == port and queue[:1] == [line]]
                assert len(heads) == 1
                heads[0].pop(0)
        waiting = sum(len(sent[port, "host"]) for port in range(ports))
        assert waiting <= gives + gave, "a line from host memory waited"
        gave = gives


def test_line_router():
    places = {"NodePlaces": NODE_PLACES, "LeafPlaces": LEAF_PLACES}
    for clients, nodes, leaves in ((1, 1, 1), (2, 2, 3), (8, 1, 1)):
        simulate("line_router", ClientCount=clients, NodeUnits=nodes, LeafUnits=leaves, **places)
