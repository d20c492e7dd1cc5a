"""A key loader fetches all lines of a key and writes each to its index."""

import random

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge
from ports import KeyPorts
from runner import simulate
from streams import STALLS, start


@cocotb.test()
@cocotb.parametrize(stall=STALLS)
async def loads_keys(dut, stall):
    # The loader has no port for the line; its user stores it.
    keys = KeyPorts(dut, stall=stall, lines=False)
    await start(dut, start_i=0)
    for slot in range(60):
        key, upper = random.randbytes(random.choice((0, 1, 63, 64, 65, 460))), random.getrandbits(1)
        keys.keys, keys.reads = {(slot, upper): key}, []
        dut.start_i.value, dut.slot_i.value, dut.upper_i.value, dut.length_i.value = 1, slot, upper, len(key)
        await RisingEdge(dut.clk_i)
        dut.start_i.value, written = 0, []
        await FallingEdge(dut.clk_i)
        while dut.loaded_o.value != 1:
            if dut.write_o.value == 1:
                written.append(int(dut.write_line_o.value))
            await FallingEdge(dut.clk_i)
        lines = list(range(-(-len(key) // 64)))
        assert written == lines
        assert keys.reads == [{"slot": slot, "upper": upper, "line": at} for at in lines]


def test_key_loader():
    simulate("key_loader")
