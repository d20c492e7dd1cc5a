"""The complete accelerator answers requests for trees in memory as the reader of trees does, or reports that
memory has failed."""

import random

import cocotb
import honeycomb_layout as layout
from accelerator_bench import Bench
from cocotb import start_soon
from cocotb.triggers import RisingEdge
from memories import OKAY, SLAVE_ERROR, HostMemory, drams
from request_bytes import beats
from runner import simulate
from streams import end_of_reset, start

# Capacity of the page table.
LIDS = 512
# The share of reads and writes of memory that fail. The page table fails once in 100 million mappings.
ERRORS = 0.01
DRAIN = layout.ControlSwitches(drain=1).to_int()


class Registers:
    """A manager of the register bus."""

    def __init__(self, dut):
        self.dut = dut
        for port in ("awvalid", "wvalid", "arvalid", "bready", "rready", "araddr"):
            self.port(port).value = 0

    def port(self, name: str):
        return getattr(self.dut, f"s_axil_{name}")

    async def write(self, name: str, value: int, response: int = OKAY):
        """Writes a register and checks the response to its high half."""
        address = layout.Control.FIELDS[name].offset
        assert await self.write_word(address, value & 0xFFFFFFFF) == OKAY
        assert await self.write_word(address + 4, value >> 32) == response

    async def write_word(self, address: int, value: int) -> int:
        words = {"awaddr": address, "wdata": value, "wstrb": 15, "awvalid": 1, "wvalid": 1, "bready": 1}
        for port, word in words.items():
            self.port(port).value = word
        await self.until("awready")
        self.port("awvalid").value = self.port("wvalid").value = 0
        await self.until("bvalid")
        return int(self.dut.s_axil_bresp.value)

    async def read_low(self, name: str) -> int:
        """Returns the low half of a register."""
        for port, word in {"araddr": layout.Control.FIELDS[name].offset, "arvalid": 1, "rready": 1}.items():
            self.port(port).value = word
        await self.until("arready")
        self.port("arvalid").value = 0
        await self.until("rvalid")
        assert self.dut.s_axil_rresp.value == OKAY
        return int(self.dut.s_axil_rdata.value)

    async def until(self, signal: str):
        while True:
            await RisingEdge(self.dut.clk_i)
            if self.port(signal).value == 1:
                return


class Streams:
    """Sends packets of requests and collects completions."""

    def __init__(self, dut, stall: float):
        self.dut, self.stall, self.beats, self.packet, self.packets = dut, stall, [], b"", []
        dut.s_axis_tvalid.value = dut.m_axis_tready.value = 0
        start_soon(self.drive())
        start_soon(self.receive())

    def send(self, packet: bytes):
        self.beats += beats(packet)

    async def drive(self):
        dut = self.dut
        await end_of_reset(dut)
        while True:
            valid = bool(self.beats) and random.random() >= self.stall
            dut.s_axis_tvalid.value = int(valid)
            if valid:
                for port, value in zip(("tdata", "tkeep", "tlast"), self.beats[0]):
                    getattr(dut, f"s_axis_{port}").value = value
            await RisingEdge(dut.clk_i)
            while valid and dut.s_axis_tready.value != 1:
                await RisingEdge(dut.clk_i)
            if valid:
                self.beats.pop(0)

    async def receive(self):
        dut = self.dut
        await end_of_reset(dut)
        while True:
            ready = random.random() >= self.stall
            dut.m_axis_tready.value = int(ready)
            await RisingEdge(dut.clk_i)
            if ready and dut.m_axis_tvalid.value == 1:
                count = int(dut.m_axis_tkeep.value).bit_count()
                self.packet += int(dut.m_axis_tdata.value).to_bytes(64, "little")[:count]
                if dut.m_axis_tlast.value == 1:
                    self.packets.append(self.packet)
                    self.packet = b""


class ModelBench(Bench):
    """The accelerator with models of memories that use all freedom of AXI4."""

    def __init__(self, dut, shape: str, stall: float):
        super().__init__(dut, shape)
        self.host, self.drams = HostMemory(dut, self.line, stall=stall), drams(dut, stall=stall)
        self.registers, self.streams = Registers(dut), Streams(dut, stall)

    def line(self, address: int) -> int | None:
        return int.from_bytes(self.memory.lines(address, 0, 1)[0], "little")

    async def start(self, switches: int):
        await start(self.dut)
        await self.set_up(switches)

    def set_errors(self, errors: float):
        """Sets the share of reads and writes of memory that fail from now on."""
        for memory in (self.host, *self.drams):
            memory.errors = errors

    async def status(self) -> layout.ControlStatus:
        return layout.ControlStatus.from_int(await self.registers.read_low("status"))


@cocotb.test()
@cocotb.parametrize(shape=["default", "tiny"], stall=[0.0, 0.3], switches=[0, 3, 4, 7])
async def answers_requests(dut, shape, stall, switches):
    bench = ModelBench(dut, shape, stall)
    await bench.start(switches)
    await bench.check(60)
    # The cache is behind the page table, in all channels. A tree may have its root as its only interior
    # node.
    is_cached = any(address >= 8 * LIDS for channel in bench.drams for address in channel.lines)
    assert is_cached <= bool(switches & 1) and (is_cached or switches != 3)
    # The window shrinks by at most one request per cycle.
    for _ in range(20):
        await RisingEdge(dut.clk_i)
    oldest, newest = int(dut.window_oldest_o.value), int(dut.window_newest_o.value)
    assert oldest == newest + 1 == len(bench.reference) + 1, "a request is still in flight"


@cocotb.test()
@cocotb.parametrize(shape=["default", "tiny"], switches=[0, 7, 27])
async def a_request_is_answered_or_fails(dut, shape, switches):
    """Each request has one answer while memory rejects reads and writes, and the right one when it no longer
    does."""
    bench = ModelBench(dut, shape, 0.3)
    await bench.start(switches)
    bench.set_errors(ERRORS)
    assert await bench.check(100, may_fail=True) > 0
    assert not (await bench.status()).table_failed
    bench.set_errors(0.0)
    await bench.check(20)


@cocotb.test()
async def every_request_fails_after_a_mapping_that_memory_rejects(dut):
    bench = ModelBench(dut, "tiny", 0.3)
    await bench.start(7)
    await bench.check(20)
    bench.drams[0].errors = 1.0
    await bench.registers.write("mapped_address", bench.memory.lids[bench.tree.root], SLAVE_ERROR)
    bench.set_errors(0.0)
    assert (await bench.status()).table_failed
    failed = await bench.check(40, may_fail=True)
    valid = [answer for answer, _ in bench.reference.values()
             if answer.status in (layout.STATUS_FOUND, layout.STATUS_ABSENT)]
    assert failed == len(valid) > 0


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.95], switches=[0, 27])
async def drains(dut, stall, switches):
    """While it drains, requests in flight complete and none begins. An idle accelerator has sent everything,
    also if the receiver takes a beat after long waits, and continues later."""
    bench = ModelBench(dut, "tiny", min(stall, 0.3))
    bench.streams.stall = stall
    await bench.start(switches)
    bench.send(100)
    interrupted = 0
    while bench.count_complete() < len(bench.reference):
        for _ in range(random.randrange(200)):
            await RisingEdge(dut.clk_i)
        await bench.registers.write("switches", switches | DRAIN)
        while not (await bench.status()).idle:
            pass
        complete, newest = bench.count_complete(), int(dut.window_newest_o.value)
        assert complete == newest == int(dut.window_oldest_o.value) - 1
        for _ in range(100):
            await RisingEdge(dut.clk_i)
        assert bench.count_complete() == complete and dut.window_newest_o.value == newest
        interrupted += 0 < complete < len(bench.reference)
        await bench.registers.write("switches", switches)
    assert bench.compare() == 0 and interrupted > 2


@cocotb.test()
async def every_request_ends_although_host_memory_does_not_answer(dut):
    bench = ModelBench(dut, "tiny", 0.3)
    await bench.start(7)
    await bench.check(20)
    assert not (await bench.status()).host_timed_out
    bench.host.silence = 0.05
    assert await bench.check(100, may_fail=True) > 0
    assert (await bench.status()).host_timed_out
    bench.host.silence = 0.0
    bench.host.break_silence()
    assert await bench.check(40, may_fail=True) > 0


def test_accelerator_top():
    parameters = {"SlotCount": 16, "SearchUnits": 2, "ScanUnits": 2, "LidCount": LIDS}
    simulate("accelerator_top", seeds=(1,), HostTimeoutBits=14, **parameters)
