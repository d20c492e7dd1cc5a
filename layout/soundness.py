"""Rejects layouts with holes, overlaps, misaligned fields, unnamed padding, or ambiguous names."""

from collections.abc import Iterator

from records import Field, Invalid, Layout, Record
from text import camel

# The suffixes that emitters append to names.
_TOTALS = {"struct": "size", "word": "bits"}
_SUFFIXES = {"struct": ("offset", "bytes", "count"), "word": ("shift", "bits")}


def check(layout: Layout) -> None:
    """Raises `Invalid` unless the layout is sound."""
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
            raise Invalid(f"{where}, field {field.name}: about = {field.about!r}; allowed: {rule}")


def _check_tiling(where: str, record: Record) -> None:
    """Invariant: the fields so far cover everything up to `end`."""
    end, before = 0, None
    for field in record.fields:
        at = f"{where}, field {field.name}: {record.unit}s {field.start}..{field.end}"
        if field.start < 0 or field.end > record.size:
            raise Invalid(f"{at} are not within the {record.kind}; allowed: 0..{record.size}")
        if field.start < end:
            raise Invalid(f"{at} overlap field {before.name}; allowed: from {end} on")
        if field.start > end:
            raise Invalid(f"{at} leave a hole at {end}..{field.start}; allowed: a field padding there")
        end, before = field.end, field
    if end < record.size:
        raise Invalid(f"{where}: hole at {record.unit}s {end}..{record.size}; allowed: a field padding there")


def _check_alignment(where: str, record: Record) -> None:
    for field in record.fields:
        if field.start % _alignment(field):
            rule = f"multiples of its element's {field.size} bytes, or packed = true"
            raise Invalid(f"{where}, field {field.name}: misaligned offset {field.start}; allowed: {rule}")
    alignment = max(map(_alignment, record.fields), default=1)
    if record.size % alignment:
        rule = f"multiples of its largest alignment, {alignment} bytes, or packed = true"
        raise Invalid(f"{where}: misaligned size {record.size}; allowed: {rule}")


def _alignment(field: Field) -> int:
    """Checks the alignment of elements whose size is a power of two, because a machine loads them at once."""
    return field.size if field.size.bit_count() == 1 else 1


def _check_names(layout: Layout) -> None:
    """Rejects names that collide in SystemVerilog's flat package: a's field b_c and a_b's field c."""
    owners = {}
    for name, owner in _joined_names(layout):
        if camel(name) in owners:
            also = owners[camel(name)]
            raise Invalid(f"{owner}: duplicate name {camel(name)}, also of {also}; allowed: another name")
        owners[camel(name)] = owner


def _joined_names(layout: Layout) -> Iterator[tuple[str, str]]:
    """Returns every name of the package with its owner."""
    for constant in layout.constants:
        yield constant.name, f"constant {constant.name}"
    for record in (*layout.structs, *layout.words):
        owner = f"{record.kind} {record.name}"
        yield record.name, owner
        yield f"{record.name}_{_TOTALS[record.kind]}", owner
        for field in record.fields:
            for suffix in _SUFFIXES[record.kind]:
                yield f"{record.name}_{field.name}_{suffix}", f"{owner}, field {field.name}"
