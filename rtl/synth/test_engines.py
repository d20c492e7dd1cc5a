"""Tests which numbers of whole engines a page keeps."""

import unittest

from engines import ENGINES, present


class Present(unittest.TestCase):
    def test_numbers_of_other_parameters_are_dropped(self):
        name, parameters = next(iter(ENGINES.items()))
        same, other = {"parameters": parameters}, {"parameters": parameters | {"Units": 99}}
        self.assertEqual(present({name: same}), {name: same})
        for found in ({name: other}, {name: {}}, {"former_engine": {}}):
            self.assertEqual(present(found), {})


if __name__ == "__main__":
    unittest.main()
