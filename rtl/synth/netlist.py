"""Synthesizes modules with Yosys for the FPGA family ECP5, whose tools are open."""

import json
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
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

# The mapper of the family's own script needs ten times as long and saves up to a quarter of the area.
MAP = ["techmap -map +/lattice/latches_map.v", "abc -lut 4:7", "clean"]

# The resources of each cell of the family. A carry is two lookup tables. Constants, and multiplexers that
# combine the outputs of lookup tables, need no further resources.
LUTS = {"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 4}
REGISTERS = {"TRELLIS_FF": 1}
BLOCKS = {"DP16KD": 1, "PDPW16KD": 1}
MEMORY_BITS = {"TRELLIS_DPR16X4": 64}
FREE = {"PFUMX", "L6MUX21", "GND", "VCC"}


@dataclass
class Use:
    """The resources of a module, including its parts, and the parts."""

    module: str
    luts: int = 0
    registers: int = 0
    blocks: int = 0
    memory_bits: int = 0
    parts: list["Use"] = field(default_factory=list)


class Unmapped(Exception):
    """A module contains a cell that the family does not have."""


def synthesize(module: str, parameters: dict[str, int], flat: bool) -> Path:
    """Synthesizes a module, with or without its hierarchy, and returns the path of the netlist in JSON."""
    OUT.mkdir(parents=True, exist_ok=True)
    name = "_".join([module, *(f"{key}{value}" for key, value in parameters.items())])
    path = OUT / f"{name}{'_flat' if flat else ''}.json"
    values = " ".join(f"-G {key}={value}" for key, value in parameters.items())
    source = next(RTL.rglob(f"{module}.sv"))
    hierarchy = "" if flat else "--keep-hierarchy"
    read = f"read_slang {hierarchy} -F {RTL / 'files.f'} --top {module} {values} {source}"
    synth = f"synth_ecp5 {'' if flat else '-noflatten'} -top {module}"
    before, after = f"{synth} -run :map_luts", f"{synth} -run map_cells: -json {path}"
    run_yosys([read, "chformal -remove", before, *MAP, after], path.with_suffix(".log"))
    return path


def run_yosys(passes: list[str], log: Path):
    """Runs Yosys in a separate process."""
    with log.open("w") as output:
        run = subprocess.run([sys.executable, "-c", YOSYS, *passes], stdout=output, stderr=output)
    if run.returncode != 0:
        raise SystemExit(f"Yosys failed: {log}\n{log.read_text()[-2000:]}")


def use_of(netlist: Path, module: str) -> Use:
    """Returns the resources of a module and of each of its parts."""
    modules = json.loads(netlist.read_text())["modules"]
    return use_of_module(modules, module)


def use_of_module(modules: dict, module: str) -> Use:
    counts = Counter(cell["type"] for cell in modules[module]["cells"].values())
    use = Use(module.split("$")[0])
    for kind, count in counts.items():
        if kind in modules and "blackbox" not in modules[kind].get("attributes", {}):
            use.parts += [use_of_module(modules, kind)] * count
        elif not FREE | LUTS.keys() | REGISTERS.keys() | BLOCKS.keys() >= {kind}:
            raise Unmapped(f"{module} has {count} cells {kind}, which ECP5 does not have")
        use.luts += count * LUTS.get(kind, 0)
        use.registers += count * REGISTERS.get(kind, 0)
        use.blocks += count * BLOCKS.get(kind, 0)
        use.memory_bits += count * MEMORY_BITS.get(kind, 0)
    for part in use.parts:
        use.luts += part.luts
        use.registers += part.registers
        use.blocks += part.blocks
        use.memory_bits += part.memory_bits
    return use
