"""Steps run in order, the first failure ends the run, and the table names it."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import steps

SCRIPT = Path(__file__).with_name("steps.py")
MAKEFILE = "first second third:\n\t@echo ran $@\nbroken:\n\t@exit 3\n"


def run(*targets: str) -> subprocess.CompletedProcess:
    environment = dict(os.environ)
    environment.pop("MAKEFLAGS", None)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "Makefile").write_text(MAKEFILE)
        command = [sys.executable, SCRIPT, *targets]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


class Steps(unittest.TestCase):
    def test_targets_run_in_order(self):
        done = run("second", "first")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(done.stdout.index("ran second"), done.stdout.index("ran first"))
        rows = done.stdout.splitlines()[-3:]
        self.assertEqual([row.split()[0] for row in rows], ["second", "first", "total"])

    def test_the_first_failure_ends_the_run(self):
        done = run("first", "broken", "third")
        self.assertNotEqual(done.returncode, 0)
        self.assertNotIn("ran third", done.stdout)
        rows = done.stdout.splitlines()[-3:]
        self.assertEqual([row.split()[0] for row in rows], ["first", "broken", "total"])
        self.assertTrue(rows[1].endswith("failed"))
        self.assertIn("step broken failed", done.stderr)

    def test_no_target_is_an_error(self):
        self.assertEqual(run().returncode, 2)

    def test_the_table_adds_up(self):
        text = steps.table([("format", 1.25), ("clippy", 60.0)], 0)
        self.assertEqual(text.splitlines(), ["format      1.2 s", "clippy     60.0 s", "total      61.2 s"])


if __name__ == "__main__":
    unittest.main()
