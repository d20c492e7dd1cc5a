"""The life of a request on the simulated accelerator: ``honeycomb-simulation --explain N --life FILE``."""

import json
import pathlib

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from honeycomb_plots import style

# One color for each stage, in the order of the stages.
COLORS = ("#8da0cb", "#66a61e", "#f6dc8a", "#e6ab02", "#8da0cb", "#bbbbbb", "#7570b3", "#d95f02")
# The stage that compares keys.
COMPARING_STAGE = "range scan unit"
HEIGHT = 0.7
# A label needs at least this share of the time axis for each character.
SHARE_PER_CHARACTER = 0.009


def draw(path: pathlib.Path) -> list[pathlib.Path]:
    """Draws a life next to its JSON. Returns the paths of the drawings."""
    life = json.loads(path.read_text(encoding="utf-8"))
    if not life["spans"]:
        raise ValueError("no spans in it")
    return style.save(timeline(life), path.with_suffix(""))


def timeline(life: dict) -> Figure:
    """A row for each stage, a bar for each span, and a mark for each compared key."""
    stages = life["stages"]
    figure = Figure(figsize=(9, 0.26 * len(stages) + 1.0), layout="constrained")
    axes = figure.subplots()
    last = max(span["end"] for span in life["spans"])
    for span in life["spans"]:
        bar(axes, stages.index(span["stage"]), span, last)
    row = stages.index(COMPARING_STAGE)
    axes.vlines(life["comparisons"], row - HEIGHT / 2, row + HEIGHT / 2, color="#444444", linewidth=0.8)
    axes.set_yticks(range(len(stages)), stages)
    axes.set_ylim(len(stages) - 0.5, -0.5)
    axes.set_xlim(0, last)
    axes.set_xlabel("nanoseconds since submission")
    axes.set_title(f"request {life['request']}", fontsize=9)
    return figure


def bar(axes: Axes, row: int, span: dict, last: float) -> None:
    """Draws a span, with its label if the bar is wide enough."""
    width = span["end"] - span["start"]
    axes.barh(row, width, HEIGHT, left=span["start"], color=COLORS[row % len(COLORS)], edgecolor="white",
              linewidth=0.5)
    label = span["label"]
    if label and width > SHARE_PER_CHARACTER * len(label) * last:
        axes.text(span["start"] + width / 2, row, label, ha="center", va="center", fontsize=6)
