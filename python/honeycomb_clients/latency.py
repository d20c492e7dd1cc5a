"""Measures the latency of gets at half of the maximum throughput of a server: alone, and while another
client reads all pairs.

Requests are sent when they are due, whether or not earlier ones were answered. The latency of a request is
the time from when it was due until its reply, so a pause of the server counts for all requests that were
due during it. In the second case another client reads all pairs in order, page by page, repeatedly. It runs
in the same process, so the system does not schedule the two against each other. Repetitions of the servers
alternate, and the table shows medians. Servers have the first cores, one for each thread, and the clients
have the others: if they shared cores, the measurement would include the scheduler.

    python -m honeycomb_clients.latency --honeycomb target/release/honeycomb --out out/latency
"""

import collections
import contextlib
import itertools
import os
import random
import select
import socket
import time

from honeycomb_clients import requests, throughput

DISCARDED = bytearray(1 << 20)


def capacity(connections, exchange, seconds):
    """Returns the requests per second if every connection has one request in flight."""
    batches = [request for request, _ in exchange]
    sent, elapsed = throughput.drive(connections, batches, len(exchange[0][1]), seconds)
    return sent / elapsed


class Reader:
    """Another client, which reads pages repeatedly. A page is a request and the length of its reply."""

    def __init__(self, connection, pages):
        self.connection, self.requests, self.left, self.pages = connection, itertools.cycle(pages), 0, 0

    def fileno(self):
        return self.connection.fileno()

    def send(self):
        """Requests the next page."""
        request, self.left = next(self.requests)
        self.connection.sendall(request)

    def receive(self):
        """Receives a part of a page. Requests the next page when it is complete. Returns True, because the
        connection stays the same."""
        self.left -= discard(self.connection)
        if self.left == 0:
            self.pages += 1
            self.send()
        return True

    def close(self):
        throughput.receive(self.connection, self.left)
        self.connection.close()


def pages_of(server, pairs):
    """Returns the pages of all pairs, in order."""
    exchange = server.workloads["page"](range(0, pairs - requests.PAGE + 1, requests.PAGE))
    return [(request, len(reply)) for request, reply in exchange]


def discard(connection):
    """Discards received bytes in the kernel, which uses little time of this process. Returns their
    number."""
    received = connection.recv_into(DISCARDED, len(DISCARDED), socket.MSG_TRUNC)
    if not received:
        raise SystemExit("a server closed a connection")
    return received


class Paced:
    """Requests that are due at a fixed rate, sent round-robin on all connections, and their latencies."""

    def __init__(self, connections, exchange, rate, seconds):
        self.connections, self.exchange, self.rate = connections, exchange, rate
        self.reply_bytes, self.count = len(exchange[0][1]), int(rate * seconds)
        self.due = {connection.fileno(): collections.deque() for connection in connections}
        self.left = dict.fromkeys(self.due, self.reply_bytes)
        self.by_number = {connection.fileno(): connection for connection in connections}
        self.sent, self.latencies, self.began = 0, [], time.perf_counter()

    def send(self):
        """Sends all requests that are due."""
        now = time.perf_counter()
        while self.sent < self.count and self.began + self.sent / self.rate <= now:
            connection = self.connections[self.sent % len(self.connections)]
            self.due[connection.fileno()].append(self.began + self.sent / self.rate)
            connection.sendall(self.exchange[self.sent % len(self.exchange)][0])
            self.sent += 1

    def receive(self, number):
        """Receives replies on a connection."""
        received, now = discard(self.by_number[number]), time.perf_counter()
        while received >= self.left[number]:
            received -= self.left[number]
            self.left[number] = self.reply_bytes
            self.latencies.append(now - self.due[number].popleft())
        self.left[number] -= received

    def run(self, *readers):
        """Returns the latency of each request in seconds. Readers with a request in flight continue to
        read."""
        by_number = {reader.fileno(): reader for reader in readers}
        with select.epoll() as poll:
            for number in [*self.due, *by_number]:
                poll.register(number, select.EPOLLIN)
            while len(self.latencies) < self.count:
                self.send()
                for number, _ in poll.poll(0 if self.sent < self.count else 1):
                    if number in self.due:
                        self.receive(number)
                    elif not by_number[number].receive():
                        # The reader has a new connection.
                        reader = by_number.pop(number)
                        by_number[reader.fileno()] = reader
                        poll.register(reader.fileno(), select.EPOLLIN)
        return self.latencies


def percentiles(latencies):
    """Returns percentiles in microseconds."""
    ordered = sorted(latencies)
    return {f"p{share}": ordered[len(ordered) * share // 100] * 1e6 for share in (50, 99)}


def run(arguments, started):
    """Returns the measurements of all repetitions, by server and case. All servers get the same load."""
    numbers = random.Random(arguments.seed).choices(range(arguments.pairs), k=4096)
    results = collections.defaultdict(list)
    with contextlib.ExitStack() as stack:
        opened, pages = [], {}
        for server in started:
            throughput.load(server, arguments.pairs)
            opened.append(stack.enter_context(server.connections(arguments.connections)))
            pages[server.name] = pages_of(server, arguments.pairs)
        exchange = list(requests.gets(numbers))
        rate = min(capacity(connections, exchange, arguments.seconds) for connections in opened) / 2
        for _ in range(arguments.repetitions):
            for server, connections in zip(started, opened):
                throughput.check(server, connections, exchange)
                latencies = Paced(connections, exchange, rate, arguments.seconds).run()
                results[server.name, "alone"].append(percentiles(latencies) | {"pages": 0})
                with contextlib.closing(Reader(server.connect(), pages[server.name])) as reader:
                    reader.send()
                    latencies = Paced(connections, exchange, rate, arguments.seconds).run(reader)
                read = {"pages": reader.pages / arguments.seconds}
                results[server.name, "with a reader of all pairs"].append(percentiles(latencies) | read)
    return rate, results


@contextlib.contextmanager
def apart(cores, commands):
    """Starts servers on the first cores. Meanwhile this process runs on the other cores, if the machine has
    more."""
    allowed, started = sorted(os.sched_getaffinity(0)), []
    os.sched_setaffinity(0, allowed[:cores])
    try:
        started.extend(throughput.Server(*command) for command in commands)
        os.sched_setaffinity(0, allowed[cores:] or allowed)
        yield started
    finally:
        os.sched_setaffinity(0, allowed)
        for server in started:
            server.stop()


def rows(results):
    """Yields medians and their ratios to the case without a reader."""
    median = throughput.medians_of(results)
    for (server, case), medians in median.items():
        rise = medians["p99"] / median[server, "alone"]["p99"]
        yield {"server": server, "case": case, **medians, "p99_of_alone": rise}


def table(rate, measured):
    lines = [f"{rate:.0f} gets per second, microseconds:", ""]
    lines += ["| server | case | p50 | p99 | p99 relative to alone | pages per second |", "|---" * 6 + "|"]
    for row in measured:
        times = f"{row['p50']:.0f} | {row['p99']:.0f} | {row['p99_of_alone']:.2f} | {row['pages']:.0f}"
        lines.append(f"| {row['server']} | {row['case']} | {times} |")
    return "\n".join(lines) + "\n"


def parse(words):
    parser = throughput.common_parser(__doc__, connections=20, pairs=1_000_000)
    parser.add_argument("--cores", type=int, default=1, help="threads of Honeycomb")
    parser.add_argument("--seconds", type=float, default=2, help="duration of one measurement")
    parser.add_argument("--repetitions", type=int, default=5)
    return parser.parse_args(words)


def main(words=None):
    """Measures, prints the table, and writes it."""
    arguments = parse(words)
    machine_load = os.getloadavg()[0]
    with apart(arguments.cores, throughput.commands(arguments.honeycomb, arguments.cores)) as started:
        # Compared with Redis with one thread.
        compared = [one for one in started if "page" in one.workloads and "threads" not in one.name]
        rate, results = run(arguments, compared)
    measured = list(rows(results))
    report = {"load": machine_load, "rate": rate, "measured": measured}
    throughput.write(arguments, "latency", report, table(rate, measured))
    return measured


if __name__ == "__main__":
    main()
