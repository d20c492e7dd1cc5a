"""Runs Redis's own tests against Honeycomb: `python -m honeycomb_clients.redis_suite --suite PATH`.

PATH is a checkout of Redis, https://github.com/redis/redis, of which only `tests` is used. HONEYCOMB names
the program. Each unit runs against a fresh server, in the mode of the suite for external servers (`runtest
--host --port`). A table then shows how many tests passed.

`redis_suite.toml` lists the tests that are not expected to pass, each with its reason. They run separately
after the others. The exit status is 1 if another test fails, if a listed test passes, or if the suite does
not contain a listed test, so the list stays current.

The suite runs in a copy with four changes, so that one failure does not hide or cause others:

- It calls FUNCTION FLUSH before each group of tests. Honeycomb has no functions, so that call may fail.
- Between tests it sets a parameter of lists, which Honeycomb does not have. That call may fail, too.
- One test relies on a preceding test of streams to empty the table. The copy always empties the table.
- A test that failed may leave its connection in an undefined state. The next test gets a new connection.
"""

import argparse
import collections
import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib

from honeycomb_clients.server import Server

UNITS = [
    "unit/type/string", "unit/type/incr", "unit/expire", "unit/keyspace", "unit/scan", "unit/multi",
    "unit/protocol", "unit/quit", "unit/slowlog", "unit/other", "unit/introspection", "unit/introspection-2",
    "unit/bitops", "unit/bitfield",
]
# Tags of tests that need features outside of the suite's control. The suite has no option to allow only
# supported features.
DENIED_TAGS = ["needs:debug", "needs:repl", "needs:save"]
LISTED = pathlib.Path(__file__).with_suffix(".toml")
# Seconds: the limit for progress within a test, and the limit for a unit.
TEST_LIMIT, UNIT_LIMIT = 120, 900
# File, text that occurs in it exactly once, and its replacement in the copy.
CHANGES = [
    ("support/server.tcl", "    r function flush\n", "    catch {r function flush}\n"),
    (
        "support/test.tcl",
        "    set ::cur_test $prev_test\n",
        "    if {$failed && $::external} {catch {reconnect}}\n    set ::cur_test $prev_test\n",
    ),
    ("unit/keyspace.tcl", "_set list-max-listpack-size -1]", "_set list-max-listpack-size -1 mayfail]"),
    ("unit/keyspace.tcl", "-size $origin_config", "-size $origin_config mayfail"),
    ("unit/keyspace.tcl", "test {MOVE basic usage}", "r flushdb\n    test {MOVE basic usage}"),
]


def copy_of(suite, folder):
    """Copies the suite into `folder` with the changes in CHANGES."""
    shutil.copytree(suite / "tests", folder / "tests", symlinks=True)
    (folder / "src").mkdir()
    # The suite calls these programs; the installed ones are sufficient.
    for program in ("redis-cli", "redis-benchmark", "redis-server"):
        if shutil.which(program):
            (folder / "src" / program).symlink_to(shutil.which(program))
    for name, old, new in CHANGES:
        path = folder / "tests" / name
        text = path.read_text()
        if text.count(old) != 1:
            sys.exit(f"{suite}/tests/{name} does not contain this text exactly once: {old.strip()}")
        path.write_text(text.replace(old, new))
    return folder


@dataclasses.dataclass
class Run:
    """The results of a unit that the suite printed, by name of the test."""

    passed: list
    failed: dict
    skipped: list
    ignored: list


# `[err]: name in tests/unit/type/string.tcl`, and further lines up to the next entry.
ENTRY = re.compile(r"^\[(ok|err|skip|ignore|exception|done|ready|testing|TIMEOUT|\d+/\d+ done)\]:? ?", re.M)
# Failures outside of any test.
OUTSIDE = "(outside of a test)"


def parse(output):
    """Parses the output of the suite: one line for each test, and several lines for a test that failed."""
    run = Run([], {}, [], [])
    # The end of the output repeats all failures.
    report = output.split("\n                   The End\n")[0]
    parts = ENTRY.split(report)[1:]
    for kind, text in zip(parts[::2], parts[1::2]):
        text = text.strip()
        if kind == "ok":
            run.passed.append(re.sub(r" \(\d+ ms\)$", "", text))
        elif kind == "skip":
            run.skipped.append(text)
        elif kind == "ignore":
            run.ignored.append(text)
        elif kind == "err":
            named = re.match(r"(.*?) in tests/unit/\S+\.tcl\n(.*)", text, re.S)
            name, error = named.groups() if named else (OUTSIDE, text)
            run.failed[name] = without_repetition(error)
        elif kind in ("exception", "TIMEOUT"):
            run.failed[OUTSIDE] = f"{kind}: {text}"
    if "\n                   The End\n" not in output:
        run.failed.setdefault(OUTSIDE, "The suite did not end:\n" + output[-1000:])
    return run


def without_repetition(error):
    """Removes a repetition. The suite prints an error that is not an assertion twice, first without its
    first ten characters."""
    first, _, rest = error.partition("\n")
    return rest if first and rest.split("\n")[0].endswith(first) else error


def run_unit(folder, port, unit, options):
    """Runs a unit of the suite against a server."""
    tags = " ".join("-" + tag for tag in DENIED_TAGS)
    command = ["tclsh", "tests/test_helper.tcl", "--host", "127.0.0.1", "--port", str(port), "--single", unit]
    command += ["--durable", "--tags", tags, "--timeout", str(TEST_LIMIT), *options]
    environment = {**os.environ, "TERM": "dumb"}
    process = subprocess.Popen(
        command, cwd=folder, env=environment, text=True, errors="replace", start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )
    try:
        return parse(process.communicate(timeout=UNIT_LIMIT)[0])
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return parse(process.communicate()[0])


class Target:
    """A fresh server for each unit, or a running server."""

    def __init__(self, port):
        self.port = port

    def run(self, folder, unit, options):
        if self.port:
            return run_unit(folder, self.port, unit, options)
        server = Server(memory="1GiB")
        try:
            run = run_unit(folder, server.port, unit, options)
        finally:
            ended_without_error = server.stop()
        if not ended_without_error:
            run.failed.setdefault(OUTSIDE, "The server ended with an error.")
        return run


def check_unit(target, folder, unit, listed):
    """Runs the tests that should pass, then the listed ones. Returns both results and the unexpected
    ones."""
    skipfile = folder / "skipfile"
    skipfile.write_text("\n".join(listed))
    expected = target.run(folder, unit, ["--skipfile", str(skipfile)])
    faults = [(name, error) for name, error in expected.failed.items()]
    absent = [name for name in listed if name not in expected.skipped]
    faults += [(name, "is listed, but the suite does not run this test") for name in absent]
    others = Run([], {}, [], [])
    if listed:
        only = [option for name in listed for option in ("--only", name)]
        others = target.run(folder, unit, only)
        faults += [(name, f"is listed ({listed[name]}), but passes") for name in set(others.passed)]
    return expected, others, faults


def print_table(rows):
    """Prints one row for each unit as Markdown."""
    print("\n| unit | passed | failed | listed and failed | skipped by the suite |\n|---|---|---|---|---|")
    total = collections.Counter()
    for unit, expected, others in rows:
        counts = {
            "passed": len(expected.passed), "failed": len(expected.failed), "listed": len(others.failed),
            "ignored": len(expected.ignored),
        }
        total.update(counts)
        print(f"| {unit} | " + " | ".join(str(count) for count in counts.values()) + " |")
    print("| all | " + " | ".join(str(total[name]) for name in counts) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suite", type=pathlib.Path, required=True, help="a checkout of Redis")
    parser.add_argument("--unit", action="append", choices=UNITS, help="run only this unit; may be repeated")
    parser.add_argument("--port", type=int, help="port of a running server, whose data will be lost")
    parser.add_argument("--lines", type=int, default=3, help="number of lines to show for each failure")
    arguments = parser.parse_args()
    listed = tomllib.loads(LISTED.read_text())
    target = Target(arguments.port)
    rows, wrong = [], 0
    for unit in arguments.unit or UNITS:
        with tempfile.TemporaryDirectory() as folder:
            copy = copy_of(arguments.suite, pathlib.Path(folder) / "copy")
            expected, others, faults = check_unit(target, copy, unit, listed.get(unit, {}))
        rows.append((unit, expected, others))
        wrong += len(faults)
        print(f"{unit}: {len(expected.passed)} passed, {len(faults)} unexpected", flush=True)
        for name, error in sorted(faults):
            print(f"  {name}: " + "\n    ".join(error.splitlines()[: arguments.lines]), flush=True)
    print_table(rows)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
