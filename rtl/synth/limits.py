"""The limits of modules alone: a change that makes a path longer or a module larger must raise them. Modules
at pins of the accelerator also have a list of ports of buses, whose outputs must be registers."""

import json
from pathlib import Path

from report import Report, report

FILE = Path(__file__).with_name("limits.json")
COLUMNS = ("ns", "levels", "pins_ns", "pins_levels", "luts", "registers", "blocks")


def numbers(measured: Report) -> dict[str, float]:
    """Returns the numbers that have limits."""
    total = measured.total
    values = [value for path in measured.paths for value in (round(path.delay, 2), path.levels)]
    return dict(zip(COLUMNS, [*values, total.luts, total.registers, total.blocks], strict=True))


def exceeded(found: dict[str, float], limits: dict[str, float]) -> list[str]:
    """Returns the numbers beyond their limits."""
    over = (name for name in COLUMNS if found[name] > limits[name])
    return [f"{name} {found[name]:g}, the limit is {limits[name]:g}" for name in over]


class Limits:
    """Modules with their parameters and limits, in the order of the file."""

    def __init__(self):
        self.modules = json.loads(FILE.read_text())

    def set(self, name: str):
        """Measures a module and makes its numbers its limits."""
        entry = self.modules[name]
        entry["limits"] = numbers(report(name, entry["parameters"]))
        entries = (f"  {json.dumps(each)}: {json.dumps(self.modules[each])}" for each in sorted(self.modules))
        FILE.write_text("{\n" + ",\n".join(entries) + "\n}\n")
        print(f"{name}: {entry['limits']}", flush=True)

    def check(self, name: str) -> bool:
        """Measures a module, prints its numbers, and returns whether they are within its limits and within
        the gate."""
        entry = self.modules[name]
        measured = report(name, entry["parameters"])
        found = numbers(measured)
        wrong = exceeded(found, entry["limits"]) + ["a loop of logic"] * (measured.loops > 0)
        wrong += ["a path beyond the gate"] * (not measured.is_within_gate)
        behind_logic = measured.behind_logic.intersection(entry.get("registered", []))
        wrong += [f"{port} has logic before the pin" for port in sorted(behind_logic)]
        print(f"{name}:", *(f"{column} {value:g}" for column, value in found.items()))
        print(*(f"{name}: {each}\n" for each in wrong), sep="", end="", flush=True)
        return not wrong
