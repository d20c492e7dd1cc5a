"""Shared test code: reads the TOML of the layout without any code of the generator."""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "layout" / "layout.toml").read_text(encoding="utf-8")
LAYOUT = tomllib.loads(TEXT)

sys.path[:0] = [str(ROOT / "layout"), str(ROOT / "python")]


def camel(name: str) -> str:
    """Converts a snake_case name to UpperCamelCase."""
    return "".join(part[0].upper() + part[1:] for part in name.split("_"))


def counting(struct: dict) -> bytes:
    """Returns the bytes of a struct in which byte i is i and padding is zero."""
    data = bytearray(index % 256 for index in range(struct["size"]))
    for name, field in struct["fields"].items():
        if name.startswith("padding"):
            for index in range(field["offset"], field["offset"] + field["bytes"] * field.get("count", 1)):
                data[index] = 0
    return bytes(data)


def elements(field: dict, data: bytes) -> list[int]:
    """Returns the elements of a field of that struct."""
    starts = [field["offset"] + field["bytes"] * index for index in range(field.get("count", 1))]
    return [sum(data[start + at] << 8 * at for at in range(field["bytes"])) for start in starts]


def bits(field: dict, word: int) -> int:
    """Returns the bits of a field of a word."""
    return sum((word >> field["shift"] + at & 1) << at for at in range(field["bits"]))
