"""A window begins at any byte; line 0 follows the last line."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from ports import line
from runner import simulate
from streams import start

LINES = 8


@cocotb.test()
async def returns_windows(dut):
    await start(dut, write_i=0, read_i=0)
    memory = bytearray(random.randbytes(64 * LINES))
    for at in range(LINES):
        dut.write_i.value, dut.write_line_i.value = 1, at
        dut.write_data_i.value = line(memory[64 * at:64 * at + 64])
        await RisingEdge(dut.clk_i)
    # The windows that must be fresh in one and in two cycles.
    arriving = [None, None]
    window = None
    for _ in range(2000):
        writes, reads = random.random() < 0.3, random.random() < 0.7
        at, byte, data = random.randrange(LINES), random.randrange(64 * LINES), random.randbytes(64)
        reads &= not (writes and at in (byte // 64, (byte // 64 + 1) % LINES))
        dut.write_i.value, dut.write_line_i.value, dut.write_data_i.value = int(writes), at, line(data)
        dut.read_i.value, dut.read_byte_i.value = int(reads), byte
        arriving.append(line((memory + memory)[byte:byte + 64]) if reads else None)
        if writes:
            memory[64 * at:64 * at + 64] = data
        await RisingEdge(dut.clk_i)
        fresh = arriving.pop(0)
        window = window if fresh is None else fresh
        assert int(dut.window_fresh_o.value) == (fresh is not None)
        assert window is None or int(dut.window_o.value) == window


def test_window_ram():
    simulate("window_ram", Lines=LINES)
