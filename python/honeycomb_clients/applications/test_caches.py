"""flask-caching, aiocache, walrus and dogpile.cache with `honeycomb serve`.

The server runs no scripts, so the tests omit `optimistic_lock` and the release of RedLock of aiocache,
locks and `cas` of walrus, and distributed locks of dogpile.cache.
"""

import asyncio
import time
import unittest

import aiocache
import aiocache.serializers
import dogpile.cache
import flask
import flask_caching
import walrus

from honeycomb_clients.applications.servers import ServerTest, url


class FlaskCaching(ServerTest):
    def caches(self):
        """Yields an application and its cache for each server."""
        for server in self.servers():
            app = flask.Flask(__name__)
            settings = {"CACHE_TYPE": "RedisCache", "CACHE_KEY_PREFIX": "app_"}
            cache = flask_caching.Cache(app, config={**settings, "CACHE_REDIS_URL": url(server)})
            with app.app_context():
                yield app, cache

    def test_values(self):
        for _, cache in self.caches():
            self.assertTrue(cache.set("a", {"x": [1, 2]}))
            self.assertEqual(cache.get("a"), {"x": [1, 2]})
            self.assertIsNone(cache.get("b"))
            self.assertTrue(cache.add("b", 1))
            self.assertFalse(cache.add("b", 2))
            self.assertTrue(cache.has("b"))
            self.assertTrue(cache.set_many({"c": 3, "d": 4}))
            self.assertEqual(cache.get_many("b", "c", "d", "e"), [1, 3, 4, None])
            self.assertEqual(cache.get_dict("b", "e"), {"b": 1, "e": None})
            self.assertTrue(cache.delete("b"))
            self.assertFalse(cache.has("b"))
            self.assertTrue(cache.delete_many("c", "d"))
            self.assertEqual(cache.get_many("c", "d"), [None, None])
            self.assertTrue(cache.set("u", 1) and cache.unlink("u"))
            self.assertIsNone(cache.get("u"))

    def test_numbers(self):
        for _, cache in self.caches():
            self.assertEqual(cache.cache.inc("n", 5), 5)
            self.assertEqual(cache.cache.dec("n", 2), 3)

    def test_timeouts_and_clear(self):
        for _, cache in self.caches():
            cache.set("short", 1, timeout=1)
            cache.set_many({"short2": 1}, timeout=1)
            cache.set("for ever", 1, timeout=0)
            self.assertEqual(cache.get_many("short", "short2", "for ever"), [1, 1, 1])
            time.sleep(1.1)
            self.assertEqual(cache.get_many("short", "short2", "for ever"), [None, None, 1])
            cache.clear()
            self.assertIsNone(cache.get("for ever"))

    def test_views_and_functions(self):
        for app, cache in self.caches():
            calls = []

            @cache.memoize(timeout=100)
            def double(number):
                calls.append(number)
                return number * 2

            @app.route("/<int:number>")
            @cache.cached(timeout=100, query_string=True)
            def view(number):
                return f"{double(number)} {len(calls)}"

            browser = app.test_client()
            self.assertEqual([browser.get("/4").text for _ in range(2)], ["8 1", "8 1"])
            self.assertEqual((double(4), double(5), double(5), calls), (8, 10, 10, [4, 5]))
            cache.delete_memoized(double, 5)
            self.assertEqual((double(4), double(5), calls), (8, 10, [4, 5, 5]))
            cache.delete_memoized(double)
            self.assertEqual((double(4), double(5), calls), (8, 10, [4, 5, 5, 4, 5]))


class AioCache(ServerTest):
    def talk(self, dialogue):
        """Runs a dialogue with a cache of each server."""
        async def run(server):
            options = {"endpoint": "127.0.0.1", "port": server.port, "password": server.password or None}
            options |= {"namespace": "main", "serializer": aiocache.serializers.PickleSerializer()}
            async with aiocache.Cache(aiocache.Cache.REDIS, **options) as cache:
                await dialogue(cache)

        for server in self.servers():
            asyncio.run(run(server))

    def test_values(self):
        async def dialogue(cache):
            self.assertTrue(await cache.set("a", {"x": [1, 2]}))
            self.assertEqual(await cache.get("a"), {"x": [1, 2]})
            self.assertEqual(await cache.get("b", default=7), 7)
            self.assertTrue(await cache.add("b", 1, ttl=100))
            with self.assertRaises(ValueError):
                await cache.add("b", 2)
            self.assertTrue(await cache.exists("b"))
            await cache.multi_set([("c", 3), ("d", 4)], ttl=100)
            self.assertEqual(await cache.multi_get(["b", "c", "d", "e"]), [1, 3, 4, None])
            self.assertEqual(await cache.delete("b"), 1)
            self.assertFalse(await cache.exists("b"))
            self.assertEqual(sorted(await cache.raw("keys", "main:*")), [b"main:a", b"main:c", b"main:d"])
            await cache.clear(namespace="main")
            self.assertEqual(await cache.multi_get(["a", "c", "d"]), [None] * 3)

        self.talk(dialogue)

    def test_numbers(self):
        async def dialogue(cache):
            self.assertEqual(await cache.increment("n", 5), 5)
            self.assertEqual(await cache.increment("n", -2), 3)
            await cache.set("text", "x")
            with self.assertRaises(TypeError):
                await cache.increment("text")

        self.talk(dialogue)

    def test_timeouts(self):
        async def dialogue(cache):
            await cache.set("short", 1, ttl=1)
            await cache.set("shorter", 1, ttl=1.0)
            await cache.multi_set([("short2", 1), ("for ever", 1)], ttl=1.0)
            self.assertTrue(await cache.expire("for ever", 0))
            self.assertTrue(await cache.expire("short", 100))
            names = ["short", "shorter", "short2", "for ever"]
            self.assertEqual(await cache.multi_get(names), [1, 1, 1, 1])
            await asyncio.sleep(1.2)
            self.assertEqual(await cache.multi_get(names), [1, None, None, 1])
            await cache.clear()
            self.assertEqual(await cache.multi_get(names), [None] * 4)

        self.talk(dialogue)

    def test_cached_functions(self):
        async def dialogue(cache):
            calls = []

            @aiocache.cached(ttl=100)
            async def double(number):
                calls.append(number)
                return number * 2

            double.cache = cache
            found = [await double(4), await double(4), await double(5)]
            self.assertEqual((found, calls), ([8, 8, 10], [4, 5]))

        self.talk(dialogue)


class Walrus(ServerTest):
    def databases(self):
        for server in self.servers():
            database = walrus.Database(host="127.0.0.1", port=server.port, password=server.password or None)
            self.addCleanup(database.close)
            yield database

    def test_cache(self):
        for database in self.databases():
            cache = database.cache(name="app", default_timeout=100)
            cache.set("a", {"x": [1, 2]})
            self.assertEqual(cache.get("a"), {"x": [1, 2]})
            self.assertTrue(98 <= database.ttl("app:a") <= 100)
            self.assertEqual(cache.get("b", 7), 7)
            self.assertTrue(cache.set_many({"c": 3, "d": 4}, timeout=100))
            self.assertEqual(cache.get_many(["a", "c", "e"]), {"a": {"x": [1, 2]}, "c": 3})
            self.assertEqual(sorted(cache.keys(strip_prefix=True)), ["a", "c", "d"])
            self.assertEqual((cache.delete("a"), cache.delete_many(["c", "x"])), (1, 1))
            self.assertEqual((cache.incr("n"), cache.incr("n", 4)), (1, 5))
            cache.flush()
            self.assertEqual(list(cache.keys()), [])

    def test_timeouts(self):
        for database in self.databases():
            cache = database.cache()
            cache.set("a", 1, timeout=1)
            self.assertEqual(cache.get("a"), 1)
            time.sleep(1.1)
            self.assertIsNone(cache.get("a"))

    def test_cached_functions(self):
        for database in self.databases():
            calls = []

            @database.cache().cached(timeout=100)
            def double(number):
                calls.append(number)
                return number * 2

            self.assertEqual((double(4), double(4), double(5), calls), (8, 8, 10, [4, 5]))
            double.bust(4)
            self.assertEqual((double(4), calls), (8, [4, 5, 4]))

    def test_database(self):
        for database in self.databases():
            database["a"] = "1"
            self.assertEqual(database["a"], b"1")
            self.assertTrue("a" in database and "b" not in database)
            self.assertEqual(len(database), 1)
            with self.assertRaises(KeyError):
                database["b"]
            del database["a"]
            counter = database.counter("hits")
            counts = (counter.incr(), counter.incr(4), counter.decr(2), counter.value())
            self.assertEqual(counts, (1, 5, 3, 3))
            with database.atomic() as transaction:
                transaction.pipe.set("c", "3").incr("c")
                self.assertEqual(transaction.commit(), [True, 4])

    def test_bits(self):
        for database in self.databases():
            bits = database.bit_field("bits")
            self.assertEqual(bits.set("u4", 0, 9).incrby("u4", 0, 3).get("u8", 0).execute(), [0, 12, 192])
            self.assertEqual(bits.bit_count(), 2)
            self.assertEqual((database.getbit("bits", 0), database.getbit("bits", 2)), (1, 0))


class Dogpile(ServerTest):
    def regions(self, **options):
        for server in self.servers():
            place = {"host": "127.0.0.1", "port": server.port, "password": server.password or None}
            yield dogpile.cache.make_region(key_mangler=lambda key: "app:" + key).configure(
                "dogpile.cache.redis", expiration_time=100, arguments={**place, **options}
            )

    def test_values(self):
        for options in ({}, {"redis_expiration_time": 200}):
            for region in self.regions(**options):
                region.set("a", {"x": [1, 2]})
                self.assertEqual(region.get("a"), {"x": [1, 2]})
                self.assertIs(region.get("b"), dogpile.cache.api.NO_VALUE)
                region.set_multi({"c": 3, "d": 4})
                absent = dogpile.cache.api.NO_VALUE
                self.assertEqual(region.get_multi(["c", "b", "d"]), [3, absent, 4])
                region.delete("c")
                region.delete_multi(["d", "a"])
                self.assertEqual(region.get_multi(["a", "c", "d"]), [absent] * 3)

    def test_redis_forgets_too(self):
        for region in self.regions(redis_expiration_time=1):
            region.set("a", 1)
            self.assertEqual(region.get("a", ignore_expiration=True), 1)
            time.sleep(1.1)
            self.assertIs(region.get("a", ignore_expiration=True), dogpile.cache.api.NO_VALUE)

    def test_values_that_are_made(self):
        for region in self.regions():
            calls = []

            @region.cache_on_arguments()
            def double(number):
                calls.append(number)
                return number * 2

            self.assertEqual((double(4), double(4), double(5), calls), (8, 8, 10, [4, 5]))
            double.invalidate(4)
            self.assertEqual((double(4), double.refresh(5), calls), (8, 10, [4, 5, 4, 5]))
            found = region.get_or_create_multi(["p", "q"], lambda *keys: [key.upper() for key in keys])
            self.assertEqual(found, ["P", "Q"])
            region.invalidate()
            self.assertEqual((double(4), calls), (8, [4, 5, 4, 5, 4]))


if __name__ == "__main__":
    unittest.main()
