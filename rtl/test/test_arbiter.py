"""An arbiter interleaves packets, never the elements of different packets, and grants every stream."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from runner import simulate
from streams import STALLS, Sink, start


class Packets:
    """Offers the packets of one stream. `drive` sets the ports, which all streams share."""

    def __init__(self, index: int, packets: list[list[int]], stall: float):
        self.index, self.stall = index, stall
        self.elements = [element for packet in packets for element in with_last(packet)]
        self.offers = False

    def offer(self):
        self.offers = self.offers or (bool(self.elements) and random.random() >= self.stall)
        return self.offers


def with_last(packet: list[int]) -> list[tuple[int, bool]]:
    """Returns the elements of a packet, each with a flag that marks the last one."""
    return [(data, at == len(packet) - 1) for at, data in enumerate(packet)]


async def drive(dut, streams: list[Packets]):
    """Drives the arrays of ports with the offers of all streams."""
    while True:
        valid = data = last = 0
        for stream in streams:
            if stream.offer():
                word, ends = stream.elements[0]
                valid |= 1 << stream.index
                data |= word << 32 * stream.index
                last |= ends << stream.index
        dut.in_valid_i.value, dut.in_i.value, dut.in_last_i.value = valid, data, last
        await RisingEdge(dut.clk_i)
        ready = int(dut.in_ready_o.value)
        for stream in streams:
            if stream.offers and ready >> stream.index & 1:
                stream.elements.pop(0)
                stream.offers = False


PORTS = ["out_o", "out_last_o", "out_index_o"]


@cocotb.test()
@cocotb.parametrize(source_stall=STALLS, sink_stall=STALLS)
async def does_not_mix_packets(dut, source_stall, sink_stall):
    count = int(dut.Count.value)
    sent = [[[random.getrandbits(32) for _ in range(random.randint(1, 4))] for _ in range(20)]
            for _ in range(count)]
    streams = [Packets(index, packets, source_stall) for index, packets in enumerate(sent)]
    sink = Sink(dut, "out", PORTS, stall=sink_stall)
    await start(dut, in_valid_i=0)
    cocotb.start_soon(drive(dut, streams))
    await sink.count(sum(len(packet) for packets in sent for packet in packets))
    packet = []
    for element in sink.got:
        packet.append(element)
        assert element["out_index_o"] == packet[0]["out_index_o"]
        if element["out_last_o"]:
            assert [part["out_o"] for part in packet] == sent[element["out_index_o"]].pop(0)
            packet = []
    assert not any(sent)


@cocotb.test()
async def grants_round_robin(dut):
    """Streams that always offer an element are granted in turn."""
    count = int(dut.Count.value)
    streams = [Packets(index, [[index]] * 8, 0.0) for index in range(count)]
    sink = Sink(dut, "out", PORTS)
    await start(dut, in_valid_i=0)
    cocotb.start_soon(drive(dut, streams))
    await sink.count(8 * count)
    order = [element["out_index_o"] for element in sink.got]
    rounds = [sorted(order[at:at + count]) for at in range(0, len(order), count)]
    assert rounds == [list(range(count))] * 8


def test_arbiter():
    for count in (1, 2, 5):
        simulate("arbiter", Count=count)
