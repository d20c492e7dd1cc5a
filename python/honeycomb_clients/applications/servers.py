"""Servers for applications: each test talks to a fresh one without a password, then to one with it."""

import unittest

from honeycomb_clients.server import Server

PASSWORD = "bees and honey"


class ServerTest(unittest.TestCase):
    """A test that goes over `servers`, which stop at its end. Programs get the `arguments` of each."""

    def servers(self):
        for password in ("", PASSWORD):
            server = Server(*(["--requirepass", password] if password else []))
            server.password = password
            server.arguments = [str(server.port), *([password] if password else [])]
            self.addCleanup(self.stop, server)
            yield server

    def stop(self, server):
        self.assertTrue(server.stop(), "the server did not end well")


def url(server, database=0):
    """Where a client finds a server."""
    user = f":{PASSWORD.replace(' ', '%20')}@" if server.password else ""
    return f"redis://{user}127.0.0.1:{server.port}/{database}"
