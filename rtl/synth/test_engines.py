"""Tests the parameters of whole engines, and the numbers that a page keeps."""

import re
import unittest

from engines import ENGINES, PARAMETERS, WHOLE, present
from yosys import RTL

MAKEFILE = RTL.parent / "Makefile"


class Present(unittest.TestCase):
    def test_numbers_of_other_parameters_are_dropped(self):
        name, parameters = next(iter(ENGINES.items()))
        same, other = {"parameters": parameters}, {"parameters": parameters | {"Units": 99}}
        self.assertEqual(present({name: same}), {name: same})
        for found in ({name: other}, {name: {}}, {"former_engine": {}}):
            self.assertEqual(present(found), {})

    def test_the_accelerator_is_that_of_the_figures(self):
        recipe = re.search(r"HONEYCOMB_RTL_PARAMETERS = ((?:.*\\\n)*.*)", MAKEFILE.read_text())[1]
        given = {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", recipe)}
        self.assertEqual(PARAMETERS[WHOLE], given)


if __name__ == "__main__":
    unittest.main()
