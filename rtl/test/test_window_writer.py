import random

import cocotb
import honeycomb_layout as layout
from cocotb.triggers import RisingEdge
from records import record
from runner import simulate
from streams import STALLS, start

WRITE = record("axi_write_request_t")
DONE = record("axi_write_response_t")
# Cycles without stalls in which a change is copied, and a copy that began before it ends.
CYCLES = 20


class Memory:
    """Accepts writes after random stalls, and collects their addresses and lines."""

    def __init__(self, dut, stall: float):
        self.dut, self.stall, self.written = dut, stall, []

    def ready(self) -> int:
        return int(random.random() >= self.stall)

    async def accept(self, valid: str, ready: str):
        """Accepts an address or a line, which stays until then. Returns all fields of the write."""
        while True:
            accepts = self.ready()
            self.dut.write_i.value = DONE.pack(**{ready: accepts})
            await RisingEdge(self.dut.clk_i)
            fields = WRITE.unpack(int(self.dut.write_o.value))
            if accepts and fields[valid]:
                self.dut.write_i.value = 0
                return fields

    async def run(self):
        while True:
            address = await self.accept("awvalid", "awready")
            line = await self.accept("wvalid", "wready")
            assert address["awlen"] == 0 and line["wlast"] and line["wstrb"] == (1 << 64) - 1
            self.written.append((address["awaddr"], line["wdata"]))
            while not self.ready():
                await RisingEdge(self.dut.clk_i)
            self.dut.write_i.value = DONE.pack(bvalid=1)
            await RisingEdge(self.dut.clk_i)
            self.dut.write_i.value = 0


def line_of(oldest: int, newest: int) -> int:
    copy = layout.WindowCopy(oldest=oldest, newest=newest, padding=bytes(48))
    return int.from_bytes(copy.pack(), "little")


@cocotb.test()
@cocotb.parametrize(stall=STALLS)
async def the_last_window_is_copied(dut, stall):
    """Changes come at any time during a copy. After each the window stays for a while, until its copy is
    there."""
    await start(dut, address_i=0, oldest_i=0, newest_i=0, write_i=0)
    memory = Memory(dut, stall)
    cocotb.start_soon(memory.run())
    for _ in range(CYCLES):
        await RisingEdge(dut.clk_i)
    assert not memory.written, "there is no address yet"
    address = 0
    for _ in range(100):
        for _ in range(random.randint(1, 3)):
            window = random.getrandbits(64), random.getrandbits(64)
            address = 64 * random.randint(1, 1 << 50) if random.random() < 0.2 or not address else address
            dut.address_i.value, dut.oldest_i.value, dut.newest_i.value = address, *window
            for _ in range(random.randint(1, 8)):
                await RisingEdge(dut.clk_i)
        for _ in range(int(CYCLES / (1 - stall))):
            await RisingEdge(dut.clk_i)
        while memory.written[-1:] != [(address, line_of(*window))]:
            await RisingEdge(dut.clk_i)
    count = len(memory.written)
    for _ in range(100):
        await RisingEdge(dut.clk_i)
    assert len(memory.written) == count, "nothing has changed"


def test_window_writer():
    simulate("window_writer")
