"""The command line: ``python3 -m honeycomb_plots bench out/bench/bench.json``."""

import argparse
import pathlib
import sys

from honeycomb_plots import bench, figures, life, rtl_figures, unordered


def main() -> int:
    parser = argparse.ArgumentParser(prog="python3 -m honeycomb_plots", description="Draws figures.")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("bench", help="draw a benchmark as PNG and SVG into its folder")
    command.add_argument("report", type=pathlib.Path, help="bench.json that honeycomb-bench run --out wrote")
    command.set_defaults(draw=bench.draw)
    command = commands.add_parser("figures", help="draw the figures of the paper as PNG and SVG")
    command.add_argument("report", type=pathlib.Path, help="folder of honeycomb-bench figure --out")
    command.set_defaults(draw=figures.draw)
    command = commands.add_parser("rtl-figures", help="draw the figures of the accelerator as PNG and SVG")
    command.add_argument("report", type=pathlib.Path, help="folder of honeycomb-simulation figures --out")
    command.set_defaults(draw=rtl_figures.draw)
    command = commands.add_parser("life", help="draw the life of a request as PNG and SVG")
    command.add_argument("report", type=pathlib.Path, help="file of honeycomb-simulation --life")
    command.set_defaults(draw=life.draw)
    command = commands.add_parser("unordered", help="draw the unordered index beside the paper KV-Direct")
    command.add_argument("report", type=pathlib.Path, help="folder with accesses.txt and rates.txt")
    command.set_defaults(draw=unordered.draw)
    arguments = parser.parse_args()
    try:
        for path in arguments.draw(arguments.report):
            print(path)
    except (OSError, ValueError, KeyError) as error:
        print(f"honeycomb_plots: {arguments.report}: {error!r}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
