"""What the tests share: the layout as its TOML stands there, without a line of the generator."""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "layout" / "layout.toml").read_text(encoding="utf-8")
LAYOUT = tomllib.loads(TEXT)

sys.path[:0] = [str(ROOT / "layout"), str(ROOT / "python")]


def camel(name: str) -> str:
    """UpperCamelCase of a snake_case name."""
    return "".join(part[0].upper() + part[1:] for part in name.split("_"))


def counting(struct: dict) -> bytes:
    """The struct's bytes: byte i holds i, padding zero."""
    data = bytearray(index % 256 for index in range(struct["size"]))
    for name, field in struct["fields"].items():
        if name.startswith("padding"):
            for index in range(field["offset"], field["offset"] + field["bytes"] * field.get("count", 1)):
                data[index] = 0
    return bytes(data)


def elements(field: dict, data: bytes) -> list[int]:
    """What the field of a struct holds, element by element."""
    starts = [field["offset"] + field["bytes"] * index for index in range(field.get("count", 1))]
    return [sum(data[start + at] << 8 * at for at in range(field["bytes"])) for start in starts]


def bits(field: dict, word: int) -> int:
    """What the field of a word holds, bit by bit."""
    return sum((word >> field["shift"] + at & 1) << at for at in range(field["bits"]))
