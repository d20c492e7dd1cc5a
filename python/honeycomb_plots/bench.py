"""Figures of a benchmark: throughput of all maps and workloads, and memory."""

import json
import pathlib

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from honeycomb_plots import style

# The memory of the densest peer: HOT, 20 million pairs of 16 + 16 bytes.
BYTES_PER_PAIR_BAR = 46


def draw(path: pathlib.Path) -> list[pathlib.Path]:
    """Draws the figures of a ``bench.json`` into its folder. Returns their paths."""
    report = json.loads(path.read_text(encoding="utf-8"))
    if not report["measurements"]:
        raise ValueError("no measurements in it")
    folder = path.parent
    return style.save(throughput(report), folder / "bench-throughput") + style.save(
        memory(report), folder / "bench-memory"
    )


def throughput(report: dict) -> Figure:
    """Draws a row of panels for each number of threads, a panel for each workload, and bars for each
    map."""
    measurements = report["measurements"]
    workloads = in_order(measurements, "workload")
    threads = in_order(measurements, "threads")
    peers = in_order(measurements, "peer")
    size = (2.2 * len(workloads) + 1.2, (0.32 * len(peers) + 0.9) * len(threads) + 0.7)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(len(threads), len(workloads), squeeze=False, sharey=True)
    for row, count in zip(panels, threads):
        for axes, workload in zip(row, workloads):
            chosen = [one for one in measurements if (one["threads"], one["workload"]) == (count, workload)]
            bars(axes, chosen, peers)
            axes.set_title(f"{workload}, {count} thread{'s' if count > 1 else ''}", fontsize=9)
    figure.suptitle(title(report), fontsize=9)
    distributions = in_order(measurements, "distribution")
    shades = ", ".join(f"{shade}: {name}" for shade, name in zip(("dark", "light"), distributions))
    figure.supxlabel(f"million operations per second: median, minimum and maximum; {shades}", fontsize=9)
    return figure


def bars(axes: Axes, measurements: list[dict], peers: list[str]) -> None:
    """Draws the bars of one workload: one for each map and distribution."""
    distributions = in_order(measurements, "distribution")
    height = 0.8 / max(1, len(distributions))
    seen = set()
    for one in measurements:
        shade = distributions.index(one["distribution"])
        # A map that was measured in several groups is drawn once.
        if (one["peer"], shade) in seen:
            continue
        seen.add((one["peer"], shade))
        place = peers.index(one["peer"]) + (shade - (len(distributions) - 1) / 2) * height
        median, low, high = (one[name] / 1e6 for name in ("median", "min", "max"))
        error = [[median - low], [high - median]]
        axes.barh(place, median, height * 0.92, xerr=error, color=style.colors(one["peer"])[min(shade, 1)],
                  error_kw={"elinewidth": 0.7, "capsize": 1.5})
    axes.set_yticks(range(len(peers)), peers)
    axes.set_ylim(len(peers) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)


def memory(report: dict) -> Figure:
    """Draws the resident bytes of a pair after loading, and the reference line."""
    loaded = [one for one in report["memory"] if one["moment"] == "loaded"]
    peers = in_order(loaded, "peer")
    figure = Figure(figsize=(6, 0.35 * len(peers) + 1.1), layout="constrained")
    axes = figure.subplots()
    for one in reversed(loaded):
        bytes_per_pair = one["resident_bytes"] / one["pairs"]
        place = peers.index(one["peer"])
        axes.barh(place, bytes_per_pair, color=style.colors(one["peer"])[0])
        axes.annotate(f"{bytes_per_pair:.0f}", (bytes_per_pair, place), (3, 0), textcoords="offset points",
                      va="center")
    axes.axvline(BYTES_PER_PAIR_BAR, color="#b03030", linewidth=1)
    axes.annotate("HOT", (BYTES_PER_PAIR_BAR, -0.5), (3, 0), textcoords="offset points", color="#b03030")
    axes.set_yticks(range(len(peers)), peers)
    axes.set_ylim(len(peers) - 0.4, -0.8)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("resident bytes per pair, in total")
    axes.set_title(title(report), fontsize=8)
    return figure


def title(report: dict) -> str:
    """Returns workload and machine in one line."""
    setup = report["setup"]
    pairs = ", ".join(f"{pairs / 1e6:g}" for pairs in setup["plan"]["pairs"])
    sizes = ", ".join(setup["plan"]["sizes"]) + " bytes"
    machine = setup["machine"]
    date = setup["date"].split("T")[0]
    return f"{pairs} million pairs of {sizes}; {machine['processor']}, {machine['cores']} cores; {date}"


def in_order(rows: list[dict], name: str) -> list:
    """Returns the distinct values of a column, in the order of their first occurrence."""
    return list(dict.fromkeys(row[name] for row in rows))
