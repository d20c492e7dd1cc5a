"""Bursts of the page table and lines of the cache are never interleaved."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from runner import simulate
from streams import STALLS, Sink, Source, start

AW, W = ["aw_id_o", "aw_address_o", "aw_len_o"], ["w_data_o", "w_strobe_o", "w_last_o"]


async def write_bursts(dut, count: int, written: list):
    """Writes bursts as the page table does: an address, then its words."""
    addresses, words = Source(dut, "burst"), Source(dut, "word")
    for _ in range(count):
        address, lines = 64 * random.getrandbits(20), random.choice((1, 3))
        addresses.put({"burst_address_i": address, "burst_len_i": lines - 1})
        await addresses.drained()
        data = [random.getrandbits(512) for _ in range(lines)]
        words.put(*({"word_i": word, "word_strobe_i": 255, "word_last_i": int(at == lines - 1)}
                    for at, word in enumerate(data)))
        await words.drained()
        written.append((0, address, data, 255))


@cocotb.test()
@cocotb.parametrize(stall=STALLS)
async def writes_are_not_mixed(dut, stall):
    aw, w = Sink(dut, "aw", AW, stall=stall), Sink(dut, "w", W, stall=stall)
    lines = Source(dut, "line", stall=stall)
    bursts = []
    task = cocotb.start_soon(write_bursts(dut, 10, bursts))
    await start(dut)
    single = [(8 | random.getrandbits(3), 64 * random.getrandbits(20), [random.getrandbits(512)], 2**64 - 1)
              for _ in range(20)]
    lines.put(*({"line_id_i": each[0], "line_address_i": each[1], "line_i": each[2][0]} for each in single))
    await task
    await lines.drained()
    await aw.count(30)
    await w.count(sum(each["aw_len_o"] + 1 for each in aw.got))
    for _ in range(4):
        await RisingEdge(dut.clk_i)
    got = []
    for address in aw.got:
        words = [w.got.pop(0) for _ in range(address["aw_len_o"] + 1)]
        assert [word["w_last_o"] for word in words] == [0] * address["aw_len_o"] + [1]
        data, strobes = [word["w_data_o"] for word in words], {word["w_strobe_o"] for word in words}
        got.append((address["aw_id_o"], address["aw_address_o"], data, *strobes))
    assert not w.got
    assert [write for write in got if write[0] == 0] == bursts
    assert [write for write in got if write[0] != 0] == single


def test_dram_writer():
    simulate("dram_writer")
