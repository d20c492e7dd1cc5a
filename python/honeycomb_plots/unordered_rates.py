"""The throughput figures of KV-Direct for the unordered index: by size and mix, and increments by skew, each
beside the points of the paper.

The rates are those of ``honeycomb-bench unordered --parts mixes,skew``. The paper's machine executes at most
180 million operations a second in logic, so the shapes are comparable, not the rates.
"""

import dataclasses

from matplotlib.figure import Figure

from honeycomb_plots import style

PAIR_BYTES = (5, 10, 15, 62, 126, 254)
# Million operations a second by distribution and percent of puts.
PUBLISHED = {
    ("uniform", 0): (122.7, 111.2, 98.7, 61.3, 37.1, 18.5),
    ("uniform", 5): (116.8, 105.8, 93.6, 59.8, 37.1, 18.5),
    ("uniform", 50): (81.8, 74.1, 65.5, 49.0, 35.0, 18.5),
    ("uniform", 100): (61.3, 55.5, 49.1, 40.9, 30.7, 18.5),
    ("zipf", 0): (180, 180, 180, 74.7, 37.1, 18.5),
    ("zipf", 50): (154.8, 139.5, 122.4, 74.7, 37.1, 18.5),
    ("zipf", 100): (114.1, 102.9, 90.2, 74.1, 37.1, 18.5),
}
# Increments of 1 to 5 counters, with the out-of-order engine and without it.
PUBLISHED_ENGINE = (180, 180, 180, 180, 180)
PUBLISHED_STALLS = (0.94, 1.88, 2.82, 3.77, 4.71)


@dataclasses.dataclass
class Rates:
    """Million operations a second: by distribution, percent of puts and pair bytes; and of increments by
    number of counters, in batches and one at a time."""

    mixes: dict[tuple[str, int], dict[int, float]]
    increments: dict[int, tuple[float, float]]


def parse(text: str) -> Rates:
    """Parses the tables of the benchmark."""
    rates = Rates({}, {})
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4 and cells[1] in ("uniform", "zipf"):
            rates.mixes.setdefault((cells[1], int(cells[2])), {})[int(cells[0])] = float(cells[3])
        elif len(cells) == 3 and cells[0].isdigit():
            rates.increments[int(cells[0])] = (float(cells[1]), float(cells[2]))
    if not rates.mixes or not rates.increments:
        raise ValueError("the file lacks rates of mixes or of increments")
    return rates


def draw_throughput(rates: Rates) -> Figure:
    """Draws a panel for each distribution."""
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, distribution in zip(panels, ("uniform", "zipf")):
        mixes = [(puts, of) for (name, puts), of in rates.mixes.items() if name == distribution]
        for (puts, measured), color in zip(sorted(mixes), style.OTHER_LINES):
            sizes = sorted(measured)
            axes.plot(sizes, [measured[size] for size in sizes], color=color, label=f"{puts} % puts")
            if published := PUBLISHED.get((distribution, puts)):
                axes.plot(PAIR_BYTES, published, "o:", color=color, fillstyle="none")
        axes.set(xscale="log", yscale="log", xlabel="bytes of a pair", title=distribution)
        axes.set_xticks(PAIR_BYTES, PAIR_BYTES, minor=False)
        axes.set_xticks([], minor=True)
    panels[0].set_ylabel("million operations a second")
    panels[0].legend(fontsize=8, title="lines: one thread; circles: paper", title_fontsize=8)
    return figure


def draw_increments(rates: Rates) -> Figure:
    """Draws increments by number of counters."""
    figure = Figure(figsize=(6, 3.4), layout="constrained")
    axes = figure.subplots()
    counters = sorted(rates.increments)
    together, alone = zip(*(rates.increments[count] for count in counters))
    few = range(1, len(PUBLISHED_ENGINE) + 1)
    axes.plot(counters, together, color=style.OURS[0], label="batches, one thread")
    axes.plot(counters, alone, color=style.OURS[1], label="one at a time, one thread")
    paper = {"color": style.OTHERS[0], "fillstyle": "none", "linestyle": "none"}
    axes.plot(few, PUBLISHED_ENGINE, marker="o", label="paper, with the engine", **paper)
    axes.plot(few, PUBLISHED_STALLS, marker="s", label="paper, with stalls", **paper)
    axes.set(xscale="log", yscale="log", xlabel="counters", ylabel="million increments a second")
    axes.legend(fontsize=8)
    return figure
