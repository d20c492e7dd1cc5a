"""Refuses layouts with holes, overlaps, misalignment, unnamed padding or names that stand for two things."""

from collections.abc import Iterator

from records import Field, Layout, Record, Refused
from text import camel

# What the emitters append to names.
_TOTALS = {"struct": "size", "word": "bits"}
_SUFFIXES = {"struct": ("offset", "bytes", "count"), "word": ("shift", "bits")}


def check(layout: Layout) -> None:
    """Returns if the layout is sound. Raises `Refused`."""
    for record in (*layout.structs, *layout.words):
        where = f"{record.kind} {record.name}"
        _check_padding(where, record)
        _check_tiling(where, record)
        if not record.packed:
            _check_alignment(where, record)
    _check_names(layout)


def _check_padding(where: str, record: Record) -> None:
    for field in record.fields:
        if field.is_padding != (field.about == "zero"):
            rule = 'about = "zero" for fields named padding*, and for no other'
            raise Refused(f"{where}, field {field.name}: about = {field.about!r}; allowed: {rule}")


def _check_tiling(where: str, record: Record) -> None:
    """Invariant: `end` is where the fields seen so far end, and they leave nothing out below it."""
    end, before = 0, None
    for field in record.fields:
        at = f"{where}, field {field.name}: {record.unit}s {field.start}..{field.end}"
        if field.start < 0 or field.end > record.size:
            raise Refused(f"{at} are not within the {record.kind}; allowed: 0..{record.size}")
        if field.start < end:
            raise Refused(f"{at} overlap field {before.name}; allowed: from {end} on")
        if field.start > end:
            raise Refused(f"{at} leave a hole at {end}..{field.start}; allowed: a field padding there")
        end, before = field.end, field
    if end < record.size:
        raise Refused(f"{where}: hole at {record.unit}s {end}..{record.size}; allowed: a field padding there")


def _check_alignment(where: str, record: Record) -> None:
    for field in record.fields:
        if field.start % _alignment(field):
            rule = f"multiples of its element's {field.size} bytes, or packed = true"
            raise Refused(f"{where}, field {field.name}: misaligned offset {field.start}; allowed: {rule}")
    alignment = max(map(_alignment, record.fields), default=1)
    if record.size % alignment:
        rule = f"multiples of its largest alignment, {alignment} bytes, or packed = true"
        raise Refused(f"{where}: misaligned size {record.size}; allowed: {rule}")


def _alignment(field: Field) -> int:
    """Elements of a power of two bytes are what a machine loads at once; others stand anywhere."""
    return field.size if field.size.bit_count() == 1 else 1


def _check_names(layout: Layout) -> None:
    """In SystemVerilog's flat package, field b_c of struct a and field c of struct a_b would be the same."""
    owners = {}
    for name, owner in _joined_names(layout):
        if camel(name) in owners:
            also = owners[camel(name)]
            raise Refused(f"{owner}: duplicate name {camel(name)}, also of {also}; allowed: another name")
        owners[camel(name)] = owner


def _joined_names(layout: Layout) -> Iterator[tuple[str, str]]:
    """Every name of the package, and what it belongs to."""
    for constant in layout.constants:
        yield constant.name, f"constant {constant.name}"
    for record in (*layout.structs, *layout.words):
        owner = f"{record.kind} {record.name}"
        yield record.name, owner
        yield f"{record.name}_{_TOTALS[record.kind]}", owner
        for field in record.fields:
            for suffix in _SUFFIXES[record.kind]:
                yield f"{record.name}_{field.name}_{suffix}", f"{owner}, field {field.name}"
