"""A reset begins without a clock, and ends at the second or third edge of the clock after its cause."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge, Timer
from runner import simulate


@cocotb.test()
async def begins_at_once_and_ends_with_the_clock(dut):
    dut.async_rst_i.value = 1
    await Timer(10, "ns")
    assert dut.rst_o.value == 1, "the reset needs a clock"
    cocotb.start_soon(Clock(dut.clk_i, 2, "ns").start())
    for _ in range(30):
        await Timer(random.randint(1, 9999), "ps")
        dut.async_rst_i.value = 0
        for edge in range(2):
            await RisingEdge(dut.clk_i)
            assert dut.rst_o.value == 1, f"the reset has ended before edge {edge}"
        await RisingEdge(dut.clk_i)
        await ReadOnly()
        assert dut.rst_o.value == 0
        await Timer(random.randint(1, 9999), "ps")
        dut.async_rst_i.value = 1
        await ReadOnly()
        assert dut.rst_o.value == 1
        await Timer(1, "ps")


def test_reset_sync():
    simulate("reset_sync")
