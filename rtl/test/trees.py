"""Trees in memory: a writer, which creates versions as a store does, and a reader, which returns the
expected results. The reader uses the plans of the nodes, not their bytes."""

import random
from dataclasses import dataclass, replace
from os.path import commonprefix

from keys import random_keys
from nodes import Entry, Item, Memory, Plan, child, child_lid


class Tree:
    """A tree with a writer. Its version is that of the last write."""

    def __init__(self, memory: Memory, version: int = 1):
        self.memory, self.version = memory, version
        self.root = memory.reserve_lid()
        memory.map(self.root, memory.place_node(Plan(version=self.version)))

    def put(self, key: bytes, value: bytes):
        """Writes a pair."""
        self.write(key, self.memory.item(key, value))

    def delete(self, key: bytes):
        """Removes a key, which must exist."""
        self.write(key, None)

    def write(self, key: bytes, item: Item | None):
        """Appends to the log of the key's leaf, or consolidates the leaf."""
        self.version += 1
        path = self.path(key)
        leaf = self.memory.current(path[-1])
        entries = (*leaf.entries, Entry(key, self.version, item))
        log = sum(len(entry.pack(leaf.prefix_length)) + 8 for entry in entries)
        if log > self.memory.shape.log_threshold_bytes or not self.memory.change(path[-1], entries=entries):
            self.replace(path, replace(leaf, items=tuple(merged(replace(leaf, entries=entries)))))

    def path(self, key: bytes) -> list[int]:
        """Returns the LIDs from the root to the leaf of a key."""
        path = [self.root]
        while (node := self.memory.current(path[-1])).level > 0:
            path.append(child_for(node, key))
        return path

    def replace(self, path: list[int], plan: Plan):
        """Replaces the items of the last node of a path: in a new buffer, or in several nodes."""
        plan = replace(plan, entries=(), version=self.version, previous=self.memory.lids[path[-1]])
        address = self.memory.place_node(plan)
        if address is not None:
            self.memory.map(path[-1], address)
        else:
            self.split(path, plan)

    def split(self, path: list[int], plan: Plan):
        """Splits a node that is too full into nodes with new LIDs, and updates the parent."""
        parts = self.parts(plan)
        lids = [self.memory.reserve_lid() for _ in parts]
        if plan.level == 0:
            self.link(plan, lids)
            parts = [
                replace(part, left=left, right=right)
                for part, left, right in zip(parts, [plan.left, *lids], [*lids[1:], plan.right])
            ]
        for lid, part in zip(lids, parts):
            self.memory.map(lid, self.memory.place_node(replace(part, previous=0)))
        children = [child(part.low, lid) for part, lid in zip(parts, lids)]
        self.replace_child(path, plan.level, children)

    def replace_child(self, path: list[int], level: int, children: list[Item]):
        """Replaces the last node of a path by children: in its parent, or in a new root level."""
        first, rest = child_lid(children[0]), children[1:]
        if len(path) == 1:
            self.replace(path, Plan(level=level + 1, left=first, items=tuple(rest)))
            return
        parent = self.memory.current(path[-2])
        if parent.left == path[-1]:
            changed = replace(parent, left=first, items=(*rest, *parent.items))
        else:
            at = [child_lid(item) for item in parent.items].index(path[-1])
            items = (*parent.items[:at], *children, *parent.items[at + 1:])
            changed = replace(parent, items=items)
        self.replace(path[:-1], changed)

    def parts(self, plan: Plan) -> list[Plan]:
        """Splits a node into nodes that fit."""
        if plan.build(self.memory.shape) is not None:
            return [plan]
        middle = halfway(plan)
        left, right = plan.items[:middle], plan.items[middle:]
        if plan.level == 0:
            fence = separator(left[-1].key, right[0].key)
            halves = replace(plan, items=left, high=fence), replace(plan, items=right, low=fence)
        else:
            fence = right[0].key
            first = replace(plan, items=left, high=fence)
            halves = first, replace(plan, items=right[1:], low=fence, left=child_lid(right[0]))
        return [part for half in halves for part in self.parts(half)]

    def link(self, plan: Plan, lids: list[int]):
        """Updates the siblings of a leaf that was split: they point to its first and its last part."""
        if plan.left:
            self.memory.change(plan.left, right=lids[0])
        if plan.right:
            self.memory.change(plan.right, left=lids[-1])


def grow(memory: Memory, writes: int, version: int = 1) -> tuple[Tree, list[bytes]]:
    """Returns a tree with a history that begins at a version, and its keys."""
    tree = Tree(memory, version)
    keys = random_keys(writes // 2, memory.shape.key_bytes_max)
    present: set[bytes] = set()
    for _ in range(writes):
        key = random.choice(keys)
        if key in present and random.random() < 0.3:
            tree.delete(key)
            present.remove(key)
        else:
            tree.put(key, random.randbytes(random.choice((0, 6, 16, 90))))
            present.add(key)
    return tree, keys


def halfway(plan: Plan) -> int:
    """Returns the index of the first item of the right half, by bytes. No half is empty."""
    sizes = [item.bytes(plan.prefix_length) for item in plan.items]
    middle = next(at for at in range(len(sizes)) if 2 * sum(sizes[:at + 1]) >= sum(sizes))
    return min(max(middle, 1), len(sizes) - 1)


def separator(left: bytes, right: bytes) -> bytes:
    """Returns the shortest key that is greater than `left` and not greater than `right`."""
    return right[:len(commonprefix([left, right])) + 1]


def child_for(node: Plan, key: bytes, before: bool = False) -> int:
    """Returns the child for a key; with `before`, the child for the keys right before it."""
    counts = [item for item in node.items if item.key < key or (item.key == key and not before)]
    return child_lid(counts[-1]) if counts else node.left


def merged(leaf: Plan, version: int | None = None) -> list[Item]:
    """Returns the items of a leaf at a version, in order."""
    items = {item.key: item for item in leaf.items}
    for entry in leaf.entries:
        if version is not None and entry.version > version:
            break
        items.pop(entry.key, None)
        if entry.item is not None:
            items[entry.key] = entry.item
    return [items[key] for key in sorted(items)]


@dataclass(frozen=True)
class Reader:
    """The expected results of reads at one version."""

    memory: Memory
    version: int

    def address(self, lid: int) -> int | None:
        """Returns the address of the node of a LID at this version. A node that is newer has none."""
        address = self.memory.lids[lid]
        while address and self.memory.plans[address].version > self.version:
            address = self.memory.plans[address].previous
        return address or None

    def node(self, lid: int) -> Plan | None:
        """Returns the node of a LID at this version."""
        address = self.address(lid)
        return self.memory.plans[address] if address else None

    def descend(self, root: int, direction: str, key: bytes = b"") -> int:
        """Returns the LID of a leaf: that of the `key`, `before` it, the `first` or the `last`."""
        lid = root
        while (node := self.node(lid)) is not None and node.level > 0:
            if direction == "first":
                lid = node.left
            elif direction == "last":
                lid = child_lid(node.items[-1]) if node.items else node.left
            else:
                lid = child_for(node, key, before=direction == "before")
        return lid

    def get(self, root: int, key: bytes) -> tuple[bytes, int] | None:
        """Returns the value of a key, and the version of the pair: that of its log entry, or of the
        leaf."""
        leaf = self.node(self.descend(root, "key", key))
        if leaf is None:
            return None
        found = {item.key: (item, leaf.version) for item in leaf.items}
        for entry in leaf.entries:
            if entry.version <= self.version:
                found[entry.key] = (entry.item, entry.version)
        item, version = found.get(key, (None, 0))
        return (self.memory.value(item), version) if item is not None else None

    def pairs(self, lid: int) -> list[tuple[bytes, bytes]]:
        """Returns all pairs below a node, in order."""
        node = self.node(lid)
        if node is None:
            return []
        if node.level == 0:
            return [(item.key, self.memory.value(item)) for item in merged(node, self.version)]
        children = [node.left, *map(child_lid, node.items)]
        return [pair for below in children for pair in self.pairs(below)]

    def scan(self, root: int, lower: bytes = b"", upper: bytes = b"", *, lower_excluded=False,
             upper_excluded=False, floor_start=False, backward=False) -> list[tuple[bytes, bytes]]:
        """Returns the pairs of a range, in the order of the scan. An empty bound means no bound."""
        pairs = self.pairs(root)
        if floor_start and lower:
            floor = max((key for key, _ in pairs if key <= lower), default=None)
            if floor is not None:
                lower, lower_excluded = floor, False
        if lower:
            pairs = [pair for pair in pairs if pair[0] > lower or (pair[0] == lower and not lower_excluded)]
        if upper:
            pairs = [pair for pair in pairs if pair[0] < upper or (pair[0] == upper and not upper_excluded)]
        return pairs[::-1] if backward else pairs
