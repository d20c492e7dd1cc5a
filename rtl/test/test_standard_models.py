"""The complete accelerator on buses of cocotbext-axi, whose models were written from the standards alone: its
pins have the signals that the standards name, and it relies on nothing else."""

import random
from itertools import chain

import cocotb
import honeycomb_layout as layout
from accelerator_bench import Bench
from cocotb import start_soon
from cocotbext.axi import (
    AxiBus,
    AxiLiteBus,
    AxiLiteMaster,
    AxiProt,
    AxiRam,
    AxiRamRead,
    AxiReadBus,
    AxiResp,
    AxiStreamBus,
    AxiStreamSink,
    AxiStreamSource,
)
from cocotbext.axi.axi_channels import AxiARMonitor, AxiAWMonitor
from runner import simulate
from streams import pause, start

LIDS = 512
# Beyond all addresses; Python's lengths have no more bits.
MEMORY_BYTES = 1 << 62
# Normal accesses to data that is not cached, without priority: see axi_pkg.
ATTRIBUTES = {"lock": 0, "cache": 0b0011, "prot": AxiProt.NONSECURE, "qos": 0, "region": 0}


class Registers:
    def __init__(self, dut):
        self.master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk_i)

    async def write(self, name: str, value: int):
        prot = random.choice(list(AxiProt))
        address = layout.Control.FIELDS[name].offset
        done = await self.master.write(address, value.to_bytes(8, "little"), prot=prot)
        assert done.resp == AxiResp.OKAY

    async def read(self, name: str) -> int:
        done = await self.master.read(layout.Control.FIELDS[name].offset, 8)
        assert done.resp == AxiResp.OKAY
        return int.from_bytes(done.data, "little")

    def channels(self) -> list:
        write, read = self.master.write_if, self.master.read_if
        return [write.aw_channel, write.w_channel, write.b_channel, read.ar_channel, read.r_channel]


class Streams:
    def __init__(self, dut):
        self.source = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis"), dut.clk_i)
        self.sink = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis"), dut.clk_i)
        self.packets = []
        start_soon(self.receive())

    def send(self, packet: bytes):
        self.source.send_nowait(packet)

    async def receive(self):
        while True:
            frame = await self.sink.recv()
            self.packets.append(bytes(frame.tdata))

    def channels(self) -> list:
        return [self.source, self.sink]


class StandardBench(Bench):
    """The accelerator out of reset, on the models."""

    def __init__(self, dut, shape: str, stall: float):
        super().__init__(dut, shape)
        self.registers, self.streams = Registers(dut), Streams(dut)
        host = AxiReadBus.from_prefix(dut, "m_axi_host")
        self.host = AxiRamRead(host, dut.clk_i, size=MEMORY_BYTES)
        for address, data in self.memory.buffers.items():
            self.host.write(address, data)
        on_board = [AxiBus.from_prefix(dut, f"m_axi_dram{channel}") for channel in range(2)]
        self.drams = [AxiRam(bus, dut.clk_i, size=MEMORY_BYTES) for bus in on_board]
        reads = [AxiARMonitor(bus.ar, dut.clk_i) for bus in (host, *(bus.read for bus in on_board))]
        writes = [AxiAWMonitor(bus.write.aw, dut.clk_i) for bus in on_board]
        self.monitors = {"ar": reads, "aw": writes}
        pause(self.channels(), stall)

    def channels(self) -> list:
        memories = [self.host, *chain.from_iterable((ram.read_if, ram.write_if) for ram in self.drams)]
        names = ("ar_channel", "r_channel", "aw_channel", "w_channel", "b_channel")
        channels = [getattr(memory, name) for memory in memories for name in names if hasattr(memory, name)]
        return [*channels, *self.registers.channels(), *self.streams.channels()]

    def check_attributes(self):
        """Checks the attributes of every transaction."""
        for channel, monitors in self.monitors.items():
            got = [monitor.recv_nowait() for monitor in monitors for _ in range(monitor.count())]
            assert got, f"no port had a transaction on {channel}"
            for one in got:
                assert {name: int(getattr(one, channel + name)) for name in ATTRIBUTES} == ATTRIBUTES


@cocotb.test()
@cocotb.parametrize(shape=["default", "tiny"], stall=[0.0, 0.3], switches=[3, 27])
async def answers_requests_over_standard_buses(dut, shape, stall, switches):
    await start(dut)
    bench = StandardBench(dut, shape, stall)
    await bench.set_up(switches)
    await bench.check(60)
    bench.check_attributes()
    assert await bench.registers.read("read_version") == bench.tree.version
    while await bench.registers.read("window_oldest") != len(bench.reference) + 1:
        pass


def test_standard_models():
    simulate("accelerator_top", "test_standard_models", seeds=(1,), SlotCount=8, SearchUnits=2, ScanUnits=2,
             LidCount=LIDS)
