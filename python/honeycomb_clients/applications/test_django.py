"""Django's own cache and that of django-redis, and their users: sessions, and cached pages.

The server runs no scripts, so the tests omit the release of django-redis's locks. Its `incr` and `decr` run
a script, too. If the server rejects it they get, add and set, so they work for keys that exist, but are not
atomic.
"""

import asyncio
import time
import unittest

import django
from django.conf import settings
from django.contrib.sessions.backends.cache import SessionStore
from django.core.cache import cache, caches
from django.http import HttpResponse
from django.test import Client, override_settings
from django.urls import path
from django.views.decorators.cache import cache_page

from honeycomb_clients.applications.servers import ServerTest, url

DJANGO = "django.core.cache.backends.redis.RedisCache"
DJANGO_REDIS = "django_redis.cache.RedisCache"


settings.configure(
    ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, SECRET_KEY="of these tests", USE_TZ=True,
    SESSION_ENGINE="django.contrib.sessions.backends.cache",
)
django.setup()


@cache_page(60)
def page(request):
    return HttpResponse(str(time.monotonic_ns()))


urlpatterns = [path("page", page)]


class CacheTest(ServerTest):
    """The tests of one backend."""

    def caches(self, backend):
        """Configures Django with a cache at each server, and with another one in its next database."""
        for server in self.servers():
            both = {
                "default": {"BACKEND": backend, "LOCATION": url(server)},
                "other": {"BACKEND": backend, "LOCATION": url(server, 1), "KEY_PREFIX": "other"},
            }
            changed = override_settings(CACHES=both)
            changed.enable()
            self.addCleanup(changed.disable)
            yield cache


class EachBackend:
    """The guarantees of Django for every cache."""

    backend = None

    def test_values(self):
        for cache in self.caches(self.backend):
            values = [None, 0, -7, 2**70, 1.5, "text", "höney", b"\0\r\n\xff", {"a": [1, (2, 3)]}]
            values.append("x" * 2_000_000)
            for number, value in enumerate(values):
                cache.set(f"key-{number}", value)
            for number, value in enumerate(values):
                self.assertEqual(cache.get(f"key-{number}", "absent"), value)
            self.assertEqual(cache.get("no-such-key", "absent"), "absent")
            self.assertTrue(cache.has_key("key-0") and "key-1" in cache)
            self.assertFalse(cache.has_key("no-such-key"))
            self.assertTrue(cache.delete("key-1"))
            self.assertFalse(cache.delete("key-1"))

    def test_add_and_get_or_set(self):
        for cache in self.caches(self.backend):
            self.assertTrue(cache.add("a", 1))
            self.assertFalse(cache.add("a", 2))
            self.assertEqual(cache.get("a"), 1)
            self.assertEqual(cache.get_or_set("a", 3), 1)
            self.assertEqual(cache.get_or_set("b", lambda: 4, 100), 4)
            self.assertEqual(cache.get("b"), 4)
            self.assertTrue(cache.add("gone-at-once", 1, timeout=0))
            self.assertIsNone(cache.get("gone-at-once"))

    def test_numbers(self):
        for cache in self.caches(self.backend):
            cache.set("n", 40)
            self.assertEqual(cache.incr("n"), 41)
            self.assertEqual(cache.incr("n", 9), 50)
            self.assertEqual(cache.decr("n", 8), 42)
            self.assertEqual(cache.get("n"), 42)

    def test_many(self):
        for cache in self.caches(self.backend):
            pairs = {f"key{number}": {"number": number} for number in range(1000)}
            self.assertFalse(cache.set_many(pairs, timeout=1000), "keys that were not set")
            self.assertEqual(cache.get_many([*pairs, "no-such-key"]), pairs)
            cache.delete_many(list(pairs)[1:])
            self.assertEqual(cache.get_many(pairs), {"key0": {"number": 0}})

    def test_timeouts(self):
        for cache in self.caches(self.backend):
            cache.set("short", 1, timeout=1)
            cache.set_many({"short2": 1, "short3": 1}, timeout=1)
            cache.set("longer", 1, timeout=1)
            cache.set("for-ever", 1, timeout=1)
            cache.set("never", 1, timeout=0)
            self.assertIsNone(cache.get("never"))
            self.assertTrue(cache.touch("longer", 100) and cache.touch("for-ever", None))
            self.assertFalse(cache.touch("no-such-key", 100))
            self.assertEqual(cache.get("short"), 1)
            time.sleep(1.1)
            names = ["short", "short2", "short3", "longer", "for-ever"]
            self.assertEqual(cache.get_many(names), {"longer": 1, "for-ever": 1})

    def test_versions_and_clear(self):
        for cache in self.caches(self.backend):
            cache.set("a", "first", version=1)
            self.assertIsNone(cache.get("a", version=2))
            self.assertEqual(cache.incr_version("a"), 2)
            self.assertEqual((cache.get("a"), cache.get("a", version=2)), (None, "first"))
            caches["other"].set("a", "other")
            cache.clear()
            self.assertIsNone(cache.get("a", version=2))
            self.assertEqual(caches["other"].get("a"), "other")

    def test_asynchronous(self):
        async def talk(cache):
            await cache.aset("a", 1, 100)
            await cache.aset_many({"b": 2, "c": 3})
            return await cache.aget_many(["a", "b", "c"]), await cache.aincr("a"), await cache.atouch("b")

        for cache in self.caches(self.backend):
            self.assertEqual(asyncio.run(talk(cache)), ({"a": 1, "b": 2, "c": 3}, 2, True))

    def test_sessions(self):
        for _ in self.caches(self.backend):
            session = SessionStore()
            session["user"] = {"name": "bee"}
            session.set_expiry(100)
            session.save()
            self.assertEqual(SessionStore(session.session_key)["user"], {"name": "bee"})
            self.assertTrue(session.exists(session.session_key))
            old = session.session_key
            session.cycle_key()
            self.assertFalse(session.exists(old))
            self.assertEqual(SessionStore(session.session_key)["user"], {"name": "bee"})
            session.flush()
            self.assertFalse(session.exists(session.session_key))

    def test_pages(self):
        for cache in self.caches(self.backend):
            first = Client().get("/page").content
            self.assertEqual(Client().get("/page").content, first)
            cache.clear()
            self.assertNotEqual(Client().get("/page").content, first)


class Django(EachBackend, CacheTest):
    backend = DJANGO

    def test_absent_numbers(self):
        for cache in self.caches(DJANGO):
            with self.assertRaises(ValueError):
                cache.incr("no-such-key")


class DjangoRedis(EachBackend, CacheTest):
    backend = DJANGO_REDIS

    def test_expiry(self):
        for cache in self.caches(DJANGO_REDIS):
            cache.set("a", 1, timeout=100)
            self.assertTrue(98 <= cache.ttl("a") <= 100)
            self.assertTrue(98_000 < cache.pttl("a") <= 100_000)
            self.assertTrue(cache.persist("a"))
            self.assertIsNone(cache.ttl("a"))
            self.assertTrue(cache.expire("a", 50) and cache.ttl("a") <= 50)
            self.assertTrue(cache.pexpire("a", 40_000) and cache.ttl("a") <= 40)
            self.assertTrue(cache.expire_at("a", int(time.time()) + 30) and cache.ttl("a") <= 30)
            self.assertTrue(cache.pexpire_at("a", int(time.time() * 1000) + 20_000) and cache.ttl("a") <= 20)
            self.assertEqual(cache.ttl("no-such-key"), 0)

    def test_set_options(self):
        for cache in self.caches(DJANGO_REDIS):
            self.assertTrue(cache.set("a", 1, nx=True))
            self.assertFalse(cache.set("a", 2, nx=True))
            self.assertTrue(cache.set("a", 3, xx=True))
            self.assertFalse(cache.set("b", 4, xx=True))
            self.assertEqual(cache.get_many(["a", "b"]), {"a": 3})

    def test_patterns(self):
        for cache in self.caches(DJANGO_REDIS):
            cache.set_many({f"a{number}": number for number in range(100)})
            cache.set("b", 1)
            self.assertEqual(sorted(cache.keys("a1?")), [f"a1{digit}" for digit in range(10)])
            self.assertEqual(len(list(cache.iter_keys("a*", itersize=7))), 100)
            self.assertEqual(cache.delete_pattern("a*"), 100)
            self.assertEqual(list(cache.keys("*")), ["b"])

    def test_locks_are_taken_and_run_out(self):
        for cache in self.caches(DJANGO_REDIS):
            self.assertTrue(cache.lock("door", timeout=1).acquire(blocking=False))
            self.assertFalse(cache.lock("door", timeout=1).acquire(blocking=False))
            self.assertTrue(cache.lock("door", timeout=1).acquire(blocking_timeout=5))


if __name__ == "__main__":
    unittest.main()
