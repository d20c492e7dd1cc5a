"""The figures of the paper and further ones: one drawing for each folder that ``honeycomb-bench figure``
wrote."""

import json
import pathlib
import re

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from honeycomb_plots import bench, style

# Maximum size of a log block in bytes, unless the name of the map states another one.
LOG_BYTES_DEFAULT = 512
MARKERS = "osv^D*Px"
QUANTILES = (("p50", "50 %", "-"), ("p99", "99 %", "--"), ("p999", "99.9 %", ":"))
DISTURBANCES = {
    "none": "undisturbed",
    "anywhere": "during scans and inserts",
    "apart": "during scans and inserts on other cores",
}


def draw(folder: pathlib.Path) -> list[pathlib.Path]:
    """Draws all figures of a folder into it. Returns their paths."""
    paths = []
    for described in sorted(folder.glob("figure-*/figure.json")):
        figure = json.loads(described.read_text(encoding="utf-8"))
        report = json.loads((described.parent / "bench.json").read_text(encoding="utf-8"))
        drawn = SHAPES[figure["shape"]](report)
        drawn.suptitle(f"{figure['heading']}\n{bench.title(report)}", fontsize=9)
        paths += style.save(drawn, folder / described.parent.name)
    if not paths:
        raise ValueError("the folder has no figures")
    return paths


def numbers(report: dict) -> Figure:
    """Draws a panel for each distribution, and a line for each map over the number in the name of the
    workload."""
    chosen = [one for one in report["measurements"] if re.search(r"\d+$", one["workload"])]
    distributions = bench.in_order(chosen, "distribution")
    figure, panels = rows_of(len(distributions))
    for axes, distribution in zip(panels, distributions):
        here = [one for one in chosen if one["distribution"] == distribution]
        lines(axes, here, "peer", lambda one: number_in(one["workload"]))
        axes.set_title(distribution, fontsize=9)
        axes.set_xlabel("N of " + re.sub(r"\d+$", "N", here[0]["workload"]))
    return figure


def log_block(report: dict) -> Figure:
    """Draws a line for each workload over the size of the log block, relative to the map without a log
    block."""
    chosen = [one for one in report["measurements"] if one["workload"] != "load"]
    figure, (axes,) = rows_of(1)
    without = {one["workload"]: one["median"] for one in chosen if log_bytes(one) == 0}
    relative = [one | {"median": 1e6 * one["median"] / without[one["workload"]]} for one in chosen]
    lines(axes, relative, "workload", log_bytes)
    axes.set_xlabel("bytes of the log block")
    axes.set_ylabel("throughput, without a log block = 1")
    return figure


def versions(report: dict) -> Figure:
    """Draws a panel for each workload, with and without versions over the number of threads."""
    chosen = [one for one in report["measurements"] if one["workload"] != "load"]
    workloads = bench.in_order(chosen, "workload")
    figure, panels = rows_of(len(workloads))
    for axes, workload in zip(panels, workloads):
        here = [one for one in chosen if one["workload"] == workload]
        lines(axes, here, "peer", lambda one: one["threads"])
        axes.set_title(workload, fontsize=9)
        axes.set_xlabel("threads")
        axes.set_xticks(sorted({one["threads"] for one in here}))
    return figure


def latency(report: dict) -> Figure:
    """Draws a panel for each distribution: median and 99.9th percentile of each map over throughput."""
    latencies = report["latencies"]
    distributions = bench.in_order(latencies, "distribution")
    figure, panels = rows_of(len(distributions))
    for axes, distribution in zip(panels, distributions):
        here = [one for one in latencies if one["distribution"] == distribution]
        for peer in bench.in_order(here, "peer"):
            points = [one for one in here if one["peer"] == peer]
            done = [one["done"] / 1e6 for one in points]
            for quantile, label, line in (("p50", "50 %", "-"), ("p999", "99.9 %", ":")):
                axes.plot(done, [one[quantile] / 1e3 for one in points], line, marker=".",
                          color=style.colors(peer)[0], label=f"{peer}, {label}")
        axes.set_title(distribution, fontsize=9)
        axes.set_yscale("log")
        axes.set_xlabel("million operations per second")
        axes.set_ylabel("µs from due time to completion")
        axes.legend(fontsize=7)
    return figure


def disturbances(report: dict) -> Figure:
    """Draws a panel for each disturbance: quantiles over load, and the maximum of a loop without a map."""
    latencies = report["latencies"]
    kinds = bench.in_order(latencies, "disturbance")
    figure, panels = rows_of(len(kinds), sharey=True)
    for axes, kind in zip(panels, kinds):
        here = [one for one in latencies if one["disturbance"] == kind]
        for peer in bench.in_order(here, "peer"):
            points = sorted((one for one in here if one["peer"] == peer), key=lambda one: one["load"])
            loads = [one["load"] for one in points]
            for quantile, label, line in QUANTILES:
                axes.plot(loads, [one[quantile] / 1e3 for one in points], line, marker=".",
                          color=style.colors(peer)[0], label=f"{peer}, {label}")
        axes.set_title(DISTURBANCES[kind], fontsize=9)
        axes.set_yscale("log")
        axes.set_xlabel("load, % of the maximum of the loop")
    panels[0].set_ylabel("µs from due time to completion")
    panels[0].legend(fontsize=7)
    return figure


def ablations(report: dict) -> Figure:
    """Draws a row for each choice: throughput, lines that a get reads, and bytes of a pair, relative to the
    default."""
    chosen = [one for one in report["measurements"] if one["workload"] != "load"]
    choices = [peer for peer in report["setup"]["plan"]["peers"] if peer != "honeycomb"]
    workloads = bench.in_order(chosen, "workload")
    figure = Figure(figsize=(1.7 * len(workloads) + 5.2, 0.22 * len(choices) + 1.3), layout="constrained")
    panels = list(figure.subplots(1, len(workloads) + 2, squeeze=False, sharey=True)[0])
    for axes, workload in zip(panels, workloads):
        here = [one for one in chosen if one["workload"] == workload]
        for shade, batch in enumerate(bench.in_order(here, "batch")):
            points(axes, relative([one for one in here if one["batch"] == batch]), choices, shade)
            axes.lines[-1].set_label(f"batches of {batch}" if batch > 1 else "one at a time")
        axes.set_title(workload, fontsize=9)
    lines_per_get = [{"peer": one["peer"], "median": one["get"]["lines"]} for one in report["access_stats"]]
    loaded = [one for one in report["memory"] if one["moment"] == "loaded"]
    bytes_per_pair = [one | {"median": one["accounted_bytes"] / one["pairs"]} for one in loaded]
    counted = (("lines per get", lines_per_get), ("bytes per pair", bytes_per_pair))
    for axes, (name, counts) in zip(panels[-2:], counted):
        points(axes, relative(counts), choices, 0)
        axes.set_title(name, fontsize=9)
    panels[0].set_yticks(range(len(choices)), [choice.split(":", 1)[1] for choice in choices])
    panels[0].set_ylim(len(choices) - 0.5, -0.5)
    panels[0].legend(fontsize=7)
    figure.supxlabel("relative to the default; throughput: median, minimum and maximum", fontsize=9)
    return figure


def relative(numbers_of: list[dict]) -> dict[str, tuple[float, float, float]]:
    """Returns minimum, median and maximum of each map, relative to the median of the default in the same
    group."""
    default = {one.get("group"): one["median"] for one in numbers_of if one["peer"] == "honeycomb"}
    spread = {one["peer"]: (one, default[one.get("group")]) for one in numbers_of}
    return {
        peer: tuple(one.get(name, one["median"]) / base for name in ("min", "median", "max"))
        for peer, (one, base) in spread.items()
    }


def points(axes: Axes, parts: dict, choices: list[str], shade: int) -> None:
    """Draws a point for each choice in its row, with its spread."""
    rows = [(row, parts[choice]) for row, choice in enumerate(choices) if choice in parts]
    for row, (low, _, high) in rows:
        axes.plot([low, high], [row, row], color=style.OURS[shade], linewidth=1.5)
    axes.axvline(1, color="#888888", linewidth=0.8)
    axes.plot([median for _, (_, median, _) in rows], [row for row, _ in rows], "os"[shade],
              color=style.OURS[shade], markersize=4)


def lines(axes: Axes, measurements: list[dict], name: str, place) -> None:
    """Draws a line for each value of the column ``name``, at the ``place`` of each measurement."""
    for number, value in enumerate(bench.in_order(measurements, name)):
        points = sorted((place(one), one["median"] / 1e6) for one in measurements if one[name] == value)
        # A map that was measured in several groups is drawn once.
        points = list(dict(reversed(points)).items())[::-1]
        ours = value.startswith("honeycomb")
        other = style.OTHER_LINES[number % len(style.OTHER_LINES)]
        color = style.colors(value)[1 if value == "honeycomb:mvcc=off" else 0] if ours else other
        axes.plot(*zip(*points), marker=MARKERS[number % len(MARKERS)], color=color, label=value,
                  markersize=4, linewidth=2 if ours else 1)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("million operations per second")
    axes.legend(fontsize=7)


def rows_of(count: int, sharey: bool = False) -> tuple[Figure, list[Axes]]:
    """Returns a figure with this number of adjacent panels."""
    figure = Figure(figsize=(4.2 * count + 0.4, 3.6), layout="constrained")
    return figure, list(figure.subplots(1, count, squeeze=False, sharey=sharey)[0])


def number_in(name: str) -> int:
    """Returns the number at the end of a name."""
    return int(re.search(r"\d+$", name)[0])


def log_bytes(measurement: dict) -> int:
    """Returns the maximum size of the log block of a map, in bytes."""
    peer = measurement["peer"]
    return LOG_BYTES_DEFAULT if peer == "honeycomb" else number_in(peer)


SHAPES = {
    "workloads": bench.throughput,
    "numbers": numbers,
    "log-block": log_block,
    "versions": versions,
    "latency": latency,
    "ablations": ablations,
    "disturbances": disturbances,
}
