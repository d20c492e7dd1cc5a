"""Applications in JavaScript: ioredis, sessions of Express with connect-redis, and Keyv."""

import shutil
import tempfile
import unittest

from honeycomb_clients.applications.servers import ServerTest
from honeycomb_clients.programs import HERE, ProgramTest


class Node(ProgramTest, ServerTest):
    @classmethod
    def setUpClass(cls):
        cls.needs("node", "npm")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = shutil.copytree(HERE / "applications/node", f"{folder.name}/node")
        cls.run_in(cls.folder, "npm", "ci", "--silent", "--no-audit", "--no-fund")

    def run_script(self, name):
        for server in self.servers():
            self.run_in(self.folder, "node", name, *server.arguments)

    def test_ioredis(self):
        self.run_script("ioredis.js")

    def test_connect_redis(self):
        self.run_script("sessions.js")

    def test_keyv(self):
        self.run_script("keyv.js")


if __name__ == "__main__":
    unittest.main()
