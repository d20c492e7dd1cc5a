"""Keys have the order of Python bytes."""

import random

import cocotb
from cocotb import start_soon
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from runner import simulate


def pair() -> tuple[bytes, bytes]:
    """Returns two strings that are likely to share a prefix, with zeros and 255s."""
    letters = bytes(random.choices((0, 1, 127, 128, 255), k=64))
    a, b = (letters[:random.randint(0, 64)] for _ in range(2))
    if b and random.random() < 0.7:
        at = random.randrange(len(b))
        b = b[:at] + random.randbytes(1) + b[at + 1:]
    if random.random() < 0.1:
        b = (a + bytes(random.randint(0, 2)))[:64]
    return (a, b) if random.random() < 0.5 else (b, a)


def garbage_after(data: bytes) -> int:
    return int.from_bytes(data + random.randbytes(64 - len(data)), "little")


@cocotb.test()
async def compares_as_memcmp(dut):
    start_soon(Clock(dut.clk_i, 2, "ns").start())
    for _ in range(3000):
        a, b = pair()
        dut.a_i.value, dut.a_count_i.value = garbage_after(a), len(a)
        dut.b_i.value, dut.b_count_i.value = garbage_after(b), len(b)
        await RisingEdge(dut.clk_i)
        await FallingEdge(dut.clk_i)
        assert (dut.less_o.value, dut.equal_o.value) == (a < b, a == b), (a, b)


def test_key_compare():
    simulate("key_compare")
