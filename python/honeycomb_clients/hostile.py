"""The latency of gets beside hostile clients, and the memory that the server takes.

Gets of a server with many pairs are due at a fixed rate; a get takes from when it was due until its reply, so
a server that stops for a moment is charged for all gets that were due meanwhile. They are measured alone, and
beside each kind of hostile client. The server has a core to itself. The measuring process and the hostile
clients share the others, and the system preempts a hostile client as soon as the measuring process can run.
Repetitions of the cases alternate; the table shows medians. With --redis it shows Redis beside the same
clients, as far as Redis has their commands.

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
# Seconds between two cases, so that a case is not charged for the one before it.
PAUSE = 0.3
# Requests that Redis does not have.
ONLY_HONEYCOMB = ("RI.",)


@contextlib.contextmanager
def attack(server, case, arguments, outcome):
    """Hostile clients in a process of their own, which fills in the outcome at its end."""
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


def measure(server, connections, exchange, case, arguments):
    """Microseconds that gets take beside hostile clients, and what these achieve."""
    time.sleep(PAUSE)
    forget_peak(server)
    outcome = {"rounds": 0, "closed": 0}
    with attack(server, case, arguments, outcome):
        taken = latency.Paced(connections, exchange, arguments.rate, arguments.seconds).run()
    times = latency.percentiles(taken) | {"worst": max(taken) * 1e6}
    return times | outcome | {"memory": peak_memory(server)}


def cases_of(server, arguments):
    """Those whose commands the server has, and the one without hostile clients."""
    own = [case for case in arguments.cases if "redis" not in server.name or ONLY_HONEYCOMB[0] not in case]
    return [ALONE, *own]


def run(started, arguments):
    """By server and case, what each repetition took."""
    numbers = random.Random(arguments.seed).choices(range(arguments.pairs), k=4096)
    exchange, found = list(requests.gets(numbers)), collections.defaultdict(list)
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
                    found[server.name, case].append(measure(server, connections, exchange, case, arguments))
    return found


def rows(found):
    """Medians, how many times those without hostile clients, and the most memory."""
    median = throughput.medians_of(found)
    for (server, case), medians in median.items():
        rise = medians["p99"] / median[server, ALONE]["p99"]
        memory = max(one["memory"] for one in found[server, case])
        yield {"server": server, "case": case, **medians, "memory": memory, "p99_of_alone": rise}


def table(rate, measured):
    lines = [f"{rate} gets a second, microseconds, MiB:", ""]
    lines += ["| server | beside | p50 | p99 | p99 to that alone | worst | peak memory |", "|---" * 7 + "|"]
    for row in measured:
        times = f"{row['p50']:.0f} | {row['p99']:.0f} | {row['p99_of_alone']:.2f} | {row['worst']:.0f}"
        lines.append(f"| {row['server']} | {row['case']} | {times} | {row['memory'] / MEBIBYTE:.0f} |")
    return "\n".join(lines) + "\n"


def parse(words):
    asked = throughput.parser(__doc__, connections=20, pairs=1_000_000)
    asked.add_argument("--cores", type=int, default=1, help="threads of Honeycomb")
    asked.add_argument("--rate", type=int, default=2000, help="gets a second")
    asked.add_argument("--seconds", type=float, default=2, help="of one measurement")
    asked.add_argument("--repetitions", type=int, default=5)
    asked.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    asked.add_argument("--redis", action="store_true", help="measure Redis too")
    asked.add_argument("--json", action="store_true", help="print JSON in place of the table")
    return asked.parse_args(words)


def commands(arguments):
    """Of each server a name, a command that starts it, and its workloads."""
    yield next(throughput.honeycombs(arguments.honeycomb, arguments.cores))
    if arguments.redis and shutil.which(throughput.REDIS_COMMAND[0]):
        # Without a limit 50 GB of replies would be the end of it.
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
