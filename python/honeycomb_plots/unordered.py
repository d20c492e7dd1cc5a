"""The figures of KV-Direct for the unordered index: memory accesses by utilisation, and the load-dispatch
ratio, each beside the points of the paper.

The counts, ``accesses.txt``, are those of
``cargo test -p honeycomb-hashtable --test accesses -- --nocapture``. The dispatch ratio is the share of lines
that the paper's dispatcher caches in on-board memory: by its formula, and by a simulated cache.
"""

import dataclasses
import functools
import math
import pathlib
import re

import numpy
from matplotlib.figure import Figure

from honeycomb_plots import style, unordered_rates

# Published: the optimal share by throughput of on-board memory over PCIe (rows) and by size of on-board
# memory over host memory (columns), with this number of lines.
LINES = 1e10
SIZES = (1 / 1024, 1 / 256, 1 / 64, 1 / 16, 1 / 4, 1)
PUBLISHED = {
    0.5: (0.366, 0.358, 0.350, 0.342, 0.335, 0.327),
    1: (0.583, 0.562, 0.543, 0.525, 0.508, 0.492),
    2: (0.830, 0.789, 0.752, 0.718, 0.687, 0.658),
    4: (1, 0.991, 0.933, 0.881, 0.835, 0.793),
    8: (1, 1, 1, 0.995, 0.937, 0.885),
}
# The simulated cache: fewer lines, and the Zipf distribution of the paper.
SIMULATED_LINES = 1 << 16
SIMULATED_ACCESSES = 1 << 17
SHARES = numpy.linspace(0.1, 1, 19)
ZIPF_EXPONENT = 0.99


@dataclasses.dataclass
class Accesses:
    """Memory accesses by utilisation in percent, those of the index and of the paper."""

    pair_bytes: int
    utilisation: list[int]
    gets: list[tuple[float, float]]
    puts: list[tuple[float, float]]


def draw(folder: pathlib.Path) -> list[pathlib.Path]:
    """Draws all figures into a folder with counts and rates. Returns their paths."""
    cases = parse((folder / "accesses.txt").read_text(encoding="utf-8"))
    rates = unordered_rates.parse((folder / "rates.txt").read_text(encoding="utf-8"))
    inline = parse_inline((folder / "accesses.txt").read_text(encoding="utf-8"))
    figures = {
        "accesses": draw_accesses(cases), "inline": draw_inline(inline), "dispatch": draw_dispatch(),
        "throughput": unordered_rates.draw_throughput(rates),
        "increments": unordered_rates.draw_increments(rates),
    }
    return [path for name, it in figures.items() for path in style.save(it, folder / f"unordered-{name}")]


def parse(text: str) -> list[Accesses]:
    """Parses the counts that the test of the index prints."""
    cases = []
    for line in text.splitlines():
        if found := re.search(r"(\d+) bytes, index ratio", line):
            cases.append(Accesses(int(found[1]), [], [], []))
        elif found := re.match(r"(\d+) %: ([\d.]+) \(([\d.]+)\) +([\d.]+) \(([\d.]+)\)", line):
            cases[-1].utilisation.append(int(found[1]))
            cases[-1].gets.append((float(found[2]), float(found[3])))
            cases[-1].puts.append((float(found[4]), float(found[5])))
    if not cases or not all(case.utilisation for case in cases):
        raise ValueError("the file has no counts of memory accesses")
    return sorted(cases, key=lambda case: case.pair_bytes)


def parse_inline(text: str) -> dict[int, list[tuple[float, ...]]]:
    """Parses the counts for inline pairs and pairs in slabs. Returns for each size of pairs the memory of a
    pair and the accesses of a get, inline and in a slab, by ascending fill."""
    line = r"^(\d+) bytes, fill \d+: ([\d.]+) ([\d.]+) +([\d.]+) ([\d.]+)$"
    counts = re.findall(line, text, re.MULTILINE)
    if not counts:
        raise ValueError("the file has no counts of inline pairs")
    sizes: dict[int, list[tuple[float, ...]]] = {}
    for pair_bytes, *numbers in counts:
        sizes.setdefault(int(pair_bytes), []).append(tuple(map(float, numbers)))
    return sizes


def draw_inline(sizes: dict[int, list[tuple[float, ...]]]) -> Figure:
    """Draws the accesses of a get by utilisation for some sizes of pairs: lines inline, dashed in slabs."""
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    shown = [pair_bytes for pair_bytes in sizes if pair_bytes % 10 == 0]
    for pair_bytes, color in zip(shown, style.OTHER_LINES):
        inline_bytes, inline_gets, slab_bytes, slab_gets = zip(*sizes[pair_bytes])
        for memory, gets, line in ((inline_bytes, inline_gets, ".-"), (slab_bytes, slab_gets, ".--")):
            label = f"{pair_bytes} bytes" if line == ".-" else None
            utilisation = [100 * pair_bytes / of_pair for of_pair in memory]
            axes.plot(utilisation, gets, line, color=color, label=label)
    axes.set_xlabel("utilisation of the memory, %, with fills of 40 to 100 %")
    axes.set_ylabel("memory accesses of a get")
    axes.set_title("lines: inline; dashed: in slabs", fontsize=9)
    axes.set_ylim(bottom=0)
    figure.legend(loc="outside right upper", title="pairs", fontsize=8)
    return figure


def draw_accesses(cases: list[Accesses]) -> Figure:
    """Draws a panel for each size of pairs."""
    figure = Figure(figsize=(4.5 * len(cases), 3.2), layout="constrained")
    for axes, case in zip(figure.subplots(1, len(cases), squeeze=False)[0], cases):
        kinds = (("put", case.puts, style.OURS[0]), ("get", case.gets, style.OTHER_LINES[0]))
        for name, points, color in kinds:
            counted, published = zip(*points)
            axes.plot(case.utilisation, counted, color=color, label=f"{name}, counted")
            axes.plot(case.utilisation, published, "o", color=color, fillstyle="none", label=f"{name}, paper")
        axes.set_title(f"pairs of {case.pair_bytes} bytes", fontsize=9)
        axes.set_xlabel("utilisation of the memory, %")
        axes.set_ylabel("memory accesses an operation")
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=8, loc="lower right")
    return figure


def draw_dispatch() -> Figure:
    """Draws the optimal share by size of the on-board memory: formula, paper, and simulation."""
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    simulated = [simulated_shares(size) for size in SIZES]
    for (speed, published), color in zip(PUBLISHED.items(), style.OTHER_LINES):
        axes.plot(SIZES, [share(speed, size, LINES) for size in SIZES], color=color, label=f"{speed} x PCIe")
        axes.plot(SIZES, published, "o", color=color, fillstyle="none")
        axes.plot(SIZES, [shares[speed] for shares in simulated], ":", color=color)
    axes.set_xscale("log", base=2)
    axes.set_xlabel("size of on-board memory / host memory")
    axes.set_ylabel("optimal share of cacheable lines")
    cache = f"simulated cache of {SIMULATED_LINES} lines"
    axes.set_title(f"lines: formula; circles: paper; dotted: {cache}", fontsize=9)
    figure.legend(loc="outside right upper", title="on-board throughput", fontsize=8)
    return figure


def share(speed: float, size: float, lines: float) -> float:
    """Solves the paper's equation: both memories are busy for the same time. ``speed`` and ``size`` are those
    of on-board memory divided by PCIe and by host memory."""
    def surplus(cached: float) -> float:
        hits = math.log(size * lines) / math.log(cached * lines)
        return cached / speed - (1 - cached * hits)
    low, high = 1e-3, 1.0
    if surplus(high) < 0:
        return 1.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if surplus(middle) < 0 else (low, middle)
    return low


def simulated_shares(size: float) -> dict[float, float]:
    """Returns for each throughput of on-board memory the share with the shortest time of both memories, with
    the hits of a simulated cache."""
    hits = [hit_ratio(cached, size) for cached in SHARES]
    times = {
        speed: [max(cached / speed, 1 - cached * hit) for cached, hit in zip(SHARES, hits)]
        for speed in PUBLISHED
    }
    return {speed: float(SHARES[int(numpy.argmin(of_speed))]) for speed, of_speed in times.items()}


@functools.cache
def popularity() -> numpy.ndarray:
    """Draws the lines of all accesses: random places of the ranks of a Zipf distribution."""
    random = numpy.random.default_rng(7)
    weights = 1 / numpy.arange(1, SIMULATED_LINES + 1) ** ZIPF_EXPONENT
    cumulative = numpy.cumsum(weights / weights.sum())
    ranks = numpy.searchsorted(cumulative, random.random(SIMULATED_ACCESSES)).clip(max=SIMULATED_LINES - 1)
    return random.permutation(SIMULATED_LINES)[ranks]


def hit_ratio(cached: float, size: float) -> float:
    """Simulates a cache with one way, as the paper's, for the share of lines that it may contain."""
    chosen = numpy.random.default_rng(8).random(SIMULATED_LINES) < cached
    accesses = popularity()[chosen[popularity()]]
    sets = accesses % max(1, int(size * SIMULATED_LINES))
    # A line is there if the previous access to its set was to the same line.
    order = numpy.argsort(sets, kind="stable")
    same_set = sets[order][1:] == sets[order][:-1]
    same_line = accesses[order][1:] == accesses[order][:-1]
    return float((same_set & same_line).sum()) / max(1, len(accesses))
