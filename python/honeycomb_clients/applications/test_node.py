"""Applications in JavaScript: ioredis, sessions of Express by connect-redis, Keyv."""

import unittest

from honeycomb_clients.applications.servers import ServerTest
from honeycomb_clients.programs import ProgramTest

FOLDER = "applications/node"


class Node(ProgramTest, ServerTest):
    @classmethod
    def setUpClass(cls):
        cls.needs("node", "npm")
        cls.run_in(FOLDER, "npm", "ci", "--silent", "--no-audit", "--no-fund")

    def run_script(self, name):
        for server in self.servers():
            self.run_in(FOLDER, "node", name, *server.arguments)

    def test_ioredis(self):
        self.run_script("ioredis.js")

    def test_connect_redis(self):
        self.run_script("sessions.js")

    def test_keyv(self):
        self.run_script("keyv.js")


if __name__ == "__main__":
    unittest.main()
