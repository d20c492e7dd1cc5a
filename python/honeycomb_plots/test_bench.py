"""Draws a small report: ``PYTHONPATH=python python3 -m unittest honeycomb_plots.test_bench``."""

import json
import pathlib
import tempfile
import unittest

from honeycomb_plots import bench


def measurement(peer: str, workload: str, distribution: str, threads: int) -> dict:
    names = {"group": 1, "peer": peer, "workload": workload, "distribution": distribution, "threads": threads,
             "batch": 1}
    return names | {"median": 2e6, "min": 1e6, "max": 3e6, "deviation": 1e5, "samples": [1e6, 2e6, 3e6]}


def report() -> dict:
    peers = ("honeycomb", "masstree")
    kinds = (("load", "uniform"), ("get", "uniform"), ("get", "zipf"))
    return {
        "setup": {
            "date": "2026-01-02T03:04:05Z", "revision": None,
            "plan": {"pairs": [1_000_000], "sizes": ["16+16"]}, "machine": {"processor": "one", "cores": 2},
        },
        "measurements": [
            measurement(peer, *kind, threads) for threads in (1, 2) for kind in kinds for peer in peers
        ],
        "memory": [
            {"group": 1, "peer": peer, "moment": moment, "pairs": 1_000_000, "resident_bytes": 45_000_000}
            for peer in peers for moment in ("loaded", "end")
        ],
        "failures": [],
    }


class Draw(unittest.TestCase):
    def draw(self, content: dict) -> list[bytes]:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "bench.json"
            path.write_text(json.dumps(content), encoding="utf-8")
            return [drawn.read_bytes() for drawn in bench.draw(path)]

    def test_equal_numbers_result_in_equal_figures(self):
        figures = self.draw(report())
        self.assertEqual(figures, self.draw(report()))
        self.assertEqual([figure[:4] for figure in figures], [b"\x89PNG", b"<?xm"] * 2)

    def test_svg_contains_text_as_text(self):
        _, throughput, _, memory = self.draw(report())
        for text in (b"honeycomb", b"masstree", b"1 million pairs of 16+16 bytes"):
            self.assertIn(text, throughput)
            self.assertIn(text, memory)

    def test_an_empty_report_is_rejected(self):
        with self.assertRaisesRegex(ValueError, "no measurements"):
            self.draw(report() | {"measurements": []})


if __name__ == "__main__":
    unittest.main()
