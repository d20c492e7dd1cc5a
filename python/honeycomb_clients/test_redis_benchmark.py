"""The string tests of redis-benchmark run to completion with all its options."""

import csv
import io
import subprocess
import unittest

from honeycomb_clients.programs import ProgramTest
from honeycomb_clients.server import Server

PASSWORD = "secret"
# Names of the tests for -t, and their names in the output.
STRINGS = {
    "ping_inline": "PING_INLINE", "ping_mbulk": "PING_MBULK", "set": "SET", "get": "GET", "incr": "INCR",
    "mset": "MSET (10 keys)",
}
# Options that change how redis-benchmark sends requests.
WAYS = {
    "as by default": ["-n", "30000"],
    "ahead": ["-n", "20000", "-P", "64", "-r", "1000"],
    "threads": ["-n", "20000", "--threads", "2", "-c", "100", "-r", "100000"],
    "RESP3": ["-n", "5000", "-3"],
    "another table": ["-n", "5000", "--dbnum", "7"],
    "a connection each": ["-n", "500", "-k", "0"],
    "long values": ["-n", "1000", "-d", "60000", "-P", "4", "-r", "20"],
}
COMMANDS = [
    "SETEX key:__rand_int__ 100 x", "PSETEX key:__rand_int__ 100000 x", "SET key:__rand_int__ x EX 100",
    "GETSET key:__rand_int__ x", "APPEND key:__rand_int__ x", "EXPIRE key:__rand_int__ 100",
    "INCRBYFLOAT number:__rand_int__ 0.5", "SETBIT bits:__rand_int__ 7 1", "DEL key:__rand_int__",
    "MGET key:__rand_int__ key:__rand_int__ key:__rand_int__",
]


class RedisBenchmark(ProgramTest):
    def setUp(self):
        self.needs("redis-benchmark")
        self.server = Server("--requirepass", PASSWORD, memory="256MiB")
        self.addCleanup(lambda: self.assertTrue(self.server.stop()))

    def run_benchmark(self, *options):
        """Returns the names of the completed tests, in order, and the result of the process."""
        command = ["redis-benchmark", "-p", str(self.server.port), "-a", PASSWORD, "--csv", *options]
        run = subprocess.run(command, capture_output=True, text=True, timeout=120)
        rows = list(csv.reader(io.StringIO(run.stdout)))
        return [row[0] for row in rows[1:]], run

    def test_strings(self):
        for way, options in WAYS.items():
            with self.subTest(way):
                names, run = self.run_benchmark("-t", ",".join(STRINGS), *options)
                self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
                self.assertEqual(names, list(STRINGS.values()))
                self.assertNotIn("ERR", run.stdout + run.stderr)

    def test_single_commands(self):
        for line in COMMANDS:
            with self.subTest(line):
                names, run = self.run_benchmark("-n", "2000", "-P", "8", "-r", "500", *line.split())
                self.assertEqual((run.returncode, names), (0, [line]), run.stdout + run.stderr)

    def test_all_tests_end_at_the_first_list(self):
        """Without -t redis-benchmark also tests lists, sets, hashes and sorted sets, and ends at the first
        error."""
        names, run = self.run_benchmark("-n", "2000")
        before_lists = [name for name in STRINGS.values() if not name.startswith("MSET")]
        self.assertEqual((run.returncode, names), (1, before_lists), run.stdout + run.stderr)
        self.assertIn("ERR unknown command 'LPUSH'", run.stdout + run.stderr)


if __name__ == "__main__":
    unittest.main()
