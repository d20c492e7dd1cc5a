"""Synthesizes modules with Yosys, flat: for UltraScale+, and for a family with adaptive logic modules
(ALMs)."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
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
    path = path_of(module, parameters, synth)
    run([*read(module, parameters), f"{synth} -top {module}", f"write_json {path}"], path.with_suffix(".log"))
    return stored(module, parameters, synth)


def around(module: str, parameters: dict[str, int], boxes: Iterable[str], synth: str) -> dict:
    """Returns the netlist of a module around some of its parts, each a cell whose type is its module."""
    path = path_of(module, parameters, synth)
    run([*read(module, parameters, boxes), f"write_json {path}"], path.with_suffix(".log"))
    design = json.loads(path.read_text())
    for cell in design["modules"][module]["cells"].values():
        if cell["type"] in boxes:
            # Yosys rejects parameters of a cell whose module has none.
            cell["parameters"] = {}
    path.write_text(json.dumps(design))
    passes = [f"read_json {path}", f"{synth} -top {module}", f"write_json {path}"]
    run(passes, path.with_suffix(".log"))
    return stored(module, parameters, synth)


def stored(module: str, parameters: dict[str, int], synth: str) -> dict:
    """Returns the netlist of a module that was synthesized before."""
    path = path_of(module, parameters, synth)
    if not path.exists():
        raise SystemExit(f"synthesize {module} first: {path} does not exist")
    return json.loads(path.read_text())["modules"][module]


def store(module: str, parameters: dict[str, int], synth: str, netlist: dict):
    """Writes the netlist of a module, for longest.py."""
    top = netlist | {"attributes": {"top": "1"}}
    path_of(module, parameters, synth).write_text(json.dumps({"modules": {module: top}}))


def path_of(module: str, parameters: dict[str, int], synth: str) -> Path:
    OUT.mkdir(parents=True, exist_ok=True)
    values = (f"{key}{value}" for key, value in parameters.items())
    return OUT / ("_".join([module, *values, synth.split()[0]]) + ".json")


def read(module: str, parameters: dict[str, int], boxes: Iterable[str] = ()) -> list[str]:
    """Returns the passes that read a module, without its assertions and events."""
    values = " ".join(f"-G {key}={value}" for key, value in parameters.items())
    empty = " ".join(f"--blackboxed-module {box}" for box in boxes)
    source = next(RTL.rglob(f"{module}.sv"))
    return [f"read_slang -D WITHOUT_ASSERTIONS -F {RTL / 'files.f'} --top {module} {values} {empty} {source}",
            f"delete -port {module}/o:*event*_o"]


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
