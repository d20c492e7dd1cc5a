#!/usr/bin/env python3
"""Checks that a test fails for each rule of rtl/. It removes the rules, one at a time, and runs the test
that must fail.

tools/rtl_mutants.toml lists the rules in the format of tools/mutants.toml. A test is a file of rtl/test,
and `only` is a pattern for the names of its cocotb tests. The script works in a copy below
target/rtl-mutants. It does not check that the tests pass without a mutant; `make rtl-tests` does.

example:
  python tools/rtl_mutants.py                      every rule: some minutes
  python tools/rtl_mutants.py --only room-in-fifo  one rule; may be repeated
  python tools/rtl_mutants.py --every 4            every fourth rule
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from mutants import (
    ROOT, Mutant, MutantError, Result, listing, parse, parser_for, print_table, selected, update_tree,
)

LIST = ROOT / "tools/rtl_mutants.toml"
SCRATCH = ROOT / "target/rtl-mutants"
# The failures in the output of a simulation. A build that fails prints none of them.
FAILURES = re.compile(r"Assertion failed in \S+?\.([A-Za-z_]\w*): |\*\* \w+\.(\S+) +FAIL ")


def main() -> int:
    arguments = parse(parser_for(__doc__))
    try:
        mutants = selected(LIST, arguments)
        if arguments.list:
            sys.stdout.write(listing(mutants))
            return 0
        results = [report(judge(mutant)) for mutant in mutants]
    except MutantError as error:
        print(f"rtl_mutants: {error}", file=sys.stderr)
        return 1
    print_table(results)
    return 0 if all(result.passed for result in results) else 1


def report(result: Result) -> Result:
    print(result.line(), flush=True)
    return result


def judge(mutant: Mutant) -> Result:
    """Runs the test of a mutant."""
    start = time.monotonic()
    update_tree(ROOT / "rtl", SCRATCH / "rtl")
    runtime, copy = ROOT / "target/rtl/covering", SCRATCH / "target/rtl/covering"
    if runtime.exists() and not copy.exists():
        shutil.copytree(runtime, copy)
    path = SCRATCH / mutant.file
    path.write_text(mutant.mutate(path.read_text()))
    how = run(mutant)
    return Result(mutant, bool(how), how or f"survived {mutant.caught_by()}", time.monotonic() - start)


def run(mutant: Mutant) -> str:
    """Returns how the test of a mutant fails, or an empty string if it passes."""
    log = SCRATCH / f"{mutant.name}.log"
    environment = os.environ | {"COCOTB_TEST_FILTER": mutant.only, "HONEYCOMB_SEED": "1"}
    environment |= {"PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
    if not mutant.only:
        del environment["COCOTB_TEST_FILTER"]
    command = [sys.executable, "-m", "pytest", "-x", "--capture=no", "-p", "no:cacheprovider"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, mutant.test.command], cwd=SCRATCH, env=environment, stdout=output, stderr=output,
            start_new_session=True,
        )
    try:
        process.wait(mutant.test.seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return f"{mutant.test.name} hangs, {mutant.test.seconds} s"
    return verdict(process.returncode, log)


def verdict(code: int, log: Path) -> str:
    found = FAILURES.search(log.read_text(errors="replace"))
    if code == 0:
        return ""
    if found is None:
        raise MutantError(f"the simulation did not run; see {log}")
    return next(name for name in found.groups() if name)


if __name__ == "__main__":
    sys.exit(main())
