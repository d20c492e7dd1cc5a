"""Models of memories that use all freedom of AXI4: random latency, random order among ids, random stalls.

A model has a function `line` from the address of a line to its 64 bytes as a number, or to None beyond the
end of memory. A memory takes the data of a read at any time after it has accepted the read: of some reads all
lines at once, then or when it sends them, of others line by line.
"""

import random
from collections import deque

from cocotb import start_soon
from cocotb.triggers import RisingEdge
from records import record
from streams import end_of_reset

LINE = 64
PAGE = 4096
OKAY, SLAVE_ERROR = 0, 2
# A number of cycles that no test has.
NEVER = 10**9
REQUESTS = {kind: record(f"axi_{kind}_request_t") for kind in ("read", "write")}
RESPONSES = {kind: record(f"axi_{kind}_response_t") for kind in ("read", "write")}


# The probability that a read takes its next line in a cycle: all lines when it is accepted, some in each of
# the cycles until they are sent, or all when they are sent.
TAKES = (1.0, 0.1, 0.0)


class Beats:
    """The remaining lines of one read, and the cycles until the first one."""

    def __init__(self, line, address: int, lines: int, latency: int):
        self.line, self.wait, self.takes = line, random.randint(0, latency), random.choice(TAKES)
        self.addresses, self.data = deque(range(address, address + LINE * lines, LINE)), deque()
        while self.takes == 1.0 and self.addresses:
            self.take()

    def take(self):
        self.data.append(self.line(self.addresses.popleft()))

    def pass_cycle(self):
        self.wait -= 1
        if self.addresses and random.random() < self.takes:
            self.take()

    def step(self) -> tuple[int | None, bool]:
        """Returns the data of the next line, and whether it is the last one."""
        if not self.data:
            self.take()
        return self.data.popleft(), not self.data and not self.addresses


class AxiPort:
    """The signals of an AXI4 port by their AXI names. `accelerator_top` has a pin for each, with the prefix
    `pins`; other modules have the structs of axi_pkg, as ports that begin with `structs`."""

    def __init__(self, dut, pins: str, structs: dict[str, str], index: int | None = None):
        self.dut, self.pins, self.structs, self.index = dut, pins, structs, index
        self.has_pins = hasattr(dut, f"{pins}_arvalid")
        # the current value of each driven struct
        self.words = {}

    def kind(self, name: str) -> str:
        """Returns whether a signal belongs to reads or to writes."""
        return "read" if name.startswith(("ar", "r")) else "write"

    def struct(self, kind: str, direction: str):
        signal = getattr(self.dut, f"{self.structs[kind]}_{direction}")
        return signal if self.index is None else signal[self.index]

    def set(self, **values: int):
        """Drives inputs."""
        for name, value in values.items():
            if self.has_pins:
                getattr(self.dut, f"{self.pins}_{name}").value = int(value)
                continue
            kind = self.kind(name)
            shift, width = RESPONSES[kind].fields[name]
            word = self.words.get(kind, 0) & ~((1 << width) - 1 << shift)
            self.words[kind] = word | int(value) << shift
            self.struct(kind, "i").value = self.words[kind]

    def get(self, name: str) -> int:
        """Samples an output."""
        if self.has_pins:
            return int(getattr(self.dut, f"{self.pins}_{name}").value)
        kind = self.kind(name)
        shift, width = REQUESTS[kind].fields[name]
        return int(self.struct(kind, "o").value) >> shift & (1 << width) - 1

    def burst(self, channel: str) -> tuple[int, int, int]:
        """Returns id, address and beats of the burst on `ar` or `aw`."""
        address, beats = self.get(f"{channel}addr"), self.get(f"{channel}len") + 1
        assert self.get(f"{channel}size") == 6 and self.get(f"{channel}burst") == 1
        assert address % LINE == 0 and address % PAGE + beats * LINE <= PAGE, (address, beats)
        return self.get(f"{channel}id"), address, beats


class HostMemory:
    """AXI4, read only. Beats of different ids arrive in any order, beats of one id in order. `errors` is
    the share of beats with an error; a read with errors still has all its beats. `silence` is the share of
    reads that get no answer before `break_silence`."""

    def __init__(self, dut, line, stall=0.0, latency=20, errors=0.0):
        self.dut, self.line, self.stall = dut, line, stall
        self.latency, self.errors, self.silence = latency, errors, 0.0
        self.port = AxiPort(dut, "m_axi_host", {"read": "host"})
        # id to Beats; the reads, for tests
        self.in_flight, self.reads = {}, []
        self.port.set(arready=0, rvalid=0)
        start_soon(self.accept_reads())
        start_soon(self.return_beats())

    async def accept_reads(self):
        await end_of_reset(self.dut)
        while True:
            accepts = random.random() >= self.stall
            self.port.set(arready=accepts)
            await RisingEdge(self.dut.clk_i)
            for beats in self.in_flight.values():
                beats.pass_cycle()
            if accepts and self.port.get("arvalid"):
                self.take(*self.port.burst("ar"))

    def take(self, identifier: int, address: int, lines: int):
        assert identifier not in self.in_flight, f"id {identifier} is already in flight"
        self.reads.append((address, lines * LINE))
        beats = self.in_flight[identifier] = Beats(self.line, address, lines, self.latency)
        if random.random() < self.silence:
            beats.wait = NEVER

    def break_silence(self):
        """Answers the reads of the silence from now on."""
        for beats in self.in_flight.values():
            beats.wait = min(beats.wait, self.latency)

    async def return_beats(self):
        await end_of_reset(self.dut)
        while True:
            due = [identifier for identifier, beats in self.in_flight.items() if beats.wait <= 0]
            gives = bool(due) and random.random() >= self.stall
            self.port.set(rvalid=gives)
            if gives:
                self.drive(random.choice(due))
            await RisingEdge(self.dut.clk_i)
            while gives and not self.port.get("rready"):
                await RisingEdge(self.dut.clk_i)

    def drive(self, identifier: int):
        data, last = self.in_flight[identifier].step()
        error = data is None or random.random() < self.errors
        if last:
            del self.in_flight[identifier]
        self.port.set(rid=identifier, rdata=data or 0, rlast=last, rresp=SLAVE_ERROR if error else OKAY)


class Dram:
    """One AXI4 port of 512 bits with INCR bursts, or the port of one of several channels. Beats of one id are
    in order; beats of several ids are interleaved. A write takes effect at any time before its response; a
    concurrent read returns the old or the new line. `errors` is the share of beats with an error, which have
    random contents, and of rejected bursts, of which some take effect nevertheless."""

    def __init__(self, dut, channel: int | None = None, stall=0.0, latency=20, errors=0.0):
        self.dut, self.stall, self.latency, self.errors = dut, stall, latency, errors
        structs = {"read": "dram_read", "write": "dram_write"}
        self.port = AxiPort(dut, f"m_axi_dram{channel or 0}", structs, channel)
        # Lines by address. A line that was never written has random contents.
        self.lines = {}
        # id to its reads in order; bursts to write as (id, address, beats); their words as (data, strobe,
        # last)
        self.in_flight, self.bursts, self.words = {}, deque(), deque()
        self.port.set(arready=0, rvalid=0, awready=0, wready=0, bvalid=0)
        reads, writes = (self.accept_reads, self.return_beats), (self.accept_addresses, self.accept_words)
        for task in (*reads, *writes, self.respond):
            start_soon(task())

    def line(self, address: int) -> int:
        return self.lines.setdefault(address, random.getrandbits(8 * LINE))

    async def handshake(self, channel: str):
        """Accepts one transfer of a channel that the module drives."""
        while True:
            accepts = random.random() >= self.stall
            self.port.set(**{f"{channel}ready": accepts})
            await RisingEdge(self.dut.clk_i)
            if accepts and self.port.get(f"{channel}valid"):
                return

    async def accept_reads(self):
        await end_of_reset(self.dut)
        while True:
            await self.handshake("ar")
            identifier, address, beats = self.port.burst("ar")
            read = Beats(self.line, address, beats, self.latency)
            self.in_flight.setdefault(identifier, deque()).append(read)

    async def return_beats(self):
        await end_of_reset(self.dut)
        while True:
            for reads in self.in_flight.values():
                reads[0].pass_cycle()
            due = [identifier for identifier, reads in self.in_flight.items() if reads[0].wait <= 0]
            gives = bool(due) and random.random() >= self.stall
            self.port.set(rvalid=gives)
            if gives:
                self.drive(random.choice(due))
            await RisingEdge(self.dut.clk_i)
            while gives and not self.port.get("rready"):
                await RisingEdge(self.dut.clk_i)

    def drive(self, identifier: int):
        reads = self.in_flight[identifier]
        data, last = reads[0].step()
        if last:
            reads.popleft()
        if not reads:
            del self.in_flight[identifier]
        error = random.random() < self.errors
        data = random.getrandbits(8 * LINE) if error else data
        self.port.set(rid=identifier, rdata=data, rlast=last, rresp=SLAVE_ERROR if error else OKAY)

    async def accept_addresses(self):
        await end_of_reset(self.dut)
        while True:
            await self.handshake("aw")
            self.bursts.append(self.port.burst("aw"))

    async def accept_words(self):
        await end_of_reset(self.dut)
        while True:
            await self.handshake("w")
            self.words.append(tuple(self.port.get(name) for name in ("wdata", "wstrb", "wlast")))

    async def respond(self):
        """Executes the bursts in order, each when all its words were received."""
        await end_of_reset(self.dut)
        while True:
            await RisingEdge(self.dut.clk_i)
            if self.bursts and len(self.words) >= self.bursts[0][2]:
                identifier, address, beats = self.bursts.popleft()
                error = random.random() < self.errors
                await self.some_cycles()
                self.execute(address, beats, takes_effect=not error or random.random() < 0.5)
                await self.some_cycles()
                await self.acknowledge(identifier, error)

    async def some_cycles(self):
        for _ in range(random.randint(0, self.latency)):
            await RisingEdge(self.dut.clk_i)

    def execute(self, address: int, beats: int, takes_effect: bool):
        for at in range(beats):
            data, strobe, last = self.words.popleft()
            assert last == (at == beats - 1), "wlast does not match the length of the burst"
            if takes_effect:
                self.write(address + at * LINE, data, strobe)

    def write(self, address: int, data: int, strobe: int):
        mask = sum(0xFF << 8 * byte for byte in range(LINE) if strobe >> byte & 1)
        self.lines[address] = self.line(address) & ~mask | data & mask

    async def acknowledge(self, identifier: int, error: bool):
        self.port.set(bid=identifier, bresp=SLAVE_ERROR if error else OKAY, bvalid=1)
        await RisingEdge(self.dut.clk_i)
        while not self.port.get("bready"):
            await RisingEdge(self.dut.clk_i)
        self.port.set(bvalid=0)


def drams(dut, **parameters) -> list[Dram]:
    """The channels of on-board memory."""
    return [Dram(dut, channel, **parameters) for channel in range(int(dut.Channels.value))]
