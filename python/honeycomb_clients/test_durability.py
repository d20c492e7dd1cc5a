"""The measurement of durability works. Its numbers have no meaning here."""

import contextlib
import io
import os
import tempfile
import unittest

from honeycomb_clients import durability


class Durability(unittest.TestCase):
    def test_everything_is_measured(self):
        options = ["--repetitions", "1", "--scale", "0.002", "--pairs", "2000"]
        output = io.StringIO()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(output):
            durability.main(["--honeycomb", os.environ["HONEYCOMB"], "--dir", folder, *options])
        lines = output.getvalue().splitlines()
        cases = [tuple(line.split(" | ")[:2]) for line in lines]
        for pipeline in durability.PIPELINES:
            for policy in durability.POLICIES:
                self.assertIn((f"| {pipeline}", policy), cases)
        self.assertTrue(any(line.startswith("| sets a second") for line in lines), lines)
        self.assertTrue(any(line.startswith("| checkpoint |") for line in lines), lines)
        self.assertTrue(any(line.startswith("| log |") for line in lines), lines)
        self.assertTrue(any(line.startswith("| redis |") for line in lines), lines)


if __name__ == "__main__":
    unittest.main()
