"""Measures requests per second, and the processor time of each, of Honeycomb, Redis and memcached on this
machine.

One client program sends the same requests to all servers: with the same number of connections and of
requests in flight, and with keys from the whole store, so that no processor cache contains them. It checks
the first replies and only counts the bytes of the others, because it knows the length of each reply. So it
needs little time. With few requests in flight it may still be the bottleneck; then the processor time of
the servers shows the difference. Repetitions of all servers alternate, and the table shows medians.

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

# Number of different requests of a workload, which then repeats them.
REQUESTS = 200_000
# Writes in flight while pairs are loaded.
BATCH = 200
REDIS_COMMAND = ["redis-server", "--port", "PORT", "--save", "", "--appendonly", "no", "--bind", "127.0.0.1"]
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


class Server:
    """A running server, and the workloads of its protocol."""

    def __init__(self, name, command, workloads):
        self.name, self.workloads = name, workloads
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        command = [part.replace("PORT", str(self.port)) for part in command]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def connect(self):
        for _ in range(200):
            with contextlib.suppress(ConnectionRefusedError):
                connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return connection
            time.sleep(0.05)
        raise SystemExit(f"{self.name} does not accept connections")

    @contextlib.contextmanager
    def connections(self, count):
        """Yields this number of connections and closes them at the end."""
        with contextlib.ExitStack() as stack:
            yield [stack.enter_context(self.connect()) for _ in range(count)]

    def processor_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=30)


def honeycombs(programs, cores):
    """Yields a name, a command that serves at PORT, and the workloads of each of Honeycomb's programs."""
    for number, path in enumerate(programs, 1):
        command = [path, "serve", "--address", "127.0.0.1:PORT", "--cores", str(cores)]
        yield "honeycomb" if number == 1 else f"honeycomb {number}", command, requests.HONEYCOMB


def unordered_honeycombs(programs, cores):
    """As `honeycombs`, with an unordered database."""
    for name, command, _ in honeycombs(programs, cores):
        yield f"{name}, unordered", [*command, "--unordered", "0"], requests.UNORDERED


def commands(programs, cores, nothing=None, unordered=False):
    """Yields a name, a command that serves at PORT, and the workloads of each server that is installed:
    Honeycomb's programs, the first of them with an unordered database, a server that does nothing, and the
    peers."""
    yield from honeycombs(programs, cores)
    if unordered:
        yield from unordered_honeycombs(programs[:1], cores)
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
            print(f"{command[0]} is not installed", file=sys.stderr)


def receive(connection, length):
    """Receives this number of bytes."""
    found = bytearray()
    while len(found) < length:
        part = connection.recv(length - len(found))
        if not part:
            raise SystemExit("a server closed a connection; its last bytes: " + repr(bytes(found[-200:])))
        found += part
    return bytes(found)


def load(server, pairs):
    """Writes all pairs, in batches."""
    with server.connect() as connection:
        send_all(connection, server.workloads["load"](range(pairs)))


def send_all(connection, exchange):
    """Sends all requests of an exchange, in batches, and receives the replies."""
    exchange = iter(exchange)
    while chunk := list(itertools.islice(exchange, BATCH)):
        connection.sendall(b"".join(request for request, _ in chunk))
        receive(connection, sum(len(reply) for _, reply in chunk))


def check(server, connections, exchange):
    """Checks the replies to the first requests on every connection."""
    for connection in connections:
        for request, reply in exchange[:20]:
            connection.sendall(request)
            found = receive(connection, len(reply))
            if found != reply:
                raise SystemExit(f"{server.name} replied {found!r} instead of {reply!r} to {request!r}")


def exchange_all(connections, batches, first, reply_bytes):
    """Sends one batch to each connection, from the batch `first` on, and receives the replies."""
    for at, connection in enumerate(connections, first):
        connection.sendall(batches[at % len(batches)])
    buffer = bytearray(1 << 16)
    for connection in connections:
        left = reply_bytes
        while left > 0:
            received = connection.recv_into(buffer, min(left, len(buffer)))
            if received == 0:
                raise SystemExit("a server closed a connection")
            left -= received


def drive(connections, batches, reply_bytes, seconds):
    """Sends batches to all connections round-robin. Returns the number of batches and the elapsed time."""
    sent, began = 0, time.perf_counter()
    while time.perf_counter() < began + seconds:
        exchange_all(connections, batches, sent, reply_bytes)
        sent += len(connections)
    return sent, time.perf_counter() - began


def batches_of(exchange, pipeline):
    """Returns batches with this number of requests, and the bytes of the replies to one batch."""
    endless = itertools.cycle(request for request, _ in exchange)
    count = max(1, len(exchange) // pipeline)
    batches = [b"".join(itertools.islice(endless, pipeline)) for _ in range(count)]
    return batches, len(exchange[0][1]) * pipeline


def measure(server, connections, exchange, pipeline, seconds):
    """Returns requests per second, and microseconds of the server's processor time for each."""
    batches, reply_bytes = batches_of(exchange, pipeline)
    check(server, connections, exchange)
    before = server.processor_seconds()
    sent, elapsed = drive(connections, batches, reply_bytes, seconds)
    used = server.processor_seconds() - before
    return {"rate": sent * pipeline / elapsed, "microseconds": used * 1e6 / (sent * pipeline)}


def run(arguments, started):
    """Returns all measurements, by workload, pipeline and server."""
    numbers = random.Random(arguments.seed).choices(range(arguments.pairs - requests.RANGE), k=REQUESTS)
    results = {}
    for server in started:
        load(server, arguments.pairs)
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(server.connections(arguments.connections)) for server in started]
        for workload in ("get", "set", "range"):
            able = [pair for pair in zip(started, opened) if workload in pair[0].workloads]
            exchanges = [list(server.workloads[workload](numbers)) for server, _ in able]
            for pipeline, _ in itertools.product(arguments.pipelines, range(arguments.repetitions)):
                for (server, connections), exchange in zip(able, exchanges):
                    values = measure(server, connections, exchange, pipeline, arguments.seconds)
                    results.setdefault((workload, pipeline, server.name), []).append(values)
    return results


def medians_of(results):
    """Returns the median of each value of the repetitions, by case."""
    return {
        case: {key: statistics.median(one[key] for one in values) for key in values[0]}
        for case, values in results.items()
    }


def rows(results):
    """Yields medians, and their ratios to those of Redis."""
    median = medians_of(results)
    for (workload, pipeline, server), medians in median.items():
        redis = median.get((workload, pipeline, "redis"))
        known = {key: value for key, value in medians.items() if redis and redis[key]}
        ratio = {f"{key}_of_redis": value / redis[key] for key, value in known.items()}
        yield {"workload": workload, "pipeline": pipeline, "server": server, **medians, **ratio}


def table(measured):
    """Returns the medians as Markdown: rates and processor time as ratios to Redis."""
    heads = ["workload", "pipeline", "server", "requests per second", "processor time per request"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in measured:
        ratios = [row.get("rate_of_redis"), row.get("microseconds_of_redis")]
        shown = ["-" if ratio is None else f"{ratio:.2f}" for ratio in ratios]
        lines.append(f"| {row['workload']} | {row['pipeline']} | {row['server']} | {shown[0]} | {shown[1]} |")
    return "\n".join(lines) + "\n"


def common_parser(about, connections, pairs):
    """Returns a parser with the options of all measurements and the given defaults."""
    parser = argparse.ArgumentParser(description=about.split("\n\n")[0])
    parser.add_argument("--honeycomb", nargs="+", default=["target/release/honeycomb"], help="programs")
    parser.add_argument("--connections", type=int, default=connections)
    parser.add_argument("--pairs", type=int, default=pairs)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path, help="folder for the measurements, as JSON and Markdown")
    return parser


def parse(words):
    parser = common_parser(__doc__, connections=50, pairs=2_000_000)
    parser.add_argument("--nothing", help="a server that does nothing: the example `nothing` of the server")
    parser.add_argument("--unordered", action="store_true", help="measure an unordered database, too")
    parser.add_argument("--cores", type=int, default=1, help="threads of Honeycomb and of memcached")
    parser.add_argument("--pipelines", type=int, nargs="+", default=[1, 16, 128])
    parser.add_argument("--seconds", type=float, default=0.5, help="duration of one measurement")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--load-max", type=float, default=1.0, help="maximum load of the machine")
    return parser.parse_args(words)


def write(arguments, name, report, text, shown=None):
    """Prints the table, or another text, and writes the table and its report if a folder was named."""
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
        raise SystemExit(f"the load is {machine_load}, more than --load-max {arguments.load_max}")
    started = []
    try:
        programs = commands(arguments.honeycomb, arguments.cores, arguments.nothing, arguments.unordered)
        started.extend(Server(*program) for program in programs)
        measured = list(rows(run(arguments, started)))
    finally:
        for server in started:
            server.stop()
    write(arguments, "throughput", {"load": machine_load, "measured": measured}, table(measured))
    return measured


if __name__ == "__main__":
    main()
