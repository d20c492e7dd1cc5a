"""The measurement beside hostile clients runs, and they take no more memory than they may; its times mean
nothing here."""

import json
import os
import pathlib
import tempfile
import unittest

from honeycomb_clients import hostile

# What the server may take beside its store: maxmemory-clients, which is 256 MiB unless it is given, half as
# much again until the client that takes the most is disconnected, and room for the server itself.
BESIDE_MAX = (256 + 128 + 64) * hostile.MEBIBYTE


class Hostile(unittest.TestCase):
    def test_memory_is_bounded_and_gets_are_answered(self):
        with tempfile.TemporaryDirectory() as folder:
            options = "--pairs 2000 --seconds 0.3 --repetitions 1 --connections 2 --rate 200".split()
            hostile.main(["--honeycomb", os.environ["HONEYCOMB"], "--out", folder, *options])
            measured = json.loads((pathlib.Path(folder) / "hostile.json").read_text())["measured"]
        self.assertEqual([row["case"] for row in measured], [hostile.ALONE, *hostile.CASES])
        alone = measured[0]["memory"]
        for row in measured:
            self.assertTrue(0 < row["p50"] <= row["p99"] <= row["worst"], row)
            self.assertLess(row["memory"] - alone, BESIDE_MAX, row)


if __name__ == "__main__":
    unittest.main()
