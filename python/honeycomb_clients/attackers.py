"""Hostile clients of a server. Each repeats its requests as soon as it has received all replies, or never
reads replies.

The clients run in a separate process with idle priority: the system schedules it only while no other
process needs its core. So the clients use processor time of the server, but not of the measuring process.
The process ends when its standard input ends, and prints the number of completed rounds and of connections
that the server closed.

    python -m honeycomb_clients.attackers --port 6379 --case "KEYS *" --pairs 1000000
"""

import argparse
import json
import os
import select
import socket
import sys
import time

from honeycomb_clients import requests
from honeycomb_clients.requests import bulk, resp

MEBIBYTE = 1 << 20
# The longest value that the server accepts. A reply frames it with its length and two line ends.
LONGEST = 16 * MEBIBYTE - 9
LONGEST_REPLY = LONGEST + len(b"$%d\r\n\r\n" % LONGEST)
# The long values are in a separate database, so that commands over all pairs do not return them.
LONG_VALUES = resp(b"SELECT", b"1")
OK = len(b"+OK\r\n")
# Bytes of one receive call, during which the system does not preempt the process.
RECEIVED_AT_ONCE = 64 << 10
DISCARDED = bytearray(RECEIVED_AT_ONCE)


class Attacker:
    """A client that repeats its requests. It connects again when the server closes its connection.

    `reply_bytes` is the length of all replies to `request`. It is None for a client that reads nothing.
    """

    def __init__(self, address, request, reply_bytes, before=b"", rounds_per_connection=None):
        self.address, self.request, self.reply_bytes, self.before = address, request, reply_bytes, before
        self.rounds_per_connection = rounds_per_connection
        self.rounds = self.closed = 0
        self.connect()

    def fileno(self):
        return self.connection.fileno()

    def connect(self):
        self.connection = socket.create_connection(self.address, timeout=60)
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection.setblocking(False)
        self.left, self.unsent, self.rounds_left = 0, memoryview(self.before), self.rounds_per_connection
        self.skip = OK if self.before else 0
        self.repeat()

    def repeat(self):
        self.left = (self.reply_bytes or 0) + self.skip
        self.skip = 0
        self.unsent = memoryview(bytes(self.unsent) + self.request)

    def step(self):
        """Sends and receives without blocking. Returns whether the connection is still the same."""
        try:
            self.send()
            if self.reply_bytes is not None:
                self.receive()
        except BlockingIOError:
            pass
        except ConnectionError:
            self.closed += 1
            return self.reconnect()
        return self.rounds_left != 0 or self.reconnect()

    def reconnect(self):
        self.connection.close()
        self.connect()
        return False

    def send(self):
        while self.unsent:
            try:
                self.unsent = self.unsent[self.connection.send(self.unsent[:RECEIVED_AT_ONCE]) :]
            except BlockingIOError:
                return

    def receive(self):
        received = self.connection.recv_into(DISCARDED, RECEIVED_AT_ONCE, socket.MSG_TRUNC)
        if not received:
            raise ConnectionResetError
        self.left -= received
        if self.left <= 0 and not self.unsent:
            self.rounds += 1
            if self.rounds_left is not None:
                self.rounds_left -= 1
            self.repeat()


def ordinary(address, _):
    """One client that is not hostile: it reads with 16 requests in flight. It shows how much of the effect of
    the other cases is that of a busy machine."""
    request = resp(b"GET", requests.key(0)) * 16
    return [Attacker(address, request, 16 * len(bulk(requests.VALUE)))]


def long_values(address, _):
    """One client that reads the longest value with 300 requests in flight."""
    return [Attacker(address, resp(b"GET", b"longest") * 300, 300 * LONGEST_REPLY, LONG_VALUES)]


def long_writes(address, _):
    """One client that writes the longest value."""
    return [Attacker(address, resp(b"SET", b"written", bytes(LONGEST)), OK, LONG_VALUES)]


def not_read(address, _):
    """Clients that request long values and read nothing."""
    request = resp(b"GET", b"mebibyte") * 1000
    return [Attacker(address, request, None, LONG_VALUES) for _ in range(50)]


def dropped(address, _):
    """Clients that read a twentieth of the replies to their requests, and connect again."""
    request = resp(b"GET", b"mebibyte") * 100
    return [Attacker(address, request, 5 * MEBIBYTE, LONG_VALUES, rounds_per_connection=1) for _ in range(4)]


def keys(address, pairs):
    """One client that requests all keys."""
    reply_bytes = len(b"*%d\r\n" % pairs) + pairs * len(bulk(requests.key(0)))
    return [Attacker(address, resp(b"KEYS", b"*"), reply_bytes)]


def count(address, pairs):
    """One client that counts all pairs."""
    return [Attacker(address, resp(b"RI.COUNT", b"-", b"+"), len(b":%d\r\n" % pairs))]


def all_pairs(address, pairs):
    """One client that reads all pairs with one command."""
    pair = bulk(requests.key(0)) + bulk(requests.VALUE)
    reply_bytes = len(b"*%d\r\n" % (2 * pairs)) + pairs * len(pair)
    return [Attacker(address, resp(b"RI.RANGE", b"-", b"+"), reply_bytes)]


def transaction(address, _):
    """One client with a transaction whose reply is too long: the server closes its connection."""
    request = resp(b"MULTI") + resp(b"GET", b"mebibyte") * 1000 + resp(b"EXEC")
    return [Attacker(address, request, 1 << 60, LONG_VALUES)]


def many_writes(address, _):
    """One client with a transaction of ten thousand writes."""
    writes = [resp(b"SET", requests.key(number), requests.VALUE) for number in range(10_000)]
    queued = OK + len(writes) * len(b"+QUEUED\r\n") + len(b"*%d\r\n" % len(writes)) + len(writes) * OK
    return [Attacker(address, resp(b"MULTI") + b"".join(writes) + resp(b"EXEC"), queued)]


def long_strings(address, _):
    """One client that repeats a transaction which creates long values."""
    commands = [resp(b"SETRANGE", b"made%d" % number, b"%d" % (LONGEST - 1), b"x") for number in range(50)]
    request = resp(b"MULTI") + b"".join(commands) + resp(b"EXEC")
    # The reply to EXEC begins after this number of bytes.
    queued = OK + len(commands) * len(b"+QUEUED\r\n") + 1
    return [Attacker(address, request, queued, LONG_VALUES, rounds_per_connection=1)]


def many_keys(address, _):
    """One client that writes ten thousand pairs with one command."""
    words = [word for number in range(10_000) for word in (requests.key(number), requests.VALUE)]
    return [Attacker(address, resp(b"MSET", *words), OK)]


CASES = {
    "none, but 16 GETs ahead": ordinary,
    "300 GETs ahead of 16 MiB, read": long_values,
    "SET of 16 MiB": long_writes,
    "50 clients, 1000 GETs ahead of 1 MiB, not read": not_read,
    "4 clients, 100 GETs ahead of 1 MiB, dropped": dropped,
    "KEYS *": keys,
    "RI.COUNT - +": count,
    "RI.RANGE - +": all_pairs,
    "EXEC of 1000 GETs of 1 MiB": transaction,
    "EXEC of 50 SETRANGEs to 16 MiB": long_strings,
    "EXEC of 10,000 SETs": many_writes,
    "MSET of 10,000 pairs": many_keys,
}


def attack(attackers):
    """Runs the clients until standard input ends."""
    by_number = {}
    with select.epoll() as poll:

        def enter(attacker):
            by_number[attacker.fileno()] = attacker
            poll.register(attacker.fileno(), select.EPOLLIN | select.EPOLLOUT | select.EPOLLET)

        poll.register(sys.stdin.fileno(), select.EPOLLIN | select.EPOLLHUP)
        for attacker in attackers:
            enter(attacker)
        while True:
            ready = [number for number, _ in poll.poll()]
            while ready:
                if sys.stdin.fileno() in ready:
                    return
                ready = [number for number in ready if advance(by_number, number, enter)]
                ready = list({*ready, *(number for number, _ in poll.poll(0))})


def advance(by_number, number, enter):
    """Advances an attacker. Returns whether it may be able to receive more at once."""
    attacker = by_number[number]
    before = attacker.left, attacker.rounds
    if not attacker.step():
        del by_number[number]
        enter(attacker)
        return False
    return attacker.reply_bytes is not None and (attacker.left, attacker.rounds) != before


def main(words=None):
    """Attacks a server until standard input ends, and prints JSON."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--case", choices=CASES, required=True)
    parser.add_argument("--pairs", type=int, required=True, help="number of pairs in the server")
    arguments = parser.parse_args(words)
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    attackers = CASES[arguments.case](("127.0.0.1", arguments.port), arguments.pairs)
    began = time.monotonic()
    attack(attackers)
    rounds, closed = sum(one.rounds for one in attackers), sum(one.closed for one in attackers)
    print(json.dumps({"rounds": rounds, "closed": closed, "seconds": time.monotonic() - began}))


if __name__ == "__main__":
    main()
