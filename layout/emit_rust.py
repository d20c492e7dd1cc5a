"""Emits Rust: constants, and a module for each struct and word."""

import draw
from records import Constant, Field, Layout, Record
from text import BANNER, comment, indented, sentence

_HEAD = f"//! {BANNER}.\n" + """\
//!
//! The bytes that host and accelerator share, little-endian. A struct's module holds where its fields
//! start and how many bytes they have; a word's module reads and replaces its fields.

#![no_std]
#![forbid(unsafe_code)]

const fn extract(word: u64, shift: u32, mask: u64) -> u64 {
    (word >> shift) & mask
}

const fn replace(word: u64, shift: u32, mask: u64, value: u64) -> u64 {
    debug_assert!(value & !mask == 0, "the value is wider than its field");
    (word & !(mask << shift)) | ((value & mask) << shift)
}
"""


def emit(layout: Layout) -> str:
    """Returns the source of crates/layout/src/lib.rs, formatted as rustfmt formats it."""
    parts = [line for constant in layout.constants for line in ["", *_constant(constant)]]
    for module in [*map(_struct, layout.structs), *map(_word, layout.words)]:
        parts += ["", *module]
    return _HEAD + "\n".join(parts) + "\n"


def _constant(constant: Constant) -> list[str]:
    return _const(sentence(constant.about), constant.name.upper(), "usize", constant.value)


def _struct(record: Record) -> list[str]:
    body = _const("Bytes of the whole.", "SIZE", "usize", record.size)
    for field in record.fields:
        name = field.name.upper()
        body += _const(sentence(field.about), f"{name}_OFFSET", "usize", field.start)
        element = f"Bytes of one of `{field.name}`." if field.count else f"Bytes of `{field.name}`."
        body += _const(element, f"{name}_BYTES", "usize", field.size)
        if field.count:
            body += _const(f"How many `{field.name}` there are.", f"{name}_COUNT", "usize", field.count)
    return _module(record, draw.struct(record), body + _tiling(record, "SIZE", "OFFSET", "BYTES"))


def _word(record: Record) -> list[str]:
    body = _const("Bits of the whole.", "BITS", "u32", record.size)
    for field in record.fields:
        name = field.name.upper()
        body += _const(f"Lowest bit of `{field.name}`.", f"{name}_SHIFT", "u32", field.start)
        body += _const(f"Bits of `{field.name}`.", f"{name}_BITS", "u32", field.size)
        mask = f"{(1 << field.size) - 1:#x}"
        body += _const(f"The largest `{field.name}`: the mask after the shift.", f"{name}_MASK", "u64", mask)
    body += _tiling(record, "BITS", "SHIFT", "BITS")
    for field in record.fields:
        body += ["", *_accessors(field)]
    return _module(record, draw.word(record), body)


def _accessors(field: Field) -> list[str]:
    place = f"{field.name.upper()}_SHIFT, {field.name.upper()}_MASK"
    return [
        *comment("///", sentence(field.about)),
        "#[inline]",
        f"pub const fn {field.name}(word: u64) -> u64 {{",
        f"    super::extract(word, {place})",
        "}",
        "",
        f"/// `word` with another `{field.name}`, which must not be wider than the field.",
        "#[inline]",
        f"pub const fn with_{field.name}(word: u64, value: u64) -> u64 {{",
        f"    super::replace(word, {place}, value)",
        "}",
    ]


def _module(record: Record, drawing: list[str], body: list[str]) -> list[str]:
    doc = [*comment("///", sentence(record.about)), "///", "/// ```text"]
    doc += [*(f"/// {line}" for line in drawing), "/// ```"]
    return [*doc, f"pub mod {record.name} {{", *indented(body), "}"]


def _const(doc: str, name: str, kind: str, value: object) -> list[str]:
    return [*comment("///", doc), f"pub const {name}: {kind} = {value};"]


def _tiling(record: Record, total: str, start: str, size: str) -> list[str]:
    """Emits compile-time assertions that each field starts where the previous one ends."""
    lines = ["", "const _: () = {", "    let end = 0;"]
    for field in record.fields:
        name = field.name.upper()
        count = f" * {name}_COUNT" if field.count else ""
        lines += [f"    assert!({name}_{start} == end);", f"    let end = end + {name}_{size}{count};"]
    return [*lines, f"    assert!({total} == end);", "};"]
