"""The measurement with hostile clients works, and the clients do not exceed the limit of memory. Its times
have no meaning here."""

import json
import os
import pathlib
import tempfile
import unittest

from honeycomb_clients import hostile

# The memory that the server may use in addition to its store: maxmemory-clients, which is 256 MiB by
# default, half of that again until the server disconnects the largest client, and room for the server
# itself.
GROWTH_MAX = (256 + 128 + 64) * hostile.MEBIBYTE


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
            self.assertLess(row["memory"] - alone, GROWTH_MAX, row)


if __name__ == "__main__":
    unittest.main()
