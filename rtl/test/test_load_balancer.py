"""The balancer redirects hits while more lines than a bound are in flight from on-board memory, and at most
another bound from host memory."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from records import record
from runner import simulate
from streams import end_of_reset, start

BALANCE = record("balance_t")
# The most lines that arrive in a cycle: one a channel.
CHANNELS = {"host": 1, "dram": 2}
EVENTS = ("host_begins_i", "host_line_i", "dram_begins_i", "dram_line_i")


class Lines:
    """Lines in flight from each memory. The balancer knows the events of all cycles but the last two."""

    def __init__(self):
        self.in_flight = {"host": 0, "dram": 0}

    def next(self, dut):
        for name, channels in CHANNELS.items():
            begins = self.in_flight[name] < 64 and random.random() < 0.058 * channels
            burst = random.randrange(1, 17) if begins else 0
            arrive = random.getrandbits(channels) if self.in_flight[name] >= channels else 0
            getattr(dut, f"{name}_begins_i").value = burst
            getattr(dut, f"{name}_line_i").value = arrive
            self.in_flight[name] += burst - arrive.bit_count()


@cocotb.test()
async def compares_lines_in_flight_with_bounds(dut):
    await start(dut, balance_i=0, **dict.fromkeys(EVENTS, 0))
    await end_of_reset(dut)
    lines, known, balance = Lines(), [(0, 0)] * 3, None
    seen = set()
    for _ in range(5000):
        before = balance
        balance = {"enable": int(random.random() < 0.8), "on_board_lines": random.randrange(40),
                   "host_lines": random.randrange(40)}
        dut.balance_i.value = BALANCE.pack(**balance)
        lines.next(dut)
        await RisingEdge(dut.clk_i)
        host, on_board = known.pop(0)
        known.append((lines.in_flight["host"], lines.in_flight["dram"]))
        if before is None:
            continue
        has_backlog, is_free = on_board > before["on_board_lines"], host <= before["host_lines"]
        assert dut.redirects_o.value == (before["enable"] and has_backlog and is_free)
        seen.add((has_backlog, is_free))
        seen.add(("on board", on_board == before["on_board_lines"]))
        seen.add(("host", host == before["host_lines"]))
    assert len(seen) == 8, seen


def test_load_balancer():
    simulate("load_balancer", Channels=CHANNELS["dram"])
