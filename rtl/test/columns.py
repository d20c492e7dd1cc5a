"""Builds the columns of nodes as docs/design/node.md and layout.md define them."""

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
    return word_and_rest(suffix, b"")


def samples(heads: list[int], bits: int) -> tuple[int, ...]:
    """Returns the first head of each group but the first."""
    groups = (group << bits for group in range(1, SAMPLES + 1))
    return tuple(heads[first] if first < len(heads) else MISSING for first in groups)


def packed(numbers: list[int], width: int) -> bytes:
    """Returns a column of numbers of `width` bytes."""
    return b"".join(number.to_bytes(width, "little") for number in numbers)


@dataclass(frozen=True)
class Leaf:
    """The key suffixes of a leaf, its values, whether each is a reference, and its fence keys."""

    suffixes: list[bytes]
    values: list[bytes]
    overflows: list[bool]
    fences: bytes

    @property
    def group_bits(self) -> int:
        return group_bits(len(self.suffixes))

    @property
    def stride(self) -> tuple[int, int, int]:
        """Returns the bytes of each item and its lengths, or zeros."""
        lengths = {(len(suffix), len(value)) for suffix, value in zip(self.suffixes, self.values)}
        if len(lengths) != 1 or any(self.overflows):
            return 0, 0, 0
        suffix, value = lengths.pop()
        return max(len(aligned(bytes(max(suffix - HEAD_BYTES, 0) + value))), 4), suffix, value

    def body(self) -> bytes:
        """Returns the bytes from the end of the header to the end of the sorted block."""
        heads = [head(suffix) for suffix in self.suffixes]
        stride, suffix_length, value_length = self.stride
        items = [self.item(index) for index in range(len(heads))]
        fences_start = COLUMN_HEADS_OFFSET + (8 if stride else 10) * len(heads)
        items_start = fences_start + len(self.fences)
        items_start += -items_start % 4
        starts = [items_start + sum(map(len, items[:index])) for index in range(len(items))]
        offsets = b"" if stride else packed([start // 4 for start in starts], 2)
        first = Columns(items_start, stride, suffix_length, value_length, samples(heads, self.group_bits))
        fences = self.fences.ljust(items_start - fences_start, b"\0")
        return first.pack() + packed(heads, 8) + offsets + fences + b"".join(items)

    def item(self, index: int) -> bytes:
        """Returns the bytes of an item."""
        suffix, value = self.suffixes[index], self.values[index]
        if self.stride[0]:
            return aligned(suffix[HEAD_BYTES:] + value).ljust(4, b"\0")
        return word_and_rest(suffix, value, overflow=int(self.overflows[index]))


def word_and_rest(suffix: bytes, value: bytes, **flags: int) -> bytes:
    """Returns the bytes of an item with a word."""
    word = ItemWord(suffix_length=len(suffix), value_length=len(value), **flags)
    return word.to_int().to_bytes(4, "little") + aligned(suffix[HEAD_BYTES:] + value)


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
        column = aligned(packed(heads, 8), 16 * HEAD_BYTES)
        fences_start = COLUMN_HEADS_OFFSET + len(column) + 8 * len(self.lids)
        items_start = fences_start + len(self.fences)
        items_start += -items_start % 4
        fences = self.fences.ljust(items_start - fences_start, b"\0")
        children, items = self.children(items_start)
        first = Columns(items_start=items_start, samples=samples(heads, self.group_bits)).pack()
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
