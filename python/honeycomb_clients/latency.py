"""How long gets take at half of what a server can carry: alone, and while another client reads all pairs.

Requests are sent when they are due, answered or not, and a request takes from when it was due until its
reply: so a server that stops for a moment is charged for all that were due meanwhile. Then the same again
while another client reads all pairs in order, page by page, over and over, from the same process, so that it
is not the system that has it wait. Repetitions of the servers alternate; medians are shown. Servers have the
first cores, as many as they have threads, and the clients the others: were they to share them, it would be
the system's turns that are measured.

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

NOWHERE = bytearray(1 << 20)


def capacity(connections, exchange, seconds):
    """Requests a second, if every connection has one on its way at a time."""
    batches = [request for request, _ in exchange]
    sent, took = throughput.drive(connections, batches, len(exchange[0][1]), seconds)
    return sent / took


class Reader:
    """Another client, which reads pages, each a request and how long its reply is, over and over."""

    def __init__(self, connection, pages):
        self.connection, self.asked, self.left, self.pages = connection, itertools.cycle(pages), 0, 0

    def fileno(self):
        return self.connection.fileno()

    def ask(self):
        """Asks for the next page."""
        request, self.left = next(self.asked)
        self.connection.sendall(request)

    def receive(self):
        """Takes what has come of a page. Once it is all there the next one is asked for. True, as its
        connection stays the same."""
        self.left -= discard(self.connection)
        if self.left == 0:
            self.pages += 1
            self.ask()
        return True

    def close(self):
        throughput.receive(self.connection, self.left)
        self.connection.close()


def pages_of(server, pairs):
    """Those that hold all pairs, in order."""
    exchange = server.workloads["page"](range(0, pairs - requests.PAGE + 1, requests.PAGE))
    return [(request, len(reply)) for request, reply in exchange]


def discard(connection):
    """Has the system throw away what has come, which takes this process no time: how many bytes."""
    received = connection.recv_into(NOWHERE, len(NOWHERE), socket.MSG_TRUNC)
    if not received:
        raise SystemExit("a server has closed a connection")
    return received


class Paced:
    """Requests that are due at a rate, sent on all connections in turn, and what each took."""

    def __init__(self, connections, exchange, rate, seconds):
        self.connections, self.exchange, self.rate = connections, exchange, rate
        self.reply_bytes, self.count = len(exchange[0][1]), int(rate * seconds)
        self.due = {connection.fileno(): collections.deque() for connection in connections}
        self.left = dict.fromkeys(self.due, self.reply_bytes)
        self.by_number = {connection.fileno(): connection for connection in connections}
        self.sent, self.taken, self.began = 0, [], time.perf_counter()

    def send(self):
        """Sends all that is due."""
        now = time.perf_counter()
        while self.sent < self.count and self.began + self.sent / self.rate <= now:
            connection = self.connections[self.sent % len(self.connections)]
            self.due[connection.fileno()].append(self.began + self.sent / self.rate)
            connection.sendall(self.exchange[self.sent % len(self.exchange)][0])
            self.sent += 1

    def receive(self, number):
        """Takes the replies that have come on a connection."""
        received, now = discard(self.by_number[number]), time.perf_counter()
        while received >= self.left[number]:
            received -= self.left[number]
            self.left[number] = self.reply_bytes
            self.taken.append(now - self.due[number].popleft())
        self.left[number] -= received

    def run(self, *readers):
        """Seconds that each request took. Readers, which have asked, read meanwhile."""
        by_number = {reader.fileno(): reader for reader in readers}
        with select.epoll() as poll:
            for number in [*self.due, *by_number]:
                poll.register(number, select.EPOLLIN)
            while len(self.taken) < self.count:
                self.send()
                for number, _ in poll.poll(0 if self.sent < self.count else 1):
                    if number in self.due:
                        self.receive(number)
                    elif not by_number[number].receive():
                        # It has a new connection.
                        reader = by_number.pop(number)
                        by_number[reader.fileno()] = reader
                        poll.register(reader.fileno(), select.EPOLLIN)
        return self.taken


def percentiles(taken):
    """Microseconds."""
    ordered = sorted(taken)
    return {f"p{share}": ordered[len(ordered) * share // 100] * 1e6 for share in (50, 99)}


def run(arguments, started):
    """By server and case, what each repetition took; all servers get the same load."""
    numbers = random.Random(arguments.seed).choices(range(arguments.pairs), k=4096)
    found = collections.defaultdict(list)
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
                taken = Paced(connections, exchange, rate, arguments.seconds).run()
                found[server.name, "alone"].append(percentiles(taken) | {"pages": 0})
                with contextlib.closing(Reader(server.connect(), pages[server.name])) as reader:
                    reader.ask()
                    taken = Paced(connections, exchange, rate, arguments.seconds).run(reader)
                read = {"pages": reader.pages / arguments.seconds}
                found[server.name, "beside a reader of all pairs"].append(percentiles(taken) | read)
    return rate, found


@contextlib.contextmanager
def apart(cores, commands):
    """Servers on the first cores, started by commands. This process has the others meanwhile, if any."""
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


def rows(found):
    """Medians, and how many times what they were alone."""
    median = throughput.medians_of(found)
    for (server, case), medians in median.items():
        rise = medians["p99"] / median[server, "alone"]["p99"]
        yield {"server": server, "case": case, **medians, "p99_of_alone": rise}


def table(rate, measured):
    lines = [f"{rate:.0f} gets a second, microseconds:", ""]
    lines += ["| server | case | p50 | p99 | p99 to that alone | pages a second |", "|---" * 6 + "|"]
    for row in measured:
        times = f"{row['p50']:.0f} | {row['p99']:.0f} | {row['p99_of_alone']:.2f} | {row['pages']:.0f}"
        lines.append(f"| {row['server']} | {row['case']} | {times} |")
    return "\n".join(lines) + "\n"


def parse(words):
    asked = throughput.parser(__doc__, connections=20, pairs=1_000_000)
    asked.add_argument("--cores", type=int, default=1, help="threads of Honeycomb")
    asked.add_argument("--seconds", type=float, default=2, help="of one measurement")
    asked.add_argument("--repetitions", type=int, default=5)
    return asked.parse_args(words)


def main(words=None):
    """Measures, prints the table, and writes it."""
    arguments = parse(words)
    machine_load = os.getloadavg()[0]
    with apart(arguments.cores, throughput.commands(arguments.honeycomb, arguments.cores)) as started:
        # Redis with one thread is the peer.
        compared = [one for one in started if "page" in one.workloads and "threads" not in one.name]
        rate, found = run(arguments, compared)
    measured = list(rows(found))
    report = {"load": machine_load, "rate": rate, "measured": measured}
    throughput.write(arguments, "latency", report, table(rate, measured))
    return measured


if __name__ == "__main__":
    main()
