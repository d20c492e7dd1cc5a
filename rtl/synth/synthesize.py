"""Synthesizes the accelerator for an FPGA and computes its timing, its size, and the clock that it is
granted.

The gate of a path between registers is 5.0 ns and 10 levels, with the delays of netlist.py. Logic within the
gate is granted 220 MHz, the clock of the paper's device; other logic less in proportion. Whole engines are
synthesized flat, and then connected to the accelerator, whose paths lead from one into another. The numbers
are in docs/results/<today>/synthesis.md. Besides, each module alone has limits in limits.json. The exit
status is 1 if the accelerator, an engine or a module is beyond the gate, or a module beyond its limits.

  python rtl/synth/synthesize.py                    whole engines, as in the figures: two hours
  python rtl/synth/synthesize.py memory_system      one of them
  python rtl/synth/synthesize.py accelerator        all of them, with engines that were synthesized before
  python rtl/synth/synthesize.py --check            compare the modules in limits.json with their limits
  python rtl/synth/synthesize.py --check --every 7  every seventh of them
  python rtl/synth/synthesize.py --limit arbiter    measure a module and write its limits
"""

import argparse
import sys

from engines import PARAMETERS, measure
from limits import Limits


def main() -> int:
    arguments, limits = parse(), Limits()
    known = limits.modules if arguments.check or arguments.limit else PARAMETERS
    if unknown := set(arguments.names) - set(known):
        sys.exit(f"synthesize.py: {unknown.pop()} is not one of {', '.join(known)}")
    names = (arguments.names or list(known))[arguments.start :: arguments.every]
    if arguments.check:
        return 0 if all([limits.check(name) for name in names]) else 1
    if arguments.limit:
        for name in names:
            limits.set(name)
        return 0
    return 0 if all([measure(name) for name in names]) else 1


def parse() -> argparse.Namespace:
    usage, _, examples = __doc__.partition("\n\n  ")
    parser = argparse.ArgumentParser(
        description=usage, epilog="  " + examples, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare modules with their limits")
    parser.add_argument("--limit", action="store_true", help="write the limits of modules")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth one")
    parser.add_argument("--from", type=int, default=0, dest="start", metavar="K", help="from this one on")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these engines or modules")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
