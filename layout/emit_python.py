"""Emits Python: constants, and a class for each struct and word that decodes and encodes bytes."""

from pathlib import Path

import draw
from records import Constant, Field, Layout, Record
from text import BANNER, camel, comment, folded, indented, sentence

# The shared code of the module; the generated classes define only their fields.
_HEAD = Path(__file__).with_name("python_head.py")


def emit(layout: Layout) -> str:
    """Returns the source of python/honeycomb_layout.py."""
    parts = [line for constant in layout.constants for line in ["", *_constant(constant)]]
    for record in layout.structs:
        parts += ["", "", *_class(record, draw.struct(record), record.size, 8)]
    for record in layout.words:
        parts += ["", "", *_class(record, draw.word(record), record.size // 8, 1)]
    head = f"# {BANNER}\n{_HEAD.read_text(encoding='utf-8')}\n"
    return head + "\n".join(parts) + "\n"


def _constant(constant: Constant) -> list[str]:
    return [*comment("#", sentence(constant.about)), f"{constant.name.upper()} = {constant.value}"]


def _class(record: Record, drawing: list[str], size: int, unit_bits: int) -> list[str]:
    places = [f'    "{field.name}": {_place(field, unit_bits)},' for field in record.fields]
    attributes = [line for field in record.fields for line in _attribute(field)]
    about = folded(f'"""{sentence(record.about)}')
    body = [*about, "", *drawing, '"""', "", f"SIZE: ClassVar[int] = {size}"]
    body += ["FIELDS: ClassVar[dict[str, Field]] = {", *places, "}", "", *attributes]
    return ["@dataclass(frozen=True)", f"class {camel(record.name)}(_Record):", *indented(body)]


def _place(field: Field, unit_bits: int) -> str:
    bits = field.size * unit_bits
    largest = 0 if field.is_padding else (1 << bits) - 1
    return f"Field({field.start * unit_bits}, {bits}, {field.count}, {largest:#x})"


def _attribute(field: Field) -> list[str]:
    kind, default = ("tuple[int, ...]", f"(0,) * {field.count}") if field.count else ("int", "0")
    return [*comment("#", sentence(field.about)), f"{field.name}: {kind} = {default}"]
