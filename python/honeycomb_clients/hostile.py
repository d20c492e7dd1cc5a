"""Measures the latency of gets while hostile clients run, and the memory of the server.

The gets of a server with many pairs are due at a fixed rate. The latency of a get is the time from when it
was due until its reply, so a pause of the server counts for all gets that were due during it. Each case has
one kind of hostile client, or none. The server has its own core. The measuring process and the hostile
clients share the other cores, and the system preempts a hostile client as soon as the measuring process can
run. Repetitions of the cases alternate, and the table shows medians. With --redis the table also shows
Redis, for the cases whose commands Redis has.

    python -m honeycomb_clients.hostile --honeycomb target/release/honeycomb --out out/hostile
"""

import collections
import contextlib
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import time

from honeycomb_clients import latency, requests, throughput
from honeycomb_clients.attackers import CASES, LONG_VALUES, LONGEST, MEBIBYTE
from honeycomb_clients.requests import resp

ALONE = "alone"
# Seconds between two cases, so that a case does not affect the next one.
PAUSE = 0.3
# Prefixes of commands that Redis does not have.
ONLY_HONEYCOMB = ("RI.",)


@contextlib.contextmanager
def attack(server, case, arguments, outcome):
    """Runs hostile clients in a separate process, and stores their outcome when it ends."""
    if case == ALONE:
        yield
        return
    command = [sys.executable, "-m", "honeycomb_clients.attackers", "--port", str(server.port)]
    command += ["--case", case, "--pairs", str(arguments.pairs)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        time.sleep(PAUSE)
        yield
    finally:
        printed, _ = process.communicate(timeout=60)
    outcome.update(json.loads(printed))


def peak_memory(server):
    """Returns the maximum of resident memory since `reset_peak`, in bytes."""
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s*(\d+) kB", status)[1]) * 1024


def reset_peak(server):
    with contextlib.suppress(PermissionError):
        pathlib.Path(f"/proc/{server.process.pid}/clear_refs").write_text("5")


def fill(server, pairs):
    """Writes the pairs and the long values."""
    throughput.load(server, pairs)
    with server.connect() as connection:
        for request in [
            LONG_VALUES,
            resp(b"SET", b"longest", bytes(LONGEST)),
            resp(b"SET", b"mebibyte", bytes(MEBIBYTE)),
        ]:
            connection.sendall(request)
            throughput.receive(connection, len(b"+OK\r\n"))


def measure(server, connections, exchange, case, arguments):
    """Returns the latency of gets with one kind of hostile client, in microseconds, and the outcome of
    these clients."""
    time.sleep(PAUSE)
    reset_peak(server)
    outcome = {"rounds": 0, "closed": 0}
    with attack(server, case, arguments, outcome):
        latencies = latency.Paced(connections, exchange, arguments.rate, arguments.seconds).run()
    times = latency.percentiles(latencies) | {"worst": max(latencies) * 1e6}
    return times | outcome | {"memory": peak_memory(server)}


def cases_of(server, arguments):
    """Returns the cases whose commands the server has, including the one without hostile clients."""
    own = [case for case in arguments.cases if "redis" not in server.name or ONLY_HONEYCOMB[0] not in case]
    return [ALONE, *own]


def run(started, arguments):
    """Returns the measurements of all repetitions, by server and case."""
    numbers = random.Random(arguments.seed).choices(range(arguments.pairs), k=4096)
    exchange, results = list(requests.gets(numbers)), collections.defaultdict(list)
    with contextlib.ExitStack() as stack:
        opened = []
        for server in started:
            fill(server, arguments.pairs)
            opened.append(stack.enter_context(server.connections(arguments.connections)))
            throughput.check(server, opened[-1], exchange)
        for _ in range(arguments.repetitions):
            for server, connections in zip(started, opened):
                for case in cases_of(server, arguments):
                    print(f"{server.name}: {case}", file=sys.stderr)
                    results[server.name, case].append(measure(server, connections, exchange, case, arguments))
    return results


def rows(results):
    """Yields medians, their ratios to the case without hostile clients, and the maximum of memory."""
    median = throughput.medians_of(results)
    for (server, case), medians in median.items():
        rise = medians["p99"] / median[server, ALONE]["p99"]
        memory = max(one["memory"] for one in results[server, case])
        yield {"server": server, "case": case, **medians, "memory": memory, "p99_of_alone": rise}


def table(rate, measured):
    lines = [f"{rate} gets per second, microseconds, MiB:", ""]
    heads = "| server | hostile clients | p50 | p99 | p99 relative to alone | worst | peak memory |"
    lines += [heads, "|---" * 7 + "|"]
    for row in measured:
        times = f"{row['p50']:.0f} | {row['p99']:.0f} | {row['p99_of_alone']:.2f} | {row['worst']:.0f}"
        lines.append(f"| {row['server']} | {row['case']} | {times} | {row['memory'] / MEBIBYTE:.0f} |")
    return "\n".join(lines) + "\n"


def parse(words):
    parser = throughput.common_parser(__doc__, connections=20, pairs=1_000_000)
    parser.add_argument("--cores", type=int, default=1, help="threads of Honeycomb")
    parser.add_argument("--rate", type=int, default=2000, help="gets per second")
    parser.add_argument("--seconds", type=float, default=2, help="duration of one measurement")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--redis", action="store_true", help="measure Redis too")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    return parser.parse_args(words)


def commands(arguments):
    """Yields a name, a command and the workloads of each server."""
    yield next(throughput.honeycombs(arguments.honeycomb, arguments.cores))
    if arguments.redis and shutil.which(throughput.REDIS_COMMAND[0]):
        # Without a limit, Redis would allocate 50 GB for replies.
        limited = [*throughput.REDIS_COMMAND, "--maxmemory-clients", "256mb"]
        yield "redis", limited, requests.REDIS


def main(words=None):
    """Measures, prints the table or JSON, and writes both if a folder was named."""
    arguments = parse(words)
    with latency.apart(arguments.cores, commands(arguments)) as started:
        measured = list(rows(run(started, arguments)))
    text = table(arguments.rate, measured)
    shown = json.dumps(measured, indent=1) + "\n" if arguments.json else text
    throughput.write(arguments, "hostile", {"measured": measured}, text, shown)
    return measured


if __name__ == "__main__":
    main()
