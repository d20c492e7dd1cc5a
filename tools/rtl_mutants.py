#!/usr/bin/env python3
"""Checks that the tests of rtl/ hold its rules: takes each rule out, one at a time, and a test must fail.

tools/rtl_mutants.toml names the rules, as tools/mutants.toml does for the crates: a test there is a file of
rtl/test, and `only` a pattern for the names of its cocotb tests. All is done in a copy below
target/rtl-mutants. That the tests pass without a mutant is for `make rtl-tests` to see.

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
    ROOT, Mutant, Refusal, Result, asked, listing, parse, parser_for, print_table, update_tree,
)

LIST = ROOT / "tools/rtl_mutants.toml"
SCRATCH = ROOT / "target/rtl-mutants"
# What a simulation says that ran and failed; a build that fails says none of it.
FAILURES = re.compile(r"Assertion failed in \S+?\.([A-Za-z_]\w*): |\*\* \w+\.(\S+) +FAIL ")


def main() -> int:
    arguments = parse(parser_for(__doc__))
    try:
        mutants = asked(LIST, arguments)
        if arguments.list:
            sys.stdout.write(listing(mutants))
            return 0
        results = [report(judge(mutant)) for mutant in mutants]
    except Refusal as refusal:
        print(f"rtl_mutants: {refusal}", file=sys.stderr)
        return 1
    print_table(results)
    return 0 if all(result.caught for result in results) else 1


def report(result: Result) -> Result:
    print(result.line(), flush=True)
    return result


def judge(mutant: Mutant) -> Result:
    """What a mutant's test says to it."""
    start = time.monotonic()
    update_tree(ROOT / "rtl", SCRATCH / "rtl")
    runtime, copy = ROOT / "target/rtl/runtime", SCRATCH / "target/rtl/runtime"
    if runtime.exists() and not copy.exists():
        shutil.copytree(runtime, copy)
    path = SCRATCH / mutant.file
    path.write_text(mutant.mutate(path.read_text()))
    how = run(mutant)
    return Result(mutant, bool(how), how or f"survived {mutant.caught_by()}", time.monotonic() - start)


def run(mutant: Mutant) -> str:
    """How the mutant's test fails; empty if it passes, or what was to fail did not run."""
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
        raise Refusal(f"the simulation did not run: {log}")
    return next(name for name in found.groups() if name)


if __name__ == "__main__":
    sys.exit(main())
