"""Draws small figures: ``PYTHONPATH=python python3 -m unittest honeycomb_plots.test_figures``."""

import json
import pathlib
import tempfile
import unittest

from matplotlib.figure import Figure

from honeycomb_plots import figures
from honeycomb_plots.test_bench import measurement, report


def measured(shape: str) -> dict:
    """Returns a report with the rows that a figure of this shape needs."""
    columns = {
        "workloads": [("honeycomb", "ycsb-a", 2), ("masstree", "ycsb-a", 2)],
        "numbers": [("honeycomb", "scan4", 2), ("honeycomb", "scan24", 2), ("honeycomb", "load", 2)],
        "log-block": [("honeycomb", "scan4", 1), ("honeycomb:log=0", "scan4", 1)],
        "versions": [("honeycomb", "insert", 1), ("honeycomb:mvcc=off", "insert", 2)],
        "latency": [],
        "ablations": [("honeycomb", "get", 1), ("honeycomb:quantum=8", "get", 1)],
        "disturbances": [],
    }
    measurements = [measurement(peer, mix, "zipf", threads) for peer, mix, threads in columns[shape]]
    late = {"peer": "honeycomb", "distribution": "zipf", "done": 1e6, "p50": 300, "p99": 5_000, "p999": 9_000}
    lates = [late | {"load": 70, "disturbance": kind} for kind in figures.DISTURBANCES]
    memory = {"moment": "loaded", "pairs": 10, "accounted_bytes": 460}
    peers = ["honeycomb", "honeycomb:quantum=8"]
    plan = report()["setup"]["plan"] | {"peers": peers}
    return report() | {
        "setup": report()["setup"] | {"plan": plan},
        "measurements": measurements,
        "latencies": [*lates, late | {"done": 2e6, "load": 80, "disturbance": "none"}],
        "memory": [memory | {"peer": peer} for peer in peers],
        "access_stats": [{"peer": peer, "get": {"lines": 20}} for peer in peers],
    }


class Draw(unittest.TestCase):
    def draw(self, shapes: list[str]) -> dict[str, bytes]:
        with tempfile.TemporaryDirectory() as folder:
            for number, shape in enumerate(shapes):
                path = pathlib.Path(folder) / f"figure-{number}"
                path.mkdir()
                described = {"heading": f"Figure {number}: {shape}", "shape": shape}
                (path / "figure.json").write_text(json.dumps(described), encoding="utf-8")
                (path / "bench.json").write_text(json.dumps(measured(shape)), encoding="utf-8")
            return {path.name: path.read_bytes() for path in figures.draw(pathlib.Path(folder))}

    def test_every_shape_is_drawn_as_png_and_svg_with_its_heading(self):
        drawn = self.draw(list(figures.SHAPES))
        self.assertEqual(len(drawn), 2 * len(figures.SHAPES))
        for number, shape in enumerate(figures.SHAPES):
            self.assertEqual(drawn[f"figure-{number}.png"][:4], b"\x89PNG")
            self.assertIn(f"Figure {number}: {shape}".encode(), drawn[f"figure-{number}.svg"])

    def test_a_choice_is_relative_to_the_default_of_its_group(self):
        default = measurement("honeycomb", "get", "uniform", 1)
        choice = measurement("honeycomb:quantum=8", "get", "uniform", 1)
        other = {"group": 2, "median": 4e6}
        parts = figures.relative([default, default | other, choice | {"group": 2}])
        self.assertEqual(parts["honeycomb:quantum=8"], (0.25, 0.5, 0.75))
        axes = Figure().subplots()
        figures.points(axes, parts, ["honeycomb:log=0", "honeycomb:quantum=8"], 1)
        spread, _, medians = axes.lines
        self.assertEqual((list(spread.get_xdata()), list(spread.get_ydata())), ([0.25, 0.75], [1, 1]))
        self.assertEqual((list(medians.get_xdata()), list(medians.get_ydata())), ([0.5], [1]))

    def test_a_log_block_is_compared_with_none(self):
        one = measurement("honeycomb", "scan4", "uniform", 1)
        peers = ("honeycomb", "honeycomb:log=64")
        self.assertEqual([figures.log_bytes(one | {"peer": peer}) for peer in peers], [512, 64])

    def test_an_empty_folder_is_rejected(self):
        with self.assertRaisesRegex(ValueError, "has no figures"):
            self.draw([])


if __name__ == "__main__":
    unittest.main()
