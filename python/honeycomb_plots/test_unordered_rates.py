"""Tests the figures: ``PYTHONPATH=python python3 -m unittest honeycomb_plots.test_unordered_rates``."""

import unittest

from honeycomb_plots import unordered_rates as rates

TEXT = """
| pair bytes | distribution | puts, % | rate |
|---|---|---|---|
| 5 | uniform | 0 | 20.50 |
| 254 | uniform | 0 | 7.00 |
| 5 | zipf | 100 | 11.25 |
| counters | batches | one at a time |
|---|---|---|
| 1 | 40.00 | 9.50 |
| 100 | 30.00 | 9.00 |
| RI.REDUCE | 20.00 | 21.00 |
"""


class RatesTest(unittest.TestCase):
    def test_tables_are_parsed(self):
        parsed = rates.parse(TEXT)
        self.assertEqual(parsed.mixes, {("uniform", 0): {5: 20.5, 254: 7.0}, ("zipf", 100): {5: 11.25}})
        self.assertEqual(parsed.increments, {1: (40.0, 9.5), 100: (30.0, 9.0)})

    def test_a_file_without_rates_is_rejected(self):
        for text in ("", TEXT[:120]):
            with self.assertRaisesRegex(ValueError, "lacks rates"):
                rates.parse(text)

    def test_every_mix_has_a_line_and_the_published_points(self):
        figure = rates.draw_throughput(rates.parse(TEXT))
        lines = [axes.get_lines() for axes in figure.axes]
        self.assertEqual([len(of_panel) for of_panel in lines], [2, 2])
        self.assertEqual(list(lines[1][1].get_ydata()), list(rates.PUBLISHED[("zipf", 100)]))
        [axes] = rates.draw_increments(rates.parse(TEXT)).axes
        self.assertEqual(list(axes.get_lines()[0].get_ydata()), [40.0, 30.0])


if __name__ == "__main__":
    unittest.main()
