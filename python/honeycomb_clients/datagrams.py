"""A client for batch datagrams: one request at a time, each with many operations.

    with Client(port) as client:
        add = function("add", "u32")
        client.call(put(b"n", pack("u32", 5)), update_scalar(b"n", add, pack("u32", 2)))
"""

import socket
import struct
from dataclasses import dataclass, field, replace

import honeycomb_layout as layout
from honeycomb_layout import BatchHeader, BatchItem
from honeycomb_layout import BatchOperation as FirstByte

PAYLOAD_BYTES = 1472
ATTEMPTS = 8
# Seconds until the first repetition of a request without a reply; the time doubles with each one.
TIMEOUT = 0.1

# The types of elements and the built-in functions, in the order of their numbers.
FORMATS = {
    "u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i8": "b", "i16": "h", "i32": "i", "i64": "q", "f32": "f",
    "f64": "d",
}
FUNCTIONS = (
    "add subtract minimum maximum and or xor exchange saturating-add saturating-subtract compare-and-exchange"
    " affine bounded-add bounded-subtract refilling-subtract equal not-equal less greater between"
).split()


def function(name, element):
    """Returns the number of a built-in function for a type of elements."""
    return 16 * FUNCTIONS.index(name) + list(FORMATS).index(element)


def pack(element, *numbers):
    """Returns elements as bytes."""
    return struct.pack(f"<{len(numbers)}{FORMATS[element]}", *numbers)


def unpack(element, data):
    """Returns the elements in bytes."""
    form = FORMATS[element]
    return list(struct.unpack(f"<{len(data) // struct.calcsize(form)}{form}", data))


class Failed(Exception):
    """The server has rejected the request, or did not answer."""


@dataclass(frozen=True)
class Operation:
    """An operation. Parts that it does not have are None."""

    opcode: int
    key: bytes
    expected: bytes | None = None
    value: bytes | None = None
    number: int | None = None
    floor_start: bool = False
    backward: bool = False


@dataclass
class Outcome:
    """The outcome of an operation: one of the constants BATCH_DONE to BATCH_NOT_APPLICABLE, and the value or
    the pairs. `more` says whether the range has further pairs. After a function for a part of a range,
    `value` is the key after which the range goes on."""

    status: int
    value: bytes | None = None
    pairs: list[tuple[bytes, bytes]] = field(default_factory=list)
    more: bool = False


def get(key):
    return Operation(layout.BATCH_GET, key)


def put(key, value):
    return Operation(layout.BATCH_PUT, key, value=value)


def insert(key, value):
    return Operation(layout.BATCH_INSERT, key, value=value)


def update(key, value):
    return Operation(layout.BATCH_UPDATE, key, value=value)


def delete(key):
    return Operation(layout.BATCH_DELETE, key)


def compare_and_swap(key, expected, value):
    return Operation(layout.BATCH_COMPARE_AND_SWAP, key, expected, value)


def pairs_from(key, pairs_max, *, floor_start=False, backward=False):
    """A range of pairs in the order of their keys."""
    return Operation(
        layout.BATCH_RANGE, key, number=pairs_max, floor_start=floor_start, backward=backward)


def update_scalar(key, number, operands):
    """Applies a function to a value of one element. The outcome has the original value."""
    return Operation(layout.BATCH_UPDATE_SCALAR, key, value=operands, number=number)


def update_vector_with_scalar(key, number, operands):
    """Applies a function to each element, with the same operands."""
    return Operation(layout.BATCH_UPDATE_VECTOR_WITH_SCALAR, key, value=operands, number=number)


def update_vector_with_vector(key, number, vector):
    """Applies a function to each element and the element at the same index of a vector."""
    return Operation(layout.BATCH_UPDATE_VECTOR_WITH_VECTOR, key, value=vector, number=number)


def reduce(key, number, initial):
    """Folds all elements with a function, from an initial element on."""
    return Operation(layout.BATCH_REDUCE, key, value=initial, number=number)


def select(key, number, operands):
    """Returns the elements that satisfy a predicate: the operation `filter` of the protocol."""
    return Operation(layout.BATCH_FILTER, key, value=operands, number=number)


def term(number, offset, operands):
    """Returns a function of the element at an offset of each value of a range: a condition if it is a
    predicate, or the fold of `reduce_range` with its initial element."""
    return struct.pack("<HHH", number, offset, len(operands)) + operands


def count_range(lower, upper, *conditions):
    """Counts the pairs from one key up to another one, which is excluded, whose values satisfy at most eight
    conditions. An empty key is not a bound. The outcome has one pair, with an empty key and the count as
    u64."""
    return _range_function(layout.BATCH_RANGE_COUNT, lower, upper, conditions)


def reduce_range(lower, upper, fold, *conditions):
    """Folds the elements of the values of such pairs. The outcome has one pair, with an empty key and the
    result."""
    return _range_function(layout.BATCH_RANGE_REDUCE, lower, upper, (fold, *conditions))


def select_range(lower, upper, *conditions):
    """Returns such pairs: the form `filter` of the protocol."""
    return _range_function(layout.BATCH_RANGE_FILTER, lower, upper, conditions)


def _range_function(form, lower, upper, terms):
    return Operation(layout.BATCH_RANGE_FUNCTION, lower, upper, bytes([form]) + b"".join(terms))


def _with_initial(value, initial):
    """Returns the value of a reduction over a range with another initial element."""
    start = 1 + layout.BatchRangeTerm.SIZE
    return value[:start] + initial + value[start + len(initial):]


def encode(operations):
    """Returns operations as bytes, without sizes and values that repeat those of earlier ones."""
    sizes, last_value, out = {}, None, bytearray()
    for it in operations:
        same_value = it.value is not None and it.value == last_value
        parts = {"key": it.key, "expected": it.expected, "value": it.value if not same_value else None}
        parts = {name: part for name, part in parts.items() if part is not None}
        same_sizes = all(sizes.get(name) == len(part) for name, part in parts.items())
        first = FirstByte(
            opcode=it.opcode, same_sizes=int(same_sizes), same_value=int(same_value),
            floor_start=int(it.floor_start), backward=int(it.backward))
        sizes |= {name: len(part) for name, part in parts.items()}
        last_value = last_value if it.value is None else it.value
        out += first.pack()
        out += b"" if same_sizes else b"".join(struct.pack("<H", len(part)) for part in parts.values())
        out += b"" if it.number is None else struct.pack("<H", it.number)
        out += b"".join(parts.values())
    return bytes(out)


def decode(data, count):
    """Returns the items of a datagram: pairs of the first byte and the parts."""
    sizes, value, at = {}, None, 0

    def take(size):
        nonlocal at
        at += size
        if at > len(data):
            raise ValueError("the datagram ends before its last item")
        return data[at - size:at]

    items = []
    for _ in range(count):
        first = BatchItem.unpack(take(1))
        names = {layout.BATCH_PAIR: ["key", "value"], layout.BATCH_FOUND: ["value"]}.get(first.status, [])
        for name in names if not first.same_sizes else []:
            if name == "key" or not first.same_value:
                sizes[name] = struct.unpack("<H", take(2))[0]
        key = take(sizes["key"]) if "key" in names else None
        if "value" in names and not first.same_value:
            value = take(sizes["value"])
        items.append((first, key, value if names else None))
    if at != len(data):
        raise ValueError(f"{len(data) - at} bytes after the last item")
    return items


class Client:
    """A session with the server at a port of this machine. `table` is the number of the database."""

    def __init__(self, port, table=0):
        self.table, self.identifier, self.session = table, 0, None
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect(("127.0.0.1", port))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def call(self, *operations):
        """Executes operations, at most those that fit a datagram. Returns their outcomes."""
        body = encode(operations)
        if layout.BatchHeader.SIZE + len(body) > PAYLOAD_BYTES:
            raise ValueError(f"{len(body)} bytes of operations: a datagram has {PAYLOAD_BYTES}")
        if self.session is None:
            self.session = self._hello()
        self.identifier += 1
        for attempt in range(ATTEMPTS):
            self._send(layout.BATCH_REQUEST, len(operations), attempt, self.identifier, body)
            items = self._receive_reply(attempt)
            if items is not None:
                return _outcomes(items)
        raise Failed("the server did not answer")

    def parts(self, operation):
        """Executes a function over a range, and yields the outcome of each part. The operation of each part
        is that of the previous one, with another lower bound and, for a reduction, its result."""
        while True:
            [outcome] = self.call(operation)
            yield outcome
            if outcome.status != layout.BATCH_FOUND:
                return
            operation = replace(operation, key=outcome.value + b"\0")
            if operation.value[0] == layout.BATCH_RANGE_REDUCE:
                operation = replace(operation, value=_with_initial(operation.value, outcome.pairs[0][1]))

    def _hello(self):
        """Returns a new session: a token proves that this client receives at its address."""
        token = self._hello_with(0, layout.BATCH_TOKEN).identifier
        return self._hello_with(token, layout.BATCH_SESSION).session

    def _hello_with(self, token, kind):
        for attempt in range(ATTEMPTS):
            self._send(layout.BATCH_HELLO, 0, attempt, token)
            for header, _ in self._datagrams(attempt):
                if header.kind == kind and header.attempt == attempt:
                    return header
        raise Failed("the server did not answer")

    def _receive_reply(self, attempt):
        """Returns the items of the reply to an attempt, or None unless all of its datagrams arrive."""
        parts, end = {}, None
        for header, rest in self._datagrams(attempt):
            if header.identifier != self.identifier:
                continue
            if header.kind == layout.BATCH_REJECTED:
                raise Failed(f"the server rejected the request: {header.status}")
            if header.attempt != attempt or header.kind not in (layout.BATCH_REPLY, layout.BATCH_REPLY_END):
                continue
            parts[header.position] = decode(rest, header.count)
            if header.kind == layout.BATCH_REPLY_END:
                end = header.position
            if end is not None and len(parts) == end + 1:
                return [item for position in sorted(parts) for item in parts[position]]
        return None

    def _send(self, kind, count, attempt, identifier, body=b""):
        header = BatchHeader(
            session=self.session or 0, identifier=identifier, table_number=self.table, count=count, kind=kind,
            attempt=attempt, position=0, status=0)
        self.socket.send(header.pack() + body)

    def _datagrams(self, attempt):
        """Yields the datagrams that arrive before the next repetition."""
        self.socket.settimeout(TIMEOUT * 2**attempt)
        while True:
            try:
                data = self.socket.recv(1 << 16)
            except (TimeoutError, ConnectionRefusedError):
                return
            header = BatchHeader.unpack(data[:BatchHeader.SIZE])
            yield header, data[BatchHeader.SIZE:]


def _outcomes(items):
    outcomes, pairs = [], []
    for first, key, value in items:
        if first.status == layout.BATCH_PAIR:
            pairs.append((key, value))
            continue
        outcomes.append(Outcome(first.status, value, pairs, bool(first.more)))
        pairs = []
    return outcomes
