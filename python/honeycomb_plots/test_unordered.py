"""Tests the figures: ``PYTHONPATH=python python3 -m unittest honeycomb_plots.test_unordered``."""

import pathlib
import tempfile
import unittest

from honeycomb_plots import unordered
from honeycomb_plots.test_unordered_rates import TEXT as RATES

COUNTS = """
10 bytes, fill 40: 36.8 1.01  51.6 2.00
10 bytes, fill 60: 27.2 1.05  46.1 2.02
16 bytes, fill 40: 65.2 1.13  51.6 2.00
254 bytes, index ratio 0.0251: utilisation, get (paper), put (paper)
50 %: 2.00 (2.01)  3.03 (3.04)
10 bytes, index ratio 0.4: utilisation, get (paper), put (paper)
30 %: 1.16 (1.16)  2.54 (2.55)
35 %: 1.23 (1.23)  2.71 (2.71)
"""


class Dispatch(unittest.TestCase):
    def test_the_formula_reproduces_the_published_shares(self):
        for speed, published in unordered.PUBLISHED.items():
            for size, expected in zip(unordered.SIZES, published):
                self.assertAlmostEqual(unordered.share(speed, size, unordered.LINES), expected, delta=0.002)

    def test_larger_caches_have_more_hits(self):
        ratios = [unordered.hit_ratio(0.5, size) for size in unordered.SIZES]
        self.assertEqual(ratios, sorted(ratios))
        self.assertGreater(ratios[0], 0)
        self.assertLess(ratios[-1], 1)


class Draw(unittest.TestCase):
    def test_counts_are_parsed_by_size(self):
        short, long = unordered.parse(COUNTS)
        self.assertEqual((short.pair_bytes, short.utilisation, long.pair_bytes), (10, [30, 35], 254))
        self.assertEqual((short.gets[1], long.puts), ((1.23, 1.23), [(3.03, 3.04)]))

    def test_counts_of_inline_pairs_are_parsed_by_size(self):
        sizes = unordered.parse_inline(COUNTS)
        short = [(36.8, 1.01, 51.6, 2.00), (27.2, 1.05, 46.1, 2.02)]
        self.assertEqual(sizes, {10: short, 16: [(65.2, 1.13, 51.6, 2.00)]})
        with self.assertRaisesRegex(ValueError, "no counts of inline pairs"):
            unordered.parse_inline("10 bytes, index ratio 0.4: utilisation")

    def test_a_file_without_counts_is_rejected(self):
        for text in ("", "10 bytes, index ratio 0.4: utilisation"):
            with self.assertRaisesRegex(ValueError, "no counts"):
                unordered.parse(text)

    def test_equal_counts_result_in_equal_figures(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            (path / "accesses.txt").write_text(COUNTS, encoding="utf-8")
            (path / "rates.txt").write_text(RATES, encoding="utf-8")
            first, second = ([drawn.read_bytes() for drawn in unordered.draw(path)] for _ in range(2))
            self.assertEqual(first, second)
            self.assertEqual([figure[:4] for figure in first], [b"\x89PNG", b"<?xm"] * 5)


if __name__ == "__main__":
    unittest.main()
