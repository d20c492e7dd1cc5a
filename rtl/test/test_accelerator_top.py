"""The complete accelerator answers requests for trees in memory as the reader of trees does."""

import random
from dataclasses import replace

import cocotb
import honeycomb_layout as layout
from cocotb import start_soon
from cocotb.triggers import RisingEdge
from memories import HostMemory, drams
from nodes import SHAPES, Memory
from request_bytes import Raw, any_get, any_hostile, any_scan, beats, parse
from runner import simulate
from scans import Answer, Read, expected, random_get, random_scan, unpack_pairs
from streams import end_of_reset, start
from trees import Reader, grow

# Capacity of the page table.
LIDS = 512
TABLE = 7
# A request names the latest version explicitly, or reads at the current read version.
NOW = 0


class Registers:
    """A manager of the register bus."""

    def __init__(self, dut):
        self.dut = dut
        for port in ("awvalid", "wvalid", "arvalid", "bready", "rready", "araddr"):
            self.port(port).value = 0

    def port(self, name: str):
        return getattr(self.dut, f"s_axil_{name}")

    async def write(self, name: str, value: int):
        for half in range(2):
            address = layout.Control.FIELDS[name].offset + 4 * half
            await self.write_word(address, value >> 32 * half & 0xFFFFFFFF)

    async def write_word(self, address: int, value: int):
        words = {"awaddr": address, "wdata": value, "wstrb": 15, "awvalid": 1, "wvalid": 1, "bready": 1}
        for port, word in words.items():
            self.port(port).value = word
        await self.until("awready")
        self.port("awvalid").value = self.port("wvalid").value = 0
        await self.until("bvalid")
        assert self.dut.s_axil_bresp.value == 0

    async def until(self, signal: str):
        while True:
            await RisingEdge(self.dut.clk_i)
            if self.port(signal).value == 1:
                return


class Streams:
    """Sends packets of requests and collects completions."""

    def __init__(self, dut, stall: float):
        self.dut, self.stall, self.beats, self.packet, self.packets = dut, stall, [], b"", []
        dut.s_axis_tvalid.value = dut.m_axis_tready.value = 0
        start_soon(self.send())
        start_soon(self.receive())

    async def send(self):
        dut = self.dut
        await end_of_reset(dut)
        while True:
            valid = bool(self.beats) and random.random() >= self.stall
            dut.s_axis_tvalid.value = int(valid)
            if valid:
                for port, value in zip(("tdata", "tkeep", "tlast"), self.beats[0]):
                    getattr(dut, f"s_axis_{port}").value = value
            await RisingEdge(dut.clk_i)
            while valid and dut.s_axis_tready.value != 1:
                await RisingEdge(dut.clk_i)
            if valid:
                self.beats.pop(0)

    async def receive(self):
        dut = self.dut
        await end_of_reset(dut)
        while True:
            ready = random.random() >= self.stall
            dut.m_axis_tready.value = int(ready)
            await RisingEdge(dut.clk_i)
            if ready and dut.m_axis_tvalid.value == 1:
                count = int(dut.m_axis_tkeep.value).bit_count()
                self.packet += int(dut.m_axis_tdata.value).to_bytes(64, "little")[:count]
                if dut.m_axis_tlast.value == 1:
                    self.packets.append(self.packet)
                    self.packet = b""


class Bench:
    """The accelerator with its memories, its streams, and a tree."""

    def __init__(self, dut, shape: str, stall: float):
        self.dut = dut
        self.memory = Memory(SHAPES[shape])
        self.tree, self.keys = grow(self.memory, 300)
        HostMemory(dut, self.line, stall=stall)
        self.drams = drams(dut, stall=stall)
        self.registers, self.streams = Registers(dut), Streams(dut, stall)
        self.reference = {}

    def line(self, address: int) -> int | None:
        return int.from_bytes(self.memory.lines(address, 0, 1)[0], "little")

    async def start(self, switches: int):
        await start(self.dut)
        await self.registers.write("switches", switches)
        shape = self.memory.shape
        await self.registers.write("node_bytes", shape.node_bytes)
        for lid, address in self.memory.lids.items():
            await self.registers.write("mapped_lid", lid)
            await self.registers.write("mapped_address", address)
        await self.registers.write("table_number", TABLE)
        await self.registers.write("root", self.tree.root)
        await self.registers.write("read_version", self.tree.version)

    def raw(self) -> Raw:
        """Returns a request whose answer is known, or one that is rejected."""
        identifier = len(self.reference)
        version = random.choice([NOW, random.randint(1, self.tree.version)])
        kind = random.random()
        if kind < 0.2:
            return self.rejected(random.choice([any_get, any_scan, any_hostile])(), identifier)
        longest = self.memory.shape.key_bytes_max
        flag = random.choice([{}, {"floor_start": True}, {"backward": True}])
        read = random_get(self.keys, longest, version) if kind < 0.6 else (
            random_scan(self.keys, longest, version, **flag))
        at = replace(read, version=version or self.tree.version)
        self.reference[identifier] = expected(at, Reader(self.memory, at.version), self.tree.root), at.version
        return raw_of(read, identifier)

    def rejected(self, raw: Raw, identifier: int) -> Raw:
        raw = replace(raw, identifier=identifier, table=TABLE + 1)
        status = parse(raw.bytes())[0].status or layout.STATUS_UNKNOWN_TABLE
        self.reference[identifier] = Answer(status), 0
        return raw

    async def check(self, count: int):
        """Sends requests and compares their completions."""
        while count > 0:
            packet = b"".join(self.raw().bytes() for _ in range(random.randint(1, 5)))
            self.streams.beats += beats(packet)
            count -= 5
        found, accepted = {}, 0
        for _ in range(400_000):
            await RisingEdge(self.dut.clk_i)
            while accepted < len(self.streams.packets):
                self.take(self.streams.packets[accepted], found)
                accepted += 1
            if len(found) == len(self.reference) and all(is_complete for _, _, is_complete in found.values()):
                break
        for identifier, (answer, version) in self.reference.items():
            assert found.get(identifier) == (answer, version, True), identifier

    def take(self, packet: bytes, found: dict):
        head, body = layout.Completion.unpack(packet[:32]), packet[32:]
        outcome = layout.CompletionOutcome.from_int(head.outcome)
        assert len(body) == head.bytes + -head.bytes % 8 and not any(body[head.bytes:])
        body = body[:head.bytes]
        answer, _, was_complete = found.setdefault(head.identifier, (Answer(outcome.status), 0, False))
        assert not was_complete, "a complete answer was continued"
        answer.status, answer.more = outcome.status, bool(outcome.more)
        answer.pair_version = head.pair_version
        if outcome.pairs:
            answer.pairs += unpack_pairs(body)
        else:
            answer.value = body
        found[head.identifier] = answer, head.read_version, not outcome.continued


def raw_of(read: Read, identifier: int) -> Raw:
    flags = {name: int(on) for name, on in read.flags.items()} | {"keys_only": int(read.keys_only)}
    if not read.is_scan:
        return Raw(lower=read.lower, table=TABLE, read_version=read.version, identifier=identifier)
    return Raw(
        opcode=layout.OPCODE_SCAN, lower=read.lower, upper=read.upper, pairs_max=read.pairs_max,
        bytes_max=read.bytes_max, flags=layout.RequestFlags(**flags).to_int(), table=TABLE,
        read_version=read.version, identifier=identifier,
    )


@cocotb.test()
@cocotb.parametrize(shape=["default", "tiny"], stall=[0.0, 0.3], switches=[0, 3, 4, 7])
async def answers_requests(dut, shape, stall, switches):
    bench = Bench(dut, shape, stall)
    await bench.start(switches)
    await bench.check(60)
    # The cache is behind the page table, in all channels. A tree may have its root as its only interior
    # node.
    is_cached = any(address >= 8 * LIDS for channel in bench.drams for address in channel.lines)
    assert is_cached <= bool(switches & 1) and (is_cached or switches != 3)
    # The window shrinks by at most one request per cycle.
    for _ in range(20):
        await RisingEdge(dut.clk_i)
    oldest, newest = int(dut.window_oldest_o.value), int(dut.window_newest_o.value)
    assert oldest == newest + 1 == len(bench.reference) + 1, "a request is still in flight"


def test_accelerator_top():
    simulate("accelerator_top", seeds=(1,), SlotCount=16, SearchUnits=2, ScanUnits=2, LidCount=LIDS)
