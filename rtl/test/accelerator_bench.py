"""Requests for a tree in memory, and the answers that the complete accelerator must have. The buses between
accelerator and bench are those of a subclass."""

import random
from dataclasses import replace

import honeycomb_layout as layout
from cocotb.triggers import RisingEdge
from nodes import SHAPES, Memory
from request_bytes import Raw, any_get, any_hostile, any_scan, parse
from scans import Answer, Read, expected, random_get, random_scan
from trees import Reader, grow

TABLE = 7
# A request names the latest version explicitly, or reads at the current read version.
NOW = 0


class Bench:
    """A tree, and the requests in flight. A subclass has `registers` with the method `write`, and `streams`,
    which send packets of requests and collect the packets of completions."""

    def __init__(self, dut, shape: str):
        self.dut = dut
        self.memory = Memory(SHAPES[shape])
        self.tree, self.keys = grow(self.memory, 300)
        self.registers = self.streams = None
        self.reference = {}
        # by identifier: the answer so far, its version, and whether it is complete
        self.found = {}

    async def set_up(self, switches: int):
        """Writes the registers before the first request."""
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

    async def check(self, count: int, may_fail=False) -> int:
        """Sends requests and compares their completions. Returns how many requests have failed."""
        self.send(count)
        await self.complete()
        return self.compare(may_fail)

    def send(self, count: int):
        """Sends about this number of requests in packets, after all former ones are complete."""
        self.reference, self.found = {}, {}
        for _ in range(0, count, 5):
            self.streams.send(b"".join(self.raw().bytes() for _ in range(random.randint(1, 5))))

    async def complete(self):
        """Waits until all requests are complete."""
        for _ in range(400_000):
            await RisingEdge(self.dut.clk_i)
            if self.count_complete() == len(self.reference):
                return

    def count_complete(self) -> int:
        """Returns the number of requests whose completions were received."""
        while self.streams.packets:
            self.take(self.streams.packets.pop(0))
        return sum(is_complete for _, _, is_complete in self.found.values())

    def compare(self, may_fail=False) -> int:
        failed = 0
        for identifier, (answer, version) in self.reference.items():
            got = self.found.get(identifier)
            if may_fail and is_fault_of(answer, got):
                failed += 1
            else:
                assert got == (answer, version, True), identifier
        return failed

    def take(self, packet: bytes):
        head, body = layout.Completion.unpack(packet[:32]), packet[32:]
        outcome = layout.CompletionOutcome.from_int(head.outcome)
        assert len(body) == head.bytes + -head.bytes % 8 and not any(body[head.bytes:])
        body = body[:head.bytes]
        answer, _, was_complete = self.found.setdefault(head.identifier, (Answer(outcome.status), 0, False))
        assert not was_complete, "a complete answer was continued"
        answer.add(outcome.status, outcome.more, head.pair_version, outcome.pairs, body)
        self.found[head.identifier] = answer, head.read_version, not outcome.continued


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
