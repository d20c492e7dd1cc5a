"""How long gets take beside clients that ask for more than their share, and how much memory the server takes.

A server has many pairs. Gets are due at a fixed rate, and each takes from when it was due until its reply:
so a server that stops for a moment is charged for all that were due meanwhile. They are measured alone, and
then beside each kind of hostile client. Repetitions of the cases alternate; medians are shown. All clients
share this process, and throw away what they receive without a copy.

    python -m honeycomb_clients.hostile --honeycomb target/release/honeycomb --out out/hostile
"""

import collections
import contextlib
import json
import pathlib
import random
import re
import time

from honeycomb_clients import latency, requests, throughput
from honeycomb_clients.requests import bulk, resp

MEBIBYTE = 1 << 20
LONGEST = 16 * MEBIBYTE - 9
# Where the long values are, so that they are no part of what walks of all pairs reply.
LONG_VALUES = resp(b"SELECT", b"1")
ALONE = "alone"
# Seconds between two cases, so that one is not charged for what the one before has left behind.
PAUSE = 0.3


class Hostile:
    """A client that asks for the same again as soon as it has the reply, or that does not read any reply.

    It connects again if the server closes its connection."""

    def __init__(self, server, request, reply_bytes, before=b"", reads=True):
        self.server, self.request, self.reply_bytes = server, request, reply_bytes
        self.before, self.reads, self.rounds, self.closed = before, reads, 0, 0
        self.connection = self.left = None

    def fileno(self):
        return self.connection.fileno()

    def ask(self):
        """Asks for the first time, of a new connection."""
        self.connection = self.server.connect()
        if self.before:
            self.connection.sendall(self.before)
            throughput.receive(self.connection, len(b"+OK\r\n"))
        self.ask_again()

    def ask_again(self):
        self.left = self.reply_bytes
        self.connection.sendall(self.request)

    def receive(self):
        """Takes what has come. Returns whether its connection is still the same."""
        try:
            self.left -= latency.discard(self.connection)
            if self.left <= 0:
                self.rounds += 1
                self.ask_again()
        except (SystemExit, ConnectionError):
            self.closed += 1
            self.connection.close()
            self.ask()
            return False
        return True

    def close(self):
        self.connection.close()


def long_values(server, _):
    """One client that reads the longest value, 300 times ahead."""
    reply_bytes = 300 * (LONGEST + len(b"$16777207\r\n\r\n"))
    return [Hostile(server, resp(b"GET", b"longest") * 300, reply_bytes, LONG_VALUES)]


def not_read(server, _):
    """Clients that ask for long values and read nothing."""
    request = resp(b"GET", b"mebibyte") * 1000
    return [Hostile(server, request, 0, LONG_VALUES, reads=False) for _ in range(50)]


def keys(server, pairs):
    """One client that asks for all keys."""
    reply_bytes = len(b"*%d\r\n" % pairs) + pairs * len(bulk(requests.key(0)))
    return [Hostile(server, resp(b"KEYS", b"*"), reply_bytes)]


def count(server, pairs):
    """One client that has all pairs counted."""
    return [Hostile(server, resp(b"RI.COUNT", b"-", b"+"), len(b":%d\r\n" % pairs))]


def all_pairs(server, pairs):
    """One client that reads all pairs with one command."""
    pair = bulk(requests.key(0)) + bulk(requests.VALUE)
    reply_bytes = len(b"*%d\r\n" % (2 * pairs)) + pairs * len(pair)
    return [Hostile(server, resp(b"RI.RANGE", b"-", b"+"), reply_bytes)]


def transaction(server, _):
    """One client with a transaction whose reply is too long: the server closes its connection."""
    request = resp(b"MULTI") + resp(b"GET", b"mebibyte") * 1000 + resp(b"EXEC")
    return [Hostile(server, request, 1 << 60, LONG_VALUES)]


CASES = {
    "300 GETs ahead of 16 MiB, read": long_values,
    "50 clients, 1000 GETs ahead of 1 MiB, not read": not_read,
    "KEYS *": keys,
    "RI.COUNT - +": count,
    "RI.RANGE - +": all_pairs,
    "EXEC of 1000 GETs of 1 MiB": transaction,
}


def peak_memory(server):
    """Bytes of resident memory, the most since `forget_peak`."""
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s*(\d+) kB", status)[1]) * 1024


def forget_peak(server):
    with contextlib.suppress(PermissionError):
        pathlib.Path(f"/proc/{server.process.pid}/clear_refs").write_text("5")


def fill(server, pairs):
    """Writes the pairs, and the long values beside them."""
    throughput.load(server, pairs)
    with server.connect() as connection:
        for request in [
            LONG_VALUES,
            resp(b"SET", b"longest", bytes(LONGEST)),
            resp(b"SET", b"mebibyte", bytes(MEBIBYTE)),
        ]:
            connection.sendall(request)
            throughput.receive(connection, len(b"+OK\r\n"))


def measure(server, connections, exchange, hostile, arguments):
    """Microseconds that gets take beside hostile clients, and what becomes of these."""
    time.sleep(PAUSE)
    forget_peak(server)
    with contextlib.ExitStack() as stack:
        for one in hostile:
            stack.callback(one.close)
            one.ask()
        paced = latency.Paced(connections, exchange, arguments.rate, arguments.seconds)
        taken = paced.run(*(one for one in hostile if one.reads))
        rounds, closed = sum(one.rounds for one in hostile), sum(one.closed for one in hostile)
    found = {"rounds": rounds, "closed": closed, "memory": peak_memory(server)}
    return latency.percentiles(taken) | {"worst": max(taken) * 1e6} | found


def run(server, arguments):
    """By case, what each repetition took."""
    numbers = random.Random(arguments.seed).choices(range(arguments.pairs), k=4096)
    exchange, found = list(requests.gets(numbers)), collections.defaultdict(list)
    fill(server, arguments.pairs)
    with server.connections(arguments.connections) as connections:
        throughput.check(server, connections, exchange)
        for _ in range(arguments.repetitions):
            for case in [ALONE, *arguments.cases]:
                hostile = CASES[case](server, arguments.pairs) if case != ALONE else []
                found[case].append(measure(server, connections, exchange, hostile, arguments))
    return found


def rows(found):
    """Medians, how many times what they were alone, and the most memory."""
    median = throughput.medians_of(found)
    for case, medians in median.items():
        rise = medians["p99"] / median[ALONE]["p99"]
        memory = max(one["memory"] for one in found[case])
        yield {"case": case, **medians, "memory": memory, "p99_of_alone": rise}


def table(rate, measured):
    lines = [f"{rate} gets a second, microseconds, MiB:", ""]
    lines += ["| beside | p50 | p99 | p99 to that alone | worst | peak memory |", "|---" * 6 + "|"]
    for row in measured:
        times = f"{row['p50']:.0f} | {row['p99']:.0f} | {row['p99_of_alone']:.2f} | {row['worst']:.0f}"
        lines.append(f"| {row['case']} | {times} | {row['memory'] / MEBIBYTE:.0f} |")
    return "\n".join(lines) + "\n"


def parse(words):
    asked = throughput.parser(__doc__, connections=20, pairs=1_000_000)
    asked.add_argument("--cores", type=int, default=1, help="threads of Honeycomb")
    asked.add_argument("--rate", type=int, default=2000, help="gets a second")
    asked.add_argument("--seconds", type=float, default=2, help="of one measurement")
    asked.add_argument("--repetitions", type=int, default=5)
    asked.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    asked.add_argument("--json", action="store_true", help="print JSON in place of the table")
    return asked.parse_args(words)


def main(words=None):
    """Measures, prints the table or JSON, and writes both if a folder was named."""
    arguments = parse(words)
    (name, command, workloads), *_ = throughput.honeycombs(arguments.honeycomb, arguments.cores)
    server = throughput.Server(name, command, workloads)
    try:
        measured = list(rows(run(server, arguments)))
    finally:
        server.stop()
    text = table(arguments.rate, measured)
    shown = json.dumps(measured, indent=1) + "\n" if arguments.json else text
    throughput.write(arguments, "hostile", {"measured": measured}, text, shown)
    return measured


if __name__ == "__main__":
    main()
