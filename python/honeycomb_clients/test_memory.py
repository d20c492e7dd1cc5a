"""The memory of `honeycomb serve` stays bounded even if clients request replies and do not read them."""

import re
import socket
import unittest
from pathlib import Path

from honeycomb_clients.requests import resp
from honeycomb_clients.server import Server

MEBIBYTE = 1 << 20
VALUE = bytes(4 * MEBIBYTE)
CLIENTS = 20
# Memory that the server may use in addition to its store: for each core the values of one iteration, for
# each client its unread replies, and the last error of clients with too many. The clients request many
# times as much.
GROWTH_MAX = 250 * MEBIBYTE


@unittest.skipUnless(Path("/proc/self/status").exists(), "the system does not report memory usage")
class Memory(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.clients = []
        self.addCleanup(self.end)
        self.request(b"CONFIG", b"SET", b"client-output-buffer-limit", b"16MiB", reply=b"+OK\r\n")
        self.request(b"SET", b"a", VALUE, reply=b"+OK\r\n")
        self.before = self.most_memory()

    def end(self):
        for client in self.clients:
            client.close()
        self.assertTrue(self.server.stop())

    def client(self):
        self.clients.append(socket.create_connection(("127.0.0.1", self.server.port), timeout=60))
        return self.clients[-1]

    def request(self, *request, reply):
        client = self.client()
        client.sendall(resp(*request))
        self.assertEqual(client.recv(100), reply)

    def most_memory(self):
        status = Path(f"/proc/{self.server.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s*(\d+) kB", status)[1]) * 1024

    def tearDown(self):
        self.request(b"STRLEN", b"a", reply=b":%d\r\n" % len(VALUE))
        self.assertLess(self.most_memory() - self.before, GROWTH_MAX)

    def test_values_that_no_client_reads(self):
        for client in [self.client() for _ in range(CLIENTS)]:
            client.sendall(resp(b"GET", b"a") * 100)

    def test_replies_beyond_their_limit(self):
        requests = [(b"MGET", *[b"a"] * 1000), (b"RI.RANGE", b"-", b"+")]
        for number in range(3):
            self.request(b"SET", b"a%d" % number, VALUE, reply=b"+OK\r\n")
        error = b"-ERR the replies take more than client-output-buffer-limit, which is 16777216 bytes\r\n"
        for request in requests * CLIENTS:
            self.request(*request, reply=error)

    def test_a_transaction_of_long_values(self):
        client = self.client()
        client.sendall(resp(b"MULTI") + resp(b"GET", b"a") * 1000 + resp(b"EXEC"))
        received = b""
        while not received.endswith(b"16777216 bytes\r\n"):
            received += client.recv(1 << 16)
        self.assertEqual(received.count(b"QUEUED"), 1000)

    def test_long_values_changed_by_many(self):
        clients = [self.client() for _ in range(CLIENTS)]
        for client in clients:
            client.sendall(resp(b"APPEND", b"a", b"x") + resp(b"GETRANGE", b"a", b"0", b"0"))
        for client in clients:
            reply = b""
            while reply.count(b"\r\n") < 3:
                reply += client.recv(100)
        self.request(b"SET", b"a", VALUE, reply=b"+OK\r\n")


if __name__ == "__main__":
    unittest.main()
