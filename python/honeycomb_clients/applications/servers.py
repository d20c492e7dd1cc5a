"""Servers for applications: each test uses a fresh server without a password, then one with a password."""

import unittest

from honeycomb_clients.server import Server

PASSWORD = "bees and honey"


class ServerTest(unittest.TestCase):
    """A test that iterates over `servers`, which stop at its end. Programs get the `arguments` of each
    server."""

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
    """Returns the URL of a server for clients."""
    user = f":{PASSWORD.replace(' ', '%20')}@" if server.password else ""
    return f"redis://{user}127.0.0.1:{server.port}/{database}"
