"""Applications in Java: Spring Data Redis with Lettuce, and buckets of Redisson."""

import pathlib
import tempfile
import unittest

from honeycomb_clients.applications.servers import ServerTest
from honeycomb_clients.programs import HERE, ProgramTest

FOLDER = "applications/java"


class Java(ProgramTest, ServerTest):
    @classmethod
    def setUpClass(cls):
        cls.needs("java", "javac", "mvn")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        libraries, classes = pathlib.Path(folder.name, "libraries"), pathlib.Path(folder.name, "classes")
        copy = ["dependency:copy-dependencies", f"-DoutputDirectory={libraries}"]
        cls.run_in(FOLDER, "mvn", "-q", "-B", *copy)
        sources = sorted(path.name for path in (HERE / FOLDER).glob("*.java"))
        cls.run_in(FOLDER, "javac", "-Xlint:all", "-Werror", "-cp", f"{libraries}/*", "-d", classes, *sources)
        cls.path = f"{classes}:{libraries}/*"

    def run_class(self, name):
        for server in self.servers():
            self.run_in(FOLDER, "java", "-cp", self.path, name, *server.arguments)

    def test_spring(self):
        self.run_class("Spring")

    def test_redisson(self):
        self.run_class("Bucket")


if __name__ == "__main__":
    unittest.main()
