"""Builds and parses nodes as docs/design/node.md and layout.md define them, and models the memory that
contains them."""

from dataclasses import dataclass, field, replace
from os.path import commonprefix

from columns import Interior, Leaf, head, word_and_rest
from honeycomb_layout import (
    ALLOCATION_UNIT_BYTES,
    COLUMN_HEADS_OFFSET,
    INLINE_VALUE_BYTES_MAX,
    KEY_BYTES_MAX,
    LID_BITS,
    LOG_ENTRIES_MAX,
    LOG_THRESHOLD_BYTES_DEFAULT,
    NODE_BYTES_DEFAULT,
    Fences,
    LockAndSize,
    LogWord,
    NodeHeader,
    ValueReference,
)


@dataclass(frozen=True)
class Shape:
    """The sizes of the nodes of a store."""

    node_bytes: int = NODE_BYTES_DEFAULT
    log_threshold_bytes: int = LOG_THRESHOLD_BYTES_DEFAULT

    @property
    def key_bytes_max(self) -> int:
        """The maximum length of a key: a node has room for two fence keys and two items."""
        return min((self.node_bytes - COLUMN_HEADS_OFFSET) // 7, KEY_BYTES_MAX)

    @property
    def inline_value_bytes_max(self) -> int:
        """The maximum length of a value in the node."""
        rest = self.node_bytes - COLUMN_HEADS_OFFSET - 4 * self.key_bytes_max - 64
        return min(rest // 2, INLINE_VALUE_BYTES_MAX)


DEFAULT = Shape()
SHAPES = {
    "default": DEFAULT,
    "tiny": Shape(node_bytes=1024, log_threshold_bytes=128),
    "odd": Shape(node_bytes=2048, log_threshold_bytes=256),
    # leaves without a log block
    "sorted": Shape(node_bytes=4096, log_threshold_bytes=0),
}


def crc32c(data: bytes) -> int:
    """Returns the checksum whose low byte is the fingerprint."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


@dataclass(frozen=True)
class Item:
    """A key, and the value bytes of its item."""

    key: bytes
    value: bytes
    overflow: bool = False

    def bytes(self, prefix_length: int) -> int:
        """Returns an upper limit for the bytes of the item, with its head."""
        return 17 + len(self.key) - prefix_length + len(self.value)


@dataclass(frozen=True)
class Entry:
    """A log entry. An entry without an item is a tombstone."""

    key: bytes
    version: int
    item: Item | None

    def pack(self, prefix_length: int, **flags: int) -> bytes:
        """Returns the bytes of the entry, without its log word."""
        item, suffix = self.item or Item(self.key, b""), self.key[prefix_length:]
        flags |= {"tombstone": int(self.item is None), "overflow": int(item.overflow)}
        return head(suffix).to_bytes(8, "little") + word_and_rest(suffix, item.value, **flags)


@dataclass(frozen=True)
class Plan:
    """The contents of a node: items and log entries of a leaf, or the children of an interior node as
    items."""

    level: int = 0
    # None: the node has no high fence key, because it is the rightmost one of its level
    low: bytes = b""
    high: bytes | None = None
    # the siblings of a leaf; `left` of an interior node is its leftmost child
    left: int = 0
    right: int = 0
    version: int = 1
    previous: int = 0
    items: tuple[Item, ...] = ()
    entries: tuple[Entry, ...] = ()

    @property
    def prefix_length(self) -> int:
        """The number of bytes that the fence keys share."""
        return 0 if self.high is None else len(commonprefix([self.low, self.high]))

    def fences(self) -> bytes:
        """Returns the beginning of the sorted block: the fence keys."""
        high = b"" if self.high is None else self.high
        return Fences(len(self.low), len(high)).pack() + self.low + high[self.prefix_length:]

    def build(self, shape: Shape) -> bytes | None:
        """Returns the bytes of the node. A node that does not fit has none."""
        return self.build_interior(shape) if self.level else self.build_leaf(shape)

    def build_interior(self, shape: Shape) -> bytes | None:
        suffixes = [item.key[self.prefix_length:] for item in self.items]
        columns = Interior(suffixes, [child_lid(item) for item in self.items], self.fences())
        body = columns.body()
        size = NodeHeader.SIZE + len(body)
        if size > shape.node_bytes:
            return None
        return (self.header(size, size, columns.group_bits).pack() + body).ljust(shape.node_bytes, b"\xa5")

    def build_leaf(self, shape: Shape) -> bytes | None:
        suffixes = [item.key[self.prefix_length:] for item in self.items]
        values, overflows = ([getattr(item, name) for item in self.items] for name in ("value", "overflow"))
        columns = Leaf(suffixes, values, overflows, self.fences())
        body = columns.body()
        sorted_end = NodeHeader.SIZE + len(body)
        log, words = self.log(sorted_end)
        size = sorted_end + len(log)
        if size + len(words) > shape.node_bytes or len(self.entries) > LOG_ENTRIES_MAX:
            return None
        node = self.header(size, sorted_end, columns.group_bits).pack() + body + log
        return node.ljust(shape.node_bytes - len(words), b"\xa5") + words

    def header(self, size: int, sorted_end: int, group_bits: int) -> NodeHeader:
        tags = [crc32c(entry.key[self.prefix_length:]) & 0xFF for entry in self.entries[:16]]
        return NodeHeader(
            lock_and_size=LockAndSize(size=size, log_count=len(self.entries)).to_int(),
            node_version=self.version,
            previous_version=self.previous,
            left=self.left,
            right=self.right,
            sorted_end=sorted_end,
            sorted_count=len(self.items),
            prefix_length=self.prefix_length,
            group_bits=group_bits,
            level=self.level,
            tags=tuple(tags) + (0,) * (16 - len(tags)),
        )

    def log(self, start: int) -> tuple[bytes, bytes]:
        """Returns the log block that begins at an offset, and the log words. Among entries with equal keys,
        the newest comes first in key order."""
        log, words, keys = b"", b"", [item.key for item in self.items]
        for index, entry in enumerate(self.entries):
            place = sum(key < entry.key for key in keys)
            older = self.entries[:index]
            repeats = int(any(other.key == entry.key for other in older))
            word = LogWord(
                back_pointer=place,
                order_hint=sum(other.key < entry.key for other in older),
                entry_offset=(start + len(log)) // 4,
                version_delta=entry.version - self.version,
                repeats=repeats,
            )
            words = word.to_int().to_bytes(8, "little") + words
            replaces = int(keys[place:place + 1] == [entry.key])
            log += entry.pack(self.prefix_length, replaces=replaces, repeats=repeats)
        return log, words


def child(key: bytes, lid: int) -> Item:
    """Returns a separator of an interior node whose value is the child with the keys from `key` on."""
    return Item(key, lid.to_bytes(LID_BITS // 8, "little"))


def child_lid(item: Item) -> int:
    """Returns the LID in an item that `child` built."""
    return int.from_bytes(item.value, "little")


@dataclass
class Memory:
    """Buffers by bus address, and the page table."""

    shape: Shape
    buffers: dict[int, bytes] = field(default_factory=dict)
    # the plans of the buffers that contain nodes
    plans: dict[int, Plan] = field(default_factory=dict)
    lids: dict[int, int] = field(default_factory=dict)
    next_address: int = ALLOCATION_UNIT_BYTES
    next_lid: int = 1

    def place(self, data: bytes) -> int:
        """Stores bytes in a new buffer and returns its address."""
        units = -(-len(data) // ALLOCATION_UNIT_BYTES) or 1
        address = self.next_address
        self.buffers[address] = data.ljust(units * ALLOCATION_UNIT_BYTES, b"\xc3")
        self.next_address += units * ALLOCATION_UNIT_BYTES
        return address

    def place_node(self, plan: Plan) -> int | None:
        """Stores a node in a new buffer and returns its address, a multiple of the size of nodes. A node that
        does not fit has none."""
        data = plan.build(self.shape)
        if data is None:
            return None
        size = 1 << (self.shape.node_bytes - 1).bit_length()
        self.next_address += -self.next_address % size
        address = self.place(data)
        self.plans[address] = plan
        return address

    def reserve_lid(self) -> int:
        """Returns an unused LID."""
        self.next_lid += 1
        return self.next_lid - 1

    def map(self, lid: int, address: int):
        """Makes a buffer the current one of a LID."""
        self.lids[lid] = address

    def change(self, lid: int, **changes) -> bool:
        """Changes the current buffer of a LID in place, if the change fits. Returns whether it fits."""
        plan = replace(self.plans[self.lids[lid]], **changes)
        data = plan.build(self.shape)
        if data is not None:
            address = self.lids[lid]
            self.plans[address], self.buffers[address] = plan, data
        return data is not None

    def current(self, lid: int) -> Plan:
        """Returns the contents of the current buffer of a LID."""
        return self.plans[self.lids[lid]]

    def value(self, item: Item) -> bytes:
        """Returns the value of an item, which may be an overflow value."""
        if not item.overflow:
            return item.value
        at = ValueReference.unpack(item.value)
        return self.buffers[at.address][:at.length]

    def item(self, key: bytes, value: bytes) -> Item:
        """Returns an item for a pair. A long value is stored in a buffer."""
        if len(value) <= self.shape.inline_value_bytes_max:
            return Item(key, value)
        return Item(key, ValueReference(self.place(value), len(value)).pack(), overflow=True)

    def lines(self, address: int, first: int, count: int) -> list[bytes]:
        """Returns the lines of a read. The address may be inside a buffer, as for overflow values."""
        start = address if address in self.buffers else max(at for at in self.buffers if at < address)
        data = self.buffers[start]
        begin = address - start + 64 * first
        assert begin + 64 * count <= len(data), "the read exceeds its buffer"
        return [data[at:at + 64] for at in range(begin, begin + 64 * count, 64)]
