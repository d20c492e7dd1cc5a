"""Requests for search units, and the check of their results against the reader of trees."""

import random
from dataclasses import dataclass, field

from keys import near
from nodes import Memory
from records import record
from trees import Reader, Tree

DESCENT, TASK, LEAF = record("descent_t"), record("task_t"), record("leaf_t")
DIRECTION = {"key": 0, "before": 1, "first": 2, "last": 3}


@dataclass
class Descent:
    """A descent at a version. Its key is the lower or the upper key of its slot."""

    direction: str
    key: bytes
    root: int
    version: int
    slot: int
    by_upper: int = field(default_factory=lambda: random.getrandbits(1))
    repeated: int = 0

    @property
    def word(self) -> int:
        """Returns the packed descent."""
        lengths = {"upper_length" if self.by_upper else "lower_length": len(self.key)}
        task = TASK.pack(slot=self.slot, read_version=self.version, root=self.root, **lengths)
        way = {"direction": DIRECTION[self.direction], "by_upper": self.by_upper, "repeated": self.repeated}
        return DESCENT.pack(**way, request=task)

    def check(self, memory: Memory, leaf: dict[str, int]):
        """Compares the result of the descent with the leaf of the reader."""
        reader = Reader(memory, self.version)
        assert not leaf["failed"]
        assert leaf["repeated"] == self.repeated
        assert leaf["request"] == DESCENT.unpack(self.word)["request"]
        assert leaf["lid"] == reader.descend(self.root, self.direction, self.key), self
        address = 0
        if leaf["lid"] == self.root:
            address = reader.address(self.root) or oldest(memory, self.root)
            # The current buffer is read by its LID.
            address = 0 if address == memory.lids[self.root] else address
        assert leaf["address"] == address, self


def oldest(memory: Memory, lid: int) -> int:
    """Returns the oldest buffer of a LID, which has no previous version."""
    address = memory.lids[lid]
    while memory.plans[address].previous:
        address = memory.plans[address].previous
    return address


def random_descent(tree: Tree, keys: list[bytes], slot: int, repeated: int = 0) -> Descent:
    """Returns a descent of any kind at any version. Version 0 has no nodes."""
    fences = [plan.low for plan in tree.memory.plans.values() if plan.low]
    direction, fence = random.choice(list(DIRECTION)), random.choice(fences or keys)
    key = near(random.choice((fence, *keys)), tree.memory.shape.key_bytes_max)
    key = {"key": key, "before": fence}.get(direction, b"")
    version = random.choice((tree.version, random.randint(0, tree.version)))
    return Descent(direction, key, tree.root, version, slot, repeated=repeated)
