"""redis-py with `honeycomb serve`."""

import threading
import unittest

import redis

from honeycomb_clients.server import Server


class RedisPy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop()

    def clients(self):
        for protocol in (2, 3):
            with redis.Redis(port=self.server.port, protocol=protocol) as client:
                client.flushall()
                yield client

    def test_strings_numbers_and_expiry(self):
        for client in self.clients():
            self.assertTrue(client.set("a", "1", px=100_000))
            self.assertEqual(client.get("a"), b"1")
            self.assertIsNone(client.get("b"))
            self.assertEqual(client.incrby("a", 41), 42)
            self.assertTrue(90 < client.ttl("a") <= 100)
            self.assertTrue(client.mset({"b": "2", "c": "3"}))
            self.assertEqual(client.mget("a", "b", "x"), [b"42", b"2", None])
            self.assertEqual(client.delete("a", "b", "x"), 2)
            with self.assertRaises(redis.ResponseError):
                client.set("c", "x") and client.incr("c")
            self.assertEqual(client.object("encoding", "c"), b"embstr")
            self.assertGreater(client.memory_usage("c"), 2)

    def test_scan_iter_returns_every_key_once(self):
        for client in self.clients():
            keys = [f"key{number:04}".encode() for number in range(1000)]
            client.mset({key: b"" for key in keys})
            self.assertEqual(list(client.scan_iter("key*", count=7)), keys)
            self.assertEqual(client.keys("key000?"), keys[:10])

    def test_replies_about_clients(self):
        for client in self.clients():
            client.client_setname("bee")
            mine = client.client_info()
            self.assertEqual((mine["name"], mine["cmd"], mine["user"]), ("bee", "client|info", "default"))
            self.assertIn(str(mine["id"]), [one["id"] for one in client.client_list()])
            self.assertTrue(client.info()["redis_version"].startswith("8."))
            self.assertEqual(client.info("replication")["role"], "master")
            # Text or bytes, depending on the version of the protocol.
            keys = client.command_getkeys("MSET", "a", 1, "b", 2)
            self.assertIn(keys, (["a", "b"], [b"a", b"b"]))
            self.assertGreater(client.command_count(), 50)
            self.assertIn("get", client.command())
            self.assertIn(client.acl_whoami(), ("default", b"default"))
            self.assertEqual(client.role()[0], b"master")
            self.assertEqual(len(client.time()), 2)
            with self.server_connection() as other:
                other.ping()
                self.assertEqual(client.client_kill_filter(_id=other.client_id()), 1)

    def test_a_monitor_receives_commands(self):
        with self.server_connection() as client, client.monitor() as monitor:
            with self.server_connection() as other:
                other.set("a", 'x"y z')
            shown = next(iter(monitor.listen()))
            while not shown["command"].startswith("SET"):
                shown = next(iter(monitor.listen()))
            self.assertEqual(shown["command"], 'SET a x"y z')

    def server_connection(self):
        return redis.Redis(port=self.server.port)

    def test_pipelines(self):
        for client in self.clients():
            with client.pipeline(transaction=False) as pipeline:
                for number in range(500):
                    pipeline.set(f"key{number}", number).get(f"key{number}")
                answers = pipeline.execute()
            expected = [answer for number in range(500) for answer in (True, str(number).encode())]
            self.assertEqual(answers, expected)

    def test_watched_transactions_lose_no_update(self):
        def add(client):
            def transfer(pipeline):
                sum_before = int(pipeline.get("sum") or 0)
                pipeline.multi()
                pipeline.set("sum", sum_before + 1)

            for _ in range(50):
                client.transaction(transfer, "sum")

        for client in self.clients():
            threads = [threading.Thread(target=add, args=(client,)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(client.get("sum"), b"200")

    def test_ranges(self):
        for client in self.clients():
            client.mset({"a": "1", "b": "2", "d": "4"})
            found = client.execute_command("RI.SCAN", "c", "FLOOR", "COUNT", 2)
            self.assertEqual(found, [b"b", b"2", b"d", b"4"])

    def test_the_slow_log_and_parameters(self):
        for client in self.clients():
            self.assertEqual(client.config_get("maxclients"), {"maxclients": "10000"})
            self.assertTrue(client.config_set("slowlog-log-slower-than", 0))
            client.get("a")
            self.assertGreater(client.slowlog_len(), 0)
            commands = [entry["command"] for entry in client.slowlog_get(5)]
            self.assertIn(b"GET a", commands)
            self.assertTrue(client.slowlog_reset() and client.config_resetstat())
            self.assertTrue(client.config_set("slowlog-log-slower-than", 10_000))

    def test_replies_about_the_server(self):
        for client in self.clients():
            self.assertTrue(client.ping())
            self.assertIn("used_memory", client.info())
            self.assertGreater(client.command_count(), 50)
            client.client_setname("me")
            self.assertIn(client.client_getname(), ("me", b"me"), "text or bytes, depending on the protocol")


if __name__ == "__main__":
    unittest.main()
