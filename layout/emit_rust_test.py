"""Emits the list of the names of the Rust crate for its probe.

The list contains no numbers, so the probe cannot copy them.
"""

from records import Field, Layout, Record
from text import BANNER, indented

_HEAD = f"""\
// {BANNER}.

"""


def emit(layout: Layout) -> str:
    """Returns the source of crates/layout/tests/names/mod.rs: one call of the macro `names` in probe.rs."""
    names = [constant.name for constant in layout.constants]
    lines = ["names! {", "    constants {"]
    lines += [f"        {name}: {name.upper()}," for name in names]
    lines += ["    }", "    structs {"]
    lines += [line for record in layout.structs for line in _record(record, _struct_field)]
    lines += ["    }", "    words {"]
    lines += [line for record in layout.words for line in _record(record, _word_field)]
    return _HEAD + "\n".join([*lines, "    }", "}"]) + "\n"


def _record(record: Record, entry) -> list[str]:
    fields = [f"    {entry(field)}," for field in record.fields]
    return indented(indented([f"{record.name} {{", *fields, "}"]))


def _struct_field(field: Field) -> str:
    name = field.name.upper()
    count = f"{name}_COUNT" if field.count else "1"
    return f"{field.name}: {name}_OFFSET, {name}_BYTES, {count}"


def _word_field(field: Field) -> str:
    name = field.name.upper()
    return f"{field.name}, with_{field.name}: {name}_SHIFT, {name}_BITS, {name}_MASK"
