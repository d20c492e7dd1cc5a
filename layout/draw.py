"""Draws records as boxes of text, for comments and for Markdown."""

import re
from dataclasses import dataclass
from itertools import groupby, zip_longest

from records import Field, Record

ROW_BYTES = 8
COLUMNS_A_BYTE = 11
COLUMNS_MAX = 100


@dataclass(frozen=True)
class _Cell:
    lines: list[str]
    width: int


def struct(record: Record) -> list[str]:
    """Draws a struct in rows of eight bytes, the first byte on the left. Labels are half-open byte ranges."""
    rows = groupby(_cuts(record), key=lambda cut: cut[0] // ROW_BYTES)
    return _boxes([[_byte_cell(*cut) for cut in row] for _, row in rows])


def word(record: Record) -> list[str]:
    """Draws a word with the most significant bit on the left. Labels are inclusive bit ranges."""
    rows, columns = [[]], 1
    for field in reversed(record.fields):
        cell = _bit_cell(field)
        columns += cell.width + 1
        if columns > COLUMNS_MAX:
            rows.append([])
            columns = cell.width + 2
        rows[-1].append(cell)
    return _boxes(rows)


def _cuts(record: Record):
    """Cuts the fields at the ends of rows into (start, end, field). Whole rows of one field stay together."""
    for field in record.fields:
        start = field.start
        while start < field.end:
            rows_end = field.end // ROW_BYTES * ROW_BYTES
            row_end = (start // ROW_BYTES + 1) * ROW_BYTES
            end = rows_end if start % ROW_BYTES == 0 and rows_end > start else min(field.end, row_end)
            yield start, end, field
            start = end


def _byte_cell(start: int, end: int, field: Field) -> _Cell:
    width = min(end - start, ROW_BYTES) * COLUMNS_A_BYTE - 1
    label = f"{start}" if end == start + 1 else f"{start}..{end}"
    name = field.name if field.count is None else f"{field.name}[{field.count}]"
    return _Cell([label, *_fold(name, width - 1)], width)


def _bit_cell(field: Field) -> _Cell:
    label = f"{field.start}" if field.size == 1 else f"{field.end - 1}:{field.start}"
    return _Cell([label, field.name], max(len(label), len(field.name)) + 2)


def _fold(name: str, width: int) -> list[str]:
    """Breaks a name after underscores, or inside a part that is wider than the box."""
    lines = [""]
    for part in re.findall(rf"[^_]{{1,{width - 1}}}_?|_", name):
        if len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += part
    return lines


def _boxes(rows: list[list[_Cell]]) -> list[str]:
    edges = ["+" + "".join("-" * cell.width + "+" for cell in row) for row in rows]
    drawn = []
    for above, edge, row in zip(["", *edges], edges, rows):
        drawn.append(_joined(above, edge))
        for texts in zip_longest(*(cell.lines for cell in row), fillvalue=""):
            cells = (f" {text}".ljust(cell.width) for text, cell in zip(texts, row))
            drawn.append("|" + "|".join(cells) + "|")
    return [*drawn, *edges[-1:]]


def _joined(above: str, below: str) -> str:
    return "".join("+" if "+" in pair else "-" for pair in zip_longest(above, below, fillvalue="-"))
