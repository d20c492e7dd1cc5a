"""The requests to each server as bytes, and the expected replies. All replies of a workload have the same
length.

A workload is a function from the numbers of keys to pairs of a request and its reply.
"""

RANGE = 3
PAGE = 1000
VALUE = b"v" * 32


def key(number):
    """Returns a key. Keys have the order of their numbers."""
    return b"key:%012d" % number


def resp(*words):
    """Returns a request in RESP."""
    return b"*%d\r\n" % len(words) + b"".join(bulk(word) for word in words)


def bulk(word):
    """Returns a bulk string in RESP."""
    return b"$%d\r\n%b\r\n" % (len(word), word)


def gets(numbers):
    return ((resp(b"GET", key(number)), bulk(VALUE)) for number in numbers)


def sets(numbers):
    return ((resp(b"SET", key(number), VALUE), b"+OK\r\n") for number in numbers)


def expiring_sets(numbers):
    return ((resp(b"SET", key(number), VALUE, b"EX", b"1000"), b"+OK\r\n") for number in numbers)


def range_reply(number):
    """Returns the reply to a range: keys."""
    return b"*%d\r\n" % RANGE + b"".join(bulk(key(number + step)) for step in range(RANGE))


def ranges(numbers):
    count = str(RANGE).encode()
    for number in numbers:
        words = [b"RI.RANGE", b"[" + key(number), b"+", b"COUNT", count, b"FIELDS", b"KEY"]
        yield resp(*words), range_reply(number)


def redis_ranges(numbers):
    count = str(RANGE).encode()
    for number in numbers:
        words = [b"ZRANGEBYLEX", b"sorted", b"[" + key(number), b"+", b"LIMIT", b"0", count]
        yield resp(*words), range_reply(number)


def pages(numbers):
    """Ranges of pairs from a key on."""
    count = str(PAGE).encode()
    for number in numbers:
        pairs = b"".join(bulk(key(number + step)) + bulk(VALUE) for step in range(PAGE))
        yield resp(b"RI.RANGE", b"[" + key(number), b"+", b"COUNT", count), b"*%d\r\n" % (2 * PAGE) + pairs


def redis_pages(numbers):
    """Ranges of keys, because a sorted set has no values."""
    count = str(PAGE).encode()
    for number in numbers:
        words = [b"ZRANGEBYLEX", b"sorted", b"[" + key(number), b"+", b"LIMIT", b"0", count]
        yield resp(*words), b"*%d\r\n" % PAGE + b"".join(bulk(key(number + step)) for step in range(PAGE))


def redis_load(numbers):
    """Redis stores every key twice: with its value, and in a sorted set for ranges."""
    yield from sets(numbers)
    yield from ((resp(b"ZADD", b"sorted", b"0", key(number)), b":1\r\n") for number in numbers)


def memcached_gets(numbers):
    for number in numbers:
        name = key(number)
        yield b"get %b\r\n" % name, b"VALUE %b 0 %d\r\n%b\r\nEND\r\n" % (name, len(VALUE), VALUE)


def memcached_sets(numbers):
    for number in numbers:
        yield b"set %b 0 0 %d\r\n%b\r\n" % (key(number), len(VALUE), VALUE), b"STORED\r\n"


HONEYCOMB = {
    "load": sets, "get": gets, "set": sets, "set-ex": expiring_sets, "range": ranges, "page": pages,
}
UNORDERED = {"load": sets, "get": gets, "set": sets, "set-ex": expiring_sets}
REDIS = {
    "load": redis_load, "get": gets, "set": sets, "set-ex": expiring_sets, "range": redis_ranges,
    "page": redis_pages,
}
NOTHING = {"load": lambda numbers: (), "get": gets, "set": sets}
MEMCACHED = {"load": memcached_sets, "get": memcached_gets, "set": memcached_sets}
