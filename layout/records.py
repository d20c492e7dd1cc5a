"""The parts of a layout. Emitters receive only sound layouts (see soundness.py)."""

from dataclasses import dataclass


class Invalid(Exception):
    """The layout is not sound. The message names the record, the field, the error, and the allowed values."""


@dataclass(frozen=True)
class Constant:
    """A number with a name."""

    name: str
    value: int
    about: str


@dataclass(frozen=True)
class Field:
    """A part of a record. `start` and `size` are in the unit of the record; `size` is that of one element."""

    name: str
    start: int
    size: int
    count: int | None
    about: str

    @property
    def end(self) -> int:
        """Returns the start of the next field."""
        return self.start + self.size * (self.count or 1)

    @property
    def is_padding(self) -> bool:
        """Returns whether the field is always zero."""
        return self.name.startswith("padding")


@dataclass(frozen=True)
class Record:
    """A struct, measured in bytes, or a word, measured in bits. The fields are sorted by their starts."""

    kind: str
    name: str
    size: int
    about: str
    packed: bool
    fields: tuple[Field, ...]

    @property
    def unit(self) -> str:
        """Returns the unit of sizes and starts."""
        return "byte" if self.kind == "struct" else "bit"


@dataclass(frozen=True)
class Layout:
    """The contents of layout.toml, in its order."""

    constants: tuple[Constant, ...]
    structs: tuple[Record, ...]
    words: tuple[Record, ...]
