"""Requests a second, and processor time for each, of Honeycomb beside Redis and memcached on this machine.

One client program sends all of them the same: so many connections, so many requests ahead on each, of keys
from all over the store, so that no cache has what they ask for. It knows how long each reply is and only
counts bytes, once it has looked at the first ones; so it costs little, though where few requests are ahead
it, not the server, may be what is measured. Processor time of the server tells them apart then. Repetitions
of all servers alternate; medians are shown.

    python -m honeycomb_clients.throughput --honeycomb target/release/honeycomb --out out/throughput
"""

import argparse
import contextlib
import itertools
import json
import os
import pathlib
import random
import shutil
import socket
import statistics
import subprocess
import sys
import time

from honeycomb_clients import requests

# Requests of a workload, of as many keys; then they begin again.
REQUESTS = 200_000
# Writes that are on their way at once while pairs are loaded.
CHUNK = 200
REDIS_COMMAND = ["redis-server", "--port", "PORT", "--save", "", "--appendonly", "no", "--bind", "127.0.0.1"]
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


class Server:
    """A server that runs, and knows the workloads of its protocol."""

    def __init__(self, name, command, workloads):
        self.name, self.workloads = name, workloads
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        command = [part.replace("PORT", str(self.port)) for part in command]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def connect(self):
        for _ in range(200):
            with contextlib.suppress(ConnectionRefusedError):
                found = socket.create_connection(("127.0.0.1", self.port), timeout=60)
                found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return found
            time.sleep(0.05)
        raise SystemExit(f"{self.name} does not answer")

    @contextlib.contextmanager
    def connections(self, count):
        """So many connections, which are closed at the end."""
        with contextlib.ExitStack() as stack:
            yield [stack.enter_context(self.connect()) for _ in range(count)]

    def processor_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS_A_SECOND

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=30)


def honeycombs(programs, cores):
    """Of each of Honeycomb's programs a name, a command that serves at PORT, and the workloads."""
    for number, path in enumerate(programs, 1):
        command = [path, "serve", "--address", "127.0.0.1:PORT", "--cores", str(cores)]
        yield "honeycomb" if number == 1 else f"honeycomb {number}", command, requests.HONEYCOMB


def commands(programs, cores, nothing=None):
    """Of each server on this machine a name, a command that serves at PORT, and its workloads: Honeycomb's
    programs, one that does nothing, and the peers."""
    yield from honeycombs(programs, cores)
    if nothing:
        yield "nothing", [nothing, "PORT"], requests.NOTHING
    threads = ["--io-threads", "2", "--io-threads-do-reads", "yes"]
    memcached = ["memcached", "-l", "127.0.0.1", "-p", "PORT", "-t", str(cores), "-m", "1024"]
    if os.geteuid() == 0:
        memcached += ["-u", "root"]
    peers = [
        ("redis", REDIS_COMMAND, requests.REDIS),
        ("redis, io-threads 2", REDIS_COMMAND + threads, requests.REDIS),
        ("memcached", memcached, requests.MEMCACHED),
    ]
    for name, command, workloads in peers:
        if shutil.which(command[0]):
            yield name, command, workloads
        else:
            print(f"{command[0]} is not on this machine", file=sys.stderr)


def receive(connection, length):
    """So many bytes."""
    found = bytearray()
    while len(found) < length:
        part = connection.recv(length - len(found))
        if not part:
            raise SystemExit("a server has closed a connection; it said: " + repr(bytes(found[-200:])))
        found += part
    return bytes(found)


def load(server, pairs):
    """Writes all pairs, some at a time."""
    exchange = iter(server.workloads["load"](range(pairs)))
    with server.connect() as connection:
        while chunk := list(itertools.islice(exchange, CHUNK)):
            connection.sendall(b"".join(request for request, _ in chunk))
            receive(connection, sum(len(reply) for _, reply in chunk))


def check(server, connections, exchange):
    """Every connection gets what is expected of the first requests."""
    for connection in connections:
        for request, reply in exchange[:20]:
            connection.sendall(request)
            found = receive(connection, len(reply))
            if found != reply:
                raise SystemExit(f"{server.name} replied {found!r} to {request!r}, not {reply!r}")


def exchange_all(connections, batches, first, reply_bytes):
    """Sends each connection a batch, from one on, and takes what is replied."""
    for at, connection in enumerate(connections, first):
        connection.sendall(batches[at % len(batches)])
    buffer = bytearray(1 << 16)
    for connection in connections:
        left = reply_bytes
        while left > 0:
            received = connection.recv_into(buffer, min(left, len(buffer)))
            if received == 0:
                raise SystemExit("a server has closed a connection")
            left -= received


def drive(connections, batches, reply_bytes, seconds):
    """Sends batches to all connections in turn: how many, and in what time."""
    sent, began = 0, time.perf_counter()
    while time.perf_counter() < began + seconds:
        exchange_all(connections, batches, sent, reply_bytes)
        sent += len(connections)
    return sent, time.perf_counter() - began


def batches_of(exchange, pipeline):
    """So many requests in each batch, and how many bytes are replied to it."""
    endless = itertools.cycle(request for request, _ in exchange)
    count = max(1, len(exchange) // pipeline)
    batches = [b"".join(itertools.islice(endless, pipeline)) for _ in range(count)]
    return batches, len(exchange[0][1]) * pipeline


def measure(server, connections, exchange, pipeline, seconds):
    """Requests a second, and microseconds of the server's processor time for each."""
    batches, reply_bytes = batches_of(exchange, pipeline)
    check(server, connections, exchange)
    before = server.processor_seconds()
    sent, took = drive(connections, batches, reply_bytes, seconds)
    used = server.processor_seconds() - before
    return {"rate": sent * pipeline / took, "microseconds": used * 1e6 / (sent * pipeline)}


def run(arguments, started):
    """All measurements, by workload, pipeline and server."""
    numbers = random.Random(arguments.seed).choices(range(arguments.pairs - requests.RANGE), k=REQUESTS)
    found = {}
    for server in started:
        load(server, arguments.pairs)
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(server.connections(arguments.connections)) for server in started]
        for workload in ("get", "set", "range"):
            able = [pair for pair in zip(started, opened) if workload in pair[0].workloads]
            exchanges = [list(server.workloads[workload](numbers)) for server, _ in able]
            for pipeline, _ in itertools.product(arguments.pipelines, range(arguments.repetitions)):
                for (server, connections), exchange in zip(able, exchanges):
                    taken = measure(server, connections, exchange, pipeline, arguments.seconds)
                    found.setdefault((workload, pipeline, server.name), []).append(taken)
    return found


def medians_of(found):
    """By case, the median of each value that repetitions have taken."""
    return {
        case: {key: statistics.median(one[key] for one in taken) for key in taken[0]}
        for case, taken in found.items()
    }


def rows(found):
    """Medians, and the same beside those of Redis."""
    median = medians_of(found)
    for (workload, pipeline, server), medians in median.items():
        redis = median.get((workload, pipeline, "redis"))
        known = {key: value for key, value in medians.items() if redis and redis[key]}
        ratio = {f"{key}_of_redis": value / redis[key] for key, value in known.items()}
        yield {"workload": workload, "pipeline": pipeline, "server": server, **medians, **ratio}


def table(measured):
    """The medians as Markdown: rates and processor time as ratios to Redis."""
    heads = ["workload", "pipeline", "server", "requests a second", "processor time a request"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in measured:
        ratios = [row.get("rate_of_redis"), row.get("microseconds_of_redis")]
        shown = ["-" if ratio is None else f"{ratio:.2f}" for ratio in ratios]
        lines.append(f"| {row['workload']} | {row['pipeline']} | {row['server']} | {shown[0]} | {shown[1]} |")
    return "\n".join(lines) + "\n"


def parser(about, connections, pairs):
    """Of what every measurement can be asked for, with its own defaults."""
    parser = argparse.ArgumentParser(description=about.split("\n")[0])
    parser.add_argument("--honeycomb", nargs="+", default=["target/release/honeycomb"], help="the programs")
    parser.add_argument("--connections", type=int, default=connections)
    parser.add_argument("--pairs", type=int, default=pairs)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path, help="folder for what was measured, as JSON and Markdown")
    return parser


def parse(words):
    asked = parser(__doc__, connections=50, pairs=2_000_000)
    asked.add_argument("--nothing", help="a server that does nothing: the server's example of that name")
    asked.add_argument("--cores", type=int, default=1, help="threads of Honeycomb and of memcached")
    asked.add_argument("--pipelines", type=int, nargs="+", default=[1, 16, 128])
    asked.add_argument("--seconds", type=float, default=0.5, help="of one measurement")
    asked.add_argument("--repetitions", type=int, default=5)
    asked.add_argument("--load-max", type=float, default=1.0, help="refuse if the machine has more")
    return asked.parse_args(words)


def write(arguments, name, report, text, shown=None):
    """Prints a table, or what is to be shown instead, and writes it and its report if a folder was named."""
    print(text if shown is None else shown, end="")
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        settings = {key: str(value) for key, value in vars(arguments).items()}
        report = json.dumps({**report, "settings": settings}, indent=1)
        (arguments.out / f"{name}.json").write_text(report)
        (arguments.out / f"{name}.md").write_text(text)


def main(words=None):
    """Measures, prints the table, and writes it."""
    arguments = parse(words)
    machine_load = os.getloadavg()[0]
    if machine_load > arguments.load_max:
        raise SystemExit(f"the machine's load is {machine_load}, more than --load-max {arguments.load_max}")
    started = []
    try:
        programs = commands(arguments.honeycomb, arguments.cores, arguments.nothing)
        started.extend(Server(*program) for program in programs)
        measured = list(rows(run(arguments, started)))
    finally:
        for server in started:
            server.stop()
    write(arguments, "throughput", {"load": machine_load, "measured": measured}, table(measured))
    return measured


if __name__ == "__main__":
    main()
