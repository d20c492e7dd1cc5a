"""The measurement of latency works. Its numbers have no meaning here."""

import json
import os
import pathlib
import tempfile
import unittest

from honeycomb_clients import latency


class Latency(unittest.TestCase):
    def test_everything_is_measured(self):
        with tempfile.TemporaryDirectory() as folder:
            options = "--pairs 2000 --seconds 0.05 --repetitions 1 --connections 2".split()
            latency.main(["--honeycomb", os.environ["HONEYCOMB"], "--out", folder, *options])
            measured = json.loads((pathlib.Path(folder) / "latency.json").read_text())["measured"]
        own = [row for row in measured if row["server"] == "honeycomb"]
        self.assertEqual([row["case"] for row in own], ["alone", "with a reader of all pairs"])
        self.assertTrue(all(0 < row["p50"] <= row["p99"] for row in measured))


if __name__ == "__main__":
    unittest.main()
