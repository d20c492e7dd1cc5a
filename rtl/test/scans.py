"""Requests for scan units, the expected results, and the parser of the units' answers."""

import random
from dataclasses import dataclass, field

from honeycomb_layout import STATUS_ABSENT, STATUS_FOUND, CompletionPair
from keys import near, random_keys
from nodes import Memory
from records import record
from trees import Reader, Tree

GEOMETRY, TASK, LEAF, BEAT = record("geometry_t"), record("task_t"), record("leaf_t"), record("answer_beat_t")
DESCENT, KEY_WRITE = record("descent_t"), record("key_write_t")
DIRECTION = ("key", "before", "first", "last")
VALUE_BYTES = (0, 6, 16, 90, 400, 1000, 5000)
NO_LIMIT = 2**32 - 1
# Capacity of the result buffers in tests.
RESULT_BYTES = 16 * 64


def grow(memory: Memory, writes: int, value_bytes=VALUE_BYTES, version: int = 1) -> tuple[Tree, list[bytes]]:
    """Returns a tree with a history that begins at a version, and its keys."""
    tree = Tree(memory, version)
    keys = random_keys(max(writes // 3, 1), memory.shape.key_bytes_max)
    present: set[bytes] = set()
    for _ in range(writes):
        key = random.choice(keys)
        if key in present and random.random() < 0.3:
            tree.delete(key)
            present.remove(key)
        else:
            tree.put(key, random.randbytes(random.choice(value_bytes)))
            present.add(key)
    return tree, keys


class Searches:
    """A search engine that executes the repeated descents of scans, with the fence keys that the scans have
    written into the key buffers."""

    def __init__(self, memory: Memory, keys: dict[tuple[int, int], bytes]):
        self.memory, self.keys, self.count = memory, keys, 0

    def write_key(self, write: dict[str, int]):
        """Writes a line of a key. The first line begins a new key."""
        where, at = (write["slot"], write["upper"]), 64 * write["line"]
        before = self.keys.get(where, b"")[:at]
        assert len(before) == at, "lines out of order"
        self.keys[where] = before + write["data"].to_bytes(64, "little")

    def descend(self, descent: dict[str, int]) -> int:
        """Returns the leaf of a descent."""
        self.count += 1
        task = TASK.unpack(descent["request"])
        length = task["upper_length"] if descent["by_upper"] else task["lower_length"]
        key = self.keys[task["slot"], descent["by_upper"]][:length]
        reader = Reader(self.memory, task["read_version"])
        lid = reader.descend(task["root"], DIRECTION[descent["direction"]], key)
        return LEAF.pack(repeated=descent["repeated"], lid=lid, request=descent["request"])


@dataclass(frozen=True)
class Read:
    """A get or a scan. The key of a get is its lower bound. An empty bound means no bound."""

    version: int
    lower: bytes = b""
    upper: bytes = b""
    is_scan: bool = True
    keys_only: bool = False
    pairs_max: int = NO_LIMIT
    bytes_max: int = NO_LIMIT
    # the further arguments of Reader.scan
    flags: dict[str, bool] = field(default_factory=dict)

    def task(self, slot: int, root: int) -> int:
        """Returns the request as units pass it on."""
        return TASK.pack(
            slot=slot, root=root, read_version=self.version, is_scan=self.is_scan, keys_only=self.keys_only,
            lower_length=len(self.lower), upper_length=len(self.upper),
            pairs_max=self.pairs_max if self.is_scan else 0, bytes_max=self.bytes_max if self.is_scan else 0,
            **self.flags,
        )

    def leaf(self, reader: Reader, root: int) -> int:
        """Returns the LID of the first leaf."""
        backward = self.flags.get("backward", False)
        start = self.upper if backward else self.lower
        return reader.descend(root, "key" if start else "last" if backward else "first", start)


@dataclass
class Answer:
    """An answer, assembled from all its parts."""

    status: int
    more: bool = False
    pair_version: int = 0
    # the value of a get
    value: bytes = b""
    pairs: list[tuple[bytes, bytes]] = field(default_factory=list)

    def add(self, status: int, more: int, pair_version: int, count: int, body: bytes):
        """Adds a part with this number of pairs. The last part of a get with an overflow value has no bytes,
        and confirms or voids the value."""
        pairs = list(unpack_pairs(body)) if count else []
        assert len(pairs) == count
        is_value = status == STATUS_FOUND and not pairs
        assert not (is_value and self.value) or pair_version == self.pair_version, "parts of two pairs"
        self.status, self.more, self.pair_version = status, bool(more), pair_version
        self.pairs += pairs
        self.value = self.value + body if is_value else b""


def expected(read: Read, reader: Reader, root: int) -> Answer:
    """Returns the expected answer of a read. A scan reports a limit only if a further pair exists."""
    if not read.is_scan:
        found = reader.get(root, read.lower)
        if found is None:
            return Answer(STATUS_ABSENT)
        return Answer(STATUS_FOUND, pair_version=found[1], value=found[0])
    answer, pairs_left, bytes_left = Answer(STATUS_FOUND), read.pairs_max, read.bytes_max
    for key, value in reader.scan(root, read.lower, read.upper, **read.flags):
        value = b"" if read.keys_only else value
        if pairs_left == 0 or bytes_left <= 0:
            answer.more = True
            break
        answer.pairs.append((key, value))
        pairs_left -= 1
        bytes_left -= len(key) + len(value)
    return answer


class Parts:
    """Assembles answers from beats. Parts of several answers may alternate."""

    def __init__(self):
        self.beats, self.answers = [], {}

    def take(self, word: int) -> tuple[int, Answer] | None:
        """Adds a beat. Returns the slot and the answer if the beat was the last one."""
        beat = BEAT.unpack(word)
        self.beats.append(beat)
        if not beat["last"]:
            return None
        head, body = beat | {"last": 0, "data": 0}, b""
        for beat in self.beats:
            assert beat | {"last": 0, "data": 0} == head, "fields differ between beats"
            body += beat["data"].to_bytes(64, "little")
        assert len(self.beats) == max(1, -(-head["bytes"] // 64)), (len(self.beats), head)
        self.beats = []
        self.add(head, body)
        if head["continued"]:
            return None
        return head["slot"], self.answers.pop(head["slot"])

    def add(self, head: dict[str, int], body: bytes):
        """Adds a part to the answer."""
        body, rest = body[:head["bytes"]], body[head["bytes"]:]
        assert not head["bytes"] or not any(rest), "the padding is not zero"
        assert len(body) <= RESULT_BYTES or head["pairs"] <= 1
        answer = self.answers.setdefault(head["slot"], Answer(head["status"]))
        answer.add(head["status"], head["more"], head["pair_version"], head["pairs"], body)


def unpack_pairs(body: bytes):
    """Returns the pairs of a body, which must be complete."""
    while body:
        pair = CompletionPair.unpack(body[:CompletionPair.SIZE])
        key_end = CompletionPair.SIZE + pair.key_length
        end = key_end + pair.value_length
        assert end <= len(body), "incomplete pair"
        yield body[CompletionPair.SIZE:key_end], body[key_end:end]
        body = body[end:]


def random_get(keys: list[bytes], bytes_max: int, version: int) -> Read:
    """Returns a get of a key that exists, or of one that is close to it."""
    key = random.choice(keys)
    return Read(version, key if random.random() < 0.7 else near(key, bytes_max) or key, is_scan=False)


def random_scan(keys: list[bytes], bytes_max: int, version: int, **flags: bool) -> Read:
    """Returns a scan between keys that exist or nearly exist, or without bounds."""
    def bound() -> bytes:
        key = random.choice(keys)
        return random.choice((b"", key, key, near(key, bytes_max)))

    lower, upper = bound(), bound()
    if lower and upper and random.random() < 0.9:
        lower, upper = min(lower, upper), max(lower, upper)
    flags |= {"lower_excluded": bool(lower) and random.random() < 0.5}
    flags |= {"upper_excluded": bool(upper) and random.random() < 0.5}
    limits = {
        "pairs_max": random.choice((NO_LIMIT, random.randint(0, 20))),
        "bytes_max": random.choice((NO_LIMIT, random.randint(0, 600))),
    }
    return Read(version, lower, upper, keys_only=random.random() < 0.3, flags=flags, **limits)
