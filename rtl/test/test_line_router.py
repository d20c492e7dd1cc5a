"""Each group of clients receives one line per cycle: from host memory first, then from the cache, then from
the chip. No line is lost."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from records import record
from runner import simulate
from streams import STALLS, Lanes, Source, end_of_reset, start

LINE = record("burst_line_t")
BANKS = 2


@cocotb.test()
@cocotb.parametrize(stall=STALLS, host=(0.0, 0.6))
async def lines_reach_their_clients_in_order(dut, stall, host):
    clients = int(dut.ClientCount.value)
    valid, bank, lines = Lanes(dut.line_valid_o), Lanes(dut.line_bank_o), Lanes(dut.line_o, LINE.width)
    sources = {name: Source(dut, name, stall=stall) for name in ("cache", "chip")}
    await start(dut, host_valid_i=0)
    await end_of_reset(dut)
    # by client and source, in order; the data contains the source of a line
    sent = {(client, name): [] for client in range(clients) for name in ("host", *sources)}
    number = 0
    for name, source in sources.items():
        for _ in range(100):
            client, number = random.randrange(clients), number + 1
            line, at = LINE.pack(data=number, last=number & 1), random.randrange(BANKS)
            sent[client, name].append((at, line))
            source.put({f"{name}_tag_i": client * BANKS + at, f"{name}_i": line})
    while any(sent.values()):
        gives, client = random.random() < host, random.randrange(clients)
        if gives:
            number += 1
            line, at = LINE.pack(data=number), random.randrange(BANKS)
            sent[client, "host"].append((at, line))
            dut.host_tag_i.value, dut.host_i.value = client * BANKS + at, line
        dut.host_valid_i.value = int(gives)
        await RisingEdge(dut.clk_i)
        for index in range(clients):
            if valid.get(index):
                line = bank.get(index), lines.get(index)
                heads = [queue for (of, _), queue in sent.items() if of == index and queue[:1] == [line]]
                assert len(heads) == 1
                heads[0].pop(0)
        waiting = sum(len(sent[index, "host"]) for index in range(clients))
        assert waiting <= int(gives), "a line from host memory waited"


def test_line_router():
    for clients in (1, 3, 9):
        simulate("line_router", ClientCount=clients)
