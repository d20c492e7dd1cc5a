"""Draws a short life: ``PYTHONPATH=python python3 -m unittest honeycomb_plots.test_life``."""

import json
import pathlib
import tempfile
import unittest

from honeycomb_plots import life

STAGES = ["reads", life.COMPARING_STAGE]


def span(stage: str, start: float, end: float, label: str = "") -> dict:
    return {"stage": stage, "start": start, "end": end, "label": label}


class Draw(unittest.TestCase):
    def draw(self, spans: list[dict]) -> list[bytes]:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "life.json"
            content = {"request": 40, "stages": STAGES, "spans": spans, "comparisons": [350.0]}
            path.write_text(json.dumps(content), encoding="utf-8")
            return [drawn.read_bytes() for drawn in life.draw(path)]

    def test_the_drawing_names_request_stages_and_labels(self):
        spans = [span("reads", 0, 300, "LID 7"), span("reads", 300, 301, "LID 8"), span(STAGES[1], 301, 400)]
        png, svg = self.draw(spans)
        self.assertEqual(png[:4], b"\x89PNG")
        for text in ("request 40", *STAGES, "LID 7"):
            self.assertIn(text.encode(), svg)
        self.assertNotIn(b"LID 8", svg, "the bar is too narrow for its label")

    def test_a_life_without_spans_is_rejected(self):
        with self.assertRaisesRegex(ValueError, "no spans"):
            self.draw([])


if __name__ == "__main__":
    unittest.main()
