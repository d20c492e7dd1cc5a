"""Counts the cycles in which the tests reached the states that the modules declare with COVER.

Run this after the tests. It adds the counts of all runs, prints a table, and fails if a state was never
reached.
"""

import re
import sys
from collections import Counter

from runner import BUILDS, COVERED, modules

State = tuple[str, str]


def named() -> list[State]:
    """Returns each module with the names of its states."""
    names = {path.stem: re.findall(r"`COVER\((\w+),", path.read_text()) for path in modules()}
    return [(module, name) for module, here in names.items() for name in here]


def counted(text: str) -> Counter[State]:
    """Returns the cycles of each state of one run. Verilator writes one line for each state, with keys and
    values."""
    counts = Counter()
    for place, count in re.findall(r"^C '(.*)' (\d+)$", text, re.MULTILINE):
        keys = dict(re.findall(r"\x01(\w+)\x02([^\x01]*)", place))
        module = re.sub(r"__.*", "", keys["page"].rpartition("/")[2])
        counts[module, keys["h"].rpartition(".")[2]] += int(count)
    return counts


def main() -> int:
    runs = sorted(BUILDS.rglob(f"*{COVERED}"))
    if not runs:
        sys.exit(f"nothing in {BUILDS} has coverage: run the tests first")
    counts = sum((counted(path.read_text()) for path in runs), Counter())
    states = named()
    missing = [state for state in states if counts[state] == 0]
    for module, name in states:
        print(f"{module:20} {name:24} {counts[module, name]:10}")
    print(f"{len(states) - len(missing)} of {len(states)} states were covered in {len(runs)} runs")
    for module, name in missing:
        print(f"{module}: no test reached {name}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
