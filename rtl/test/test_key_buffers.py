"""The key buffers return the lines that were written, in order, two cycles after a read was accepted."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from records import record
from runner import simulate
from streams import end_of_reset, start

READERS, WRITERS, SLOTS, LINES = 3, 2, 8, 8


class Port:
    """One port, or one of an array of ports. It offers words at random times."""

    def __init__(self, dut, name: str, index: int, width: int):
        self.dut, self.name, self.index, self.width = dut, name, index, width
        self.queue = []

    def advance(self, valid: int, words: int, ready: int) -> tuple[int, int]:
        """Returns the valid bits and words of all ports, including this port, from those of the previous
        ports."""
        bit = 1 << self.index
        if valid & ready & bit:
            self.queue.pop(0)
            valid &= ~bit
        if not valid & bit and self.queue and random.random() < 0.7:
            valid |= bit
            mask = (1 << self.width) - 1 << self.index * self.width
            words = words & ~mask | self.queue[0] << self.index * self.width
        return valid, words


async def drive(dut, name: str, ports: list[Port]):
    """Drives a port or the ports of one array."""
    valid = words = 0
    getattr(dut, f"{name}_valid_i").value = 0
    await end_of_reset(dut)
    while True:
        getattr(dut, f"{name}_valid_i").value = valid
        getattr(dut, f"{name}_i").value = words
        await RisingEdge(dut.clk_i)
        ready = int(getattr(dut, f"{name}_ready_o").value)
        for port in ports:
            valid, words = port.advance(valid, words, ready)


async def watch(dut, answers: list[list[int]]):
    """Records the lines of each reader, and checks when they arrive."""
    await end_of_reset(dut)
    due = [0, 0]
    while True:
        await RisingEdge(dut.clk_i)
        valid = int(dut.line_valid_o.value)
        assert valid == due.pop(0)
        for reader in range(READERS):
            if valid >> reader & 1:
                answers[reader].append(int(dut.line_o.value))
        due.append(int(dut.read_valid_i.value) & int(dut.read_ready_o.value))


@cocotb.test()
async def returns_written_data(dut):
    writes = record("key_write_t")
    kinds = {"read": (record("key_read_t"), READERS), "write": (writes, WRITERS), "new": (writes, 1)}
    ports = {
        name: [Port(dut, name, index, kind.width) for index in range(count)]
        for name, (kind, count) in kinds.items()
    }
    for name in kinds:
        cocotb.start_soon(drive(dut, name, ports[name]))
    answers, expected, held = [[] for _ in range(READERS)], [[] for _ in range(READERS)], {}
    cocotb.start_soon(watch(dut, answers))
    await start(dut)
    for _ in range(30):
        writers = ports["new"] + ports["write"]
        for number, port in enumerate(writers):
            for _ in range(8):
                # Each writer has its own slots, so the order of writes of different writers does not
                # matter.
                slot = random.randrange(number, SLOTS, len(writers))
                place = {"slot": slot, "upper": random.getrandbits(1), "line": random.randrange(LINES)}
                held[tuple(place.values())] = data = random.getrandbits(512)
                port.queue.append(record("key_write_t").pack(**place, data=data))
        await settle(dut, writers)
        for reader, port in enumerate(ports["read"]):
            for slot, upper, line in random.choices(list(held), k=20):
                port.queue.append(record("key_read_t").pack(slot=slot, upper=upper, line=line))
                expected[reader].append(held[slot, upper, line])
        await settle(dut, ports["read"])
    assert answers == expected


async def settle(dut, ports):
    while any(port.queue for port in ports):
        await RisingEdge(dut.clk_i)
    for _ in range(3):
        await RisingEdge(dut.clk_i)


def test_key_buffers():
    simulate("key_buffers", SlotCount=SLOTS, ReaderCount=READERS, WriterCount=WRITERS)
