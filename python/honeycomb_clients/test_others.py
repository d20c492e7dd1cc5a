"""Clients in other languages with `honeycomb serve`, if these languages are installed."""

import unittest

from honeycomb_clients.programs import ProgramTest
from honeycomb_clients.server import Server


class Others(ProgramTest):
    def setUp(self):
        self.server = Server()
        self.addCleanup(lambda: self.assertTrue(self.server.stop()))

    def test_go_redis(self):
        self.needs("go")
        self.run_in("go", "go", "run", ".", str(self.server.port))

    def test_node_redis(self):
        self.needs("node", "npm")
        self.run_in("node", "npm", "ci", "--silent", "--no-audit", "--no-fund")
        self.run_in("node", "node", "check.js", str(self.server.port))


if __name__ == "__main__":
    unittest.main()
