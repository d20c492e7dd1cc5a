"""Builds the columns of interior nodes as docs/design/node.md and layout.md define them."""

from dataclasses import dataclass

from honeycomb_layout import COLUMN_GROUP_BITS_MIN, COLUMN_HEADS_OFFSET, ColumnChild, Columns, ItemWord

HEAD_BYTES = 8
# Samples of groups, without the first one.
SAMPLES = 15
MISSING = (1 << 64) - 1


def head(suffix: bytes) -> int:
    """Returns the first eight bytes as a big-endian number, padded with zeros."""
    return int.from_bytes(suffix[:HEAD_BYTES].ljust(HEAD_BYTES, b"\0"), "big")


def group_bits(count: int) -> int:
    """Returns the binary logarithm of the number of heads in a group."""
    bits = COLUMN_GROUP_BITS_MIN
    while count > SAMPLES + 1 << bits:
        bits += 1
    return bits


def aligned(data: bytes, unit: int = 4) -> bytes:
    """Returns the bytes with zeros up to a multiple of the unit."""
    return data.ljust(-(-len(data) // unit) * unit, b"\0")


def item(suffix: bytes) -> bytes:
    """Returns the item of a separator. A separator that its head determines has no bytes of an item."""
    if len(suffix) <= HEAD_BYTES and not suffix.endswith(b"\0"):
        return b""
    return ItemWord(suffix_length=len(suffix)).to_int().to_bytes(4, "little") + aligned(suffix[HEAD_BYTES:])


@dataclass(frozen=True)
class Interior:
    """The separators of an interior node, without its prefix, the LIDs of the children after them, and the
    bytes of its fence keys."""

    suffixes: list[bytes]
    lids: list[int]
    fences: bytes

    @property
    def group_bits(self) -> int:
        return group_bits(len(self.suffixes))

    def body(self) -> bytes:
        """Returns the bytes from the end of the header to the end of the sorted block."""
        heads = [head(suffix) for suffix in self.suffixes]
        column = aligned(b"".join(number.to_bytes(8, "little") for number in heads), 16 * HEAD_BYTES)
        fences_start = COLUMN_HEADS_OFFSET + len(column) + 8 * len(self.lids)
        items_start = fences_start + len(self.fences)
        items_start += -items_start % 4
        fences = self.fences.ljust(items_start - fences_start, b"\0")
        children, items = self.children(items_start)
        groups = (group << self.group_bits for group in range(1, SAMPLES + 1))
        samples = [heads[first] if first < len(heads) else MISSING for first in groups]
        first = Columns(items_start=items_start, samples=tuple(samples)).pack()
        return first + column + children + fences + items

    def children(self, items_start: int) -> tuple[bytes, bytes]:
        """Returns the column of the children, and the items of the separators."""
        children, items = b"", b""
        for suffix, lid in zip(self.suffixes, self.lids):
            stored = item(suffix)
            rest = (items_start + len(items)) // 4 if stored else 0
            children += ColumnChild(lid=lid, rest=rest).to_int().to_bytes(8, "little")
            items += stored
        return children, items
