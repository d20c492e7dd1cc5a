"""Reads known bytes through the generated Python, and the tables of the generated Markdown."""

import re
import unittest

from source import LAYOUT, ROOT, bits, camel, counting, elements

import honeycomb_layout


class Python(unittest.TestCase):
    def test_constants(self):
        for name, constant in LAYOUT["constant"].items():
            self.assertEqual(getattr(honeycomb_layout, name.upper()), constant["value"], name)

    def test_struct_fields_are_where_their_offsets_say(self):
        for name, struct in LAYOUT["struct"].items():
            data = counting(struct)
            read = getattr(honeycomb_layout, camel(name)).unpack(data)
            for key, field in struct["fields"].items():
                expected = elements(field, data)
                value = getattr(read, key)
                self.assertEqual(value, tuple(expected) if "count" in field else expected[0], f"{name}.{key}")
                self.assertEqual(read.FIELDS[key].offset, field["offset"], f"{name}.{key}")
            self.assertEqual(read.pack(), data, name)
            self.assertEqual(vars(read).keys(), struct["fields"].keys(), name)

    def test_word_fields_are_where_their_shifts_say(self):
        for name, word in LAYOUT["word"].items():
            for bit in self._bits_that_may_be_set(word):
                data = (1 << bit).to_bytes(word["bits"] // 8, "little")
                read = getattr(honeycomb_layout, camel(name)).unpack(data)
                for key, field in word["fields"].items():
                    self.assertEqual(getattr(read, key), bits(field, 1 << bit), f"{name}.{key}, bit {bit}")
                self.assertEqual(read.to_int(), 1 << bit, name)

    def _bits_that_may_be_set(self, word):
        fields = [field for key, field in word["fields"].items() if not key.startswith("padding")]
        return [field["shift"] + at for field in fields for at in range(field["bits"])]

    def test_padding_that_is_not_zero_is_rejected(self):
        records = [*LAYOUT["struct"].items(), *LAYOUT["word"].items()]
        fields = [(name, key, field) for name, record in records for key, field in record["fields"].items()]
        for name, key, field in fields:
            if key.startswith("padding"):
                lowest = field["shift"] if "shift" in field else 8 * field["offset"]
                with self.assertRaisesRegex(ValueError, rf"{camel(name)}\.{key} = .*; allowed: .*0 to 0x0"):
                    getattr(honeycomb_layout, camel(name)).from_int(1 << lowest)

    def test_a_value_too_wide_is_rejected(self):
        with self.assertRaisesRegex(ValueError, "NodeHeader.level = 256; allowed: 0 to 0xff"):
            honeycomb_layout.NodeHeader(level=256)
        with self.assertRaisesRegex(ValueError, r"NodeHeader.tags = \(1, 2\); allowed: 16 of 0 to 0xff"):
            honeycomb_layout.NodeHeader(tags=(1, 2))
        with self.assertRaisesRegex(ValueError, "ItemWord: 0x100000000; allowed: 32 bits"):
            honeycomb_layout.ItemWord.from_int(1 << 32)

    def test_a_wrong_length_is_rejected(self):
        with self.assertRaisesRegex(ValueError, "ValueReference: 9 bytes; allowed: 10"):
            honeycomb_layout.ValueReference.unpack(bytes(9))


class Markdown(unittest.TestCase):
    """Each section's heading names a record and its table lists the fields."""

    def setUp(self):
        page = (ROOT / "docs" / "design" / "layout.md").read_text(encoding="utf-8")
        self.chapters = {text.partition("\n")[0]: text for text in re.split(r"^## ", page, flags=re.M)[1:]}

    def test_constants(self):
        rows = self._rows(self.chapters["Constants"])
        expected = [[name, str(one["value"]), one["about"]] for name, one in LAYOUT["constant"].items()]
        self.assertEqual(rows, expected)

    def test_structs(self):
        sections = self._sections("Structs")
        self.assertEqual(sections.keys(), LAYOUT["struct"].keys())
        for name, struct in LAYOUT["struct"].items():
            packed = ", packed" if struct.get("packed") else ""
            self.assertIn(f"**{struct['size']} bytes{packed}.**", sections[name])
            self._check_fields(sections[name], struct["fields"], ["offset", "bytes", "count", "about"])
            for field in struct["fields"].values():
                self.assertRegex(sections[name], rf"\| {field['offset']}(\.\.\d+)? +\|")

    def test_words(self):
        sections = self._sections("Words")
        self.assertEqual(sections.keys(), LAYOUT["word"].keys())
        for name, word in LAYOUT["word"].items():
            self.assertIn(f"**{word['bits']} bits.**", sections[name])
            self._check_fields(sections[name], word["fields"], ["shift", "bits", "about"])
            for key, field in word["fields"].items():
                last = field["shift"] + field["bits"] - 1
                label = f"{last}:{field['shift']}" if field["bits"] > 1 else f"{last}"
                self.assertRegex(sections[name], rf"\| {label} +\|")
                self.assertRegex(sections[name], rf"\| {key} +\|")

    def _check_fields(self, section, fields, keys):
        in_order = sorted(fields.items(), key=lambda item: item[1][keys[0]])
        expected = [[name, *(str(field.get(key, "")) for key in keys)] for name, field in in_order]
        self.assertEqual(self._rows(section), expected)

    def _sections(self, chapter):
        parts = re.split(r"^### ", self.chapters[chapter], flags=re.M)[1:]
        return {part.partition("\n")[0].strip("`"): part for part in parts}

    def _rows(self, section):
        lines = [line for line in section.splitlines() if line.startswith("| `")]
        return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]


if __name__ == "__main__":
    unittest.main()
