"""The measurement of throughput works. Its numbers have no meaning here."""

import json
import os
import pathlib
import tempfile
import unittest

from honeycomb_clients import throughput


class Throughput(unittest.TestCase):
    def test_everything_is_measured(self):
        with tempfile.TemporaryDirectory() as folder:
            options = "--pairs 200 --seconds 0.01 --repetitions 1 --connections 2 --load-max 1000".split()
            throughput.main(["--honeycomb", os.environ["HONEYCOMB"], "--out", folder, *options])
            measured = json.loads((pathlib.Path(folder) / "throughput.json").read_text())["measured"]
        own = [row for row in measured if row["server"] == "honeycomb"]
        cases = {(row["workload"], row["pipeline"]) for row in own}
        self.assertEqual(cases, {(name, ahead) for name in ("get", "set", "range") for ahead in (1, 16, 128)})
        self.assertTrue(all(row["rate"] > 0 for row in measured))

    def test_a_loaded_machine_is_rejected(self):
        with self.assertRaisesRegex(SystemExit, "more than --load-max -1"):
            throughput.main(["--load-max", "-1"])


if __name__ == "__main__":
    unittest.main()
