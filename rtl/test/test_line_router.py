"""Each group of readers receives one line per cycle: from host memory first, then from the cache, then from
the chip. No line is lost."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from records import record
from runner import simulate
from streams import STALLS, Lanes, Source, end_of_reset, start

LINE = record("burst_line_t")
BANKS, NODE_PLACES, LEAF_PLACES = 2, 2, 3


@cocotb.test()
@cocotb.parametrize(stall=STALLS, host=(0.0, 0.6))
async def lines_reach_their_ports_in_order(dut, stall, host):
    names = ("ClientCount", "NodeUnits", "LeafUnits")
    clients, nodes, leaves = (int(getattr(dut, name).value) for name in names)
    # By reader its port: the clients and the filler of columns, and the units; the filler of nodes on chip
    # receives no lines here.
    each = nodes * [NODE_PLACES] + leaves * [LEAF_PLACES]
    port_of_place = [clients + 1 + unit for unit, count in enumerate(each) for _ in range(count)]
    port_of = {**{at: at for at in range(clients + 1)}, **dict(enumerate(port_of_place, clients + 2))}
    readers, ports = list(port_of), clients + 1 + len(each)
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
            tag, number = BANKS * random.choice(readers) + random.randrange(BANKS), number + 1
            line = LINE.pack(data=number, last=number & 1)
            sent[port_of[tag // BANKS], name].append((tag, line))
            source.put({f"{name}_tag_i": tag, f"{name}_i": line})
    while any(sent.values()):
        gives, tag = random.random() < host, BANKS * random.choice(readers) + random.randrange(BANKS)
        if gives:
            number += 1
            line = LINE.pack(data=number)
            sent[port_of[tag // BANKS], "host"].append((tag, line))
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
