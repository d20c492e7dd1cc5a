"""Tests that run programs in other languages, each if its language is on this machine."""

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
        """Skips a test, or from `setUpClass` all of a class, if a program is absent, and says so."""
        for program in programs:
            if not shutil.which(program):
                reason = f"{program} is not on this machine"
                print(f"skipped: {reason}", file=sys.stderr)
                raise unittest.SkipTest(reason)

    @staticmethod
    def run_in(folder, *command):
        """Runs a command in a folder, or one beside this file. Returns what it wrote; fails if it does."""
        run = subprocess.run(command, cwd=HERE / folder, capture_output=True, text=True, timeout=500)
        if run.returncode:
            raise AssertionError(f"{' '.join(map(str, command))}\n{run.stdout}{run.stderr}")
        return run.stdout
