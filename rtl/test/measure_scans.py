"""Measures a range scan unit: the lines and reads of a request, the cycles in which it has the grant, and
all its cycles. Memory answers after 100 cycles; the leaves are those of 600 random pairs of 16 and 16 bytes,
with and without log entries.

  python rtl/test/measure_scans.py            `make rtl-cycles`: three slots
  python rtl/test/measure_scans.py 8          eight slots

All columns are averages of a request that is alone, except for the last one, the cycles of 40 requests in
flight divided by 40. A read is demanded if the unit waits for lines that nothing has prefetched.
"""

import random
import sys

import cocotb
from cocotb import start_soon
from cocotb.triggers import RisingEdge
from nodes import Memory, Shape
from runner import simulate
from scans import RESULT_BYTES, Read
from test_range_scan_unit import Bench
from trees import Tree

PAIRS, REQUESTS, LATENCY = 600, 40, 100
KINDS = {
    "get": {"is_scan": False},
    "scan of 1": {"pairs_max": 1},
    "scan of 4": {"pairs_max": 4},
    "scan of 24": {"pairs_max": 24},
    "scan of 24 with a bound": {"pairs_max": 24, "upper": b"\xff" * 16},
    "backward scan of 4": {"pairs_max": 4, "flags": {"backward": True}},
    "scan of 4 from the floor": {"pairs_max": 4, "flags": {"floor_start": True}},
}


class Counts:
    """What a unit has done since its reset."""

    def __init__(self, bench: Bench):
        self.bench, self.granted = bench, 0
        start_soon(self.run())

    async def run(self):
        dut = self.bench.dut
        while True:
            await RisingEdge(dut.clk_i)
            self.granted += dut.granted_o.value == 1

    def all(self) -> list[int]:
        """Returns the numbers of lines, of reads, of demanded reads, and of cycles with a grant."""
        reads = self.bench.ports.reads
        demanded = [read for read in self.bench.ports.line_reads if read["first"] and not read["follows"]]
        return [sum(read["count"] for read in reads), len(reads), len(demanded), self.granted]


async def measure(bench: Bench, counts: Counts, reads: list[Read], root: int, together: bool):
    """Returns the counts and the cycles, per request."""
    before = counts.all()
    cycles = 0
    for group in [reads] if together else [[read] for read in reads]:
        cycles += await bench.answer_all(group, root)
    after = [*counts.all(), cycles]
    return [(end - begin) / len(reads) for begin, end in zip([*before, 0], after, strict=True)]


def print_row(name: str, values: list):
    cells = [f"{value:.1f}" if isinstance(value, float) else value for value in values]
    print(f"| {' | '.join([name, *cells])} |", flush=True)


def reads_of(tree: Tree, keys: list[bytes], fields: dict) -> list[Read]:
    """Returns reads that begin at random keys."""
    bound = "upper" if fields.get("flags", {}).get("backward") else "lower"
    return [Read(tree.version, **{bound: random.choice(keys)}, **fields) for _ in range(REQUESTS)]


@cocotb.test()
@cocotb.parametrize(log_bytes=(0, Shape().log_threshold_bytes))
async def reads_of_pairs(dut, log_bytes):
    memory = Memory(Shape(log_threshold_bytes=log_bytes))
    tree, keys = Tree(memory), [random.randbytes(16) for _ in range(PAIRS)]
    for key in keys:
        tree.put(key, bytes(16))
    # Drawn before the ports draw numbers, so they are the same in each version of the unit.
    all_reads = {name: reads_of(tree, keys, fields) for name, fields in KINDS.items()}
    bench = Bench(dut, memory, latency=LATENCY)
    await bench.start()
    counts = Counts(bench)
    print(f"\n{log_bytes} bytes of log entries in a leaf at most, {int(dut.Slots.value)} slots")
    print_row("request", ["lines", "reads", "demanded", "grant", "cycles", "cycles with others"])
    print("|---" * 7 + "|")
    for name, reads in all_reads.items():
        alone = await measure(bench, counts, reads, tree.root, together=False)
        together = await measure(bench, counts, reads, tree.root, together=True)
        print_row(name, [*alone, together[-1]])


if __name__ == "__main__":
    slots = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    simulate("range_scan_unit", "measure_scans", seeds=(1,), Slots=slots, ResultLines=RESULT_BYTES // 64)
