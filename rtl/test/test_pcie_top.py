"""The accelerator on a device with PCIe: its registers are written and the tree is read over PCIe."""

import cocotb
import honeycomb_layout as layout
import pytest
from accelerator_bench import Bench
from cocotb import start_soon
from cocotb.clock import Clock
from cocotb.handle import Immediate
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiBus, AxiRam
from pcie import Device, Faults
from runner import simulate
from streams import cycles, hold, pause
from test_standard_models import MEMORY_BYTES, Streams

LIDS = 512
HOST_BYTES = 1 << 24
# A read of host memory times out after 2**TIMEOUT_BITS to twice as many cycles.
TIMEOUT_BITS = 14
# Behind the tree.
WINDOW = HOST_BYTES - 4096
WINDOW_ADDRESS = layout.SHELL_REGISTERS + layout.Shell.FIELDS["window_address"].offset


class Registers:
    """The registers as the host writes them."""

    def __init__(self, device: Device):
        self.device = device

    async def write(self, name: str, value: int):
        await self.device.bar.write(layout.Control.FIELDS[name].offset, value.to_bytes(8, "little"))

    async def read(self, name: str) -> int:
        data = await self.device.bar.read(layout.Control.FIELDS[name].offset, 8)
        return int.from_bytes(data, "little")


class DeviceBench(Bench):
    def __init__(self, dut, shape: str, stall: float):
        super().__init__(dut, shape)
        self.stall = stall
        self.device = Device(dut, 2 * layout.SHELL_REGISTERS, dut.pcie_clk_i, dut.pcie_rst_i)
        self.registers, self.streams = Registers(self.device), Streams(dut)
        self.host = self.device.root.mem_pool.alloc_region(HOST_BYTES)
        assert self.host.get_absolute_address(0) == 0
        for address, data in self.memory.buffers.items():
            assert address + len(data) <= WINDOW
            self.host[address : address + len(data)] = data
        on_board = [AxiBus.from_prefix(dut, f"m_axi_dram{channel}") for channel in range(2)]
        self.drams = [AxiRam(bus, dut.clk_i, size=MEMORY_BYTES) for bus in on_board]
        dut.dram_rst_i.set(Immediate(1))

    async def start(self):
        # 220 MHz, beside the 250 MHz of the block
        start_soon(Clock(self.dut.clk_i, 4546, "ps").start(start_high=False))
        await cycles(self.dut, 3)
        self.dut.dram_rst_i.value = 0
        await self.device.start()
        pause([*self.device.channels(), *self.streams.channels()], self.stall)

    async def set_up(self, switches: int):
        await super().set_up(switches)
        # Writes are posted; a read waits until they are in force.
        assert await self.registers.read("read_version") == self.tree.version

    async def reset(self):
        """Resets the device as the host does."""
        self.dut.pcie_rst_i.value = 1
        for _ in range(5):
            await RisingEdge(self.dut.pcie_clk_i)
        self.dut.pcie_rst_i.value = 0

    async def status(self) -> layout.ControlStatus:
        return layout.ControlStatus.from_int(await self.registers.read("status"))

    async def read_window_address(self) -> int:
        return int.from_bytes(await self.device.bar.read(WINDOW_ADDRESS, 8), "little")

    async def set_window_address(self, address: int):
        await self.device.bar.write(WINDOW_ADDRESS, address.to_bytes(8, "little"))
        while await self.read_window_address() != address:
            pass

    async def check_shell_registers(self):
        offset = WINDOW_ADDRESS
        # A high half does not take effect without its own low half.
        for where in (offset, offset + 8, offset + 4, offset + 4):
            await self.device.bar.write(where, bytes([64, 0, 0, 0]))
        for _ in range(5):
            assert await self.read_window_address() == WINDOW
        # There is no other register of the shell. A write without a response is ignored.
        await self.device.bar.write(offset + 8, bytes(8))
        with pytest.raises(Exception, match="Unsuccessful completion"):
            await self.device.bar.read(offset + 8, 4)

    def window(self) -> layout.WindowCopy:
        return layout.WindowCopy.unpack(bytes(self.host[WINDOW : WINDOW + layout.WindowCopy.SIZE]))


@cocotb.test()
@cocotb.parametrize((("shape", "stall"), [("default", 0.0), ("tiny", 0.3)]))
async def answers_requests_over_pcie(dut, shape, stall):
    bench = DeviceBench(dut, shape, stall)
    await bench.start()
    bench.device.limit(1, 0, True)
    await bench.set_up(27)
    await bench.check(60)


@cocotb.test()
async def the_window_is_copied_to_host_memory(dut):
    bench = DeviceBench(dut, "default", stall=0.3)
    await bench.start()
    await bench.set_up(27)
    # Without an address nothing is copied.
    await bench.check(10)
    assert bench.window() == layout.WindowCopy.unpack(bytes(layout.WindowCopy.SIZE))
    await bench.set_window_address(WINDOW)
    await bench.check_shell_registers()
    seen = []
    bench.send(60)
    while bench.count_complete() < len(bench.reference) or bench.window().oldest <= bench.window().newest:
        await RisingEdge(dut.clk_i)
        copy = bench.window()
        if not seen or copy != seen[-1]:
            # A copy never passes the accelerator, and never goes back.
            now = window_of(dut)
            assert copy.oldest <= now[0] and copy.newest <= now[1]
            assert not seen or (copy.oldest >= seen[-1].oldest and copy.newest >= seen[-1].newest)
            seen.append(copy)
    bench.compare()
    assert len(seen) > 5
    assert (bench.window().oldest, bench.window().newest) == (
        await bench.registers.read("window_oldest"), await bench.registers.read("window_newest"))


def window_of(dut) -> tuple[int, int]:
    accelerator = dut.u_accelerator
    return int(accelerator.window_oldest.value), int(accelerator.window_newest.value)


@cocotb.test()
async def the_registers_have_requests_that_the_copy_lacks(dut):
    """So a stamp takes its newest request from a register, behind the mappings and the version."""
    bench = DeviceBench(dut, "default", stall=0.0)
    await bench.start()
    await bench.set_up(27)
    await bench.set_window_address(WINDOW)
    release = hold(bench.device.block.rq_sink)
    bench.send(5)
    await cycles(dut, 100)
    await bench.registers.write("mapped_lid", bench.tree.root)
    await bench.registers.write("mapped_address", bench.memory.lids[bench.tree.root])
    await bench.registers.write("read_version", bench.tree.version)
    stamp = await bench.registers.read("window_newest")
    assert stamp == window_of(dut)[1] > bench.window().newest
    release()
    await bench.complete()
    bench.compare()


@cocotb.test()
async def an_address_is_free_once_the_register_returns_another_one(dut):
    bench = DeviceBench(dut, "default", stall=0.0)
    await bench.start()
    await bench.set_up(27)
    await bench.set_window_address(WINDOW)
    release = hold(bench.device.block.rq_sink)
    bench.send(5)
    await cycles(dut, 100)
    await bench.device.bar.write(WINDOW_ADDRESS, bytes(8))
    for _ in range(20):
        if await bench.read_window_address() == 0:
            break
    else:
        release()
        while await bench.read_window_address() != 0:
            pass
    other = b"\xff" * layout.WindowCopy.SIZE
    bench.host[WINDOW : WINDOW + layout.WindowCopy.SIZE] = other
    release()
    await bench.complete()
    bench.compare()
    assert bytes(bench.host[WINDOW : WINDOW + layout.WindowCopy.SIZE]) == other


@cocotb.test()
async def lines_do_not_overtake_mappings(dut):
    """A line waits for a mapping that the block has transferred before it."""
    bench = DeviceBench(dut, "default", stall=0.0)
    await bench.start()
    await bench.set_up(27)
    release_lines = hold(bench.device.block.rc_source)
    bench.send(1)
    await cycles(dut, 300)
    release_writes = hold(bench.drams[0].write_if.b_channel)
    await bench.registers.write("mapped_lid", bench.tree.root)
    await bench.registers.write("mapped_address", bench.memory.lids[bench.tree.root])
    accelerator = dut.u_accelerator
    while accelerator.s_axil_wvalid.value == 0:
        await RisingEdge(dut.clk_i)
    release_lines()
    for _ in range(500):
        await RisingEdge(dut.clk_i)
        assert accelerator.m_axi_host_rvalid.value == 0, "a line has overtaken a mapping"
    release_writes()
    await bench.complete()
    bench.compare()


@cocotb.test()
@cocotb.parametrize(beats=[0, 10])
async def a_reset_completes_writes_of_on_board_memory(dut, beats):
    """A reset during a burst that clears the page table, after some of its beats."""
    bench = DeviceBench(dut, "default", stall=0.0)
    channel = bench.drams[0].write_if.w_channel
    release = hold(channel)
    await bench.start()
    assert dut.m_axi_dram0_wvalid.value == 1
    release()
    await cycles(dut, beats)
    release = hold(channel)
    await cycles(dut, 3)
    assert dut.m_axi_dram0_wvalid.value == 1
    await bench.reset()
    await cycles(dut, 100)
    release()
    await bench.set_up(27)
    await bench.check(30)


@cocotb.test()
@cocotb.parametrize((("shape", "stall"), [("default", 0.0), ("tiny", 0.3)]))
async def a_request_is_answered_or_fails(dut, shape, stall):
    """Each request has one answer while the link damages completions, and the right one when it no longer
    does."""
    bench = DeviceBench(dut, shape, stall)
    await bench.start()
    bench.device.limit(1, 0, True)
    await bench.set_up(27)
    faults, failed = Faults(bench.device.block, 0.01), 0
    for _ in range(10):
        failed += await bench.check(60, may_fail=True)
        if failed:
            break
    assert failed > 0 and faults.count() > 0
    assert not (await bench.status()).host_timed_out
    faults.share = 0.0
    await bench.check(30)


@cocotb.test()
async def a_reset_ends_the_failures_of_a_lost_completion(dut):
    """After a read without an answer every read of host memory fails until the host resets the device."""
    bench = DeviceBench(dut, "tiny", stall=0.0)
    await bench.start()
    await bench.set_up(27)
    faults = Faults(bench.device.block, 0.0, lost=0.05)
    assert await bench.check(60, may_fail=True) > 0
    assert (await bench.status()).host_timed_out
    faults.lost = 0.0
    assert await bench.check(30, may_fail=True) > 0
    # Until all completions of the reads have arrived: reads after the reset may have the same tags.
    await cycles(dut, 1000)
    await bench.reset()
    await bench.set_up(27)
    assert not (await bench.status()).host_timed_out
    await bench.check(30)


def test_pcie_top():
    parameters = {"SlotCount": 8, "SearchUnits": 2, "ScanUnits": 2, "LidCount": LIDS, "Tags": 32}
    simulate("pcie_top", seeds=(1,), HostTimeoutBits=TIMEOUT_BITS, **parameters)
