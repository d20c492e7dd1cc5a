#!/usr/bin/env python3
"""Checks that a test fails for each rule of the code. It removes the rules from the code, one at a time,
and runs the test that must fail.

tools/mutants.toml lists the rules, the change that removes each of them, and its test. The script works in
a copy of the crates below target/mutants. It keeps the builds there, so a second run is faster.

example:
  python3 tools/mutants.py                               every rule: ten minutes
  python3 tools/mutants.py --only retire-when-visible    one rule; may be repeated
  python3 tools/mutants.py --every 4 --from 1            every fourth rule, from the second on
  python3 tools/mutants.py --compile                     which changes no longer compile: five minutes
  python3 tools/mutants.py --list --markdown > docs/design/rules.md
"""

import argparse
import functools
import itertools
import json
import os
import queue
import re
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tools/mutants.toml"
RULES = ROOT / "docs/design/rules.md"
SCRATCH = ROOT / "target/mutants"
# The members of the workspace that the tests of the list need.
MEMBERS = (
    "crates/layout", "crates/log", "crates/memory", "crates/btree", "crates/accelerator", "crates/store",
    "crates/simulator", "crates/protocol", "crates/client", "crates/server", "crates/testing",
    "crates/hashtable", "crates/lab/workload", "crates/cli", "examples/file-index",
)

# A race may not show in every run: a mutant has survived if its test passes this often.
ATTEMPTS = 6
# The time that a test has to end after a panic. Often the other threads wait for the one that panicked.
SECONDS_AFTER_PANIC = 5
# Maximum number of failed tests whose names are shown.
NAMES_MAX = 2

PREFACE = """# Rules

`tools/mutants.toml` lists the rules that keep the code correct, and for each a change that breaks it.
`tools/mutants.py` applies these changes one at a time and checks that a test fails. This page is generated
from that list:
`python3 tools/mutants.py --list --markdown > docs/design/rules.md`.
"""


class MutantError(Exception):
    """The list is invalid, or a test fails or does not build without a mutant."""


@dataclass(frozen=True)
class Test:
    """A command that must fail for a mutant and pass without one."""

    name: str
    command: str
    seconds: int

    @property
    def package(self) -> str:
        """The crate of the test, or an empty string for a test of RTL."""
        found = re.search(r"-p honeycomb-([a-z]+)", self.command)
        return found[1] if found else ""

    def has(self, only: str) -> bool:
        """Returns whether the crate of the test contains each name of a path. Tests of RTL have patterns."""
        return not self.package or all(name in source_of(self.package) for name in only.split("::"))


@dataclass(frozen=True)
class Mutant:
    part: str
    name: str
    rule: str
    file: str
    find: str
    replace: str
    test: Test
    only: str = ""

    def caught_by(self) -> str:
        return f"{self.test.name}: {self.only}" if self.only else self.test.name

    def mutate(self, text: str) -> str:
        """Returns the text of the file without the rule."""
        return text.replace(self.find, self.replace)

    def staleness(self) -> str:
        """Returns why the mutant does not apply, or an empty string if it does."""
        path = ROOT / self.file
        count = path.read_text().count(self.find) if path.exists() else 0
        if count != 1:
            return f"the mutant {self.name} is stale: {self.file} has its text {count} times instead of once"
        if not self.test.has(self.only):
            return f"the mutant {self.name} is stale: its test {self.test.name} has no {self.only}"
        if self.test.package and f"crates/{self.test.package}" not in MEMBERS:
            return f"the mutant {self.name} needs crates/{self.test.package}, which MEMBERS lacks"
        return ""


@dataclass(frozen=True)
class Result:
    mutant: Mutant
    passed: bool
    how: str
    seconds: float

    def line(self) -> str:
        verdict = "passed" if self.passed else "FAILED"
        return f"{verdict}  {self.seconds:5.1f} s  {self.mutant.name}: {self.how}"


def main() -> int:
    arguments = parse_arguments()
    try:
        mutants = selected(LIST, arguments)
        if arguments.list:
            sys.stdout.write(markdown(mutants) if arguments.markdown else listing(mutants))
            return 0
        check_rules(load(LIST, []))
        results = run_all(mutants, arguments.jobs, arguments.compile)
    except MutantError as error:
        print(f"mutants: {error}", file=sys.stderr)
        return 1
    print_table(results)
    return 0 if all(result.passed for result in results) else 1


def parse_arguments() -> argparse.Namespace:
    parser = parser_for(__doc__)
    parser.add_argument("--markdown", action="store_true", help="with --list: as docs/design/rules.md")
    parser.add_argument("--compile", action="store_true", help="compile the mutants, and run no test")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="concurrent mutants (default 1)")
    arguments = parse(parser)
    if arguments.jobs < 1:
        parser.error("--jobs must be at least 1")
    return arguments


def parser_for(about: str) -> argparse.ArgumentParser:
    """Returns a parser with the options that all lists of mutants share."""
    about, example = about.split("\nexample:\n")
    parser = argparse.ArgumentParser(
        description=about, epilog=f"example:\n{example}", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--list", action="store_true", help="list the rules and run nothing")
    parser.add_argument("--only", metavar="NAME", action="append", default=[], help="run only this mutant")
    every = "one of every N mutants (default 1)"
    parser.add_argument("--every", type=int, default=1, metavar="N", help=every)
    first = "the first mutant, from 0 on"
    parser.add_argument("--from", type=int, default=0, metavar="K", dest="start", help=first)
    return parser


def parse(parser: argparse.ArgumentParser) -> argparse.Namespace:
    arguments = parser.parse_args()
    if arguments.every < 1:
        parser.error("--every must be at least 1")
    if not 0 <= arguments.start < arguments.every:
        parser.error(f"--from must be 0 to {arguments.every - 1}")
    return arguments


def selected(path: Path, arguments: argparse.Namespace) -> list[Mutant]:
    """Returns the selected mutants. Raises an error if any mutant of the list is stale."""
    check_current(load(path, []))
    return load(path, arguments.only)[arguments.start :: arguments.every]


def load(path: Path, only: list[str]) -> list[Mutant]:
    """Returns the mutants with these names, or all of them."""
    source = tomllib.loads(path.read_text())
    tests = {name: Test(name, **test) for name, test in source["test"].items()}
    mutants = {}
    for part in source["part"]:
        for entry in part["mutant"]:
            if entry["name"] in mutants:
                raise MutantError(f"two mutants are named {entry['name']}")
            entry = entry | {"part": part["title"], "test": tests[entry["test"]]}
            mutants[entry["name"]] = Mutant(**entry)
    unknown = [name for name in only if name not in mutants]
    if unknown:
        raise MutantError(f"unknown mutant {unknown[0]}; --list shows all names")
    return [mutants[name] for name in only or mutants]


def listing(mutants: list[Mutant]) -> str:
    return "".join(f"{mutant.name}\n    {mutant.rule}\n    {mutant.caught_by()}\n" for mutant in mutants)


def markdown(mutants: list[Mutant]) -> str:
    lines, numbers = [PREFACE], itertools.count(1)
    for part, members in itertools.groupby(mutants, key=lambda mutant: mutant.part):
        lines.append(f"\n## {part}\n\n| | rule | caught by |\n|---|---|---|\n")
        lines.extend(f"| {next(numbers)} | {mutant.rule} | {mutant.caught_by()} |\n" for mutant in members)
    return "".join(lines)


def check_rules(mutants: list[Mutant]) -> None:
    if not RULES.exists() or RULES.read_text() != markdown(mutants):
        how = "tools/mutants.py --list --markdown > docs/design/rules.md"
        raise MutantError(f"docs/design/rules.md does not match the list; run {how}")


@functools.cache
def source_of(package: str) -> str:
    """Returns the code and the tests of a crate."""
    crate = ROOT / "crates" / package
    files = itertools.chain(crate.glob("src/**/*.rs"), crate.glob("tests/**/*.rs"))
    return "".join(path.read_text() for path in files)


def check_current(mutants: list[Mutant]) -> None:
    stale = [mutant.staleness() for mutant in mutants if mutant.staleness()]
    if stale:
        raise MutantError("\n".join(stale))


def run_all(mutants: list[Mutant], jobs: int, compile_only: bool) -> list[Result]:
    """Returns all results, in the order of the list. Raises an error if a test fails without a mutant."""
    lanes = [Lane(SCRATCH / str(number)) for number in range(jobs)]
    if not compile_only:
        lanes[0].check_unchanged(mutants)
    free: queue.SimpleQueue[Lane] = queue.SimpleQueue()
    for lane in lanes:
        free.put(lane)

    def judge(mutant: Mutant) -> Result:
        lane = free.get()
        try:
            return lane.judge(mutant, Lane.compiles if compile_only else Lane.attempt)
        finally:
            free.put(lane)

    results = []
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for result in pool.map(judge, mutants):
                results.append(result)
                print(f"[{len(results):2}/{len(mutants)}] {result.line()}", flush=True)
        finally:
            pool.shutdown(cancel_futures=True)
    return results


def print_table(results: list[Result]) -> None:
    width = max(len(result.mutant.name) for result in results)
    print()
    for result in results:
        mutant = result.mutant
        print(f"{mutant.name:{width}}  {result.seconds:5.1f} s  {result.how}\n{'':{width}}  {mutant.rule}")
    failed = sum(not result.passed for result in results)
    print(f"\n{len(results) - failed} passed, {failed} failed")


class Lane:
    """A copy of the crates, which contains one mutant at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # The copy lacks some members of the workspace.
        manifest = (ROOT / "Cargo.toml").read_text()
        manifest = re.sub(r"^default-members = \[.*?^\]\n", "", manifest, flags=re.MULTILINE | re.DOTALL)
        members = f"members = {json.dumps(MEMBERS)}"
        manifest = re.sub(r"^members = .*$", members, manifest, flags=re.MULTILINE)
        update(folder / "Cargo.toml", manifest.encode())
        update(folder / "Cargo.lock", (ROOT / "Cargo.lock").read_bytes())
        for member in MEMBERS:
            update_tree(ROOT / member, folder / member)

    def check_unchanged(self, mutants: list[Mutant]) -> None:
        for test in dict.fromkeys(mutant.test for mutant in mutants):
            print(f"without a mutant: {test.name} ...", end=" ", flush=True)
            start = time.monotonic()
            self.build(test)
            how = self.run(test, "", "unchanged", test.seconds)
            if how:
                log = self.log("unchanged")
                raise MutantError(f"{test.name} fails without a mutant: {how}; see {log}")
            print(f"passes, {time.monotonic() - start:.1f} s", flush=True)

    def judge(self, mutant: Mutant, attempt: Callable[["Lane", Mutant], tuple[bool, str]]) -> Result:
        """Attempts something with the code of a mutant."""
        path, start = self.folder / mutant.file, time.monotonic()
        original = path.read_text()
        path.write_text(mutant.mutate(original))
        try:
            passed, how = attempt(self, mutant)
        except MutantError as error:
            passed, how = False, str(error)
        finally:
            path.write_text(original)
        return Result(mutant, passed, how, time.monotonic() - start)

    def attempt(self, mutant: Mutant) -> tuple[bool, str]:
        """Returns whether a test fails, and how."""
        self.build(mutant.test)
        for _ in range(ATTEMPTS):
            how = self.run(mutant.test, mutant.only, mutant.name, SECONDS_AFTER_PANIC)
            if how:
                return True, how
        return False, f"survived {mutant.caught_by()}, {ATTEMPTS} times"

    def compiles(self, mutant: Mutant) -> tuple[bool, str]:
        """Returns whether the crate that the mutant changes compiles, and the errors."""
        cargo = self.cargo(mutant.test, [])
        manifest = self.folder / crate_of(mutant.file) / "Cargo.toml"
        cargo["args"] = ["cargo", "check", "--manifest-path", str(manifest)]
        done = subprocess.run(**cargo, capture_output=True, text=True)
        return done.returncode == 0, "compiles" if done.returncode == 0 else done.stderr

    def build(self, test: Test) -> None:
        done = subprocess.run(**self.cargo(test, ["--no-run"]), capture_output=True, text=True)
        if done.returncode != 0:
            raise MutantError(f"{test.name} does not build:\n{done.stderr}")

    def run(self, test: Test, only: str, name: str, after_panic: float) -> str:
        """Returns how a test fails, or an empty string if it passes."""
        log = self.log(name)
        with log.open("wb") as output:
            cargo = self.cargo(test, ["--", "--nocapture", *only.split()])
            process = subprocess.Popen(**cargo, stdout=output, stderr=output, start_new_session=True)
        try:
            code = wait(process, log, test.seconds, after_panic)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        return verdict(code, log.read_text(errors="replace"), test)

    def cargo(self, test: Test, more: list[str]) -> dict:
        """Returns the arguments for subprocess. A build with variables before the command has its own
        target folder."""
        words = shlex.split(test.command)
        variables = [word.split("=", 1) for word in words if re.match("[A-Z_]+=", word)]
        built = self.folder / "-".join(["built", *(name for name, _ in variables)])
        # Incremental builds, because each build differs from the one before in one file.
        settings = {"CARGO_TARGET_DIR": str(built), "CARGO_INCREMENTAL": "1", "RUST_BACKTRACE": "0"}
        environment = os.environ | settings | dict(variables)
        return {"args": words[len(variables) :] + more, "cwd": self.folder, "env": environment}

    def log(self, name: str) -> Path:
        return self.folder / f"{name}.log"


def crate_of(file: str) -> str:
    """Returns the folder of the crate of a source file."""
    return file.partition("/src/")[0]


def update_tree(source: Path, copy: Path) -> None:
    """Makes `copy` equal to `source` without touching files that are already equal, so that builds stay
    valid."""
    files = {path.relative_to(source) for path in source.rglob("*") if path.is_file()}
    for path in files:
        update(copy / path, (source / path).read_bytes())
    for path in [path for path in copy.rglob("*") if path.is_file()]:
        if path.relative_to(copy) not in files:
            path.unlink()


def update(path: Path, content: bytes) -> None:
    if not path.exists() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def wait(process: subprocess.Popen, log: Path, seconds: float, after_panic: float) -> int | None:
    """Returns the exit code. A process that does not end in time has none."""
    end, panicked = time.monotonic() + seconds, False
    while process.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
        if not panicked and b"panicked at" in log.read_bytes():
            panicked, end = True, min(end, time.monotonic() + after_panic)
    return process.returncode


def verdict(code: int | None, output: str, test: Test) -> str:
    """Returns how a run failed, or an empty string if it passed."""
    if code == 0:
        if not re.search(r"test result: ok\. [1-9]", output):
            raise MutantError(f"{test.name}: no test ran")
        return ""
    panic = re.search(r"panicked at \S+", output)
    if code is None:
        return f"{test.name} hangs" + (f", {panic[0].rstrip(':')}" if panic else f", {test.seconds} s")
    failed = re.findall(r"^    (\S+)$", output.rpartition("\nfailures:\n")[2], re.MULTILINE)
    names = [name.rpartition("::")[2] for name in failed[:NAMES_MAX]] or [f"exit code {code}"]
    more = [f"{len(failed) - NAMES_MAX} more"] if len(failed) > NAMES_MAX else []
    return f"{test.name}: " + ", ".join(names + more)


if __name__ == "__main__":
    sys.exit(main())
