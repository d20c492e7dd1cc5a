"""Draws small figures: ``PYTHONPATH=python python3 -m unittest honeycomb_plots.test_figures``."""

import json
import pathlib
import tempfile
import unittest

from honeycomb_plots import figures
from honeycomb_plots.test_bench import measurement, report


def measured(shape: str) -> dict:
    """A report with what a figure of this shape shows."""
    columns = {
        "workloads": [("honeycomb", "ycsb-a", 2), ("masstree", "ycsb-a", 2)],
        "numbers": [("honeycomb", "scan4", 2), ("honeycomb", "scan24", 2), ("honeycomb", "load", 2)],
        "log-block": [("honeycomb", "scan4", 1), ("honeycomb-log0", "scan4", 1)],
        "versions": [("honeycomb", "insert", 1), ("honeycomb-unversioned", "insert", 2)],
        "latency": [],
    }
    measurements = [measurement(peer, mix, "zipf", threads) for peer, mix, threads in columns[shape]]
    late = {"peer": "honeycomb", "distribution": "zipf", "done": 1e6, "p50": 300, "p999": 9_000}
    return report() | {"measurements": measurements, "latencies": [late, late | {"done": 2e6}]}


class Draw(unittest.TestCase):
    def draw(self, shapes: list[str]) -> dict[str, bytes]:
        with tempfile.TemporaryDirectory() as folder:
            for number, shape in enumerate(shapes):
                path = pathlib.Path(folder) / f"figure-{number}"
                path.mkdir()
                described = {"number": number, "title": shape, "shape": shape}
                (path / "figure.json").write_text(json.dumps(described), encoding="utf-8")
                (path / "bench.json").write_text(json.dumps(measured(shape)), encoding="utf-8")
            return {path.name: path.read_bytes() for path in figures.draw(pathlib.Path(folder))}

    def test_every_shape_is_drawn_as_png_and_svg_and_names_what_it_shows(self):
        drawn = self.draw(list(figures.SHAPES))
        self.assertEqual(len(drawn), 2 * len(figures.SHAPES))
        for number, shape in enumerate(figures.SHAPES):
            self.assertEqual(drawn[f"figure-{number}.png"][:4], b"\x89PNG")
            self.assertIn(f"Figure {number}: {shape}".encode(), drawn[f"figure-{number}.svg"])

    def test_a_log_block_is_compared_with_none(self):
        one = measurement("honeycomb", "scan4", "uniform", 1)
        peers = ("honeycomb", "honeycomb-log64")
        self.assertEqual([figures.log_bytes(one | {"peer": peer}) for peer in peers], [512, 64])

    def test_an_empty_folder_is_refused(self):
        with self.assertRaisesRegex(ValueError, "no figures"):
            self.draw([])


if __name__ == "__main__":
    unittest.main()
