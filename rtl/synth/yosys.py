"""Synthesizes modules with Yosys, flat: for UltraScale+, and for a family with adaptive logic modules
(ALMs)."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

RTL = Path(__file__).resolve().parents[1]
OUT = RTL.parent / "target" / "rtl" / "synth"

# Runs the passes in its arguments.
YOSYS = """
import sys
from pyosys import libyosys
design = libyosys.Design()
for step in sys.argv[1:]:
    design.run_pass(step)
"""

XILINX = "synth_xilinx -family xcup -flatten -abc9 -noiopad -noclkbuf"
# Cyclone V has the ALMs of Arria 10, whose family Yosys does not have.
INTEL = "synth_intel_alm -family cyclonev -nodsp -noiopad -noclkbuf"


def without_dsp(module: str, parameters: dict[str, int]) -> dict:
    """Returns the netlist of a module for UltraScale+. Its multipliers consist of lookup tables, because the
    timing pass knows no other delays. A module without multipliers is synthesized without the option for
    that, which changes the rest of a netlist by chance."""
    netlist = synthesize(module, parameters, XILINX)
    if any(cell["type"].startswith("DSP") for cell in netlist["cells"].values()):
        return synthesize(module, parameters, f"{XILINX} -nodsp")
    return netlist


def synthesize(module: str, parameters: dict[str, int], synth: str) -> dict:
    """Returns the netlist of a module in the form of Yosys' JSON. The name of a net begins with the instances
    that contain it. Events exist only in simulations, so the module has no ports for them."""
    OUT.mkdir(parents=True, exist_ok=True)
    family = synth.split()[0]
    name = "_".join([module, *(f"{key}{value}" for key, value in parameters.items()), family])
    values = " ".join(f"-G {key}={value}" for key, value in parameters.items())
    source = next(RTL.rglob(f"{module}.sv"))
    path = OUT / f"{name}.json"
    read = f"read_slang -F {RTL / 'files.f'} --top {module} {values} {source}"
    checks = ["chformal -remove", f"delete -port {module}/o:*event*_o"]
    run([read, *checks, f"{synth} -top {module}", f"write_json {path}"], path.with_suffix(".log"))
    return json.loads(path.read_text())["modules"][module]


def run(passes: list[str], log: Path):
    """Runs Yosys in a separate process."""
    with log.open("w") as output:
        result = subprocess.run([sys.executable, "-c", YOSYS, *passes], stdout=output, stderr=output)
    if result.returncode != 0:
        raise SystemExit(f"Yosys failed: {log}\n{log.read_text()[-2000:]}")


def alms(netlist: dict) -> int:
    """Returns the ALMs of a netlist for Cyclone V: one for a lookup table of six inputs, half of one for a
    smaller lookup table, a bit of an adder, or a memory cell of 32 bits."""
    counts = Counter(cell["type"] for cell in netlist["cells"].values())
    halves = sum(count for kind, count in counts.items() if kind in HALF_ALMS)
    return counts["MISTRAL_ALUT6"] + (halves + 1) // 2


HALF_ALMS = {f"MISTRAL_ALUT{inputs}" for inputs in range(2, 6)} | {"MISTRAL_ALUT_ARITH", "MISTRAL_MLAB"}
