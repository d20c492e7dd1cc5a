"""Requests as bytes, and the expected result of the request parser, which equals that of the software
accelerator."""

import random
from dataclasses import dataclass, replace

import honeycomb_layout as layout

LINE_BYTES = 64


@dataclass(frozen=True)
class Raw:
    """A request with arbitrary fields, valid or not."""

    opcode: int = layout.OPCODE_GET
    lower: bytes = b"\x07"
    upper: bytes = b""
    pairs_max: int = 0
    bytes_max: int = 0
    flags: int = 0
    table: int = 0
    read_version: int = 0
    identifier: int = 0

    def header(self) -> layout.Request:
        return layout.Request(
            identifier=self.identifier, read_version=self.read_version, pairs_max=self.pairs_max,
            bytes_max=self.bytes_max, table_number=self.table, lower_length=len(self.lower),
            upper_length=len(self.upper), opcode=self.opcode, flags=self.flags,
        )

    def bytes(self) -> bytes:
        keys = self.lower + self.upper
        return self.header().pack() + keys + bytes(-len(keys) % 8)


SCAN = Raw(opcode=layout.OPCODE_SCAN, lower=b"", pairs_max=4, bytes_max=400)


def any_key(shortest: int = 1) -> bytes:
    longest = random.choice([4, 20, 130, layout.KEY_BYTES_MAX])
    return random.randbytes(random.randint(shortest, longest))


def any_get() -> Raw:
    return Raw(lower=any_key(), table=random.getrandbits(16), identifier=random.getrandbits(64),
               read_version=random.choice([0, random.getrandbits(64)]))


def any_scan() -> Raw:
    lower, upper = any_key(0), any_key(0)
    flags = random.choice([0, 4, 8]) | random.choice([0, 16])
    flags |= (lower != b"") * random.getrandbits(1) | (upper != b"") * random.getrandbits(1) << 1
    return replace(any_get(), opcode=layout.OPCODE_SCAN, lower=lower, upper=upper, flags=flags,
                   pairs_max=random.getrandbits(32), bytes_max=random.getrandbits(32))


def any_hostile() -> Raw:
    """Returns a request of which one field may be invalid."""
    request = random.choice([any_get, any_scan])()
    long = bytes(random.choice([461, 500, 3000]))
    return random.choice([
        lambda: replace(request, lower=b""),
        lambda: replace(request, lower=long),
        lambda: replace(request, upper=long),
        lambda: replace(request, upper=b"7"),
        lambda: replace(request, pairs_max=random.getrandbits(32)),
        lambda: replace(request, bytes_max=1 << 31),
        lambda: replace(request, flags=random.getrandbits(8)),
        lambda: replace(request, flags=1 << random.randrange(8)),
        lambda: replace(any_scan(), flags=12),
        lambda: replace(request, opcode=random.getrandbits(8)),
    ])()


@dataclass(frozen=True)
class Parsed:
    """The expected result for the bytes of one request."""

    identifier: int
    status: int
    header: layout.Request | None = None
    lower: bytes = b""
    upper: bytes = b""


def parse(packet: bytes) -> list[Parsed]:
    """Returns the results for all requests of a packet."""
    parsed = []
    while packet:
        one, length = parse_one(packet)
        parsed.append(one)
        packet = packet[length:]
    return parsed


def parse_one(packet: bytes) -> tuple[Parsed, int]:
    size = layout.Request.SIZE
    cut_off = Parsed(int.from_bytes(packet[:8], "little") if len(packet) >= 8 else 0, layout.STATUS_MALFORMED)
    if len(packet) < size:
        return cut_off, len(packet)
    header = layout.Request.unpack(packet[:size])
    end = size + header.lower_length + header.upper_length
    length = end + -end % 8
    if len(packet) < length:
        return cut_off, len(packet)
    lower = packet[size : size + header.lower_length]
    upper = packet[size + header.lower_length : end]
    return Parsed(header.identifier, status_of(header), header, lower, upper), length


def status_of(header: layout.Request) -> int:
    is_empty = header.lower_length == 0, header.upper_length == 0
    limits = header.pairs_max or header.bytes_max
    flags = header.flags
    if max(header.lower_length, header.upper_length) > layout.KEY_BYTES_MAX:
        return layout.STATUS_KEY_LENGTH
    if header.opcode == layout.OPCODE_GET:
        if is_empty[0]:
            return layout.STATUS_KEY_LENGTH
        return layout.STATUS_MALFORMED if limits or flags or not is_empty[1] else layout.STATUS_FOUND
    if header.opcode != layout.OPCODE_SCAN:
        return layout.STATUS_UNKNOWN_OPCODE
    wrong = is_empty[0] and flags & 1 or is_empty[1] and flags & 2 or flags >> 5 or flags & 12 == 12
    return layout.STATUS_MALFORMED if wrong else layout.STATUS_FOUND


def mutate(packet: bytes) -> bytes:
    """Returns the packet with some bytes replaced, removed or inserted."""
    changed = bytearray(packet)
    for _ in range(random.randrange(4)):
        at = random.randrange(len(changed))
        match random.randrange(5):
            case 0:
                del changed[at : at + random.choice([1, 8])]
            case 1:
                changed.insert(at, random.getrandbits(8))
            case _:
                changed[at] ^= 1 << random.randrange(8)
        if not changed:
            return b"\0"
    return bytes(changed)


def beats(packet: bytes) -> list[tuple[int, int, int]]:
    """Returns the packet as beats of a stream: data, keep, last."""
    cuts = range(0, len(packet), LINE_BYTES)
    lines = [packet[at : at + LINE_BYTES] for at in cuts]
    return [
        (int.from_bytes(line, "little"), (1 << len(line)) - 1, int(at == cuts[-1]))
        for at, line in zip(cuts, lines)
    ]
