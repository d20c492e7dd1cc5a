"""`redis_suite.py` parses the output of Redis's suite correctly, and its list is valid. The suite itself
runs by hand."""

import tomllib
import unittest

from honeycomb_clients import redis_suite

OUTPUT = """Starting test server at port 21079
[ready]: 4711
Testing unit/quit
[ok]: QUIT returns OK (3 ms)
[skip]: Pipelined commands after QUIT must not be executed
[ignore]: SAVE: Tag: needs:save denied
[err]: A test (with brackets) in tests/unit/quit.tcl
Expected '1' to be equal to '2' (context: type eval line 3 cmd {assert_equal 1 2} proc ::test)
[err]: Another test in tests/unit/quit.tcl
n command 'rpush'
ERR unknown command 'rpush'
    while executing
"r rpush list a"
[ok]: The last test (0 ms)
[1/1 done]: unit/quit (1 seconds)

                   The End

Execution time of different units:
  1 seconds - unit/quit

!!! WARNING The following tests failed:

*** [err]: A test (with brackets) in tests/unit/quit.tcl
"""


class Suite(unittest.TestCase):
    def test_each_kind_of_line_is_parsed(self):
        run = redis_suite.parse(OUTPUT)
        self.assertEqual(run.passed, ["QUIT returns OK", "The last test"])
        self.assertEqual(run.skipped, ["Pipelined commands after QUIT must not be executed"])
        self.assertEqual(run.ignored, ["SAVE: Tag: needs:save denied"])
        self.assertEqual(list(run.failed), ["A test (with brackets)", "Another test"])
        self.assertTrue(run.failed["A test (with brackets)"].startswith("Expected '1'"))
        self.assertTrue(run.failed["Another test"].startswith("ERR unknown command 'rpush'\n"))

    def test_a_unit_that_ends_early_is_a_failure(self):
        for end in ("", "[exception]: Executing test client: ERR unknown command 'function'.\n"):
            run = redis_suite.parse(OUTPUT.split("[err]")[0] + end)
            self.assertEqual(list(run.failed), [redis_suite.OUTSIDE])

    def test_an_error_between_tests_is_a_failure(self):
        run = redis_suite.parse(OUTPUT.replace("A test (with brackets) in tests/unit/quit.tcl\n", ""))
        self.assertIn(redis_suite.OUTSIDE, run.failed)

    def test_each_listed_test_has_a_unit_and_a_reason(self):
        for unit, tests in tomllib.loads(redis_suite.LISTED.read_text()).items():
            self.assertIn(unit, redis_suite.UNITS)
            for name, reason in tests.items():
                self.assertTrue(name and reason.strip(), f"{unit}: {name}")


if __name__ == "__main__":
    unittest.main()
