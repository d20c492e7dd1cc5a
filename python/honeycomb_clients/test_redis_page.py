"""Compares docs/guide/commands.md with the program: the page lists every command and states its support
correctly."""

import re
import shutil
import time
import unittest
from pathlib import Path

import redis

from honeycomb_clients import throughput
from honeycomb_clients.server import Server

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "commands.md"
ROW = re.compile(r"\| `([A-Z0-9.*_ -]+)` \| (yes|partly|no) \| (?:(\S.*) )?\|")
# Subcommands that the server knows and rejects need these arguments, so that the error is not about their
# number.
ARGUMENTS = {"CLIENT CACHING": "YES"}
NUMBER_OF_ARGUMENTS = "wrong number of arguments"
# The dump of a list by Redis 7.0, and of a string by this server.
LIST = "\x12\x01\x02\n\n\x00\x00\x00\x01\x00\x81a\x02\xff\n\x00\t\xb9\xed\xf5\x94\xde\xd9\x95"
STRING = "\x00\x05hello\t\x00\xb3\x80\x8e\xba1\xb2C\xbb"
LATENCY = [
    "CONFIG SET latency-monitor-threshold 1", "SETRANGE a 8000000 x", "BITOP NOT a a", "DEL a",
    "CONFIG SET latency-monitor-threshold 0",
]
IN_TRANSACTION = "^OK\nerror: .*not allowed inside a transaction"
# Examples of each difference from Redis: commands of one connection, and a pattern of their replies, one
# for each line.
DIFFERENCES = {
    "ACL CAT": (["ACL CAT"], r"^(?!.*hash).*b'string'"),
    "ACL LIST": (
        ["CONFIG SET requirepass secret", "ACL LIST", "CONFIG SET requirepass ''", "ACL LIST"],
        r"OK\n.*user default on #\(not shown\) .*\nOK\n.*user default on nopass .*",
    ),
    "AUTH": (["AUTH other x"], "error: invalid username-password pair"),
    "BGREWRITEAOF": (["BGREWRITEAOF"], "error: .*in memory only"),
    "BGSAVE": (["BGSAVE"], "error: .*in memory only"),
    "CLIENT LIST": (["CLIENT LIST"], r" sub=0 psub=0 ssub=0 .* io-thread=\d"),
    "CLIENT NO-EVICT": (["CLIENT NO-EVICT ON", "CLIENT LIST"], r"flags=\w*e"),
    "CLIENT TRACKING": (["CLIENT TRACKING OFF", "CLIENT TRACKING ON"], "^OK\nerror: CLIENT TRACKING ON"),
    "COMMAND DOCS": (["COMMAND DOCS GET"], r"^(?!.*arguments).*summary.*usage.*group"),
    "COMMAND INFO": (["COMMAND INFO OBJECT|ENCODING MEMORY|USAGE"], r"\[None, \[b'memory\|usage'"),
    "COMMAND LIST": (["COMMAND LIST"], r"^(?!.*object\|encoding).*object\|help"),
    "CONFIG GET": (["CONFIG GET databases appendonly hz"], r"^(?!.*hz).*databases.*appendonly"),
    "CONFIG SET": (
        [f"CONFIG SET {one}" for one in ("maxmemory 1mb", "maxmemory 0", "maxmemory 16383gb", "hz 5")],
        "^OK\nOK\nerror: maxmemory is .* bytes of memory.*\nerror: Unknown option",
    ),
    "DUMP": (["SET a " + "x" * 1000, "DUMP a"], "x{1000}\t\0"),
    "HELLO": (["HELLO 2"], "honeycomb.*8[.]"),
    "INFO": (["INFO"], r"\A(?!.*mem_fragmentation_quota)[\s\S]*honeycomb_version"),
    "LATENCY GRAPH": ([*LATENCY, "LATENCY GRAPH command"], "command - high"),
    "LATENCY HISTORY": ([*LATENCY, "LATENCY HISTORY command"], r"OK\n\[\[\d+, \d+\]"),
    "LATENCY LATEST": ([*LATENCY, "LATENCY LATEST"], r"OK\n\[\[b'command'[^\[]*\]\]"),
    "LCS": (["SET a " + "x" * 11585, "LCS a a LEN"], "error: .*134217728"),
    "LOLWUT": (
        ["LOLWUT VERSION 5", "LOLWUT"], r"^(Honeycomb [\d.]+, with the strings of Redis ver\. 8[.\d]+\s+){2}",
    ),
    "MEMORY DOCTOR": (
        ["MEMORY DOCTOR", "CONFIG SET maxmemory 1", "MEMORY DOCTOR", "CONFIG SET maxmemory 0"],
        r"^The server found.*\s+OK\nMemory problems: 1\n \* The store uses \d+ of the 1 bytes of maxmemory",
    ),
    "MEMORY MALLOC-STATS": (["MEMORY MALLOC-STATS"], r"Bytes of the arena: \d+\nfree: \d+"),
    "MEMORY PURGE": (["MEMORY PURGE"], "OK"),
    "MEMORY STATS": (
        ["MEMORY STATS"], r"^(?!.*startup).*b'peak.allocated', \d+.*b'peak.percentage', b'[\d.]+'",
    ),
    "OBJECT ENCODING": (["SET a 1", "APPEND a 2", "OBJECT ENCODING a"], "int"),
    "PSUBSCRIBE": (["MULTI", "PSUBSCRIBE a"], IN_TRANSACTION),
    "PUBLISH": (["PUBLISH news " + "m" * (1 << 20)], "error: message and channel of .* at most 1048576"),
    "PUNSUBSCRIBE": (["MULTI", "PUNSUBSCRIBE a"], IN_TRANSACTION),
    "REPLICAOF": (["REPLICAOF NO ONE", "REPLICAOF other 1"], "^OK\nerror: .*NO ONE"),
    "RESTORE": (
        ["DEL a", "RESTORE a 0 " + LIST, "RESTORE a 0 " + STRING + " IDLETIME 1000", "OBJECT IDLETIME a"],
        r"^[01]\nerror: .*\nOK\n100\d$",
    ),
    "SAVE": (["SAVE"], "error: .*in memory only"),
    "SHUTDOWN": (["SHUTDOWN SAVE"], "error: .*in memory only"),
    "SLAVEOF": (["SLAVEOF NO ONE", "SLAVEOF other 1"], "^OK\nerror: .*NO ONE"),
    "SLOWLOG GET": (["CONFIG SET slowlog-log-slower-than 0", "PING", "SLOWLOG GET 1"], "PING"),
    "SUBSCRIBE": (["MULTI", "SUBSCRIBE a"], IN_TRANSACTION),
    "UNSUBSCRIBE": (["MULTI", "UNSUBSCRIBE a"], IN_TRANSACTION),
    "WAIT": (["WAIT 1 0"], "^0$"),
    "WAITAOF": (["WAITAOF 0 1 10"], r"\[0, 0\]"),
    "WATCH": (["SET a 1", "WATCH a", "SET a 2", "SET a 1", "MULTI", "PING", "EXEC"], "PONG"),
}


def rows(text):
    """Returns the commands, each with its group, its support, and its note."""
    group, found = None, []
    for line in text.splitlines():
        if line.startswith("## "):
            group = line.removeprefix("## ")
        elif line.startswith("| `"):
            row = ROW.fullmatch(line)
            assert row, f"a row has an invalid format: {line}"
            found.append((row[1], group, row[2], row[3]))
    return found


class Client:
    """A connection that returns errors as text."""

    def __init__(self, port):
        self.connection = redis.connection.Connection(port=port, protocol=2)

    def execute(self, *words):
        self.connection.send_command(*words)
        try:
            return self.connection.read_response()
        except redis.RedisError as error:
            return f"error: {error}"

    def reply_to(self, line):
        """Returns the reply to a line of words as text."""
        reply = self.execute(*["" if word == "''" else word.encode("latin1") for word in line.split(" ")])
        return reply.decode("latin1") if isinstance(reply, bytes) else str(reply)

    def commands(self):
        """Returns the names of commands and subcommands in the notation of the page."""
        listed = {name.decode().upper().replace("|", " ") for name in self.execute("COMMAND", "LIST")}
        helped = [name.removesuffix(" HELP") for name in listed if name.endswith(" HELP")]
        return listed.union(*(self.subcommands(container) for container in helped))

    def subcommands(self, container):
        """Returns the subcommands that HELP lists: the lines without indentation, after the first one."""
        lines = [line.decode() for line in self.execute(container, "HELP")[1:]]
        return {f"{container} {line.split()[0].upper()}" for line in lines if not line.startswith(" ")}

    def close(self):
        self.connection.disconnect()


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.rows = rows(PAGE.read_text())
        cls.here = {name: here for name, _, here, _ in cls.rows}

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop()

    def client(self):
        client = Client(self.server.port)
        self.addCleanup(client.close)
        return client

    def test_each_command_has_one_row_in_order(self):
        names = [name for name, *_ in self.rows]
        self.assertEqual(len(names), len(set(names)), "a command has two rows")
        by_group = {}
        for name, group, *_ in self.rows:
            by_group.setdefault(group, []).append(name)
        for group, names in by_group.items():
            self.assertEqual(names, sorted(names), group)

    def test_the_page_lists_the_commands_of_the_program(self):
        known = self.client().commands()
        self.assertGreater(len(known), 100)
        self.assertEqual(known - set(self.here), set(), "the page lacks commands of the program")
        promised = {name for name, here in self.here.items() if here != "no"}
        self.assertEqual(promised - known, set(), "the page promises commands that the program lacks")

    def test_unsupported_commands_are_rejected(self):
        for name in [name for name, here in self.here.items() if here == "no"]:
            with self.subTest(name):
                reply = self.client().execute(*name.split(), *ARGUMENTS.get(name, "").split())
                self.assertRegex(str(reply), "^error: ")
                self.assertNotIn(NUMBER_OF_ARGUMENTS, reply.split("unknown subcommand or ")[0])

    def test_every_difference_has_a_note_and_an_example(self):
        partly = {name for name, here in self.here.items() if here == "partly"}
        self.assertEqual(partly, set(DIFFERENCES))
        self.assertEqual([name for name, _, here, note in self.rows if here == "partly" and not note], [])
        for name, (lines, pattern) in DIFFERENCES.items():
            with self.subTest(name):
                client = self.client()
                self.assertRegex("\n".join(client.reply_to(line) for line in lines), pattern)

    def test_reads_of_a_no_touch_client_do_not_count(self):
        client = self.client()
        client.reply_to("SET touched 1")
        client.reply_to("OBJECT IDLETIME touched")
        client.reply_to("CLIENT NO-TOUCH ON")
        time.sleep(2.1)
        client.reply_to("GET touched")
        self.assertGreaterEqual(int(client.reply_to("OBJECT IDLETIME touched")), 1)
        client.reply_to("TOUCH touched")
        self.assertEqual(client.reply_to("OBJECT IDLETIME touched"), "0")

    def test_commands_of_one_batch_are_one_entry_of_the_slow_log(self):
        client = self.client()
        client.reply_to("CONFIG SET slowlog-log-slower-than 0")
        get = client.connection.pack_command("GET", "together")
        client.connection.send_packed_command([b"".join(get * 3)])
        self.assertEqual([client.connection.read_response() for _ in range(3)], [None] * 3)
        entries = client.execute("SLOWLOG", "GET", "10")
        self.assertEqual([entry[3] for entry in entries].count([b"GET", b"together"]), 1)

    def test_limits(self):
        client = self.client()
        for key in [b"", b"x" * 461]:
            self.assertIsNone(client.execute("GET", key))
            self.assertRegex(client.execute("SET", key, "1"), "error: .*1 to 460 bytes")
        self.assertEqual(client.execute("SET", "x" * 460, b"x" * 16_777_207), b"OK")
        self.assertRegex(client.execute("SET", "a", b"x" * 16_777_208), "error: .*maximum allowed size")
        client.execute("DEL", "x" * 460)

    @unittest.skipUnless(shutil.which("redis-server"), "redis-server is not installed")
    def test_the_page_lists_the_commands_of_redis(self):
        server = throughput.Server("redis", throughput.REDIS_COMMAND, None)
        self.addCleanup(server.stop)
        server.connect().close()
        client = Client(server.port)
        self.addCleanup(client.close)
        listed = {name.decode().upper().replace("|", " ") for name in client.execute("COMMAND", "LIST")}
        self.assertEqual(listed - set(self.here), set(), "the page lacks commands of Redis")


if __name__ == "__main__":
    unittest.main()
