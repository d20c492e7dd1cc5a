"""The balancer redirects hits while more bursts are in flight from on-board memory than from host
memory."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from runner import simulate
from streams import end_of_reset, start

EVENTS = ("host_begins_i", "host_ends_i", "dram_begins_i", "dram_ends_i")


@cocotb.test()
async def compares_bursts_in_flight(dut):
    await start(dut, enable_i=0, **dict.fromkeys(EVENTS, 0))
    await end_of_reset(dut)
    in_flight, spared = {"host": 0, "dram": 0}, 0
    # The balancer knows the events of all cycles but the last two, and compares in the last cycle.
    enabled, more = False, [False] * 3
    for _ in range(2000):
        events = {}
        for name, count in in_flight.items():
            events[f"{name}_begins_i"] = int(count < 8 and random.random() < 0.5)
            events[f"{name}_ends_i"] = int(count > 0 and random.random() < 0.4)
        for port, value in events.items():
            getattr(dut, port).value = value
        enable = random.random() < 0.8
        dut.enable_i.value = int(enable)
        await RisingEdge(dut.clk_i)
        before = more.pop(0)
        assert dut.redirects_o.value == (enabled and before)
        spared += int(dut.redirects_o.value)
        for name in in_flight:
            in_flight[name] += events[f"{name}_begins_i"] - events[f"{name}_ends_i"]
        enabled = enable
        more.append(in_flight["dram"] > in_flight["host"])
    assert spared > 0


def test_load_balancer():
    simulate("load_balancer")
