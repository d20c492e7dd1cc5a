"""Emits SystemVerilog: a package of parameters and packed types. The lowest bits are the first byte."""

import draw
from records import Constant, Field, Layout, Record
from text import BANNER, camel, comment

_HEAD = f"""\
// {BANNER}.
//
// The bytes that host and accelerator share, little-endian: byte 0 is bits 7:0 of a type, so that the first
// field of a struct stands last. The names are flat: field left of struct node_header starts at byte
// NodeHeaderLeftOffset and is member left of node_header_t.

`default_nettype none

package layout_pkg;

  // No design uses every name.
  // verilator lint_off UNUSEDPARAM
"""

_TAIL = """

  // verilator lint_on UNUSEDPARAM

endpackage

`default_nettype wire
"""


def emit(layout: Layout) -> str:
    """Returns the source of rtl/layout_pkg.sv."""
    parts = [line for constant in layout.constants for line in ["", *_constant(constant)]]
    for record in layout.structs:
        parts += ["", *_struct(record)]
    for record in layout.words:
        parts += ["", *_word(record)]
    body = "\n".join(f"  {line}" if line else line for line in parts)
    return _HEAD + body + _TAIL


def _constant(constant: Constant) -> list[str]:
    return [*comment("//", constant.about), _parameter(camel(constant.name), constant.value)]


def _struct(record: Record) -> list[str]:
    whole = camel(record.name)
    lines = [*_head(record, draw.struct(record)), _parameter(f"{whole}Size", record.size)]
    for field in record.fields:
        name = whole + camel(field.name)
        lines += [_parameter(f"{name}Offset", field.start), _parameter(f"{name}Bytes", field.size)]
        if field.count:
            lines += [_parameter(f"{name}Count", field.count)]
    return [*lines, "", *_type(record, 8)]


def _word(record: Record) -> list[str]:
    whole = camel(record.name)
    lines = [*_head(record, draw.word(record)), _parameter(f"{whole}Bits", record.size)]
    for field in record.fields:
        name = whole + camel(field.name)
        lines += [_parameter(f"{name}Shift", field.start), _parameter(f"{name}Bits", field.size)]
    return [*lines, "", *_type(record, 1)]


def _head(record: Record, drawing: list[str]) -> list[str]:
    return [*comment("//", f"{record.name}: {record.about}"), "//", *(f"// {line}" for line in drawing)]


def _parameter(name: str, value: int) -> str:
    return f"localparam int unsigned {name} = {value};"


def _type(record: Record, unit_bits: int) -> list[str]:
    """Emits a packed struct. Its first member has the most significant bits."""
    members = [line for field in reversed(record.fields) for line in _member(field, unit_bits)]
    return ["typedef struct packed {", *members, f"}} {record.name}_t;"]


def _member(field: Field, unit_bits: int) -> list[str]:
    bits = field.size * unit_bits
    ranges = f"[{field.count - 1}:0]" if field.count else ""
    ranges += f"[{bits - 1}:0]" if bits > 1 else ""
    about = [f"  {line}" for line in comment("//", field.about)]
    return [*about, f"  {' '.join(filter(None, ['logic', ranges, field.name]))};"]
