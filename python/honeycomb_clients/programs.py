"""Tests that run programs in other languages, each if its language is on this machine."""

import pathlib
import shutil
import subprocess
import unittest

HERE = pathlib.Path(__file__).parent


class ProgramTest(unittest.TestCase):
    """A test that runs programs."""

    @staticmethod
    def needs(*programs):
        """Skips a test, or all of a class from its `setUpClass`, if a program is absent."""
        for program in programs:
            if not shutil.which(program):
                raise unittest.SkipTest(f"{program} is not on this machine")

    @staticmethod
    def run_in(folder, *command):
        """Runs a command in a folder, or one beside this file. Returns what it wrote; fails if it does."""
        run = subprocess.run(command, cwd=HERE / folder, capture_output=True, text=True, timeout=500)
        if run.returncode:
            raise AssertionError(f"{' '.join(map(str, command))}\n{run.stdout}{run.stderr}")
        return run.stdout
