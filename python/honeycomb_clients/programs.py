"""Tests that run programs in other languages, if these languages are installed."""

import pathlib
import shutil
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).parent


class ProgramTest(unittest.TestCase):
    """A test that runs programs."""

    @staticmethod
    def needs(*programs):
        """Skips a test, or from `setUpClass` all tests of a class, and prints the reason, if a program is
        not installed."""
        for program in programs:
            if not shutil.which(program):
                reason = f"{program} is not installed"
                print(f"skipped: {reason}", file=sys.stderr)
                raise unittest.SkipTest(reason)

    @staticmethod
    def run_in(folder, *command):
        """Runs a command in a folder, which may be relative to this file. Returns its output. Fails if the
        command fails."""
        run = subprocess.run(command, cwd=HERE / folder, capture_output=True, text=True, timeout=500)
        if run.returncode:
            raise AssertionError(f"{' '.join(map(str, command))}\n{run.stdout}{run.stderr}")
        return run.stdout
