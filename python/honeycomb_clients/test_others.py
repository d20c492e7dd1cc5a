"""Clients in other languages against `honeycomb serve`, each if its language is on this machine."""

import pathlib
import shutil
import subprocess
import unittest

from honeycomb_clients.server import Server

HERE = pathlib.Path(__file__).parent


class Others(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop()

    def needs(self, program):
        if not shutil.which(program):
            self.skipTest(f"{program} is not on this machine")

    def run_in(self, folder, *command):
        run = subprocess.run(command, cwd=HERE / folder, capture_output=True, text=True, timeout=300)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return run.stdout

    def test_go_redis(self):
        self.needs("go")
        self.run_in("go", "go", "run", ".", str(self.server.port))

    def test_node_redis(self):
        self.needs("node")
        self.needs("npm")
        self.run_in("node", "npm", "ci", "--silent", "--no-audit", "--no-fund")
        self.run_in("node", "node", "check.js", str(self.server.port))

    def test_redis_benchmark(self):
        self.needs("redis-benchmark")
        tests = "ping,set,get,incr,mset"
        options = ["-p", str(self.server.port), "-t", tests, "-n", "2000", "-P", "16", "-r", "1000", "--csv"]
        answer = self.run_in(".", "redis-benchmark", *options)
        self.assertNotIn("ERR", answer)
        self.assertEqual(answer.count("\n"), 7, "a heading, and PING in two forms: " + answer)


if __name__ == "__main__":
    unittest.main()
