"""The style of all figures, and how they are saved."""

import pathlib

import matplotlib
from matplotlib.figure import Figure

# Works without a display. The same numbers result in the same bytes.
matplotlib.use("Agg")
matplotlib.rcParams.update({
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.size": 9,
    "grid.color": "#dddddd",
    "svg.fonttype": "none",
    "svg.hashsalt": "honeycomb",
})

# Honeycomb stands out from the other maps.
OURS = ("#d98c00", "#f5c666")
OTHERS = ("#5b6b7b", "#aab6c2")
# Lines that cross must be distinguishable.
OTHER_LINES = ("#34495e", "#6c8ebf", "#7a9e7e", "#9a7aa0", "#a9746e", "#8c8c8c")


def colors(name: str) -> tuple[str, str]:
    """Returns the colors of the first and the second bar of a map."""
    return OURS if name.startswith("honeycomb") else OTHERS


def save(figure: Figure, stem: pathlib.Path) -> list[pathlib.Path]:
    """Saves a figure as ``stem.png`` and ``stem.svg``."""
    paths = [stem.with_suffix(".png"), stem.with_suffix(".svg")]
    figure.savefig(paths[0], dpi=150, metadata={"Software": None})
    figure.savefig(paths[1], metadata={"Date": None})
    return paths
