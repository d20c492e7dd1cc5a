"""Counts the instructions of each request in user space, of Honeycomb and Redis, with callgrind.

The counts do not depend on the load of the machine, but on the number of requests in flight, because an
iteration of the server executes all requests that have arrived. Instructions before and after the measured
requests are not valgrind. callgrind_annotate shows the files in the output folder function by function.

    python -m honeycomb_clients.instructions --honeycomb target/release/honeycomb --out out/instructions
"""

import pathlib
import random
import re
import shutil
import subprocess
import tempfile

from honeycomb_clients import requests, throughput

# Batches on each connection before counting begins, so that the server has allocated its memory.
WARMING_BATCHES = 4
# Pairs of a request, by workload.
SPANS = {"get": 1, "set": 1, "set-ex": 1, "range": requests.RANGE, "page": requests.PAGE}


def parse(words):
    parser = throughput.common_parser(__doc__, connections=50, pairs=100_000)
    parser.add_argument("--workloads", nargs="+", choices=SPANS, default=["get", "set", "range"])
    parser.add_argument("--pipeline", type=int, default=128)
    parser.add_argument("--unordered", action="store_true", help="measure unordered databases")
    parser.add_argument("--batches", type=int, default=4, help="measured batches on each connection")
    return parser.parse_args(words)


def programs(arguments):
    """Yields a name, a command that serves at PORT, and the workloads of its protocol."""
    kind = throughput.unordered_honeycombs if arguments.unordered else throughput.honeycombs
    yield from kind(arguments.honeycomb, cores=1)
    if shutil.which(throughput.REDIS_COMMAND[0]):
        yield "redis", throughput.REDIS_COMMAND, requests.REDIS


def count(server, enabled):
    """Switches the counting of callgrind on or off."""
    command = ["vgdb", f"--pid={server.process.pid}", "instrumentation", "on" if enabled else "off"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)


def measure(server, workload, arguments):
    """Counts the instructions of a server for a workload. Returns the number of requests."""
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
    """Yields the instructions of a request, by workload and server."""
    for workload in arguments.workloads:
        for name, command, workloads in programs(arguments):
            output = folder / f"{workload}-{name.replace(',', '').replace(' ', '-')}.callgrind"
            valgrind = ["valgrind", "--tool=callgrind", "--instr-atstart=no"]
            valgrind.append(f"--callgrind-out-file={output}")
            server = throughput.Server(name, valgrind + command, workloads)
            try:
                count_of_requests = measure(server, workload, arguments)
            finally:
                server.stop()
            total = re.search(r"^totals: (\d+)", output.read_text(), re.MULTILINE)
            yield {"workload": workload, "server": name, "instructions": int(total[1]) / count_of_requests}


def table(measured):
    """Returns the instructions of each request as Markdown."""
    lines = ["| workload | server | instructions per request |", "|---|---|---|"]
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
