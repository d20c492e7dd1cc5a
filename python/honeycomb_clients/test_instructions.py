"""The measurement of instructions works."""

import json
import os
import pathlib
import shutil
import tempfile
import unittest

from honeycomb_clients import instructions


@unittest.skipUnless(shutil.which("valgrind"), "valgrind is not installed")
class Instructions(unittest.TestCase):
    def test_everything_is_measured(self):
        with tempfile.TemporaryDirectory() as folder:
            options = "--pairs 2000 --batches 1 --connections 2 --pipeline 8".split()
            options += ["--workloads", *instructions.SPANS]
            instructions.main(["--honeycomb", os.environ["HONEYCOMB"], "--out", folder, *options])
            measured = json.loads((pathlib.Path(folder) / "instructions.json").read_text())["measured"]
        own = [row for row in measured if row["server"] == "honeycomb"]
        self.assertEqual([row["workload"] for row in own], list(instructions.SPANS))
        # A request needs some instructions to be parsed, but not as many as it would if it waited for all
        # others.
        self.assertTrue(all(500 < row["instructions"] < 1_000_000 for row in measured))


if __name__ == "__main__":
    unittest.main()
