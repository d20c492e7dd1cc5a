"""A range scan unit repeats the descents of its slots one at a time and in turn, and each leaf goes to the
slot that waits for it."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from records import record
from runner import simulate
from streams import end_of_reset, start

SLOTS, CYCLES = 3, 4000
DESCENT, TASK, LEAF, REQUEST = (record(name) for name in ("descent_t", "task_t", "leaf_t", "slot_request_t"))


def task(slot: int) -> int:
    return TASK.pack(slot=slot + 5, lower_length=1, upper_length=2, backward=slot & 1)


def request(slot: int) -> int:
    return REQUEST.pack(request=task(slot), went_left=slot >> 1, fence_length=slot + 9)


REQUESTS = [request(slot) for slot in range(SLOTS)]
LEAVES = [LEAF.pack(repeated=1, request=task(slot)) for slot in range(SLOTS)]


def bits(slots) -> int:
    return sum(1 << slot for slot in slots)


def check_descent(word: int, slot: int):
    """The search key of the descent is the fence key, over the key at which the scan started."""
    descent = DESCENT.unpack(word)
    request = TASK.unpack(descent["request"])
    backward = slot & 1
    assert (descent["repeated"], descent["by_upper"]) == (1, backward)
    assert descent["direction"] == slot >> 1
    lengths = (1, slot + 9) if backward else (slot + 9, 2)
    assert (request["slot"], request["lower_length"], request["upper_length"]) == (slot + 5, *lengths)


@cocotb.test()
async def leaves_return_to_their_slots(dut):
    ports = ("asks_i", "request_i", "return_ready_i")
    ports += ("repeated_ready_i", "repeated_leaf_valid_i", "repeated_leaf_i")
    await start(dut, **dict.fromkeys(ports, 0))
    await end_of_reset(dut)
    # The slots that ask; the one whose descent was accepted in the cycle before; the one that awaits a leaf;
    # how often each slot that asks was passed over.
    asks, accepted, awaits, passed = set(), None, None, dict.fromkeys(range(SLOTS), 0)
    turns, read = 0, None
    for _ in range(CYCLES):
        asks |= {slot for slot in range(SLOTS) if slot != awaits and random.random() < 0.05}
        ready, leaf = int(random.random() < 0.5), int(awaits is not None and random.random() < 0.1)
        dut.asks_i.value, dut.repeated_ready_i.value = bits(asks), ready
        dut.return_ready_i.value, dut.repeated_leaf_valid_i.value = int(random.random() < 0.5), leaf
        dut.repeated_leaf_i.value = 0 if awaits is None else LEAVES[awaits]
        if read is not None:
            dut.request_i.value = REQUESTS[read]
        await RisingEdge(dut.clk_i)
        returns, repeats = int(dut.returns_o.value), int(dut.repeats_o.value)
        read = int(dut.place_o.value) if dut.request_read_o.value == 1 else None
        if returns:
            assert leaf and dut.return_valid_o.value == 1 and dut.repeated_leaf_ready_o.value == 1
            assert returns == 1 << awaits == 1 << int(dut.place_o.value)
            awaits = None
        # The slot hears in the next cycle that its descent was accepted.
        assert repeats == (0 if accepted is None else 1 << accepted)
        if accepted is not None:
            assert awaits is None and accepted in asks
            asks.remove(accepted)
            awaits, passed[accepted], turns = accepted, 0, turns + 1
            for other in asks:
                passed[other] += 1
            assert max(passed.values()) <= SLOTS
        accepted = None
        if ready and dut.repeated_valid_o.value == 1:
            accepted = int(dut.place_o.value)
            check_descent(int(dut.repeated_o.value), accepted)
    assert turns > CYCLES // 50


def test_repeated_descents():
    simulate("repeated_descents", Slots=SLOTS)
