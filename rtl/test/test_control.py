"""Registers keep their values, and a write is acknowledged when it has taken effect."""

import random

import cocotb
import honeycomb_layout as layout
from cocotb.triggers import RisingEdge
from records import record
from runner import simulate
from streams import STALLS, Sink, Source, start

BALANCE = record("balance_t")
OKAY, SLAVE_ERROR = 0, 2
COUNTERS = 3


def offset(name: str) -> int:
    return layout.Control.FIELDS[name].offset


class Bus:
    """A manager of AXI4-Lite with one access at a time."""

    def __init__(self, dut, stall: float):
        self.addresses = Source(dut, "aw", "aw_address_i", stall=stall)
        self.data = Source(dut, "w", stall=stall)
        self.responses = Sink(dut, "b", "b_response_o", stall=stall)
        self.reads = Source(dut, "ar", "ar_address_i", stall=stall)
        self.answers = Sink(dut, "r", ["r_data_o", "r_response_o"], stall=stall)

    async def write_word(self, address: int, value: int, strobe: int = 15) -> int:
        count = len(self.responses.got)
        self.addresses.put(address)
        self.data.put({"w_data_i": value, "w_strobe_i": strobe})
        await self.responses.count(count + 1)
        return self.responses.got[-1]

    async def read_word(self, address: int) -> tuple[int, int]:
        count = len(self.answers.got)
        self.reads.put(address)
        await self.answers.count(count + 1)
        return self.answers.got[-1]["r_data_o"], self.answers.got[-1]["r_response_o"]

    async def write(self, name: str, value: int):
        for part in range(2):
            response = await self.write_word(offset(name) + 4 * part, value >> 32 * part & 0xFFFFFFFF)
            assert response == OKAY, name

    async def read(self, name: str) -> int:
        value = 0
        for part in range(2):
            word, response = await self.read_word(offset(name) + 4 * part)
            assert response == OKAY, name
            value |= word << 32 * part
        return value


async def begin(dut, stall: float) -> Bus:
    bus = Bus(dut, stall)
    await start(dut, window_oldest_i=0, window_newest_i=0, counters_i=0, table_failed_i=0, host_timed_out_i=0,
                idle_i=0)
    return bus


@cocotb.test()
@cocotb.parametrize(stall=STALLS)
async def keeps_written_values(dut, stall):
    bus = await begin(dut, stall)
    for name in ["node_bytes", "table_number", "root", "mapped_lid", "counter_index", "switches",
                 "mapped_address"]:
        dut.root_ready_i.value = 1
        dut.map_ready_i.value = 1
        value = random.getrandbits(64)
        await bus.write(name, value)
        assert await bus.read(name) == value, name
    await bus.write("node_bytes", 0x3_1200)
    assert int(dut.geometry_o.value) == 0x1200
    assert dut.cache_halvings_o.value == 3
    for on in range(64):
        on_board_lines, host_lines = random.getrandbits(12), random.getrandbits(12)
        await bus.write("switches", on | on_board_lines << 16 | host_lines << 32)
        balance = {"enable": on >> 1 & 1, "on_board_lines": on_board_lines, "host_lines": host_lines}
        assert BALANCE.unpack(int(dut.balance_o.value)) == balance
        switches = (dut.drain_o, dut.leaf_columns_o, dut.levels_on_chip_o, dut.cache_o)
        assert int("".join(str(switch.value) for switch in switches), 2) == (on >> 2 << 1 | on & 1)
    for name in ["window_oldest", "window_newest"]:
        value = random.getrandbits(64)
        getattr(dut, f"{name}_i").value = value
        assert await bus.read(name) == value
    values = [random.getrandbits(64) for _ in range(COUNTERS)]
    dut.counters_i.value = sum(value << 64 * index for index, value in enumerate(values))
    for index, value in enumerate([*values, 0]):
        await bus.write("counter_index", index)
        assert await bus.read("counter") == value


@cocotb.test()
async def both_halves_take_effect_together(dut):
    bus = await begin(dut, 0.0)
    await bus.write_word(offset("read_version"), 7)
    assert int(dut.read_version_o.value) == 0
    await bus.write_word(offset("read_version") + 4, 1)
    assert int(dut.read_version_o.value) == 1 << 32 | 7
    dut.window_newest_i.value = (1 << 64) - 1
    low, _ = await bus.read_word(offset("window_newest"))
    dut.window_newest_i.value = 0
    high, _ = await bus.read_word(offset("window_newest") + 4)
    assert low == high == 0xFFFFFFFF


@cocotb.test()
async def a_high_half_needs_its_own_low_half(dut):
    """The write before it is that of the low half, and was not rejected."""
    bus = await begin(dut, 0.3)
    lid, address = offset("mapped_lid"), offset("mapped_address")
    await bus.write("mapped_lid", 5 << 32 | 7)
    assert await bus.write_word(lid + 4, 6) == SLAVE_ERROR
    for before in [(address, 15, OKAY), (lid, 7, SLAVE_ERROR), (offset("counter"), 15, SLAVE_ERROR)]:
        assert await bus.write_word(lid, 8) == OKAY
        assert await bus.write_word(before[0], 9, before[1]) == before[2]
        assert await bus.write_word(lid + 4, 6) == SLAVE_ERROR
        assert await bus.read("mapped_lid") == 5 << 32 | 7


@cocotb.test()
@cocotb.parametrize(stall=STALLS[:2])
async def a_mapping_is_acknowledged_when_it_takes_effect(dut, stall):
    bus = await begin(dut, stall)
    maps = Sink(dut, "map", ["map_lid_o", "map_address_o"], 0.95)
    roots = Sink(dut, "root", ["root_table_o", "root_o"], 0.95)
    for _ in range(10):
        lid, address, table = random.getrandbits(48), random.getrandbits(48), random.getrandbits(16)
        await bus.write("mapped_lid", lid)
        await bus.write("mapped_address", address)
        assert maps.got[-1] == {"map_lid_o": lid, "map_address_o": address}
        await bus.write("table_number", table)
        await bus.write("root", lid)
        assert roots.got[-1] == {"root_table_o": table, "root_o": lid}
        await bus.write("read_version", int(dut.read_version_o.value) + random.getrandbits(33))
    assert len(maps.got) == len(roots.got) == 10


@cocotb.test()
async def a_mapping_that_is_not_in_force_is_rejected(dut):
    """From the first mapping on that the page table does not have, also if it has failed before."""
    bus = await begin(dut, 0.3)
    dut.map_ready_i.value = 1
    await bus.write("mapped_address", 4096)
    assert await bus.read("status") == 0
    for failed in range(2):
        dut.map_ready_i.value, dut.table_failed_i.value = 0, failed
        await bus.write_word(offset("mapped_address"), 4096)
        response = cocotb.start_soon(bus.write_word(offset("mapped_address") + 4, 0))
        while dut.map_valid_o.value == 0:
            await RisingEdge(dut.clk_i)
        dut.map_ready_i.value, dut.table_failed_i.value = 1, 1
        assert await response == SLAVE_ERROR
    status = layout.ControlStatus.from_int(await bus.read("status"))
    assert status == layout.ControlStatus(table_failed=1)
    await bus.write("switches", 1)


@cocotb.test()
async def the_status_is_that_of_now(dut):
    bus = await begin(dut, 0.0)
    for name in ("idle", "host_timed_out"):
        for value in (1, 0):
            getattr(dut, f"{name}_i").value = value
            expected = layout.ControlStatus(**{name: value})
            assert layout.ControlStatus.from_int(await bus.read("status")) == expected


@cocotb.test()
async def unknown_registers_are_rejected(dut):
    bus = await begin(dut, 0.3)
    wrong = [layout.Control.SIZE, 0xFF8, 2, *map(offset, ("window_oldest", "window_newest", "counter",
                                                            "status"))]
    for address in wrong:
        assert await bus.write_word(address, 1) == SLAVE_ERROR, address
    assert await bus.write_word(offset("read_version") + 4, 1, strobe=7) == SLAVE_ERROR
    for address in [layout.Control.SIZE, 0xFF8, 2]:
        assert (await bus.read_word(address))[1] == SLAVE_ERROR
    for _ in range(3):
        await RisingEdge(dut.clk_i)
    assert await bus.read("read_version") == 0


def test_control():
    simulate("control", Counters=COUNTERS)
