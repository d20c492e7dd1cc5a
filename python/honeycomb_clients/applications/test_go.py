"""Applications in Go: the cache for go-redis, and rueidis."""

import pathlib
import tempfile
import unittest

from honeycomb_clients.applications.servers import ServerTest
from honeycomb_clients.programs import ProgramTest

FOLDER = "applications/go"
# Without optimization compilation needs half the time: rueidis has a type for each position in each
# command.
QUICKLY = "-gcflags=all=-N -l"


class Go(ProgramTest, ServerTest):
    @classmethod
    def setUpClass(cls):
        cls.needs("go")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.programs = pathlib.Path(folder.name)
        cls.run_in(FOLDER, "go", "build", QUICKLY, "-o", f"{cls.programs}/", "./...")

    def run_program(self, name):
        for server in self.servers():
            self.run_in(FOLDER, self.programs / name, *server.arguments)

    def test_go_redis_cache(self):
        self.run_program("cache")

    def test_rueidis(self):
        self.run_program("rueidis")


if __name__ == "__main__":
    unittest.main()
