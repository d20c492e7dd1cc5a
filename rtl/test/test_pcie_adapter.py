"""The adapter between buses and PCIe, on models that were written from the standards alone: a root complex
with its memory and the integrated block of UltraScale+ devices (cocotbext-pcie), and managers and
subordinates of AXI4 (cocotbext-axi)."""

import random

import cocotb
import pytest
from cocotb import start_soon
from cocotb.triggers import RisingEdge, gather
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteSlave, AxiMaster, AxiResp, MemoryRegion
from pcie import PAGE, Device, Faults
from runner import simulate
from streams import cycles, hold, pause

LINE, PAGES = 64, 16
BAR_BYTES = 4096
# Registers that respond with errors; those before them are the ones that tests use.
REJECTED, REJECTED_END = 2048, 3072
# See Device.limit.
LIMITS = [(0, 0, True), (2, 1, False), (5, 3, True), (5, 3, False)]


class Registers(MemoryRegion):
    """Registers of which some reject accesses."""

    async def _read(self, address, length, **attributes):
        assert not REJECTED <= address < REJECTED_END
        return await super()._read(address, length, **attributes)

    async def _write(self, address, data, **attributes):
        assert not REJECTED <= address < REJECTED_END
        await super()._write(address, data, **attributes)


class Bench:
    """The adapter on a device, with all buses behind it."""

    def __init__(self, dut):
        self.dut, self.device = dut, Device(dut, BAR_BYTES, dut.clk_i, dut.rst_i)
        self.master = AxiMaster(AxiBus.from_prefix(dut, "s_axi"), dut.clk_i, dut.rst_i, max_burst_len=64)
        self.registers = Registers(BAR_BYTES)
        bus = AxiLiteBus.from_prefix(dut, "m_axil")
        self.slave = AxiLiteSlave(bus, dut.clk_i, dut.rst_i, target=self.registers)
        start_soon(self.count_requests())

    async def start(self, stall: float):
        await self.device.start()
        self.memory = self.device.root.mem_pool.alloc_region(PAGES * PAGE)
        self.base = self.memory.get_absolute_address(0)
        self.content = bytearray(random.randbytes(PAGES * PAGE))
        self.memory[0 : PAGES * PAGE] = self.content
        pause(self.channels(), stall)

    def channels(self) -> list:
        read, write, accesses = self.master.read_if, self.master.write_if, self.slave
        return [
            *self.device.channels(),
            read.ar_channel, read.r_channel, write.aw_channel, write.w_channel, write.b_channel,
            accesses.read_if.ar_channel, accesses.read_if.r_channel,
            accesses.write_if.aw_channel, accesses.write_if.w_channel, accesses.write_if.b_channel,
        ]

    async def read(self, faulty: bool = False, pages: int = PAGES) -> bool:
        """Reads some lines of the first pages. Returns whether the read failed, which only a read with faults
        may."""
        offset, length = span(random.randrange(pages))
        done = await self.master.read(self.base + offset, length)
        if faulty and done.resp == AxiResp.SLVERR:
            return True
        assert done.resp == AxiResp.OKAY
        assert bytes(done.data) == self.content[offset : offset + length]
        return False

    async def write(self, page: int):
        offset, length = span(page)
        data = random.randbytes(length)
        self.content[offset : offset + length] = data
        done = await self.master.write(self.base + offset, data)
        assert done.resp == AxiResp.OKAY

    async def count_requests(self):
        """Counts the requests of the host, as pcie_clocks does."""
        dut, count = self.dut, 0
        while True:
            dut.rc_cq_count_i.value = count % (1 << 16)
            await RisingEdge(dut.clk_i)
            ends = dut.s_axis_cq_tvalid.value & dut.s_axis_cq_tready.value & dut.s_axis_cq_tlast.value
            count += int(ends and not dut.rst_i.value)

    async def settle(self):
        """Waits until posted writes have arrived."""
        await cycles(self.dut, 2000)


def span(page: int) -> tuple[int, int]:
    """Returns the offset and the length of some lines of a page."""
    first = random.randrange(PAGE // LINE)
    lines = min(random.choice((1, 2, 3, 4, 5, 8, 9, PAGE // LINE)), PAGE // LINE - first)
    return page * PAGE + first * LINE, lines * LINE


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.3], limits=LIMITS)
async def reads_return_memory(dut, stall, limits):
    bench = Bench(dut)
    await bench.start(stall)
    bench.device.limit(*limits)
    await gather(*(bench.read() for _ in range(100)))


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.3], limits=LIMITS)
async def writes_change_memory(dut, stall, limits):
    bench = Bench(dut)
    await bench.start(stall)
    bench.device.limit(*limits)

    async def write_all(page):
        for _ in range(6):
            await bench.write(page)

    await gather(*(write_all(page) for page in range(PAGES)))
    await bench.settle()
    assert bytes(bench.memory[0 : PAGES * PAGE]) == bench.content


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.3])
async def reads_and_writes_share_the_link(dut, stall):
    """Writes change the last page, which no read reads meanwhile."""
    bench = Bench(dut)
    await bench.start(stall)
    before = bytes(bench.content[-PAGE:])

    async def write_all():
        for _ in range(20):
            await bench.write(PAGES - 1)

    async def read_all():
        for _ in range(60):
            await bench.read(pages=PAGES - 1)

    await gather(write_all(), *(read_all() for _ in range(4)))
    await bench.settle()
    assert bytes(bench.memory[0 : PAGES * PAGE]) == bench.content
    assert bytes(bench.content[-PAGE:]) != before


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.3], split=[False, True])
async def faults_end_bursts_with_errors(dut, stall, split):
    """A burst fails or returns memory, and the tags of failed bursts return, so later reads succeed."""
    bench = Bench(dut)
    await bench.start(stall)
    bench.device.limit(1, 0, split)
    faults = Faults(bench.device.block, 0.1)
    # Not more than there are ids.
    failed = sum(await gather(*(bench.read(faulty=True) for _ in range(200))))
    assert min(faults.poisoned, faults.damaged, faults.ended, faults.strays) > 0
    assert 0 < failed <= faults.count()
    faults.share = 0.0
    await gather(*(bench.read() for _ in range(100)))


@cocotb.test()
async def reads_outside_of_memory_fail(dut):
    bench = Bench(dut)
    await bench.start(0.0)
    for lines in (1, 3, PAGE // LINE):
        done = await bench.master.read(1 << 40, lines * LINE)
        assert done.resp == AxiResp.SLVERR
    await bench.read()


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.3])
async def the_host_reads_and_writes_registers(dut, stall):
    bench = Bench(dut)
    await bench.start(stall)
    expected = bytearray(random.randbytes(REJECTED))
    bench.registers[0:REJECTED] = expected
    for _ in range(100):
        length = random.choice((1, 2, 3, 4, 4, 4, 5, 8, 8, 8))
        # No more than two dwords.
        offset = random.randrange(0, REJECTED - 8, 4) + random.randrange(max(1, min(4, 9 - length)))
        if random.random() < 0.5:
            data = random.randbytes(length)
            expected[offset : offset + length] = data
            await bench.device.bar.write(offset, data)
        else:
            assert bytes(await bench.device.bar.read(offset, length)) == expected[offset : offset + length]
    # A read without bytes waits for earlier writes.
    await bench.device.bar.read(0, 0)
    assert bytes(bench.registers[0:REJECTED]) == expected


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.3])
async def unsupported_requests_complete(dut, stall):
    bench = Bench(dut)
    await bench.start(stall)
    expected = random.randbytes(REJECTED)
    bench.registers[0:REJECTED] = expected
    for _ in range(10):
        bar, io = bench.device.bar, bench.device.io
        for region, offset, length in (bar, REJECTED, 4), (bar, REJECTED - 4, 8), (bar, 64, 64), (io, 0, 4):
            with pytest.raises(Exception, match="Unsuccessful completion"):
                await region.read(offset, length)
        # These change nothing.
        for offset, length in ((REJECTED, 4), (0, 12), (256, 128)):
            await bench.device.bar.write(offset, bytes(length))
        assert bytes(await bench.device.bar.read(8, 8)) == expected[8:16]
    assert bytes(bench.registers[0:REJECTED]) == expected


@cocotb.test()
async def lines_do_not_overtake_writes_of_the_host(dut):
    """Lines that the block transfers after a write wait until it is in force; those before it do not."""
    bench = Bench(dut)
    await bench.start(0.0)
    release_writes = hold(bench.slave.write_if.b_channel)
    await bench.read()
    release_lines = hold(bench.device.block.rc_source)
    read = start_soon(bench.read())
    await cycles(dut, 200)
    await bench.device.bar.write(8, bytes(4))
    while dut.m_axil_wvalid.value == 0:
        await RisingEdge(dut.clk_i)
    release_lines()
    for _ in range(200):
        await RisingEdge(dut.clk_i)
        assert dut.s_axi_rvalid.value == 0, "a line has overtaken a write"
    release_writes()
    assert await read is False


@cocotb.test()
async def requests_have_no_gaps(dut):
    """Even if the manager sends its lines slowly: see Device.check_gaps."""
    bench = Bench(dut)
    await bench.start(0.0)
    bench.device.limit(5, 3, False)
    pause([bench.master.write_if.w_channel], 0.8)
    for page in range(PAGES):
        await bench.write(page)
    await bench.settle()
    assert bytes(bench.memory[0 : PAGES * PAGE]) == bench.content


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.3])
async def damaged_writes_of_the_host_are_ignored(dut, stall):
    bench = Bench(dut)
    await bench.start(stall)
    put = bench.device.block.cq_source.send

    async def damage(frame):
        # A request with a payload behind its descriptor.
        frame.discontinue = len(frame.data) > 4
        await put(frame)

    bench.device.block.cq_source.send = damage
    for dwords in (1, 2, 16):
        await bench.device.bar.write(8, b"\xff" * 4 * dwords)
        assert bytes(await bench.device.bar.read(8, 8)) == bytes(8)
    bench.device.block.cq_source.send = put
    await bench.device.bar.write(8, b"\xff" * 8)
    assert bytes(await bench.device.bar.read(8, 8)) == b"\xff" * 8


@cocotb.test()
async def the_second_dword_is_not_written_without_the_first(dut):
    """The second dword makes a register of 64 bits take effect."""
    bench = Bench(dut)
    await bench.start(0.3)
    for offset, written in ((REJECTED_END - 4, 0), (REJECTED_END, 0xFF)):
        await bench.device.bar.write(offset, b"\xff" * 8)
        await bench.device.bar.read(0, 4)
        assert bench.registers[REJECTED_END] == written


def test_pcie_adapter():
    simulate("pcie_adapter", seeds=(1,), IdBits=8, Tags=32, Lines=64)
    simulate("pcie_adapter", only="reads_return", seeds=(2,))
