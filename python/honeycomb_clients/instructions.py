"""Instructions a request outside the kernel, of Honeycomb and Redis, counted by callgrind.

They do not depend on what else the machine does, but on the requests ahead: a round of the server carries
out what has arrived meanwhile. What a server does before and after the requests that count is not counted.
What is left in the folder can be looked at, function by function, by callgrind_annotate.

    python -m honeycomb_clients.instructions --honeycomb target/release/honeycomb --out out/instructions
"""

import pathlib
import random
import re
import shutil
import subprocess
import tempfile

from honeycomb_clients import requests, throughput

# Batches to every connection before it counts, so that the server has all the memory that it takes.
WARMING_BATCHES = 4
# Pairs of a request, by workload.
SPANS = {"get": 1, "set": 1, "set-ex": 1, "range": requests.RANGE, "page": requests.PAGE}


def parse(words):
    asked = throughput.parser(__doc__, connections=50, pairs=100_000)
    asked.add_argument("--workloads", nargs="+", choices=SPANS, default=["get", "set", "range"])
    asked.add_argument("--pipeline", type=int, default=128)
    asked.add_argument("--batches", type=int, default=4, help="to each connection, that count")
    return asked.parse_args(words)


def programs(arguments):
    """By name, a command that serves at PORT, and the workloads of its protocol."""
    yield from throughput.honeycombs(arguments.honeycomb, cores=1)
    if shutil.which(throughput.REDIS_COMMAND[0]):
        yield "redis", throughput.REDIS_COMMAND, requests.REDIS


def count(server, really):
    """Has callgrind count from now on, or no more."""
    command = ["vgdb", f"--pid={server.process.pid}", "instrumentation", "on" if really else "off"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)


def measure(server, workload, arguments):
    """Has the instructions counted that a server takes for a workload: for how many requests."""
    numbers = random.Random(arguments.seed).choices(range(arguments.pairs - SPANS[workload]), k=4096)
    exchange = list(server.workloads[workload](numbers))
    batches, reply_bytes = throughput.batches_of(exchange, arguments.pipeline)
    throughput.load(server, arguments.pairs)
    with server.connections(arguments.connections) as connections:
        throughput.check(server, connections, exchange)
        for number in range(arguments.batches + WARMING_BATCHES):
            if number == WARMING_BATCHES:
                count(server, True)
            throughput.exchange_all(connections, batches, number * len(connections), reply_bytes)
        count(server, False)
    return arguments.batches * arguments.connections * arguments.pipeline


def rows(arguments, folder):
    """Instructions a request, by workload and server."""
    for workload in arguments.workloads:
        for name, command, workloads in programs(arguments):
            output = folder / f"{workload}-{name.replace(' ', '-')}.callgrind"
            counted = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={output}"]
            server = throughput.Server(name, counted + command, workloads)
            try:
                count_of_requests = measure(server, workload, arguments)
            finally:
                server.stop()
            total = re.search(r"^totals: (\d+)", output.read_text(), re.MULTILINE)
            yield {"workload": workload, "server": name, "instructions": int(total[1]) / count_of_requests}


def table(measured):
    """Instructions a request as Markdown."""
    lines = ["| workload | server | instructions a request |", "|---|---|---|"]
    lines += [f"| {row['workload']} | {row['server']} | {row['instructions']:.0f} |" for row in measured]
    return "\n".join(lines) + "\n"


def main(words=None):
    """Measures, prints the table, and writes it."""
    arguments = parse(words)
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.out or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        measured = list(rows(arguments, folder))
    throughput.write(arguments, "instructions", {"measured": measured}, table(measured))
    return measured


if __name__ == "__main__":
    main()
