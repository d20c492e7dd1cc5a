"""Emits Markdown: a page with a drawing and a table for each struct and word."""

import draw
from records import Field, Layout, Record
from text import BANNER, camel, sentence

_HEAD = f"""\
<!-- {BANNER}. -->

# Layout

This page defines every byte that host and accelerator share. Numbers are little-endian. Structs count bytes,
and their drawings start with the first byte at the left. Words count bits, and their drawings start with the
most significant bit at the left. A packed struct may start at any byte. Padding is zero.

| | Rust | SystemVerilog | Python |
|---|---|---|---|
| constant `lid_bits` | `LID_BITS` | `LidBits` | `LID_BITS` |
| size of struct `node_header` | `node_header::SIZE` | `NodeHeaderSize` | `NodeHeader.SIZE` |
| offset of field `left` | `node_header::LEFT_OFFSET` | `NodeHeaderLeftOffset` | `NodeHeader.FIELDS["left"]` |
| value of the field | from offset and bytes | `node_header_t` | `NodeHeader.unpack(data).left` |
| field `lock` of a word | `lock_and_size::lock(word)` | `lock_and_size_t` | `LockAndSize.from_int(word)` |
"""


def emit(layout: Layout) -> str:
    """Returns the text of docs/design/layout.md."""
    lines = ["", "## Constants", "", "| constant | value | about |", "|---|---:|---|"]
    lines += [f"| `{constant.name}` | {constant.value} | {constant.about} |" for constant in layout.constants]
    lines += ["", "## Structs"]
    for record in layout.structs:
        lines += ["", *_struct(record)]
    lines += ["", "## Words"]
    for record in layout.words:
        lines += ["", *_word(record)]
    return _HEAD + "\n".join(lines) + "\n"


def _struct(record: Record) -> list[str]:
    size = f"{record.size} bytes{', packed' if record.packed else ''}"
    table = ["| field | offset | bytes | count | about |", "|---|---:|---:|---:|---|"]
    return [*_head(record, size, draw.struct(record)), *table, *map(_struct_row, record.fields)]


def _struct_row(field: Field) -> str:
    return f"| `{field.name}` | {field.start} | {field.size} | {field.count or ''} | {field.about} |"


def _word(record: Record) -> list[str]:
    table = ["| field | shift | bits | about |", "|---|---:|---:|---|"]
    return [*_head(record, f"{record.size} bits", draw.word(record)), *table, *map(_word_row, record.fields)]


def _word_row(field: Field) -> str:
    return f"| `{field.name}` | {field.start} | {field.size} | {field.about} |"


def _head(record: Record, size: str, drawing: list[str]) -> list[str]:
    about = f"{sentence(record.about)} **{size}.**"
    return [f"### `{record.name}`", "", about, "", "```text", *drawing, "```", ""]
