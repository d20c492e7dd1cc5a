"""Tests of every rejected layout, with the complete message."""

import unittest

import source  # noqa: F401 (makes the generator importable)

import schema
import soundness
from records import Invalid


def struct(fields: str, head: str = "size = 8") -> str:
    """Returns a layout with one struct `s`."""
    return f'[struct.s]\nabout = "a struct"\n{head}\n[struct.s.fields]\n{fields}\n'


def word(fields: str, head: str = "bits = 8") -> str:
    """Returns a layout with one word `w`."""
    return f'[word.w]\nabout = "a word"\n{head}\n[word.w.fields]\n{fields}\n'


def at(name: str, offset: int, size: int, count: int = 0) -> str:
    """Returns a field of a struct as a line of TOML."""
    array = f"count = {count}, " if count else ""
    return f'{name} = {{ offset = {offset}, bytes = {size}, {array}about = "x" }}\n'


def bit(name: str, shift: int, size: int) -> str:
    """Returns a field of a word as a line of TOML."""
    return f'{name} = {{ shift = {shift}, bits = {size}, about = "x" }}\n'


def constant(lines: str, name: str = "c") -> str:
    """Returns a layout with one constant."""
    return f"[constant.{name}]\n{lines}\n"


WHOLE = at("a", 0, 8)
WHOLE_BITS = bit("a", 0, 8)


class Rejections(unittest.TestCase):
    def check(self, text: str, message: str):
        """Asserts that the layout is rejected with exactly this message."""
        with self.assertRaises(Invalid) as rejection:
            soundness.check(schema.read(text))
        self.assertEqual(str(rejection.exception), message)

    def check_not_toml(self, text: str):
        """Asserts that the parser rejects the text. The message depends on the version of the parser."""
        with self.assertRaisesRegex(Invalid, "not TOML: .*; allowed: TOML 1.0, so no duplicate names"):
            schema.read(text)

    def check_accepted(self, text: str):
        soundness.check(schema.read(text))


class Tiling(Rejections):
    def test_hole_between_fields(self):
        fields = at("a", 0, 2) + at("b", 4, 4)
        self.check(
            struct(fields),
            "struct s, field b: bytes 4..8 leave a hole at 2..4; allowed: a field padding there",
        )

    def test_hole_at_the_start(self):
        self.check(
            struct(at("a", 4, 4)),
            "struct s, field a: bytes 4..8 leave a hole at 0..4; allowed: a field padding there",
        )

    def test_hole_at_the_end(self):
        self.check(
            struct(at("a", 0, 4)),
            "struct s: hole at bytes 4..8; allowed: a field padding there",
        )

    def test_overlap(self):
        fields = at("a", 0, 4) + at("b", 2, 2, 3)
        self.check(struct(fields), "struct s, field b: bytes 2..8 overlap field a; allowed: from 4 on")

    def test_field_past_the_end(self):
        self.check(
            struct(at("a", 0, 4, 3)),
            "struct s, field a: bytes 0..12 are not within the struct; allowed: 0..8",
        )

    def test_field_before_the_start(self):
        self.check(
            struct(at("a", -8, 8)),
            "struct s, field a: bytes -8..0 are not within the struct; allowed: 0..8",
        )

    def test_overlap_of_bits(self):
        fields = bit("a", 0, 5) + bit("b", 4, 4)
        self.check(word(fields), "word w, field b: bits 4..8 overlap field a; allowed: from 5 on")

    def test_bits_left_uncovered(self):
        self.check(
            word(bit("a", 0, 5)),
            "word w: hole at bits 5..8; allowed: a field padding there",
        )

    def test_bits_past_the_end(self):
        self.check(
            word(bit("a", 0, 9)),
            "word w, field a: bits 0..9 are not within the word; allowed: 0..8",
        )

    def test_order_in_the_file_does_not_matter(self):
        fields = at("b", 4, 4) + at("a", 0, 4)
        self.check_accepted(struct(fields))


class Alignment(Rejections):
    FIELDS = at("a", 0, 1) + at("b", 1, 2)

    def test_misaligned_offset(self):
        rule = "multiples of its element's 2 bytes, or packed = true"
        self.check(
            struct(self.FIELDS, "size = 3"), f"struct s, field b: misaligned offset 1; allowed: {rule}"
        )

    def test_misaligned_size(self):
        fields = at("a", 0, 4) + at("b", 4, 2)
        rule = "multiples of its largest alignment, 4 bytes, or packed = true"
        self.check(struct(fields, "size = 6"), f"struct s: misaligned size 6; allowed: {rule}")

    def test_packed_structs_stand_anywhere(self):
        self.check_accepted(struct(self.FIELDS, "size = 3\npacked = true"))

    def test_elements_of_no_power_of_two_stand_anywhere(self):
        fields = at("a", 0, 1) + at("b", 1, 3)
        self.check_accepted(struct(fields, "size = 4"))


class Padding(Rejections):
    def test_padding_of_another_name(self):
        self.check(
            struct('gap = { offset = 0, bytes = 8, about = "zero" }'),
            "struct s, field gap: about = 'zero'; allowed: "
            'about = "zero" for fields named padding*, and for no other',
        )

    def test_padding_that_holds_something(self):
        self.check(
            word('padding_high = { shift = 0, bits = 8, about = "a secret" }'),
            "word w, field padding_high: about = 'a secret'; allowed: "
            'about = "zero" for fields named padding*, and for no other',
        )


class Keys(Rejections):
    def test_no_toml(self):
        self.check_not_toml("[struct")

    def test_unknown_section(self):
        self.check("[union.u]\n", "top level: unknown key union; allowed: constant, struct, word")

    def test_unknown_key_of_a_constant(self):
        self.check(
            constant('value = 1\nabout = "x"\nunit = "bytes"'),
            "constant c: unknown key unit; allowed: value, about",
        )

    def test_unknown_key_of_a_struct(self):
        self.check(
            struct(WHOLE, "size = 8\nalign = 8"),
            "struct s: unknown key align; allowed: size, about, fields, packed",
        )

    def test_unknown_key_of_a_struct_field(self):
        self.check(
            struct(bit("a", 0, 8)),
            "struct s, field a: unknown key shift; allowed: offset, bytes, about, count",
        )

    def test_unknown_key_of_a_word(self):
        self.check(
            word(WHOLE_BITS, "bits = 8\npacked = true"),
            "word w: unknown key packed; allowed: bits, about, fields",
        )

    def test_unknown_key_of_a_word_field(self):
        self.check(
            word('a = { shift = 0, bits = 4, count = 2, about = "x" }'),
            "word w, field a: unknown key count; allowed: shift, bits, about",
        )

    def test_missing_about(self):
        self.check(constant("value = 1"), "constant c: no about; required: value, about")
        self.check(
            struct("a = { offset = 0, bytes = 8 }"),
            "struct s, field a: no about; required: offset, bytes, about",
        )

    def test_missing_place(self):
        self.check(
            struct('a = { bytes = 8, about = "x" }'),
            "struct s, field a: no offset; required: offset, bytes, about",
        )

    def test_missing_fields(self):
        self.check('[word.w]\nbits = 8\nabout = "x"\n', "word w: no fields; required: bits, about, fields")


class Values(Rejections):
    def test_number_as_a_string(self):
        self.check(
            constant('value = "1"\nabout = "x"'), "constant c, value = '1': wrong type; allowed: an integer"
        )

    def test_number_as_a_float(self):
        self.check(
            struct('a = { offset = 0.0, bytes = 8, about = "x" }'),
            "struct s, field a, offset = 0.0: wrong type; allowed: an integer",
        )

    def test_number_as_a_boolean(self):
        self.check(
            word('a = { shift = false, bits = 8, about = "x" }'),
            "word w, field a, shift = False: wrong type; allowed: an integer",
        )

    def test_boolean_as_a_number(self):
        self.check(
            struct(WHOLE, "size = 8\npacked = 1"), "struct s, packed = 1: wrong type; allowed: true or false"
        )

    def test_about_as_a_number(self):
        self.check(constant("value = 1\nabout = 1"), "constant c, about = 1: wrong type; allowed: a string")

    def test_field_as_a_number(self):
        self.check(struct("a = 8"), "struct s, field a: wrong type; allowed: a table")

    def test_about_with_marks_of_the_languages(self):
        self.check(
            constant("value = 1\nabout = 'a | b'"),
            "constant c: about = 'a | b'; allowed: one line of plain ASCII without \" | and \\",
        )

    def test_about_that_says_nothing(self):
        self.check(
            constant("value = 1\nabout = ''"),
            "constant c: about = ''; allowed: one line of plain ASCII without \" | and \\",
        )

    def test_about_of_two_lines(self):
        self.check(
            constant("value = 1\nabout = '''a\nb'''"),
            "constant c: about = 'a\\nb'; allowed: one line of plain ASCII without \" | and \\",
        )


class Ranges(Rejections):
    def test_constant_out_of_range(self):
        self.check(constant('value = -1\nabout = "x"'), "constant c: value = -1; allowed: 0 to 2147483647")

    def test_struct_of_no_bytes(self):
        self.check(struct("", "size = 0"), "struct s: size = 0; allowed: 1 to 2147483647")

    def test_element_of_too_many_bytes(self):
        self.check(
            struct(at("a", 0, 16), "size = 16"),
            "struct s, field a: bytes = 16; allowed: 1 to 8",
        )

    def test_array_of_one(self):
        self.check(
            struct(at("a", 0, 8, 1)),
            "struct s, field a: count = 1; allowed: 2 to 2147483647",
        )

    def test_word_too_wide(self):
        self.check(word(WHOLE_BITS, "bits = 72"), "word w: bits = 72; allowed: 8 to 64")

    def test_word_of_no_whole_bytes(self):
        self.check(word(WHOLE_BITS, "bits = 12"), "word w: bits = 12; allowed: a multiple of 8")

    def test_field_of_no_bits(self):
        self.check(
            word(bit("a", 0, 0)), "word w, field a: bits = 0; allowed: 1 to 64"
        )


class Names(Rejections):
    RULE = "not a snake_case name; allowed: lower case and digits, joined by single _"

    def test_not_snake_case(self):
        for name in ("Camel", "two__lines", "_first", "last_", "1st", "with-dash"):
            self.check(constant('value = 1\nabout = "x"', name), f"constant {name}: {self.RULE}")
        self.check(struct(at("A", 0, 8)), f"struct s, field A: {self.RULE}")

    def test_reserved_words(self):
        rule = "a reserved word of Rust, SystemVerilog or Python; allowed: another name"
        for name in ("type", "sequence", "lambda", "min", "unpack"):
            self.check(word(bit(name, 0, 8)), f"word w, field {name}: {rule}")

    def test_duplicate_field(self):
        self.check_not_toml(struct(WHOLE + WHOLE))

    def test_duplicate_struct(self):
        self.check_not_toml(struct(WHOLE) + struct(WHOLE))

    def test_duplicate_name_in_two_sections(self):
        self.check(
            struct(WHOLE) + constant('value = 1\nabout = "x"', "s"),
            "struct s: duplicate name S, also of constant s; allowed: another name",
        )

    def test_duplicate_name_once_names_are_joined(self):
        self.check(
            struct(WHOLE) + constant('value = 1\nabout = "x"', "s_a_offset"),
            "struct s, field a: duplicate name SAOffset, also of constant s_a_offset; allowed: another name",
        )
        self.check(
            word(bit("a_1", 0, 4) + bit("a1", 4, 4)),
            "word w, field a1: duplicate name WA1Shift, also of word w, field a_1; allowed: another name",
        )


if __name__ == "__main__":
    unittest.main()
