"""The complete accelerator answers requests for trees in memory as the reader of trees does, or reports that
memory has failed."""

import random
from dataclasses import replace

import cocotb
import honeycomb_layout as layout
from cocotb import start_soon
from cocotb.triggers import RisingEdge
from memories import OKAY, SLAVE_ERROR, HostMemory, drams
from nodes import SHAPES, Memory
from request_bytes import Raw, any_get, any_hostile, any_scan, beats, parse
from runner import simulate
from scans import Answer, Read, expected, random_get, random_scan, unpack_pairs
from streams import end_of_reset, start
from trees import Reader, grow

# Capacity of the page table.
LIDS = 512
TABLE = 7
# The share of reads and writes of memory that fail. The page table fails once in 100 million mappings.
ERRORS = 0.01
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

    async def write(self, name: str, value: int, response: int = OKAY):
        """Writes a register and checks the response to its high half."""
        address = layout.Control.FIELDS[name].offset
        assert await self.write_word(address, value & 0xFFFFFFFF) == OKAY
        assert await self.write_word(address + 4, value >> 32) == response

    async def write_word(self, address: int, value: int) -> int:
        words = {"awaddr": address, "wdata": value, "wstrb": 15, "awvalid": 1, "wvalid": 1, "bready": 1}
        for port, word in words.items():
            self.port(port).value = word
        await self.until("awready")
        self.port("awvalid").value = self.port("wvalid").value = 0
        await self.until("bvalid")
        return int(self.dut.s_axil_bresp.value)

    async def read_low(self, name: str) -> int:
        """Returns the low half of a register."""
        for port, word in {"araddr": layout.Control.FIELDS[name].offset, "arvalid": 1, "rready": 1}.items():
            self.port(port).value = word
        await self.until("arready")
        self.port("arvalid").value = 0
        await self.until("rvalid")
        assert self.dut.s_axil_rresp.value == OKAY
        return int(self.dut.s_axil_rdata.value)

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
        self.host, self.drams = HostMemory(dut, self.line, stall=stall), drams(dut, stall=stall)
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

    def set_errors(self, errors: float):
        """Sets the share of reads and writes of memory that fail from now on."""
        for memory in (self.host, *self.drams):
            memory.errors = errors

    async def check(self, count: int, may_fail=False) -> int:
        """Sends requests and compares their completions. Returns how many requests have failed."""
        self.reference, self.streams.packets = {}, []
        found, failed = await self.complete(count), 0
        for identifier, (answer, version) in self.reference.items():
            got = found.get(identifier)
            if may_fail and is_fault_of(answer, got):
                failed += 1
            else:
                assert got == (answer, version, True), identifier
        return failed

    async def complete(self, count: int) -> dict:
        """Sends requests. Returns their answers, each with its version, and whether it is complete."""
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
        return found

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
        # The last part of a get with an overflow value has no bytes.
        answer.value = answer.value + body if outcome.status == layout.STATUS_FOUND and not outcome.pairs else b""
        found[head.identifier] = answer, head.read_version, not outcome.continued


def is_fault_of(answer: Answer, got: tuple[Answer, int, bool] | None) -> bool:
    """Returns whether a request that memory may fail has failed: it has returned a part of its answer."""
    if got is None or not got[2] or got[0].status != layout.STATUS_FAULT:
        return False
    return got[0].pairs == answer.pairs[:len(got[0].pairs)]


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


@cocotb.test()
@cocotb.parametrize(shape=["default", "tiny"], switches=[0, 7, 27])
async def a_request_is_answered_or_fails(dut, shape, switches):
    """Each request has one answer while memory rejects reads and writes, and the right one when it no longer
    does."""
    bench = Bench(dut, shape, 0.3)
    await bench.start(switches)
    bench.set_errors(ERRORS)
    assert await bench.check(100, may_fail=True) > 0
    assert await bench.registers.read_low("status") == 0
    bench.set_errors(0.0)
    await bench.check(20)


@cocotb.test()
async def every_request_fails_after_a_mapping_that_memory_rejects(dut):
    bench = Bench(dut, "tiny", 0.3)
    await bench.start(7)
    await bench.check(20)
    bench.drams[0].errors = 1.0
    await bench.registers.write("mapped_address", bench.memory.lids[bench.tree.root], SLAVE_ERROR)
    bench.set_errors(0.0)
    assert layout.ControlStatus.from_int(await bench.registers.read_low("status")).table_failed
    failed = await bench.check(40, may_fail=True)
    valid = [answer for answer, _ in bench.reference.values()
             if answer.status in (layout.STATUS_FOUND, layout.STATUS_ABSENT)]
    assert failed == len(valid) > 0


def test_accelerator_top():
    simulate("accelerator_top", seeds=(1,), SlotCount=16, SearchUnits=2, ScanUnits=2, LidCount=LIDS)
