"""Compares Honeycomb with Redis: both get the same random commands and must reply the same bytes to each of
them.

The commands use a few keys, some of which contain numbers. They are sent in pipelines of random length over
one connection to each server, so the commands that the server executes together begin and end anywhere. A
failure shows the last commands and their replies. HONEYCOMB_SEED selects the commands, and
HONEYCOMB_COMMANDS is their number.

ALLOWED lists the replies of Honeycomb that differ on purpose. Commands whose effect differs on purpose are
not sent:

- MSET without a last value between MULTI and EXEC, which Honeycomb rejects when it is queued. Commands of
  the connection and the server (other than PING and ECHO) take effect there, too, but their replies differ.
- While a pair is watched: a value that the pair already has, or two changes that might revert each other.
  Honeycomb aborts EXEC only if a watched pair has really changed.
- BITFIELD with SET and a number close to the smallest one: Redis 7.0 saturates it to the largest value.
- Patterns with a range that ends with a bracket, or with a byte from 128 on: in Honeycomb the bracket ends
  the class, and bytes have no sign.
"""

import collections
import io
import itertools
import os
import random
import re
import shutil
import socket
import unittest

from honeycomb_clients import requests, throughput
from honeycomb_clients.server import Server

# Reasons for allowed differences, and patterns of a command and the replies of Redis and Honeycomb, in this
# order.
ALLOWED = {
    "Honeycomb does not repeat the arguments of an unknown command, and does not truncate its name at a zero":
        rb"-ERR unknown command '([^']*)', with args .*\r\n-ERR unknown command '\1(\0[^']*)?'\r\n",
    "keys have 1 to 460 bytes; the valid keys of this test have fewer":
        rb"-ERR key of (0|461) bytes: a key has 1 to 460 bytes\r\n",
    "a key of an invalid length is absent":
        rb"DEL (x{461})?\r\n:1\r\n:0\r\n",
    "the maximum length of values differs":
        rb"-(ERR string exceeds maximum allowed size) \(proto-max-bulk-len\)\r\n-\1 \(16777207 bytes\)\r\n",
    "Honeycomb does not check that the number of a table has 32 bits":
        rb"-ERR value is out of range, value must between .*\r\n-ERR DB index is out of range\r\n",
    "Honeycomb checks the range before it reads the value; Redis 7.0 does so only if the value exists":
        rb"(?i:bitcount|bitpos) .*\r\n:(0|-1)\r\n-ERR (value is not an integer or .*|syntax error)\r\n",
    "a range that ends before the first byte is empty; Redis returns the first byte, a bug that it keeps":
        rb"(?i:getrange|substr) .* -\d+\r\n\$1\r\n.\r\n\$0\r\n\r\n",
}
# Commands by their arguments: each word is the name of a method of Commands that generates such arguments.
READS = {
    "GET": "key", "STRLEN": "key", "TYPE": "key", "TTL": "key", "PTTL": "key", "MGET": "keys",
    "EXISTS": "keys", "TOUCH": "keys", "GETRANGE": "key place place", "SUBSTR": "key place place",
    "EXPIRETIME": "key", "PEXPIRETIME": "key", "GETBIT": "key offset", "BITCOUNT": "key bit_range",
    "BITPOS": "key bit bit_range", "LCS": "key key comparison", "BITFIELD_RO": "key fields",
    "PING": "message", "ECHO": "value",
}
WRITES = {
    "SET": "pair how", "SETNX": "pair", "GETSET": "pair", "GETDEL": "key", "GETEX": "key until",
    "DEL": "keys", "UNLINK": "keys", "MSET": "pairs", "MSETNX": "pairs", "APPEND": "pair",
    "SETRANGE": "key offset value", "INCR": "counter", "DECR": "counter", "INCRBY": "counter number",
    "DECRBY": "counter number", "PERSIST": "key", "EXPIRE": "key seconds conditions",
    "PEXPIRE": "key milliseconds conditions", "EXPIREAT": "key second conditions",
    "PEXPIREAT": "key millisecond conditions", "SETEX": "key seconds value",
    "PSETEX": "key milliseconds value", "INCRBYFLOAT": "counter fraction", "SETBIT": "key offset bit",
    "BITOP": "bit_operation key keys", "BITFIELD": "key fields", "RENAME": "key key", "RENAMENX": "key key",
    "COPY": "key key copy_how", "MOVE": "key table",
}
SETS = {"SET": WRITES["SET"]}
OTHERS = {
    "DBSIZE": "", "KEYS": "pattern", "SCAN": "cursor page", "SELECT": "table", "SWAPDB": "table table",
    "UNWATCH": "", "EXEC": "", "DISCARD": "",
}
FLUSHES = {"FLUSHDB": "mode", "FLUSHALL": "mode"}
# The frequency of each group of commands. A group is a method of Commands.
GROUPS = {
    "read": 12, "write": 24, "other": 8, "reads": 2, "sets": 2, "on_one_key": 4, "transaction": 3,
    "watched": 3, "missing_value": 1, "unknown": 1, "beyond_limits": 1, "past_expiry": 1, "flush": 0.2,
}
COUNTERS = [b"1", b"count", b"count:2", b"\x00\xfe\xff"]
NAMES = [b"a", b"b", b"a b", b"'\"\\", b"line\r\nline", b"*[a-b]?", b"counts", b"k" * 40]
KEYS_BEYOND_LIMITS = [b"", b"x" * 461]
NUMBER_MAX = 2**63 - 1
INVALID_NUMBERS = [
    b"notanumber", b"", b"1.5", b"+1", b"01", b" 1", b"-0", b"0", b"-1", b"%d" % NUMBER_MAX,
    b"%d" % (NUMBER_MAX + 1), b"%d" % (-NUMBER_MAX - 1),
]
# Minimum difference in seconds between any two requested expiries. The remaining times that the servers
# report may differ by a tenth of it, so the speed of a server does not matter.
EXPIRY_DISTANCE = 1000
# Seconds since 1970, far in the future.
FUTURE = 10**10


class Commands:
    """Random commands. A command is a list of words."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.changes = 0

    def stream(self):
        """Yields commands without end, in groups that belong together."""
        while True:
            group, = self.random.choices(list(GROUPS), GROUPS.values())
            yield from getattr(self, group)()

    def chance(self, share):
        return self.random.random() < share

    def read(self):
        return [self.one_of(READS)]

    def write(self):
        return [self.one_of(WRITES)]

    def other(self):
        return [self.one_of(OTHERS)]

    def flush(self):
        return [self.one_of(FLUSHES)]

    def reads(self):
        """Returns reads that the server executes together."""
        return [self.one_of(READS) for _ in range(self.random.randrange(10))]

    def sets(self):
        return [[b"SET", *self.pair()] for _ in range(self.random.randrange(10))]

    def on_one_key(self):
        """Returns commands on one key, which first gets an expiry."""
        key, = self.key()
        shapes = [self.random.choice([READS, WRITES, SETS]) for _ in range(self.random.randrange(8))]
        lines = [[b"SET", key, *self.number(), *self.expiry()], *map(self.one_of, shapes), [b"PTTL", key]]
        return [[line[0], key, *line[2:]] for line in lines]

    def transaction(self):
        """Returns a transaction from MULTI to its end, including errors."""
        errors = [[b"MULTI"], [b"WATCH", *self.keys()], *self.unknown(), [b"GET"], [b"EXEC", b"EX"]]
        lines = [self.one_of(self.random.choice([READS, WRITES])) for _ in range(self.random.randrange(8))]
        if self.chance(0.2):
            lines.insert(self.random.randrange(len(lines) + 1), self.random.choice(errors))
        end = b"DISCARD" if self.chance(0.1) else b"EXEC"
        return [[b"MULTI"], *lines, [end]]

    def watched(self):
        """Watches keys, and may change one of them, or another one, before a transaction."""
        watched = self.keys()
        lines = [[b"WATCH", *watched], *self.random.choice([[], [[b"WATCH", *self.keys()]]])]
        lines += self.random.choice([[], [self.change(watched + self.key())]])
        self.random.shuffle(lines)
        if self.chance(0.1):
            lines.insert(self.random.randrange(len(lines) + 1), [b"UNWATCH"])
        lines = [line for pair in itertools.zip_longest(self.reads(), lines) for line in pair if line]
        return lines + (self.transaction() if self.chance(0.9) else [[b"UNWATCH"]])

    def change(self, keys):
        """Returns a change of one of these pairs, or nothing."""
        self.changes += 1
        key, new = self.random.choice(keys), b"never before %d" % self.changes
        changes = [[b"SET", key, new], [b"APPEND", key, new], [b"DEL", key], [b"INCR", key], [b"GETDEL", key]]
        changes += [[b"EXPIRE", key, *self.seconds()], [b"PERSIST", key], [b"MSET", key, new], [b"FLUSHDB"]]
        return self.random.choice(changes)

    def missing_value(self):
        """Returns pairs of which one lacks its value."""
        return [[self.random.choice([b"MSET", b"MSETNX"]), *self.pairs(), *self.key()]]

    def unknown(self):
        """Returns an unknown command. No name is that of a command and a zero: Redis compares names up to
        their first zero but hashes all of a name, so it takes such a name for the command where both meet in
        one bucket of its table, which its random hash seed decides.
        """
        names = [b"", b"NOSUCH", b"no such", b"nosuch\0", b"no\r\nsuch", b"g" * 40, b"GET\r\n"]
        return [[self.random.choice(names), *self.random.choice([[], self.key(), self.pair()])]]

    def beyond_limits(self):
        """Returns reads of a key that Honeycomb does not allow. Redis stores it and deletes it again."""
        bad, good = self.random.choice(KEYS_BEYOND_LIMITS), self.key()
        reads = [[b"GET", bad], [b"MGET", *good, bad, *good], [b"EXISTS", *good, bad], [b"PTTL", bad]]
        writes = [[b"SET", bad, b""], [b"APPEND", bad, b"x"], [b"INCR", bad], [b"MSET", bad, b"x"]]
        return [self.random.choice(reads), self.random.choice(writes), [b"DEL", bad]]

    def past_expiry(self):
        """Returns an expiry in the past, which is valid. Redis counts the pair until it accesses it."""
        key = self.key()
        return [[b"SET", *key, b"x", b"PXAT", b"1"], [b"GET", *key]]

    def one_of(self, shapes):
        """Returns one command, sometimes with a word too few or too many."""
        name = self.random.choice(list(shapes))
        words = self.option(name)
        for kind in shapes[name].split():
            words += getattr(self, kind)()
        if shapes[name] != "pairs" and self.chance(0.03):
            words = words[:-1] if len(words) > 1 and self.chance(0.5) else words + [b"EX"]
        return words

    def option(self, *names):
        """Returns one of these words with random case."""
        name = self.random.choice(names)
        return [self.random.choice([name, name, name.lower(), name.capitalize()]).encode()]

    def key(self):
        return [self.random.choice(COUNTERS + NAMES)]

    def keys(self):
        return self.random.choices(COUNTERS + NAMES, k=self.random.randint(1, 4))

    def counter(self):
        return [self.random.choice(COUNTERS)] if self.chance(0.8) else self.key()

    def pair(self):
        key = self.key()
        return key + (self.number() if key[0] in COUNTERS and self.chance(0.8) else self.value())

    def pairs(self):
        return [word for _ in range(self.random.randint(1, 4)) for word in self.pair()]

    def value(self):
        length, = self.random.choices([0, self.random.randint(1, 40), 3000], [10, 89, 1])
        alphabet = self.random.choice([b"ab", b"a \"'\\\r\n$*", bytes(range(256))])
        return [bytes(self.random.choices(alphabet, k=length))]

    def message(self):
        return self.value() if self.chance(0.5) else []

    def number(self):
        near = self.random.choice([0, 0, NUMBER_MAX, -NUMBER_MAX])
        return self.or_invalid(near + self.random.randint(-20, 20))

    def place(self):
        return self.or_invalid(self.random.choice([1, 1, 10]) * self.random.randint(-10, 10))

    def offset(self):
        within = self.random.choice([10, 10, 100, 5000])
        return [b"4294967296"] if self.chance(0.05) else self.or_invalid(self.random.randrange(within))

    def fraction(self):
        wrong = [b"", b"nan", b"inf", b"-INF", b"1e", b"0x", b" 1", b"1e5000", b"1e-5000", b"1.2.3", b"--1"]
        odd = [b"0x1p-3", b"0X.8", b"+.5", b"5.", b"1e17", b"1e-17", b"5e-18", b"-0", b"1e40", b"1e4931"]
        if self.chance(0.1):
            return [self.random.choice(wrong + odd)]
        digits = self.random.randint(0, 18)
        return [b"%.*f" % (digits, self.random.uniform(-1, 1) * 10 ** self.random.randint(0, 20))]

    def bit(self):
        return self.or_invalid(self.random.randint(0, 1))

    def bit_range(self):
        count, = self.random.choices([0, 1, 2, 3], [3, 1, 3, 3])
        words = [word for _ in range(min(count, 2)) for word in self.place()]
        return words + (self.option("BYTE", "BIT", "BIT", "WORD") if count == 3 else [])

    def bit_operation(self):
        return self.option("AND", "OR", "XOR", "NOT", "NAND")

    def comparison(self):
        """Arguments of LCS."""
        words = self.option("LEN", "IDX", "IDX", "WITHMATCHLEN") if self.chance(0.7) else []
        words += self.option("WITHMATCHLEN", "LEN") if self.chance(0.3) else []
        return words + (self.option("MINMATCHLEN") + self.or_invalid(2) if self.chance(0.3) else [])

    def fields(self):
        """Arguments of BITFIELD."""
        return [word for _ in range(self.random.randint(0, 4)) for word in self.field()]

    def field(self):
        if self.chance(0.2):
            return self.option("OVERFLOW") + self.option("WRAP", "SAT", "FAIL", "FAIL", "MORE")
        bits = self.random.choice([1, 8, self.random.randint(1, 64), 63])
        kind = b"%c%d" % (self.random.choice(b"iu"), bits)
        kinds = [kind] * 20 + [b"i65", b"u64", b"x8", b"i", b"u08"]
        offset = b"%s%d" % (self.random.choice([b"", b"#"]), self.random.randrange(40))
        words = self.option("GET", "SET", "INCRBY", "INCRBY") + [self.random.choice(kinds)]
        words += [offset] if self.chance(0.95) else self.or_invalid(9)
        if words[0].upper() == b"GET":
            return words
        number = self.number()
        is_set_too_low = words[0].upper() == b"SET" and number[0].startswith(b"-%d" % (NUMBER_MAX // 100))
        return words + ([b"-1"] if is_set_too_low else number)

    def copy_how(self):
        words = self.option("DB") + self.table() if self.chance(0.3) else []
        return words + (self.option("REPLACE", "REPLACE", "KEEP") if self.chance(0.5) else [])

    def or_invalid(self, number):
        return [self.random.choice(INVALID_NUMBERS) if self.chance(0.08) else b"%d" % number]

    def seconds(self, unit=1, since=0):
        """Returns a time from now on, in a unit of which a second has this many; sometimes one of the
        latest valid times."""
        if self.chance(0.01):
            return self.or_invalid(NUMBER_MAX // 1000 * unit)
        return self.or_invalid((since + EXPIRY_DISTANCE * self.random.randint(1, 10**9)) * unit)

    def milliseconds(self):
        return self.seconds(1000)

    def second(self):
        return self.seconds(1, FUTURE)

    def millisecond(self):
        return self.seconds(1000, FUTURE)

    def conditions(self):
        """Conditions of EXPIRE and similar commands."""
        count, = self.random.choices([0, 1, 2], [6, 3, 1])
        return [word for _ in range(count) for word in self.option("NX", "XX", "GT", "LT", "GET")]

    def how(self):
        """Options of SET, usually none."""
        count, = self.random.choices([0, 1, 2, 3], [9, 6, 4, 1])
        return [word for _ in range(count) for word in self.one_how()]

    def one_how(self):
        return self.expiry() if self.chance(0.4) else self.option("NX", "XX", "GET", "GET", "KEEPTTL", "LT")

    def until(self):
        """Options of GETEX."""
        one = [self.expiry(), self.expiry(), self.option("PERSIST"), self.one_how(), [b"PXAT", b"1"], []]
        return self.random.choice(one) + (self.random.choice(one) if self.chance(0.2) else [])

    def expiry(self):
        units = {"EX": self.seconds, "PX": self.milliseconds, "EXAT": self.second, "PXAT": self.millisecond}
        name = self.random.choice(list(units))
        return self.option(name) + units[name]()

    def pattern(self):
        """Returns a pattern of KEYS, some of which are malformed."""
        key, = self.key()
        usual = [b"*", b"", key, key[:1] + b"*", b"?", b"[ab]*", b"[^a-k]*", b"\\*\\[*", b"*[9-0]", b"[^a-"]
        return [self.random.choice([*usual, bytes(self.random.choices(b"*?[]^\\abc1\xff", k=4))])]

    def cursor(self):
        return [b"notanumber"] if self.chance(0.05) else [b"0"]

    def page(self):
        """Requests all keys, or all buckets, of a table at once, because the servers have different pages."""
        count = self.or_invalid(self.random.choice([10_000, 100_000]))
        words = self.option("COUNT") + count
        words += self.option("MATCH") + self.pattern() if self.chance(0.5) else []
        return words + (self.option("TYPE") + self.option("string", "hash") if self.chance(0.2) else [])

    def table(self):
        return self.or_invalid(self.random.choice([0, 0, 0, 1, 15, 16, 10**11]))

    def mode(self):
        return self.random.choice([[], [], self.option("SYNC", "ASYNC"), self.option("NOW")])

    def pipelines(self, count):
        """Yields this number of commands in pipelines of random length."""
        commands = itertools.islice(self.stream(), count)
        while pipeline := list(itertools.islice(commands, self.random.randint(1, 50))):
            yield pipeline

    def sent(self, words):
        """Returns a command as bytes: some as inline commands, some after an empty request."""
        empty = self.random.choice([b"\r\n", b"*0\r\n"]) if self.chance(0.01) else b""
        return empty + (typed(words) if self.chance(0.02) else requests.resp(*words))


def typed(words):
    """Returns an inline command. Words are in quotes unless they are plain."""
    def quoted(word):
        return b'"' + b"".join(b"\\x%02x" % byte for byte in word) + b'"'

    return b" ".join(word if word.isalnum() else quoted(word) for word in words) + b"\r\n"


def read_reply(stream):
    """Returns the bytes of the next reply."""
    line = stream.readline()
    if line[:1] == b"$" and line != b"$-1\r\n":
        return line + stream.read(int(line[1:]) + 2)
    if line[:1] == b"*" and line != b"*-1\r\n":
        return line + b"".join(read_reply(stream) for _ in range(int(line[1:])))
    return line


def parts(reply):
    """Returns the elements of an array."""
    stream = io.BytesIO(reply)
    return [read_reply(stream) for _ in range(int(stream.readline()[1:]))]


class ServerPair:
    """A connection to each of the two servers, and the last commands and replies."""

    def __init__(self, ports):
        self.sockets = [socket.create_connection(("127.0.0.1", port), timeout=60) for port in ports]
        self.streams = [connection.makefile("rb") for connection in self.sockets]
        self.queued = []
        self.last = collections.deque(maxlen=20)

    def execute(self, pipeline, request):
        """Returns whether both servers send the same replies to all commands of a pipeline."""
        for connection in self.sockets:
            connection.sendall(request)
        return all(self.same(words, *map(read_reply, self.streams)) for words in pipeline)

    def same(self, words, redis, honeycomb):
        self.last.append((words, redis, honeycomb))
        same = replies_match(words, redis, honeycomb, self.queued)
        if redis == b"+QUEUED\r\n":
            self.queued.append(words)
        elif words[0].upper() in (b"EXEC", b"DISCARD"):
            self.queued = []
        return same

    def one(self, server, *words):
        """Returns the reply of one of the servers."""
        self.sockets[server].sendall(requests.resp(*words))
        return read_reply(self.streams[server])

    def close(self):
        for connection in self.streams + self.sockets:
            connection.close()

    def recent(self):
        """Returns the last commands with both replies."""
        def short(shown):
            return shown if len(shown) <= 200 else f"{shown[:200]}... of {len(shown)} characters"

        lines = []
        for words, *replies in self.last:
            lines += [short(repr(words)), *("    " + short(repr(reply)) for reply in replies)]
        return "\n".join(lines)


def replies_match(words, redis, honeycomb, queued):
    """Returns whether the reply of Honeycomb to a command equals that of Redis, or is an allowed
    difference."""
    exchange, both = b" ".join(words) + b"\r\n" + redis + honeycomb, (redis, honeycomb)
    if redis == honeycomb or any(re.search(one + rb"\Z", exchange, re.DOTALL) for one in ALLOWED.values()):
        return True
    name, kinds = words[0].upper(), redis[:1] + honeycomb[:1]
    if name in (b"TTL", b"PTTL", b"EXPIRETIME", b"PEXPIRETIME") and kinds == b"::":
        seconds = [int(reply[1:]) / (1000 if name.startswith(b"P") else 1) for reply in both]
        return min(seconds) > 0 and abs(seconds[0] - seconds[1]) < EXPIRY_DISTANCE / 10
    if kinds != b"**":
        return False
    if name == b"EXEC":
        replies = [parts(redis), parts(honeycomb)]
        return len(replies[0]) == len(replies[1]) and all(map(single_replies_match, queued, *replies))
    if name == b"SCAN":
        return in_order(parts(redis)[1]) == in_order(parts(honeycomb)[1])
    return name == b"KEYS" and in_order(redis) == in_order(honeycomb)


def single_replies_match(words, redis, honeycomb):
    return replies_match(words, redis, honeycomb, [])


def in_order(reply):
    """Sorts keys, because Redis returns them in another order."""
    return sorted(parts(reply))


@unittest.skipUnless(shutil.which("redis-server"), "redis-server is not installed")
class RedisComparison(unittest.TestCase):
    def start_servers(self, *parameters):
        honeycomb = Server(*parameters)
        self.addCleanup(lambda: self.assertTrue(honeycomb.stop()))
        redis = throughput.Server("redis", throughput.REDIS_COMMAND, None)
        self.addCleanup(redis.stop)
        redis.connect().close()
        servers = ServerPair([redis.port, honeycomb.port])
        self.addCleanup(servers.close)
        return servers

    def test_random_commands(self):
        self.compare_random_commands()

    def test_random_commands_on_unordered_databases(self):
        """Some keys get into an ordered database by SELECT, MOVE, COPY and SWAPDB."""
        self.compare_random_commands("--unordered", "0,1")

    def compare_random_commands(self, *parameters):
        seed = int(os.environ.get("HONEYCOMB_SEED", "1"))
        count = int(os.environ.get("HONEYCOMB_COMMANDS", "20000"))
        print(f"HONEYCOMB_SEED={seed}")
        servers, commands = self.start_servers(*parameters), Commands(seed)
        for pipeline in commands.pipelines(count):
            if not servers.execute(pipeline, b"".join(map(commands.sent, pipeline))):
                message = "Redis and Honeycomb reply differently to the last of these commands:"
                self.fail(f"HONEYCOMB_SEED={seed}; {message}\n{servers.recent()}")

    def test_values_move_in_both_directions(self):
        """Each server restores the dumps of the other one."""
        servers, commands = self.start_servers(), Commands(1)
        plain = [b"", b"0", b"-1", b"127", b"-129", b"40000", b"2147483648", b"007", b"x" * 70_000]
        repeated = [bytes(commands.random.choices(b"ab", k=20)) * 50 for _ in range(20)]
        random = [value for _ in range(200) for value in commands.value() + commands.number()]
        for value in plain + repeated + random:
            for source, target in [(0, 1), (1, 0)]:
                servers.one(source, b"SET", b"key", value)
                dumped = servers.one(source, b"DUMP", b"key")
                payload = dumped[dumped.index(b"\r\n") + 2:-2]
                restored = servers.one(target, b"RESTORE", b"moved", b"100000", payload, b"REPLACE")
                self.assertEqual(restored, b"+OK\r\n")
                moved = servers.one(target, b"GET", b"moved")
                self.assertEqual(moved, b"$%d\r\n%s\r\n" % (len(value), value))


if __name__ == "__main__":
    unittest.main()
