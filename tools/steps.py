"""Runs make targets one after the other and prints the duration of each.

`python3 tools/steps.py format clippy` stops at the first target that fails and exits with its status. It
always prints the table last, so the end of a log shows which step failed and how long each step took.
"""

import os
import subprocess
import sys
import time


def run(targets: list[str], make: str) -> tuple[list[tuple[str, float]], int]:
    """Returns the targets that ran with their seconds, and the status of the last one."""
    steps, status = [], 0
    for target in targets:
        print(f"== {target}", flush=True)
        start = time.monotonic()
        status = subprocess.run([make, "--no-print-directory", target]).returncode
        steps.append((target, time.monotonic() - start))
        if status:
            break
    return steps, status


def table(steps: list[tuple[str, float]], status: int) -> str:
    """Returns one line for each step, and the total."""
    width = max(len(name) for name, _ in [*steps, ("total", 0)])
    lines = [f"{name:{width}} {seconds:8.1f} s" for name, seconds in steps]
    if status:
        lines[-1] += "  failed"
    lines.append(f"{'total':{width}} {sum(seconds for _, seconds in steps):8.1f} s")
    return "\n".join(lines)


def main(targets: list[str]) -> int:
    if not targets:
        print("usage: steps.py TARGET...", file=sys.stderr)
        return 2
    steps, status = run(targets, os.environ.get("MAKE", "make"))
    print(f"\n{table(steps, status)}")
    if status:
        print(f"step {steps[-1][0]} failed with status {status}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
