"""The bytes that host and accelerator share, little-endian.

Each struct and word is a class: `unpack` reads it from bytes and `pack` writes it, `from_int` and `to_int` do
the same with an integer whose lowest byte is the first. They and the constructor raise ValueError for a wrong
length, a field that is too wide and padding that is not zero.
"""

from dataclasses import dataclass
from typing import ClassVar, Self


@dataclass(frozen=True)
class Field:
    """A field: lowest bit, bits of an element, number of elements (None for a scalar), largest value."""

    shift: int
    bits: int
    count: int | None
    largest: int

    @property
    def offset(self) -> int:
        """Returns the byte with the lowest bit."""
        return self.shift // 8

    def extract(self, whole: int) -> int | tuple[int, ...]:
        """Returns the value of the field in a record, or the values of its elements."""
        mask = (1 << self.bits) - 1
        elements = tuple((whole >> shift) & mask for shift in self._shifts())
        return elements[0] if self.count is None else elements

    def place(self, value: int | tuple[int, ...]) -> int:
        """Inverts `extract`: returns a record with zeros elsewhere."""
        return sum(element << shift for element, shift in zip(self._elements(value), self._shifts()))

    def fits(self, value: int | tuple[int, ...]) -> bool:
        """Returns whether the value fits the field."""
        elements = self._elements(value)
        return len(elements) == (self.count or 1) and all(0 <= one <= self.largest for one in elements)

    def _shifts(self) -> list[int]:
        return [self.shift + index * self.bits for index in range(self.count or 1)]

    def _elements(self, value: int | tuple[int, ...]) -> tuple[int, ...]:
        return (value,) if self.count is None else value


class _Record:
    SIZE: ClassVar[int]
    FIELDS: ClassVar[dict[str, Field]]

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        """Decodes the record from exactly SIZE bytes."""
        if len(data) != cls.SIZE:
            raise ValueError(f"{cls.__name__}: {len(data)} bytes; allowed: {cls.SIZE}")
        return cls.from_int(int.from_bytes(data, "little"))

    @classmethod
    def from_int(cls, whole: int) -> Self:
        """Decodes the record from an integer of at most SIZE bytes."""
        if whole >> 8 * cls.SIZE:
            raise ValueError(f"{cls.__name__}: {whole:#x}; allowed: {8 * cls.SIZE} bits")
        return cls(**{name: field.extract(whole) for name, field in cls.FIELDS.items()})

    def pack(self) -> bytes:
        """Encodes the record in SIZE bytes."""
        return self.to_int().to_bytes(self.SIZE, "little")

    def to_int(self) -> int:
        """Encodes the record as an integer."""
        return sum(field.place(getattr(self, name)) for name, field in self.FIELDS.items())

    def __post_init__(self) -> None:
        for name, field in self.FIELDS.items():
            value = getattr(self, name)
            if not field.fits(value):
                count = "" if field.count is None else f"{field.count} of "
                allowed = f"{count}0 to {field.largest:#x}"
                raise ValueError(f"{type(self).__name__}.{name} = {value}; allowed: {allowed}")
