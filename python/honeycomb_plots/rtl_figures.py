"""Figures of the simulated accelerator, one for each folder that ``honeycomb-simulation figures`` wrote."""

import json
import pathlib

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from honeycomb_plots import style
from honeycomb_plots.bench import in_order
from honeycomb_plots.figures import MARKERS, rows_of

COLORS = (*style.OURS, *style.OTHER_LINES)
RATE = "million_operations_a_second"


def draw(folder: pathlib.Path) -> list[pathlib.Path]:
    """Draws all figures of a folder into it. Returns their paths."""
    paths = []
    for described in sorted(folder.glob("figure-*/figure.json")):
        figure = json.loads(described.read_text(encoding="utf-8"))
        drawn = SHAPES[figure["shape"]](figure["rows"], figure["axis"])
        drawn.suptitle(f"{figure['heading']}\n{subtitle(figure['rows'])}", fontsize=9)
        paths += style.save(drawn, folder / f"rtl-{described.parent.name}")
    if not paths:
        raise ValueError("the folder has no figures")
    return paths


def subtitle(rows: list[dict]) -> str:
    """Returns the machines, and the units of all builds."""
    machines, builds = ("; ".join(dict.fromkeys(map(of, rows))) for of in (machine, units))
    return f"{machines}, simulated; {builds}"


def machine(row: dict) -> str:
    """Returns the platform and its clock."""
    return f"{row['platform']}, {row['megahertz']:.0f} MHz"


def units(row: dict) -> str:
    """Returns the units of a build: key search units and range scan units, and the requests of each in
    flight."""
    return f"{row['search_units']} + {row['scan_units']} units, {row['scan_slots']} slots"


def name(row: dict) -> str:
    """Returns the name of a point: its series, and the units unless they are the series."""
    return row["series"] if row["series"] == units(row) else f"{row['series']}, {units(row)}"


def lines(rows: list[dict], axis: str) -> Figure:
    """Draws throughput over a number, with a line for each series."""
    figure, (axes,) = rows_of(1)
    lines_of(axes, rows, lambda row: row[RATE])
    axes.set_xlabel(axis)
    axes.set_ylabel("million operations per second")
    axes.legend(fontsize=7)
    return figure


def lines_of(axes: Axes, rows: list[dict], value) -> None:
    """Draws a line for each series, of the value that ``value`` returns for a row, at equal distances."""
    places = in_order(rows, "x")
    for number, series in enumerate(dict.fromkeys(map(name, rows))):
        here = [row for row in rows if name(row) == series]
        axes.plot([places.index(row["x"]) for row in here], [value(row) for row in here],
                  marker=MARKERS[number % len(MARKERS)], color=COLORS[number % len(COLORS)], label=series,
                  markersize=4)
    axes.set_xticks(range(len(places)), places)
    # Includes lines of other values: a limit that was set once would otherwise remain.
    axes.set_ylim(0, 1.05 * max(max(line.get_ydata()) for line in axes.lines) or 1)


def latency(rows: list[dict], axis: str) -> Figure:
    """Draws latency over throughput: median and 99th percentile of all operations, with a line for each
    series."""
    figure, (axes,) = rows_of(1)
    for number, series in enumerate(dict.fromkeys(map(name, rows))):
        here = [row for row in rows if name(row) == series]
        for quantile, label, line in (("median", "50 %", "-"), ("percentile_99", "99 %", ":")):
            times = [row[quantile] * row["nanoseconds_a_cycle"] / 1e3 for row in here]
            axes.plot([row[RATE] for row in here], times, line, marker=".", label=f"{series}, {label}",
                      color=COLORS[number % len(COLORS)])
    axes.set_xlabel(f"million operations per second; points: {axis}")
    axes.set_ylabel("µs")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=7)
    return figure


def bars(rows: list[dict], axis: str) -> Figure:
    """Draws bars of throughput; the bars of a series have one color."""
    places, series = in_order(rows, "x"), list(dict.fromkeys(map(name, rows)))
    figure = Figure(figsize=(6, 0.22 * len(places) * len(series) + 1.6), layout="constrained")
    axes = figure.subplots()
    height = 0.8 / len(series)
    for row in rows:
        number = series.index(name(row))
        place = places.index(row["x"]) + (number - (len(series) - 1) / 2) * height
        axes.barh(place, row[RATE], height * 0.92, color=COLORS[number % len(COLORS)], label=name(row))
    axes.set_yticks(range(len(places)), places)
    axes.set_ylim(len(places) - 0.4, -0.6)
    axes.set_ylabel(axis)
    axes.set_xlabel("million operations per second")
    handles = dict(zip(*reversed(axes.get_legend_handles_labels())))
    axes.legend(handles.values(), handles.keys(), fontsize=7)
    return figure


def sources(rows: list[dict], axis: str) -> Figure:
    """Draws throughput, bandwidth and accesses over a number, by source of the bytes."""
    figure, panels = rows_of(3)
    lines_of(panels[0], rows, lambda row: row[RATE])
    panels[0].set_ylabel("million operations per second")
    kinds = (("host memory", lambda row: row["host_bytes"], lambda row: row["host_reads"]),
             ("on-board memory", lambda row: 64 * row["on_board_lines"], lambda row: row["on_board_reads"]))
    for axes, kind, unit in ((panels[1], 1, "GB/s"), (panels[2], 2, "million reads per second")):
        for place, of in zip(("-", ":"), kinds):
            start = len(axes.lines)
            scale = 1e-3 if kind == 1 else 1
            lines_of(axes, rows, lambda row, of=of, kind=kind, scale=scale: scale * row[RATE] * of[kind](row))
            for line in axes.lines[start:]:
                line.set(linestyle=place, label=f"{of[0]}, {line.get_label()}")
        axes.set_ylabel(unit)
    for axes in panels:
        axes.set_xlabel(axis)
        axes.legend(fontsize=6)
    return figure


def utilisation(rows: list[dict], axis: str) -> Figure:
    """Draws a panel for each kind of tree: the share of time, or of units, that is busy."""
    parts = (("links", lambda row: row["links_busy"]), ("channels", lambda row: row["channels_busy"]),
             ("search units", lambda row: row["search_units_busy"] / row["search_units"]),
             ("descents", lambda row: row["descents"] / row["search_descents"]),
             ("scan units", lambda row: row["scan_units_busy"] / row["scan_units"]),
             ("scan slots", lambda row: row["scan_requests"] / row["scan_slots"]))
    places = in_order(rows, "x")
    figure, panels = rows_of(len(places), sharey=True)
    for axes, place in zip(panels, places):
        here = [row for row in rows if row["x"] == place]
        width = 0.8 / len(here)
        for number, row in enumerate(here):
            at = [part + (number - (len(here) - 1) / 2) * width for part in range(len(parts))]
            axes.bar(at, [100 * share(row) for _, share in parts], width * 0.92, label=name(row),
                     color=COLORS[number % len(COLORS)])
        axes.set_xticks(range(len(parts)), [part for part, _ in parts], fontsize=7)
        axes.set_title(f"{axis}: {place}", fontsize=9)
    panels[0].set_ylabel("busy, %")
    # The legend is outside of the panels, because bars fill some of them.
    figure.legend(*panels[0].get_legend_handles_labels(), fontsize=7, loc="outside right upper")
    return figure


SHAPES = {
    "lines": lines,
    "latency": latency,
    "bars": bars,
    "sources": sources,
    "utilisation": utilisation,
}
