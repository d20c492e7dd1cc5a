"""A manager that forgets its transactions in a reset, and a memory that does not: every burst that the memory
has accepted is completed."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from records import record
from runner import simulate
from streams import STALLS, start

READ, LINES = record("axi_read_request_t"), record("axi_read_response_t")
WRITE, DONE = record("axi_write_request_t"), record("axi_write_response_t")
ALL_BYTES = (1 << 64) - 1


class Channel:
    """A side that offers elements of a queue, each until it is accepted."""

    def __init__(self, stall: float):
        self.stall, self.queue, self.offers = stall, [], False

    def offer(self) -> dict:
        self.offers = self.offers or (bool(self.queue) and random.random() >= self.stall)
        return self.queue[0] if self.offers else {}

    def accepted(self) -> dict:
        self.offers = False
        return self.queue.pop(0)

    def clear(self):
        self.queue, self.offers = [], False


class Bench:
    """`reads` and `writes` are those of the manager since its reset, by id; `bursts` are all writes that were
    accepted of it, with their beats, and `written` those of the memory."""

    def __init__(self, dut, stall: float):
        self.dut, self.stall, self.next_id = dut, stall, 0
        self.in_reset = False
        self.ar, self.aw, self.w = (Channel(stall) for _ in range(3))
        self.r, self.b = Channel(stall), Channel(stall)
        self.reads, self.writes, self.bursts, self.written, self.beats = {}, set(), [], [], []
        # Of the memory: addresses and beats that it has accepted, and their ready.
        self.addresses, self.data, self.ready = [], [], {}

    def begin(self):
        """Begins transactions of the manager at random."""
        self.next_id = (self.next_id + 1) % (1 << 16)
        lines = random.choice((1, 1, 2, 7, 64))
        where = {"addr": random.getrandbits(40), "size": 6, "burst": 1}
        address = {"id": self.next_id, "len": lines - 1, **where}
        if random.random() < 0.2 and len(self.ar.queue) < 4:
            self.ar.queue.append({f"ar{name}": value for name, value in address.items()} | {"arvalid": 1})
        if random.random() < 0.2 and len(self.aw.queue) < 4:
            self.aw.queue.append({f"aw{name}": value for name, value in address.items()} | {"awvalid": 1})
            for at in range(lines):
                beat = {"wdata": random.getrandbits(512), "wstrb": ALL_BYTES, "wlast": int(at == lines - 1)}
                self.w.queue.append(beat | {"wvalid": 1})

    def forget(self):
        """The reset of the manager."""
        for channel in (self.ar, self.aw, self.w):
            channel.clear()
        self.in_reset, self.reads, self.writes, self.beats = True, {}, set(), []

    async def run(self, count: int, begins: bool, drains: int):
        for _ in range(count):
            if begins:
                self.begin()
            await self.cycle(drains)

    async def cycle(self, drains: int):
        dut = self.dut
        ready = {name: int(random.random() >= self.stall) for name in ("arready", "awready", "wready")}
        dut.drains_i.value = drains
        dut.read_i.value = READ.pack(**self.ar.offer(), rready=1)
        beat = self.w.offer() or {"wstrb": ALL_BYTES}
        dut.write_i.value = WRITE.pack(**self.aw.offer(), **beat, bready=1)
        dut.dram_read_i.value = LINES.pack(**self.r.offer(), arready=ready["arready"])
        dut.dram_write_i.value = DONE.pack(**self.b.offer(), awready=ready["awready"], wready=ready["wready"])
        await RisingEdge(dut.clk_i)
        if not self.in_reset:
            self.manager(LINES.unpack(int(dut.read_o.value)), DONE.unpack(int(dut.write_o.value)))
        self.memory(READ.unpack(int(dut.dram_read_o.value)), WRITE.unpack(int(dut.dram_write_o.value)), ready)

    def manager(self, lines: dict, done: dict):
        if self.ar.offers and lines["arready"]:
            read = self.ar.accepted()
            self.reads[read["arid"]] = read["arlen"] + 1
        if self.aw.offers and done["awready"]:
            write = self.aw.accepted()
            self.writes.add(write["awid"])
            self.bursts.append((write, beats := []))
            self.beats += [beats] * (write["awlen"] + 1)
        if self.w.offers and done["wready"]:
            self.beats.pop(0).append(self.w.accepted()["wdata"])
        if lines["rvalid"]:
            self.reads[lines["rid"]] -= 1
            assert (self.reads[lines["rid"]] == 0) == lines["rlast"]
        if done["bvalid"]:
            self.writes.remove(done["bid"])

    def memory(self, read: dict, write: dict, ready: dict):
        if self.r.offers and read["rready"]:
            self.r.accepted()
        if self.b.offers and write["bready"]:
            self.b.accepted()
        if read["arvalid"] and ready["arready"]:
            for at in range(read["arlen"] + 1):
                self.r.queue.append({"rvalid": 1, "rid": read["arid"], "rlast": int(at == read["arlen"])})
        if write["awvalid"] and ready["awready"]:
            self.addresses.append(write)
        if write["wvalid"] and ready["wready"]:
            self.data.append(write)
        if self.addresses and len(self.data) > self.addresses[0]["awlen"]:
            self.complete(self.addresses.pop(0))

    def complete(self, address: dict):
        count = address["awlen"] + 1
        beats, self.data = self.data[:count], self.data[count:]
        assert [beat["wlast"] for beat in beats] == [0] * (count - 1) + [1]
        self.written.append((address, beats))
        self.b.queue.append({"bvalid": 1, "bid": address["awid"]})

    def is_idle(self) -> bool:
        return not (self.r.queue or self.b.queue or self.addresses or self.data)

    def compare(self):
        """All bursts were written, the beats that the manager has not sent without any byte."""
        assert len(self.written) == len(self.bursts)
        for (address, written), (expected, beats) in zip(self.written, self.bursts, strict=True):
            assert all(address[name] == expected[name] for name in expected)
            sent, missing = written[:len(beats)], written[len(beats):]
            assert [(beat["wdata"], beat["wstrb"]) for beat in sent] == [(data, ALL_BYTES) for data in beats]
            assert all(beat["wstrb"] == 0 for beat in missing)
        self.bursts, self.written = [], []


@cocotb.test()
@cocotb.parametrize(stall=STALLS)
async def bursts_in_flight_are_completed(dut, stall):
    await start(dut, drains_i=0, read_i=0, write_i=0, dram_read_i=0, dram_write_i=0)
    bench = Bench(dut, stall)
    for _ in range(20):
        await bench.run(random.randint(1, 300), True, 0)
        bench.forget()
        # The accelerator is in reset before its transactions drain.
        await bench.run(random.randint(0, 3), False, 0)
        await bench.run(1, False, 1)
        while dut.idle_o.value == 0:
            await bench.run(1, False, 1)
        assert bench.is_idle()
        bench.compare()
        await bench.run(random.randint(0, 3), False, 1)
        bench.in_reset = False


@cocotb.test()
@cocotb.parametrize(stall=STALLS)
async def transactions_pass(dut, stall):
    await start(dut, drains_i=0, read_i=0, write_i=0, dram_read_i=0, dram_write_i=0)
    bench = Bench(dut, stall)
    await bench.run(500, True, 0)
    while bench.ar.queue or bench.aw.queue or bench.w.queue or dut.idle_o.value == 0:
        await bench.run(1, False, 0)
    assert not any(bench.reads.values()) and not bench.writes
    bench.compare()


def test_dram_drain():
    simulate("dram_drain")
