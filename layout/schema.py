"""Parses layout.toml into records, and rejects invalid keys, types, names and ranges."""

import re
import tomllib
from collections.abc import Callable, Iterator

import reserved
from records import Constant, Field, Invalid, Layout, Record

ELEMENT_BYTES_MAX = 8
WORD_BITS_MAX = 64
# SystemVerilog's plain decimal literals are signed and have 32 bits.
CONSTANT_MAX = 2**31 - 1

_SECTIONS = ("constant", "struct", "word")
_SNAKE_CASE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_TYPE_NAMES = {int: "an integer", str: "a string", bool: "true or false", dict: "a table"}


def read(text: str) -> Layout:
    """Returns the layout of the text of layout.toml, before the check of its soundness. Raises `Invalid`."""
    try:
        source = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Invalid(f"not TOML: {error}; allowed: TOML 1.0, so no duplicate names") from error
    _check_table("top level", source, {}, dict.fromkeys(_SECTIONS, dict))
    readers = {"constant": _constant, "struct": _struct, "word": _word}
    return Layout(*(tuple(_each(source, section, readers[section])) for section in _SECTIONS))


def _each(source: dict, section: str, reader: Callable) -> Iterator:
    for name, table in source.get(section, {}).items():
        _check_name(f"{section} {name}", name)
        yield reader(f"{section} {name}", name, table)


def _constant(where: str, name: str, table: object) -> Constant:
    _check_table(where, table, {"value": int, "about": str}, {})
    _check_range(where, "value", table["value"], 0, CONSTANT_MAX)
    return Constant(name, table["value"], table["about"])


def _struct(where: str, name: str, table: object) -> Record:
    _check_table(where, table, {"size": int, "about": str, "fields": dict}, {"packed": bool})
    _check_range(where, "size", table["size"], 1, CONSTANT_MAX)
    fields = _fields(where, table["fields"], _struct_field)
    return Record("struct", name, table["size"], table["about"], table.get("packed", False), fields)


def _struct_field(where: str, name: str, table: object) -> Field:
    _check_table(where, table, {"offset": int, "bytes": int, "about": str}, {"count": int})
    _check_range(where, "bytes", table["bytes"], 1, ELEMENT_BYTES_MAX)
    _check_range(where, "count", table.get("count", 2), 2, CONSTANT_MAX)
    return Field(name, table["offset"], table["bytes"], table.get("count"), table["about"])


def _word(where: str, name: str, table: object) -> Record:
    _check_table(where, table, {"bits": int, "about": str, "fields": dict}, {})
    _check_range(where, "bits", table["bits"], 8, WORD_BITS_MAX)
    if table["bits"] % 8:
        raise Invalid(f"{where}: bits = {table['bits']}; allowed: a multiple of 8")
    fields = _fields(where, table["fields"], _word_field)
    return Record("word", name, table["bits"], table["about"], True, fields)


def _word_field(where: str, name: str, table: object) -> Field:
    _check_table(where, table, {"shift": int, "bits": int, "about": str}, {})
    _check_range(where, "bits", table["bits"], 1, WORD_BITS_MAX)
    return Field(name, table["shift"], table["bits"], None, table["about"])


def _fields(where: str, tables: dict, reader: Callable) -> tuple[Field, ...]:
    fields = []
    for name, table in tables.items():
        _check_name(f"{where}, field {name}", name)
        fields.append(reader(f"{where}, field {name}", name, table))
    return tuple(sorted(fields, key=lambda field: field.start))


def _check_name(where: str, name: str) -> None:
    if not _SNAKE_CASE.fullmatch(name):
        raise Invalid(f"{where}: not a snake_case name; allowed: lower case and digits, joined by single _")
    if name in reserved.WORDS:
        raise Invalid(f"{where}: a reserved word of Rust, SystemVerilog or Python; allowed: another name")


def _check_table(where: str, table: object, required: dict[str, type], optional: dict[str, type]) -> None:
    """Checks that all required keys and no unknown ones exist, and the types of their values."""
    _check_type(where, table, dict)
    allowed = required | optional
    for key in [key for key in table if key not in allowed]:
        raise Invalid(f"{where}: unknown key {key}; allowed: {', '.join(allowed)}")
    for key in [key for key in required if key not in table]:
        raise Invalid(f"{where}: no {key}; required: {', '.join(required)}")
    for key, value in table.items():
        _check_type(f"{where}, {key} = {value!r}", value, allowed[key])
    if "about" in table:
        _check_about(where, table["about"])


def _check_type(where: str, value: object, wanted: type) -> None:
    """Requires the exact type: `true` is not an integer here, although Python's bool is a subclass of int."""
    if type(value) is not wanted:
        raise Invalid(f"{where}: wrong type; allowed: {_TYPE_NAMES[wanted]}")


def _check_range(where: str, key: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise Invalid(f"{where}: {key} = {value}; allowed: {least} to {most}")


def _check_about(where: str, about: str) -> None:
    """Checks an `about`, which is copied into comments, docstrings and table cells."""
    plain = about.isascii() and about.isprintable() and about == about.strip() and about != ""
    if not plain or set(about) & set('"|\\'):
        raise Invalid(f'{where}: about = {about!r}; allowed: one line of plain ASCII without " | and \\')
