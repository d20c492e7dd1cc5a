"""Measures what durability costs, beside Redis, on this machine: writes with each policy, gets beside writes
that wait for the disk, restarts, and requests beside a snapshot.

`redis-benchmark` sends the same requests to both servers. Repetitions of all cases alternate, and the tables
show medians and ratios: to the same server without a log, and of Honeycomb to Redis. The processor time of a
server a request shows its cost where the client limits the rate. Writes beside gets, and requests beside a
snapshot, have a fixed rate, the latter half of the lowest capacity, as in `latency`.

    python -m honeycomb_clients.durability --honeycomb target/release/honeycomb --dir out/durability
"""

import argparse
import contextlib
import csv
import io
import itertools
import os
import pathlib
import random
import re
import shutil
import socket
import statistics
import subprocess
import tempfile
import threading
import time

from honeycomb_clients import latency, requests, throughput

CONNECTIONS = 50
KEYS = 100_000
VALUE_BYTES = 16
# Requests of one measurement, by policy and pipeline. Waiting for the disk takes longer.
REQUESTS = {"none": {1: 60_000, 16: 400_000, 128: 800_000}, "always": {1: 8_000, 16: 60_000, 128: 200_000}}
KINDS = ["honeycomb", "redis"]
POLICIES = ["none", "everysec", "always"]
PIPELINES = [1, 16, 128]
# Sets a second beside gets.
PACED_SETS = 2_000


class Server:
    """A server with a policy and a directory. `options` are further parameters."""

    def __init__(self, kind, policy, directory, honeycomb, options=()):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        directory.mkdir(parents=True, exist_ok=True)
        if kind == "honeycomb":
            durable = ["--dir", str(directory), "--durability", policy]
            command = [honeycomb, "serve", "--address", f"127.0.0.1:{self.port}", "--memory", "4GiB"]
            command += [*(durable if policy != "none" else []), "--log-level", "error", *options]
        else:
            durable = ["--appendonly", "yes", "--appendfsync", policy]
            command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]
            command += ["--dir", str(directory), *(durable if policy != "none" else []), *options]
        started = time.perf_counter()
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, **quiet)
        self.await_pong()
        self.start_seconds = time.perf_counter() - started

    def await_pong(self):
        while self.process.poll() is None:
            with contextlib.suppress(OSError):
                if self.command("PING") == b"+PONG\r\n":
                    return
            time.sleep(0.005)
        raise SystemExit("the server has ended")

    def command(self, line):
        """Sends a command and returns its first reply."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=300) as connection:
            connection.sendall(f"{line}\r\n".encode())
            return connection.recv(4096)

    def benchmark(self, test, requests, pipeline, keys=KEYS, connections=CONNECTIONS):
        """Returns requests per second and the p99 in milliseconds."""
        command = ["redis-benchmark", "-p", str(self.port), "-c", str(connections), "-n", str(requests)]
        command += ["-P", str(pipeline), "-r", str(keys), "-d", str(VALUE_BYTES), "-t", test, "--csv"]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        row = next(csv.DictReader(io.StringIO(output)))
        return float(row["rps"]), float(row["p99_latency_ms"])

    def processor_seconds(self):
        """Returns the processor time of all threads, also of those that have ended."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")

    def stop(self, kill=False):
        self.process.kill() if kill else self.process.terminate()
        self.process.wait(timeout=120)


@contextlib.contextmanager
def serving(kind, policy, root, honeycomb, options=()):
    """Yields a server with a new directory."""
    directory = pathlib.Path(tempfile.mkdtemp(dir=root))
    server = Server(kind, policy, directory, honeycomb, options)
    try:
        yield server
    finally:
        server.stop(kill=True)
        shutil.rmtree(directory)


def writes(arguments):
    """SET at each pipeline with each policy."""
    rates, seconds = {}, {}
    for _, kind, policy in itertools.product(range(arguments.repetitions), KINDS, POLICIES):
        with serving(kind, policy, arguments.dir, arguments.honeycomb) as server:
            for pipeline in PIPELINES:
                counts = REQUESTS["always" if policy == "always" else "none"]
                count = max(int(counts[pipeline] * arguments.scale), CONNECTIONS)
                began = server.processor_seconds()
                rate, _ = server.benchmark("set", count, pipeline)
                rates.setdefault((kind, policy, pipeline), []).append(rate)
                used = (server.processor_seconds() - began) / count
                seconds.setdefault((kind, policy, pipeline), []).append(used)
    print_writes(rates, seconds)


def print_writes(rates, seconds):
    """Prints ratios of medians, by pipeline and policy."""
    medians = lambda found: {case: statistics.median(values) for case, values in found.items()}
    rate, used = medians(rates), medians(seconds)
    print("| pipeline | policy | Honeycomb, of none | Redis, of none | to Redis | spread | processor time |")
    print("|---|---|---|---|---|---|---|")
    for pipeline, policy in itertools.product(PIPELINES, POLICIES):
        own, other = ((kind, policy, pipeline) for kind in KINDS)
        of_none = [rate[case] / rate[case[0], "none", pipeline] for case in (own, other)]
        spread = (max(rates[own]) - min(rates[own])) / rate[own]
        time_ratio = used[own] / used[other] if used[other] else float("nan")
        shares = f"{of_none[0]:.2f} | {of_none[1]:.2f} | {rate[own] / rate[other]:.2f} | {spread:.0%}"
        print(f"| {pipeline} | {policy} | {shares} | {time_ratio:.2f} |")


@contextlib.contextmanager
def paced_sets(server):
    """Sends sets at a fixed rate on all connections meanwhile. Yields a function that returns their
    number."""
    exchange, ended = list(requests.sets(range(4096))), threading.Event()
    rounds = []
    with contextlib.ExitStack() as stack:
        address = ("127.0.0.1", server.port)
        connections = [
            stack.enter_context(socket.create_connection(address, timeout=60)) for _ in range(CONNECTIONS)
        ]

        def send():
            while not ended.is_set():
                rounds.append(len(latency.Paced(connections, exchange, PACED_SETS, 0.1).run()))

        thread = threading.Thread(target=send)
        thread.start()
        try:
            yield lambda: sum(rounds)
        finally:
            ended.set()
            thread.join()


def reads_beside_writes(arguments):
    """The rate of gets beside sets of a fixed rate under `always`, and beside the same without a log."""
    rates, paces = {}, {}
    for _, policy in itertools.product(range(arguments.repetitions), ["none", "always"]):
        with serving("honeycomb", policy, arguments.dir, arguments.honeycomb) as server:
            server.benchmark("set", KEYS, 128)
            with paced_sets(server) as sets:
                began = time.perf_counter()
                rate, _ = server.benchmark("get", max(int(200_000 * arguments.scale), CONNECTIONS), 1)
                paces.setdefault(policy, []).append(sets() / (time.perf_counter() - began))
            rates.setdefault(policy, []).append(rate)
    medians = {policy: statistics.median(found) for policy, found in rates.items()}
    spread = (max(rates["always"]) - min(rates["always"])) / medians["always"]
    print("| sets a second | gets beside them: always to none | spread |")
    print("|---|---|---|")
    pace = " and ".join(f"{statistics.median(found):.0f}" for found in paces.values())
    print(f"| {pace} | {medians['always'] / medians['none']:.2f} | {spread:.0%} |")


def restarts(arguments):
    """The seconds of a restart from a checkpoint and from the log."""
    pairs = arguments.pairs
    found = {}
    for _ in range(arguments.repetitions):
        for kind in KINDS:
            for source in ["checkpoint", "log"]:
                directory = pathlib.Path(tempfile.mkdtemp(dir=arguments.dir))
                # Redis loads its log if it has one, so a checkpoint needs a server without.
                policy = {("redis", "checkpoint"): "none"}.get((kind, source), "everysec")
                options = ["--auto-aof-rewrite-percentage", "0"] if kind == "redis" else []
                server = Server(kind, policy, directory, arguments.honeycomb, options)
                server.benchmark("set", pairs, 128, keys=1_000_000_000)
                if source == "checkpoint":
                    assert server.command("SAVE") == b"+OK\r\n"
                count = server.command("DBSIZE")
                # Unlike a killed one, a server that ends by itself writes its log first.
                server.stop()
                server = Server(kind, policy, directory, arguments.honeycomb, options)
                restored = server.command("DBSIZE")
                assert restored == count, f"{kind} has {restored} after a restart, and had {count} before"
                found.setdefault((kind, source), []).append(server.start_seconds)
                server.stop(kill=True)
                shutil.rmtree(directory)
    print(f"| restart of {pairs} sets from | Redis to Honeycomb, in time | spread |")
    print("|---|---|---|")
    for source in ["checkpoint", "log"]:
        own, other = (statistics.median(found[kind, source]) for kind in KINDS)
        spread = (max(found["honeycomb", source]) - min(found["honeycomb", source])) / own
        print(f"| {source} | {other / own:.2f} | {spread:.0%} |")


class Memory:
    """The largest memory of a process and its children meanwhile, in bytes. What they share counts once."""

    def __init__(self, process):
        self.process, self.peak, self.ended = process, 0, threading.Event()

    def now(self):
        children = pathlib.Path(f"/proc/{self.process}/task/{self.process}/children").read_text().split()
        found = 0
        for process in [str(self.process), *children]:
            # A child can end meanwhile.
            with contextlib.suppress(OSError):
                rollup = pathlib.Path(f"/proc/{process}/smaps_rollup").read_text()
                found += 1024 * int(re.search(r"^Pss: +(\d+)", rollup, re.MULTILINE)[1])
        return found

    def watch(self):
        while not self.ended.wait(0.25):
            self.peak = max(self.peak, self.now())

    @contextlib.contextmanager
    def watched(self):
        thread = threading.Thread(target=self.watch)
        thread.start()
        try:
            yield
        finally:
            self.ended.set()
            thread.join()


def mixed(numbers):
    """Gets, and sets that return the old value: replies of one length."""
    for number in numbers:
        yield requests.resp(b"GET", requests.key(number)), requests.bulk(requests.VALUE)
        words = [b"SET", requests.key(number), requests.VALUE, b"GET"]
        yield requests.resp(*words), requests.bulk(requests.VALUE)


def p99(connections, exchange, rate, seconds, goes_on=lambda: False):
    """Returns the p99 in seconds of requests at a rate, for as many rounds as `goes_on`, but at least one."""
    latencies = latency.Paced(connections, exchange, rate, seconds).run()
    while goes_on():
        latencies += latency.Paced(connections, exchange, rate, seconds).run()
    return sorted(latencies)[len(latencies) * 99 // 100]


def during_snapshot(server, connections, exchange, rate, seconds):
    """Begins a snapshot, and returns the p99 in seconds of the requests until its end."""
    assert server.command("BGSAVE").startswith(b"+"), "no snapshot was begun"
    goes_on = lambda: b"rdb_bgsave_in_progress:1" in server.command("INFO persistence")
    return p99(connections, exchange, rate, seconds, goes_on)


def beside_snapshot(server, *requested):
    """Returns the ratios of the p99 and of the memory beside a snapshot to those before: beside two
    snapshots, because the system takes long to count the memory."""
    beside = during_snapshot(server, *requested) / p99(*requested)
    memory = Memory(server.process.pid)
    used = memory.now()
    with memory.watched():
        during_snapshot(server, *requested)
    return beside, memory.peak / used


@contextlib.contextmanager
def serving_apart(arguments):
    """Yields the servers by kind. They have the first processor, and this process has the others, if there
    are more: otherwise the measurement would include the scheduler."""
    allowed = sorted(os.sched_getaffinity(0))
    with contextlib.ExitStack() as stack:
        stack.callback(os.sched_setaffinity, 0, allowed)
        os.sched_setaffinity(0, allowed[:1])
        start = lambda kind, policy: serving(kind, policy, arguments.dir, arguments.honeycomb)
        policies = {"honeycomb": "everysec", "redis": "none"}
        servers = {kind: stack.enter_context(start(kind, policy)) for kind, policy in policies.items()}
        os.sched_setaffinity(0, allowed[1:] or allowed)
        yield servers


def snapshots(arguments):
    """Gets and sets on all connections at half load, and the memory: beside a snapshot and before."""
    numbers = random.Random(1).choices(range(arguments.pairs), k=4096)
    exchange, seconds, found = list(mixed(numbers)), max(arguments.scale, 0.01), {}
    with serving_apart(arguments) as servers, contextlib.ExitStack() as stack:
        opened = {}
        for kind, server in servers.items():
            address = ("127.0.0.1", server.port)
            connections = [
                stack.enter_context(socket.create_connection(address, timeout=60)) for _ in range(CONNECTIONS)
            ]
            throughput.send_all(connections[0], requests.sets(range(arguments.pairs)))
            opened[kind] = server, connections
        rate = min(latency.capacity(connections, exchange, seconds) for _, connections in opened.values()) / 2
        for _, (kind, place) in itertools.product(range(arguments.repetitions), opened.items()):
            found.setdefault(kind, []).append(beside_snapshot(*place, exchange, rate, seconds))
    print(f"| beside a snapshot of {arguments.pairs} pairs, to before | p99 | each p99 | memory |")
    print("|---|---|---|---|")
    for kind, ratios in found.items():
        times, used = zip(*ratios)
        each = ", ".join(f"{ratio:.2f}" for ratio in times)
        print(f"| {kind} | {statistics.median(times):.2f} | {each} | {statistics.median(used):.2f} |")


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--honeycomb", default="target/release/honeycomb")
    parser.add_argument("--dir", type=pathlib.Path, required=True, help="a directory on the disk to measure")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--pairs", type=int, default=5_000_000, help="sets before a restart or a snapshot")
    parser.add_argument("--scale", type=float, default=1, help="scales the numbers of requests")
    parser.add_argument("--only", choices=["writes", "reads", "restarts", "snapshots"])
    arguments = parser.parse_args(words)
    arguments.dir.mkdir(parents=True, exist_ok=True)
    cases = {"writes": writes, "reads": reads_beside_writes, "restarts": restarts, "snapshots": snapshots}
    for name, measure in cases.items():
        if arguments.only in (None, name):
            measure(arguments)


if __name__ == "__main__":
    main()
