"""How long gets take at half of what a server can carry: alone, and while another client reads all pairs.

Requests are sent when they are due, answered or not, and a request takes from when it was due until its
reply: so a server that stops for a moment is charged for all that were due meanwhile. Then the same again
while another process reads all pairs in order, page by page, over and over. Repetitions of the servers
alternate; medians are shown.

    python -m honeycomb_clients.latency --honeycomb target/release/honeycomb --out out/latency
"""

import argparse
import collections
import contextlib
import multiprocessing
import os
import pathlib
import random
import select
import time

from honeycomb_clients import requests, throughput

def capacity(connections, exchange, seconds):
    """Requests a second, if every connection has one on its way at a time."""
    batches = [request for request, _ in exchange[: throughput.BATCHES]]
    sent, took = throughput.drive(connections, batches, len(exchange[0][1]), seconds)
    return sent / took


def paced(connections, exchange, rate, seconds):
    """Seconds that each request took, if so many a second are due."""
    reply_bytes, taken = len(exchange[0][1]), []
    due = {connection.fileno(): collections.deque() for connection in connections}
    by_number = {connection.fileno(): connection for connection in connections}
    left = dict.fromkeys(due, reply_bytes)
    poll = select.epoll()
    for number in due:
        poll.register(number, select.EPOLLIN)
    began, sent, answered, count = time.perf_counter(), 0, 0, int(rate * seconds)
    while answered < count:
        now = time.perf_counter()
        while sent < count and began + sent / rate <= now:
            connection = connections[sent % len(connections)]
            due[connection.fileno()].append(began + sent / rate)
            connection.sendall(exchange[sent % len(exchange)][0])
            sent += 1
        for number, _ in poll.poll(0 if sent < count else 1):
            received = len(by_number[number].recv(1 << 16))
            if received == 0:
                raise SystemExit("a server has closed a connection")
            now = time.perf_counter()
            while received >= left[number]:
                received -= left[number]
                left[number] = reply_bytes
                taken.append(now - due[number].popleft())
                answered += 1
            left[number] -= received
    poll.close()
    return taken


def read_all(server, pairs, began, stop):
    """Reads all pairs page by page, over and over, until it is told to stop."""
    exchange = list(server.workloads["page"](range(0, pairs - requests.PAGE + 1, requests.PAGE)))
    with server.connect() as connection:
        while not stop.is_set():
            for request, reply in exchange:
                connection.sendall(request)
                throughput.receive(connection, len(reply))
                began.set()
                if stop.is_set():
                    return


@contextlib.contextmanager
def reader(server, pairs):
    """Another process that reads all pairs meanwhile."""
    context = multiprocessing.get_context("fork")
    began, stop = context.Event(), context.Event()
    process = context.Process(target=read_all, args=(server, pairs, began, stop))
    process.start()
    try:
        if not began.wait(60):
            raise SystemExit(f"{server.name} sends no page")
        yield
    finally:
        stop.set()
        process.join()


def percentiles(taken):
    """Microseconds."""
    ordered = sorted(taken)
    return {f"p{share}": ordered[len(ordered) * share // 100] * 1e6 for share in (50, 99)}


def run(arguments, started):
    """By server and case, what each repetition took; all servers get the same load."""
    numbers = random.Random(arguments.seed).choices(range(arguments.pairs), k=4096)
    found = collections.defaultdict(list)
    with contextlib.ExitStack() as stack:
        opened = []
        for server in started:
            throughput.load(server, arguments.pairs)
            opened.append([stack.enter_context(server.connect()) for _ in range(arguments.connections)])
        exchange = list(requests.gets(numbers))
        rate = min(capacity(connections, exchange, arguments.seconds) for connections in opened) / 2
        for _ in range(arguments.repetitions):
            for server, connections in zip(started, opened):
                throughput.check(server, connections, exchange)
                alone = percentiles(paced(connections, exchange, rate, arguments.seconds))
                with reader(server, arguments.pairs):
                    beside = percentiles(paced(connections, exchange, rate, arguments.seconds))
                found[server.name, "alone"].append(alone)
                found[server.name, "beside a reader of all pairs"].append(beside)
    return rate, found


def rows(found):
    """Medians, and how many times what they were alone."""
    median = throughput.medians_of(found)
    for (server, case), medians in median.items():
        rise = medians["p99"] / median[server, "alone"]["p99"]
        yield {"server": server, "case": case, **medians, "p99_of_alone": rise}


def table(rate, measured):
    lines = [f"{rate:.0f} gets a second, microseconds:", ""]
    lines += ["| server | case | p50 | p99 | p99 to that alone |", "|---|---|---|---|---|"]
    for row in measured:
        times = f"{row['p50']:.0f} | {row['p99']:.0f} | {row['p99_of_alone']:.2f}"
        lines.append(f"| {row['server']} | {row['case']} | {times} |")
    return "\n".join(lines) + "\n"


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--honeycomb", nargs="+", default=["target/release/honeycomb"], help="the programs")
    parser.add_argument("--cores", type=int, default=1, help="threads of Honeycomb")
    parser.add_argument("--connections", type=int, default=20)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=2, help="of one measurement")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path, help="folder for latency.json and latency.md")
    return parser.parse_args(words)


def main(words=None):
    """Measures, prints the table, and writes it."""
    arguments = parse(words)
    machine_load, started = os.getloadavg()[0], []
    try:
        started.extend(throughput.servers(arguments.honeycomb, arguments.cores))
        # Redis with one thread is the peer.
        compared = [one for one in started if "page" in one.workloads and "threads" not in one.name]
        rate, found = run(arguments, compared)
    finally:
        for server in started:
            server.stop()
    measured = list(rows(found))
    report = {"load": machine_load, "rate": rate, "measured": measured}
    throughput.write(arguments, "latency", report, table(rate, measured))
    return measured


if __name__ == "__main__":
    main()
