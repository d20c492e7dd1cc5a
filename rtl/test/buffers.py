"""Buffers of nodes whose contents change when they are reused, as the node cache sees them."""

import random
from collections import Counter
from dataclasses import dataclass

LINE, PAGE_LINES = 64, 64
# Distance of the buffers of two LIDs that are apart.
APART = 1 << 32


def within_page(address: int, first: int, count: int) -> int:
    """Returns the number of lines from `first` on that a read of at most `count` lines may have."""
    return min(count, PAGE_LINES - (address // LINE + first) % PAGE_LINES)


@dataclass(frozen=True)
class Burst:
    """Some lines of a buffer, and the content of the buffer that the reader must receive."""

    lid: int
    buffer: int
    address: int
    lines: int
    content: int

    def data(self, at: int) -> int:
        """Returns the line at this index."""
        return random.Random(f"{self.lid} {self.address + LINE * at} {self.content}").getrandbits(8 * LINE)


class Buffers:
    """Every node can use every buffer, one after the other; or, with `apart`, only buffers of its own. A drop
    of a LID changes the contents of its buffers, except those that a burst is reading."""

    def __init__(self, lids: int, buffers: int, apart: bool = False):
        self.lids, self.apart = range(1, lids + 1), apart
        self.buffers = [8192 * at + 512 * random.randrange(16) for at in range(1, buffers + 1)]
        self.contents, self.reads = Counter(), Counter()

    def begin(self, first_max: int = 70, beside: Burst | None = None) -> Burst:
        """Begins a burst of a random buffer, or of the same buffer as another burst."""
        lid = random.choice(self.lids)
        buffer = random.choice(self.buffers_of(lid))
        if beside:
            lid, buffer = beside.lid, beside.buffer
        # There are few addresses, so some are read several times.
        address = buffer + LINE * random.choice((0, 0, 8, random.randint(0, first_max)))
        lines = within_page(address, 0, random.choice((1, 3, 8, 8)))
        self.reads[lid, buffer] += 1
        return Burst(lid, buffer, address, lines, self.contents[lid, buffer])

    def buffers_of(self, lid: int) -> list[int]:
        return [buffer + lid * APART * self.apart for buffer in self.buffers]

    def line(self, address: int) -> int:
        """Returns the current line at an address of a buffer that is apart."""
        lid = address // APART
        buffer = max(buffer for buffer in self.buffers_of(lid) if buffer <= address)
        return Burst(lid, buffer, address, 1, self.contents[lid, buffer]).data(0)

    def end(self, burst: Burst):
        self.reads[burst.lid, burst.buffer] -= 1

    def drop(self, lid: int):
        for buffer in self.buffers_of(lid):
            if not self.reads[lid, buffer]:
                self.contents[lid, buffer] += 1
