"""What search units are asked for, and whether they come to where the reader of trees comes to."""

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
    """A descent at a version, by the key that is in a slot, as its lower or its upper one."""

    direction: str
    key: bytes
    root: int
    version: int
    slot: int
    by_upper: int = field(default_factory=lambda: random.getrandbits(1))
    again: int = 0

    @property
    def word(self) -> int:
        """Its bits."""
        lengths = {"upper_length" if self.by_upper else "lower_length": len(self.key)}
        task = TASK.pack(slot=self.slot, read_version=self.version, root=self.root, **lengths)
        way = {"direction": DIRECTION[self.direction], "by_upper": self.by_upper, "repeated": self.again}
        return DESCENT.pack(**way, request=task)

    def check(self, memory: Memory, leaf: dict[str, int]):
        """Compares where it came to with the reader's leaf."""
        reader = Reader(memory, self.version)
        assert not leaf["failed"]
        assert leaf["repeated"] == self.again
        assert leaf["request"] == DESCENT.unpack(self.word)["request"]
        assert leaf["lid"] == reader.descend(self.root, self.direction, self.key), self
        address = 0
        if leaf["lid"] == self.root:
            address = reader.address(self.root) or oldest(memory, self.root)
        assert leaf["address"] == address, self


def oldest(memory: Memory, lid: int) -> int:
    """The buffer of a LID that has no previous version."""
    address = memory.lids[lid]
    while memory.plans[address].previous:
        address = memory.plans[address].previous
    return address


def random_descent(tree: Tree, keys: list[bytes], slot: int, again: int = 0) -> Descent:
    """A descent of any kind at any version, the first of which is that of no node."""
    fences = [plan.low for plan in tree.memory.plans.values() if plan.low]
    direction, fence = random.choice(list(DIRECTION)), random.choice(fences or keys)
    key = near(random.choice((fence, *keys)), tree.memory.shape.key_bytes_max)
    key = {"key": key, "before": fence}.get(direction, b"")
    version = random.choice((tree.version, random.randint(0, tree.version)))
    return Descent(direction, key, tree.root, version, slot, repeated=again)
