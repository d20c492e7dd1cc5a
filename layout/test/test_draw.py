"""Tests of the drawings: cuts of names and rows."""

import unittest

import source  # noqa: F401 (makes the generator importable)

import draw
import schema


def drawn(kind: str, head: str, fields: str) -> str:
    """Returns the drawing of the only record, `r`."""
    layout = schema.read(f'[{kind}.r]\nabout = "x"\n{head}\n[{kind}.r.fields]\n{fields}')
    lines = draw.struct(layout.structs[0]) if kind == "struct" else draw.word(layout.words[0])
    return "\n".join(lines)


class Drawings(unittest.TestCase):
    def test_a_field_that_crosses_rows_is_cut(self):
        fields = 'a = { offset = 0, bytes = 6, about = "x" }\nb = { offset = 6, bytes = 4, about = "x" }'
        expected = """\
+-----------------------------------------------------------------+---------------------+
| 0..6                                                            | 6..8                |
| a                                                               | b                   |
+---------------------+-------------------------------------------+---------------------+
| 8..10               |
| b                   |
+---------------------+"""
        self.assertEqual(drawn("struct", "size = 10\npacked = true", fields), expected)

    def test_whole_rows_of_an_array_are_one_box(self):
        fields = 'a = { offset = 0, bytes = 1, count = 18, about = "x" }'
        expected = """\
+---------------------------------------------------------------------------------------+
| 0..16                                                                                 |
| a[18]                                                                                 |
+---------------------+-----------------------------------------------------------------+
| 16..18              |
| a[18]               |
+---------------------+"""
        self.assertEqual(drawn("struct", "size = 18", fields), expected)

    def test_long_names_are_folded(self):
        name = "a_uncommonly_long_name"
        expected = """\
+----------+
| 0        |
| a_       |
| uncommon |
| ly_long_ |
| name     |
+----------+"""
        field = f'{name} = {{ offset = 0, bytes = 1, about = "x" }}'
        self.assertEqual(drawn("struct", "size = 1", field), expected)

    def test_wide_words_take_several_rows(self):
        names = [f"field_with_a_long_name_{index}" for index in range(8)]
        fields = [f'{name} = {{ shift = {at}, bits = 1, about = "x" }}' for at, name in enumerate(names)]
        lines = drawn("word", "bits = 8", "\n".join(fields)).splitlines()
        rows = [line for line in lines if "field" in line]
        self.assertEqual([row.count("field") for row in rows], [3, 3, 2])
        self.assertLessEqual(max(map(len, lines)), draw.COLUMNS_MAX)
        in_order = [name for row in rows for name in row.replace("|", " ").split()]
        self.assertEqual(in_order, names[::-1])


if __name__ == "__main__":
    unittest.main()
