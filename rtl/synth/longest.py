"""Prints the longest paths of a module that make synth or synthesize.py has synthesized: one for each start
and end, without the indexes of their bits. The delays do not include the last net and the setup of the
register behind it.

  python rtl/synth/longest.py scan_engine_Units5_Slots16            by the delays of netlist.py
  python rtl/synth/longest.py scan_engine_Units5_Slots16 --mapper   by those of the mapper
  python rtl/synth/longest.py arbiter_Count16 --count 3 --bits      and the bits on each path
"""

import argparse
import json
import re

from mapper import MapperArrivals
from netlist import Netlist, bits
from timing import LongestPaths, Timing
from yosys import OUT


def main():
    arguments = parse()
    file = OUT / f"{arguments.netlist}_synth_xilinx.json"
    modules = json.loads(file.read_text())["modules"].values()
    module = next(module for module in modules if "top" in module["attributes"])
    netlist, names = Netlist(module), names_of(module)
    arrivals = MapperArrivals(netlist) if arguments.mapper else Timing(netlist).registered
    unit = "ps" if arguments.mapper else "ns"
    for (start, end), path in longest(netlist, arrivals, names)[: arguments.count]:
        print(f"{path[-1][1]:.4g} {unit}, {len(path) - 1} cells: {start} to {end}")
        for bit, at in path if arguments.bits else ():
            print(f"    {at:.4g} {names.get(bit, '?')}, {netlist.loads[bit]} loads")


def longest(netlist: Netlist, arrivals: LongestPaths, names: dict[int, str]) -> list[tuple]:
    """Returns each start and each register at an end, without indexes, with the longest path between them;
    the longest one first."""
    found = {}
    for cell in netlist.cells:
        register = next((names[bit] for bit in bits(cell.outputs) if bit in names), "?")
        for end in cell.ends():
            if end in arrivals.delays:
                path = arrivals.path(end)
                start = names.get(path[0][0], "?")
                between = tuple(re.sub(r"\[\d+\]", "", name) for name in (start, register))
                found[between] = max(found.get(between, path), path, key=lambda path: path[-1][1])
    return sorted(found.items(), key=lambda item: -item[1][-1][1])


def names_of(module: dict) -> dict[int, str]:
    """Returns the shortest name of each bit that has one in the RTL."""
    names: dict[int, str] = {}
    for name, net in module["netnames"].items():
        for index, bit in enumerate(() if net["hide_name"] else net["bits"]):
            indexed = f"{name}[{index}]"
            names[bit] = min(names.get(bit, indexed), indexed, key=len)
    return names


def parse() -> argparse.Namespace:
    usage, _, examples = __doc__.partition("\n\n  ")
    parser = argparse.ArgumentParser(
        description=usage, epilog="  " + examples, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("netlist", help="module and parameters, as in the file in target/rtl/synth")
    parser.add_argument("--mapper", action="store_true", help="count delays as the mapper does")
    parser.add_argument("--count", type=int, default=20, metavar="N", help="paths")
    parser.add_argument("--bits", action="store_true", help="the bits on each path")
    return parser.parse_args()


if __name__ == "__main__":
    main()
