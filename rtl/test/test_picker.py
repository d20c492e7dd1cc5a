"""A picker chooses the numbers that ask in turn, and a choice stays until it is taken."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from runner import simulate
from streams import STALLS, end_of_reset, start


@cocotb.test()
@cocotb.parametrize(stall=STALLS)
async def numbers_are_chosen_in_turn(dut, stall):
    count = int(dut.Count.value)
    await start(dut, asks_i=0, take_i=0)
    await end_of_reset(dut)
    asks, waits = set(), [0] * count
    chosen, taken = None, [0] * count
    while min(taken) < 30:
        asks |= {number for number in range(count) if random.random() < 0.5} - {chosen}
        dut.asks_i.value = sum(1 << number for number in asks)
        takes = chosen is not None and random.random() >= stall
        dut.take_i.value = int(takes)
        await RisingEdge(dut.clk_i)
        valid, index = int(dut.valid_o.value), int(dut.index_o.value)
        assert int(dut.is_index_o.value) == (1 << index if valid else 0)
        if chosen is not None:
            assert (valid, index) == (1, chosen), "the choice has changed"
        elif valid:
            assert index in asks
            chosen = index
            continue
        if takes:
            asks.remove(chosen)
            taken[chosen] += 1
            waits = [0 if number == chosen or number not in asks else waits[number] + 1
                     for number in range(count)]
            assert max(waits) <= count, "a number has waited for more than a turn"
            chosen = None


def test_picker():
    for count in (1, 4, 5):
        simulate("picker", Count=count)
