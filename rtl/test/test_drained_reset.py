"""A reset begins at once, and ends when the transactions around the unit have drained."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge, Timer
from runner import simulate
from streams import cycles


@cocotb.test()
async def ends_when_all_is_idle(dut):
    dut.unit_rst_i.value = dut.drain_rst_i.value = 1
    dut.idle_i.value = 1
    cocotb.start_soon(Clock(dut.clk_i, 2, "ns").start())
    await cycles(dut, 3)
    dut.unit_rst_i.value = 0
    await cycles(dut, 10)
    assert dut.rst_o.value == 1, "the transactions cannot be completed yet"
    dut.drain_rst_i.value = 0
    for _ in range(30):
        dut.unit_rst_i.value = 1
        dut.idle_i.value = 0
        await Timer(1, "ps")
        assert dut.rst_o.value == 1, "the reset needs a clock"
        await cycles(dut, random.randint(4, 6))
        assert dut.drains_o.value == 1
        dut.unit_rst_i.value = 0
        for _ in range(random.randint(0, 9)):
            await RisingEdge(dut.clk_i)
            assert dut.rst_o.value == 1 and dut.drains_o.value == 1, "a transaction is in flight"
        dut.idle_i.value = 1
        await RisingEdge(dut.clk_i)
        await ReadOnly()
        assert dut.rst_o.value == 0
        await cycles(dut, random.randint(4, 6))
        assert dut.drains_o.value == 0


def test_drained_reset():
    simulate("drained_reset")
