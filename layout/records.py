"""What a layout is made of. A sound layout (see soundness.py) is all that the emitters see."""

from dataclasses import dataclass


class Refused(Exception):
    """The layout is not sound. The message names the record and field, what is wrong and what is allowed."""


@dataclass(frozen=True)
class Constant:
    """A number with a name."""

    name: str
    value: int
    about: str


@dataclass(frozen=True)
class Field:
    """A stretch of a record: `start` and `size` in the record's unit, `size` that of one element."""

    name: str
    start: int
    size: int
    count: int | None
    about: str

    @property
    def end(self) -> int:
        """Where the next field starts."""
        return self.start + self.size * (self.count or 1)

    @property
    def is_padding(self) -> bool:
        """Whether the field is always zero."""
        return self.name.startswith("padding")


@dataclass(frozen=True)
class Record:
    """A struct, counted in bytes, or a word, counted in bits. The fields are in the order of their starts."""

    kind: str
    name: str
    size: int
    about: str
    packed: bool
    fields: tuple[Field, ...]

    @property
    def unit(self) -> str:
        """What sizes and starts count."""
        return "byte" if self.kind == "struct" else "bit"


@dataclass(frozen=True)
class Layout:
    """Everything in layout.toml, in its order."""

    constants: tuple[Constant, ...]
    structs: tuple[Record, ...]
    words: tuple[Record, ...]
