#!/usr/bin/env python3
"""Counts the instructions of one call of a function on this processor, in single steps.

valgrind counts the instructions of a processor without AVX-512, and each byte of a copy by `rep movsb`.
Virtual machines have no counters. This program counts the instructions of the processor, in the first call of
FUNCTION, with everything that it calls in its thread. It takes about 10 microseconds an instruction. It runs
on Linux on x86-64.

Example, for each of 1920 gets:

  cargo build --release -p honeycomb-store --example instructions
  tools/count_instructions.py instructions::measured --operations 1920 -- \\
    target/release/examples/instructions get 200000 1920
"""

import argparse
import collections
import ctypes
import json
import os
import re
import signal
import subprocess
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.restype = ctypes.c_long
LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]

TRACE_ME, PEEK_TEXT, PEEK_USER, POKE_TEXT, POKE_USER, CONTINUE, STEP = 0, 1, 3, 4, 6, 7, 9
# Offsets of registers in `struct user` of x86-64.
RIP, RSP = 16 * 8, 19 * 8
BREAKPOINT = 0xCC
NO_RANDOM_ADDRESSES = 0x0040000
WORD = 2**64


def main():
    arguments = parse(sys.argv[1:])
    start = address_of(arguments.program[0], arguments.function)
    child = begin(arguments.program)
    base = load_address(child)
    run_to(child, base + start)
    counts = step_over(child)
    os.kill(child, signal.SIGKILL)
    total = sum(counts.values()) / arguments.operations
    if arguments.json:
        print(json.dumps({"instructions": total}))
        return
    print(f"{total:.1f} instructions an operation")
    inside = {pc - base: count for pc, count in counts.items()}
    for depth, name, count in tree(arguments.program[0], inside):
        if count / arguments.operations >= arguments.least:
            print(f"{count / arguments.operations:8.1f} {'  ' * depth}{name}")


def parse(words):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("function", help="end of the demangled name of the function")
    parser.add_argument("--operations", type=int, default=1, help="divides all counts by this number")
    parser.add_argument("--least", type=float, default=5, help="least count of a function that is shown")
    parser.add_argument("--json", action="store_true", help="prints the count alone, as JSON")
    parser.add_argument("program", nargs="+", help="program and its arguments, after `--`")
    arguments = parser.parse_args(words)
    if arguments.operations < 1:
        parser.error(f"--operations {arguments.operations}: it must be at least 1")
    return arguments


def address_of(program, function):
    """Returns the offset of a function from the start of the program."""
    names = subprocess.run(["nm", "-C", program], capture_output=True, text=True, check=True).stdout
    found = [line.split(maxsplit=2) for line in names.splitlines() if line.endswith(function)]
    if len(found) != 1:
        sys.exit(f"{program} has {len(found)} functions whose names end with {function}; name one")
    return int(found[0][0], 16)


def begin(program):
    """Starts a program and returns its process, which waits before its first instruction."""
    child = os.fork()
    if child == 0:
        LIBC.personality(NO_RANDOM_ADDRESSES)
        ptrace(TRACE_ME, 0)
        os.execv(program[0], program)
    os.waitpid(child, 0)
    return child


def load_address(child):
    with open(f"/proc/{child}/maps", encoding="ascii") as maps:
        return int(maps.read().split("-")[0], 16)


def run_to(child, address):
    """Runs a process up to an instruction."""
    bytes_there = ptrace(PEEK_TEXT, child, address)
    ptrace(POKE_TEXT, child, address, bytes_there & ~0xFF | BREAKPOINT)
    wanted = None
    while wanted != signal.SIGTRAP:
        ptrace(CONTINUE, child, 0, 0 if wanted is None else wanted)
        wanted = stopped_by(child)
    ptrace(POKE_TEXT, child, address, bytes_there)
    ptrace(POKE_USER, child, RIP, address)


def step_over(child):
    """Runs a process, which is at the start of a function, to its end. Returns the count of each instruction
    by its address."""
    stack = ptrace(PEEK_USER, child, RSP)
    end = ptrace(PEEK_TEXT, child, stack)
    counts, here = collections.Counter(), ptrace(PEEK_USER, child, RIP)
    while here != end or ptrace(PEEK_USER, child, RSP) != stack + 8:
        counts[here] += 1
        before = here
        # A repeated instruction stops after each repetition.
        while here == before:
            ptrace(STEP, child)
            stopped_by(child)
            here = ptrace(PEEK_USER, child, RIP)
    return counts


def stopped_by(child):
    _, status = os.waitpid(child, 0)
    if not os.WIFSTOPPED(status):
        sys.exit("the program has ended before the end of the function")
    return os.WSTOPSIG(status)


def ptrace(request, child, address=0, data=0):
    ctypes.set_errno(0)
    result = LIBC.ptrace(request, child, address, data)
    if result == -1 and ctypes.get_errno():
        raise OSError(ctypes.get_errno(), f"ptrace request {request}")
    return result % WORD


def tree(program, counts):
    """Yields the functions with their counts as a tree, in which inlined functions are below those that
    contain them: depth, name, count."""
    root = {}
    frames = inlined_frames(program, counts)
    for address, count in counts.items():
        node = root
        for name in reversed(frames.get(address) or ["outside of the program"]):
            entry = node.setdefault(name, [0, {}])
            entry[0] += count
            node = entry[1]
    yield from walk(root, 0)


def walk(node, depth):
    for name, (count, below) in sorted(node.items(), key=lambda entry: -entry[1][0]):
        yield depth, name, count
        yield from walk(below, depth + 1)


def inlined_frames(program, addresses):
    """Returns the names of the functions at each address, the innermost first."""
    lines = subprocess.run(
        ["addr2line", "-e", program, "-i", "-f", "-C", "-a"],
        input="".join(f"{address:#x}\n" for address in addresses if address >= 0),
        capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    frames, current = {}, []
    names = iter(lines)
    for line in names:
        if re.fullmatch("0x[0-9a-f]{16}", line):
            current = frames.setdefault(int(line, 16), [])
            continue
        if line != "??":
            current.append(short_name(line))
        next(names)
    return frames


def short_name(name):
    """Returns the last two parts of a path, without the types."""
    while re.search("<[^<>]*>", name):
        name = re.sub("<[^<>]*>", "", name)
    return "::".join([part for part in name.split("::") if part][-2:])


if __name__ == "__main__":
    main()
