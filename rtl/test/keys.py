"""Keys that are hard to distinguish."""

import random


def random_keys(count: int, bytes_max: int) -> list[bytes]:
    """Returns this number of keys in order: long and short ones, families that share prefixes and heads,
    keys that are prefixes of others, and keys with zeros at the end."""
    keys: set[bytes] = set()
    while len(keys) < count:
        keys.update(family(random.randint(1, max(count // 3, 1)), bytes_max))
    return sorted(random.sample(sorted(keys), count))


def family(count: int, bytes_max: int) -> list[bytes]:
    """Returns keys with a common prefix."""
    stem = random.randbytes(random.choice((0, 3, 8, 20, random.randint(0, bytes_max - 1))))
    stem = stem[:bytes_max - 1]
    room = bytes_max - len(stem)
    letters = random.choice((b"\0\1", b"ab", b"\0\xfe\xff", bytes(range(256))))
    tail = random.choice((1, 2, 8, 9, 40, room))
    return [stem + ending(letters, min(tail, room)) for _ in range(count)]


def ending(letters: bytes, bytes_max: int) -> bytes:
    """Returns at least one byte, and usually the maximum."""
    length = bytes_max if random.random() < 0.7 else random.randint(1, bytes_max)
    return bytes(random.choices(letters, k=length))


def nested_keys(*widths: int) -> list[bytes]:
    """Returns keys of these lengths, one byte less and one more. Each is a prefix of the next one."""
    rest = random.randbytes(max(widths) + 1)
    lengths = {width + more for width in widths for more in (-1, 0, 1)}
    return [rest[:length] for length in sorted(lengths)]


def around(key: bytes) -> list[bytes]:
    """Returns the key, and keys right before and after it in order."""
    return [key[:-1], key, key + b"\0", key[:-1] + bytes([key[-1] ^ 1])]


def near(key: bytes, bytes_max: int) -> bytes:
    """Returns the key, or one that is close to it."""
    changed = bytearray(key)
    match random.randrange(5):
        case 0:
            changed[random.randrange(len(key))] ^= 1 << random.randrange(8)
        case 1:
            changed.append(random.choice((0, 1, 255)))
        case 2 if len(key) > 1:
            changed.pop()
        case 3:
            changed[-1] = (changed[-1] + random.choice((1, 255))) % 256
    return bytes(changed[:bytes_max])
