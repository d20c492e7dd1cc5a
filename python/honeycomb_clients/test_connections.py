"""`honeycomb serve` accepts ten thousand connections, its default limit, and rejects one more."""

import resource
import socket
import unittest

from honeycomb_clients.server import Server

CLIENTS = 10_000
# Other open files of this process, and of a server.
OTHER_FILES = 200


def connect(server):
    return socket.create_connection(("127.0.0.1", server.port), timeout=60)


class Connections(unittest.TestCase):
    def setUp(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard != resource.RLIM_INFINITY and hard < CLIENTS + OTHER_FILES:
            self.skipTest(f"the system lets a process have {hard} files open")
        # The server must raise the default limit of many systems.
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 1024), hard))
        self.server = Server()
        resource.setrlimit(resource.RLIMIT_NOFILE, (CLIENTS + OTHER_FILES, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        self.clients = []
        self.addCleanup(self.end)

    def end(self):
        for client in self.clients:
            client.close()
        self.assertTrue(self.server.stop())

    def request_all(self, request, reply):
        for number, client in enumerate(self.clients):
            client.sendall(request(number))
        for number, client in enumerate(self.clients):
            self.assertEqual(client.recv(100), reply(number))

    def test_ten_thousand_are_served_and_one_more_is_rejected(self):
        self.clients += [connect(self.server) for _ in range(CLIENTS)]
        self.request_all(lambda number: b"SET key%d %d\r\n" % (number, number), lambda number: b"+OK\r\n")
        with connect(self.server) as further:
            self.assertEqual(further.recv(100), b"-ERR max number of clients reached\r\n")
            self.assertEqual(further.recv(100), b"")
        self.request_all(
            lambda number: b"GET key%d\r\n" % number,
            lambda number: b"$%d\r\n%d\r\n" % (len(str(number)), number),
        )
        self.clients.pop().close()
        while True:
            with connect(self.server) as next_one:
                next_one.sendall(b"PING\r\n")
                # Repeats until the server has noticed the closed connection.
                if next_one.recv(100) == b"+PONG\r\n":
                    return


if __name__ == "__main__":
    unittest.main()
