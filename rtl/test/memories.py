"""Models of memories, as unkind as their contracts allow: random latency, random order, random stalls.

A model asks its `line`, a function from the address of a line to its 64 bytes as a number, or to None where
there is no memory, at the time when the beat goes out.
"""

import random
from collections import deque

from cocotb import start_soon
from cocotb.triggers import RisingEdge
from streams import end_of_reset

LINE = 64
PAGE = 4096


class Beats:
    """The lines of one read that are still to come, and the cycles until the first."""

    def __init__(self, address: int, lines: int, latency: int):
        self.address, self.lines, self.wait = address, lines, random.randint(0, latency)

    def step(self) -> tuple[int, bool]:
        """The address of the next line, and whether it is the last."""
        address, self.address, self.lines = self.address, self.address + LINE, self.lines - 1
        return address, self.lines == 0


class HostMemory:
    """Tagged reads: beats of several tags in any order, those of one tag in order. `errors` is the share of
    beats that end their read early with an error."""

    PARTS = ("tag", "address", "bytes")

    def __init__(self, dut, line, stall=0.0, latency=20, errors=0.0):
        self.dut, self.line, self.stall = dut, line, stall
        self.latency, self.errors = latency, errors
        # tag to Beats; what was read, for tests
        self.flying, self.reads = {}, []
        dut.host_read_ready_i.value = dut.host_beat_valid_i.value = 0
        start_soon(self.take_reads())
        start_soon(self.give_beats())

    async def take_reads(self):
        dut = self.dut
        await end_of_reset(dut)
        while True:
            takes = random.random() >= self.stall
            dut.host_read_ready_i.value = int(takes)
            await RisingEdge(dut.clk_i)
            for beats in self.flying.values():
                beats.wait -= 1
            if takes and dut.host_read_valid_o.value == 1:
                self.take(*(int(getattr(dut, f"host_read_{name}_o").value) for name in self.PARTS))

    def take(self, tag: int, address: int, size: int):
        assert tag not in self.flying, f"tag {tag} is in flight"
        assert size % LINE == address % LINE == 0 and 0 < size <= PAGE - address % PAGE, (address, size)
        self.reads.append((address, size))
        self.flying[tag] = Beats(address, size // LINE, self.latency)

    async def give_beats(self):
        dut = self.dut
        await end_of_reset(dut)
        while True:
            due = [tag for tag, beats in self.flying.items() if beats.wait <= 0]
            gives = bool(due) and random.random() >= self.stall
            dut.host_beat_valid_i.value = int(gives)
            if gives:
                self.drive(random.choice(due))
            await RisingEdge(dut.clk_i)
            while gives and dut.host_beat_ready_o.value != 1:
                await RisingEdge(dut.clk_i)

    def drive(self, tag: int):
        address, last = self.flying[tag].step()
        data = self.line(address)
        error = data is None or random.random() < self.errors
        if last or error:
            del self.flying[tag]
        values = {"tag": tag, "data": data or 0, "last": last or error, "error": error}
        for name, value in values.items():
            getattr(self.dut, f"host_beat_{name}_i").value = int(value)


class Dram:
    """AXI4, 512 bits, INCR: one port, or that of a channel of several. Reads of one id in order; beats of
    several ids mixed. A write takes effect at any time before its response; a read beside it sees either."""

    def __init__(self, dut, channel: int | None = None, stall=0.0, latency=20):
        self.dut, self.channel, self.stall, self.latency = dut, channel, stall, latency
        # Lines by address; one that was never written holds what chips hold when they are turned on.
        self.lines = {}
        # id to its reads in order; bursts to write as (id, address, beats); their words (data, strobe, last)
        self.flying, self.bursts, self.words = {}, deque(), deque()
        for port in ("arready", "rvalid", "awready", "wready", "bvalid"):
            self.port(port).value = 0
        for task in (self.take_reads, self.give_beats, self.take_addresses, self.take_words, self.respond):
            start_soon(task())

    def port(self, port: str):
        ports = getattr(self.dut, f"dram_{port}_{'i' if port in INPUTS else 'o'}")
        return ports if self.channel is None else ports[self.channel]

    def value(self, port: str) -> int:
        return int(self.port(port).value)

    def line(self, address: int) -> int:
        return self.lines.setdefault(address, random.getrandbits(8 * LINE))

    async def handshake(self, channel: str):
        """Takes one transfer of a channel that the module drives."""
        while True:
            takes = random.random() >= self.stall
            self.port(f"{channel}ready").value = int(takes)
            await RisingEdge(self.dut.clk_i)
            if takes and self.port(f"{channel}valid").value == 1:
                return

    def burst(self, channel: str) -> tuple[int, int, int]:
        """Id, address and beats of what was just taken."""
        address, beats = self.value(f"{channel}addr"), self.value(f"{channel}len") + 1
        assert self.value(f"{channel}size") == 6 and self.value(f"{channel}burst") == 1
        assert address % LINE == 0 and address % PAGE + beats * LINE <= PAGE, (address, beats)
        return self.value(f"{channel}id"), address, beats

    async def take_reads(self):
        await end_of_reset(self.dut)
        while True:
            await self.handshake("ar")
            identifier, address, beats = self.burst("ar")
            self.flying.setdefault(identifier, deque()).append(Beats(address, beats, self.latency))

    async def give_beats(self):
        await end_of_reset(self.dut)
        while True:
            for reads in self.flying.values():
                reads[0].wait -= 1
            due = [identifier for identifier, reads in self.flying.items() if reads[0].wait <= 0]
            gives = bool(due) and random.random() >= self.stall
            self.port("rvalid").value = int(gives)
            if gives:
                self.drive(random.choice(due))
            await RisingEdge(self.dut.clk_i)
            while gives and self.value("rready") != 1:
                await RisingEdge(self.dut.clk_i)

    def drive(self, identifier: int):
        reads = self.flying[identifier]
        address, last = reads[0].step()
        if last:
            reads.popleft()
        if not reads:
            del self.flying[identifier]
        beat = {"rid": identifier, "rdata": self.line(address), "rlast": int(last), "rresp": 0}
        for port, value in beat.items():
            self.port(port).value = value

    async def take_addresses(self):
        await end_of_reset(self.dut)
        while True:
            await self.handshake("aw")
            self.bursts.append(self.burst("aw"))

    async def take_words(self):
        await end_of_reset(self.dut)
        while True:
            await self.handshake("w")
            self.words.append(tuple(self.value(port) for port in ("wdata", "wstrb", "wlast")))

    async def respond(self):
        """Writes the bursts one after the other, once all their words are there."""
        await end_of_reset(self.dut)
        while True:
            await RisingEdge(self.dut.clk_i)
            if self.bursts and len(self.words) >= self.bursts[0][2]:
                identifier, address, beats = self.bursts.popleft()
                await self.some_cycles()
                for at in range(beats):
                    self.write(address + at * LINE, *self.words.popleft(), last=at == beats - 1)
                await self.some_cycles()
                await self.acknowledge(identifier)

    async def some_cycles(self):
        for _ in range(random.randint(0, self.latency)):
            await RisingEdge(self.dut.clk_i)

    def write(self, address: int, data: int, strobe: int, wlast: int, last: bool):
        assert wlast == last, "wlast ends the burst"
        mask = sum(0xFF << 8 * byte for byte in range(LINE) if strobe >> byte & 1)
        self.lines[address] = self.line(address) & ~mask | data & mask

    async def acknowledge(self, identifier: int):
        self.port("bid").value, self.port("bresp").value, self.port("bvalid").value = identifier, 0, 1
        await RisingEdge(self.dut.clk_i)
        while self.value("bready") != 1:
            await RisingEdge(self.dut.clk_i)
        self.port("bvalid").value = 0


# What the memory drives.
INPUTS = set("arready rvalid rid rdata rresp rlast awready wready bvalid bid bresp".split())


def drams(dut, **parameters) -> list[Dram]:
    """All channels of on-board memory."""
    return [Dram(dut, channel, **parameters) for channel in range(int(dut.Channels.value))]
