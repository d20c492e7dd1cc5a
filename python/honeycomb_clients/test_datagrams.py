"""The client of batch datagrams, and all its operations with `honeycomb serve`."""

import unittest

import honeycomb_layout as layout
from honeycomb_clients import datagrams as batch
from honeycomb_clients.datagrams import Client, function, pack, unpack
from honeycomb_clients.server import Server


class Encoding(unittest.TestCase):
    def test_repetitions_are_omitted(self):
        red = [batch.put(key, b"red") for key in (b"apple", b"grape", b"cherry")]
        encoded = batch.encode([*red, batch.get(b"banana"), batch.compare_and_swap(b"banana", b"", b"sun")])
        expected = [
            b"\x02\x05\0\x03\0applered", b"\x32grape", b"\x22\x06\0cherry", b"\x11banana",
            b"\x06\x06\0\0\0\x03\0bananasun",
        ]
        self.assertEqual(encoded, b"".join(expected))

    def test_invalid_items_are_rejected(self):
        for data in (b"", b"\x01\x05\0red", b"\0\0"):
            with self.assertRaises(ValueError):
                batch.decode(data, 1)


class Operations(unittest.TestCase):
    """Database 1 is unordered."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server("--batch", "127.0.0.1:0", "--unordered", "1")

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop()

    def clients(self):
        for table in (0, 1):
            with Client(self.server.batch, table) as client:
                yield client

    def test_pairs(self):
        for client in self.clients():
            operations = [
                batch.put(b"apple", b"red"), batch.insert(b"pear", b"green"), batch.update(b"fig", b"violet"),
            ]
            statuses = [outcome.status for outcome in client.call(*operations)]
            self.assertEqual(statuses, [layout.BATCH_DONE, layout.BATCH_DONE, layout.BATCH_ABSENT])
            outcomes = client.call(*[batch.get(key) for key in (b"apple", b"pear", b"fig", b"apple")])
            self.assertEqual([outcome.value for outcome in outcomes], [b"red", b"green", None, b"red"])
            swaps = [batch.compare_and_swap(b"apple", b"red", b"brown"), batch.delete(b"pear")]
            self.assertEqual([it.status for it in client.call(*swaps)], [layout.BATCH_DONE] * 2)
            rejected = [batch.compare_and_swap(b"apple", b"red", b"x"), batch.insert(b"apple", b"")]
            statuses = [outcome.status for outcome in client.call(*rejected)]
            self.assertEqual(statuses, [layout.BATCH_DIFFERS, layout.BATCH_EXISTS])

    def test_functions(self):
        add, greater = function("add", "u16"), function("greater", "u16")
        for client in self.clients():
            client.call(batch.put(b"n", pack("u16", 5)), batch.put(b"v", pack("u16", 1, 2, 3)))
            [before, absent, wrong] = client.call(
                batch.update_scalar(b"n", add, pack("u16", 2)),
                batch.update_scalar(b"absent", add, pack("u16", 2)),
                batch.update_scalar(b"v", add, pack("u16", 2)))
            self.assertEqual((before.status, unpack("u16", before.value)), (layout.BATCH_FOUND, [5]))
            self.assertEqual(absent.status, layout.BATCH_ABSENT)
            self.assertEqual(wrong.status, layout.BATCH_NOT_APPLICABLE)
            client.call(
                batch.update_vector_with_scalar(b"v", add, pack("u16", 10)),
                batch.update_vector_with_vector(b"v", add, pack("u16", 0, 0, 5)))
            outcomes = client.call(
                batch.get(b"n"), batch.get(b"v"), batch.reduce(b"v", add, pack("u16", 100)),
                batch.select(b"v", greater, pack("u16", 11)))
            values = [unpack("u16", outcome.value) for outcome in outcomes]
            self.assertEqual(values, [[7], [11, 12, 18], [141], [12, 18]])

    def test_ranges(self):
        keys = [b"key%03d" % number for number in range(200)]
        with Client(self.server.batch) as client:
            for key in keys:
                client.call(batch.put(key, key * 10))
            [two, floor, last] = client.call(
                batch.pairs_from(b"key0", 2), batch.pairs_from(b"key0015", 1, floor_start=True),
                batch.pairs_from(b"key999", 1, backward=True))
            self.assertEqual((two.pairs, two.more), ([(key, key * 10) for key in keys[:2]], True))
            self.assertEqual((floor.pairs[0][0], last.pairs[0][0]), (keys[1], keys[-1]))
            # Several datagrams.
            [many] = client.call(batch.pairs_from(b"key", 100))
            self.assertEqual(many.pairs, [(key, key * 10) for key in keys[:100]])
        with Client(self.server.batch, 1) as client:
            [failed] = client.call(batch.pairs_from(b"", 1))
            self.assertEqual(failed.status, layout.BATCH_FAILED)

    def test_functions_of_ranges(self):
        """A range of more pairs than one operation visits, and more matching ones than a reply contains."""
        add, greater = function("add", "u32"), function("greater", "u16")
        count = 40_000
        with Client(self.server.batch) as client:
            for first in range(0, count, 50):
                numbers = range(first, first + 50)
                pairs = [(b"sum%06d" % it, pack("u16", it % 500) + pack("u32", it)) for it in numbers]
                client.call(*[batch.put(key, value) for key, value in pairs])
            reduce = batch.reduce_range(b"sum", b"sun", batch.term(add, 2, pack("u32", 7)))
            *parts, last = client.parts(reduce)
            self.assertEqual(([key for key, _ in last.pairs], last.status), ([b""], layout.BATCH_DONE))
            self.assertEqual(unpack("u32", last.pairs[0][1]), [7 + sum(range(count))])
            self.assertGreater(len(parts), 1)
            conditions = [
                batch.term(greater, 0, pack("u16", 497)),
                batch.term(function("less", "u32"), 2, pack("u32", 30_000)),
            ]
            matching = [it for it in range(10_000, 30_000) if it % 500 > 497]
            select = batch.select_range(b"sum010000", b"", *conditions)
            keys = [key for part in client.parts(select) for key, _ in part.pairs]
            self.assertEqual(keys, [b"sum%06d" % it for it in matching])
            counts = list(client.parts(batch.count_range(b"sum010000", b"", *conditions)))
            self.assertGreater(len(counts), 1)
            self.assertEqual(sum(unpack("u64", it.pairs[0][1])[0] for it in counts), len(matching))
            fold = batch.term(add, 2, pack("u32", 0))
            *_, last = client.parts(batch.reduce_range(b"sum010000", b"", fold, *conditions))
            self.assertEqual(unpack("u32", last.pairs[0][1]), [sum(matching)])
            wrong = batch.reduce_range(b"", b"", batch.term(greater, 0, pack("u16", 0)))
            self.assertEqual(client.call(wrong)[0].status, layout.BATCH_NOT_APPLICABLE)
        with Client(self.server.batch, 1) as client:
            self.assertEqual(client.call(reduce)[0].status, layout.BATCH_FAILED)

    def test_a_repeated_request_is_executed_once(self):
        for client in self.clients():
            client.call(batch.put(b"once", pack("u64", 0)))
            add = batch.update_scalar(b"once", function("add", "u64"), pack("u64", 1))
            [first] = client.call(add)
            client.identifier -= 1
            [again] = client.call(add)
            self.assertEqual(first, again)
            [counter] = client.call(batch.get(b"once"))
            self.assertEqual(unpack("u64", counter.value), [1])

    def test_rejections_are_errors(self):
        with Client(self.server.batch, 999) as client, self.assertRaises(batch.Failed):
            client.call(batch.get(b"a"))
        with Client(self.server.batch) as client, self.assertRaises(ValueError):
            client.call(batch.put(b"a", bytes(2000)))


if __name__ == "__main__":
    unittest.main()
