"""Tests the limits of modules and their comparison."""

import unittest

from limits import COLUMNS, Limits, exceeded
from report import GATE
from timing import Longest


class LimitsOfModules(unittest.TestCase):
    def test_limits_are_within_the_gate(self):
        for name, entry in Limits().modules.items():
            limits = entry["limits"]
            self.assertTrue(Longest(limits["ns"], limits["levels"]).within(GATE), name)
            self.assertTrue(Longest(limits["pins_ns"], limits["pins_levels"]).within(GATE), name)

    def test_only_numbers_beyond_a_limit_are_named(self):
        limits = dict.fromkeys(COLUMNS, 5)
        self.assertEqual(exceeded(limits, limits), [])
        for column in COLUMNS:
            self.assertEqual(exceeded(limits | {column: 4}, limits), [])
            self.assertEqual(exceeded(limits | {column: 6}, limits), [f"{column} 6, the limit is 5"])


if __name__ == "__main__":
    unittest.main()
