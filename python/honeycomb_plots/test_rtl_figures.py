"""Draws small figures: ``PYTHONPATH=python python3 -m unittest honeycomb_plots.test_rtl_figures``."""

import json
import pathlib
import tempfile
import unittest

from honeycomb_plots import rtl_figures


def row(series: str, x: str, rate: float = 2.0, units: int = 4) -> dict:
    shares = dict.fromkeys(("links_busy", "channels_busy", "host_bytes", "host_reads"), 0.5)
    counts = ("on_board_lines", "on_board_reads", "search_units_busy", "descents", "scan_units_busy",
              "scan_requests")
    times = {"median": 400, "percentile_99": 900, "nanoseconds_a_cycle": 4.5}
    units_of = dict.fromkeys(("search_units", "search_descents", "scan_units", "scan_slots"), units)
    setup = {"platform": "paper", "megahertz": 220.0} | units_of | dict.fromkeys(counts, 2.0)
    return {"series": series, "x": x, "million_operations_a_second": rate} | shares | times | setup


class Draw(unittest.TestCase):
    def draw(self, rows: list[dict], shapes: list[str]) -> dict[str, bytes]:
        with tempfile.TemporaryDirectory() as folder:
            for shape in shapes:
                path = pathlib.Path(folder) / f"figure-{shape}"
                path.mkdir()
                figure = {"heading": f"Figure 1: {shape}", "axis": "the axis", "shape": shape, "rows": rows}
                (path / "figure.json").write_text(json.dumps(figure), encoding="utf-8")
            return {path.name: path.read_bytes() for path in rtl_figures.draw(pathlib.Path(folder))}

    def test_every_shape_is_drawn_as_png_and_svg_and_names_what_it_shows(self):
        rows = [row("uniform", "1"), row("uniform", "4", 3.0), row("zipf", "1"), row("zipf", "4")]
        drawn = self.draw(rows, list(rtl_figures.SHAPES))
        self.assertEqual(len(drawn), 2 * len(rtl_figures.SHAPES))
        for shape in rtl_figures.SHAPES:
            self.assertEqual(drawn[f"rtl-figure-{shape}.png"][:4], b"\x89PNG")
            svg = drawn[f"rtl-figure-{shape}.svg"]
            for text in (f"Figure 1: {shape}", "the axis", "uniform, 4 + 4 units, 4 slots"):
                self.assertIn(text.encode(), svg)

    def test_builds_with_other_units_are_distinguished(self):
        drawn = self.draw([row("get", "1"), row("get", "1", 5.0, 14)], ["bars"])
        for text in (b"get, 4 + 4 units, 4 slots", b"get, 14 + 14 units, 14 slots"):
            self.assertIn(text, drawn["rtl-figure-bars.svg"])

    def test_all_machines_are_named(self):
        rows = [row("paper", "get"), row("gen5", "get") | {"platform": "gen5", "megahertz": 250.0}]
        expected = "paper, 220 MHz; gen5, 250 MHz, simulated; 4 + 4 units, 4 slots"
        self.assertEqual(rtl_figures.subtitle(rows), expected)

    def test_units_in_the_name_of_a_series_are_not_repeated(self):
        self.assertEqual(rtl_figures.name(row("4 + 4 units, 4 slots", "all")), "4 + 4 units, 4 slots")

    def test_an_empty_folder_is_rejected(self):
        with self.assertRaisesRegex(ValueError, "has no figures"):
            self.draw([], [])


if __name__ == "__main__":
    unittest.main()
