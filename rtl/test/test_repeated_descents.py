"""A range scan unit repeats the descents of its slots one at a time and in turn, and each leaf goes to the
slot that waits for it."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from records import record
from runner import simulate
from streams import end_of_reset, start

SLOTS, CYCLES = 3, 4000
DESCENT, TASK = record("descent_t"), record("task_t")
DESCENTS = [DESCENT.pack(request=TASK.pack(slot=slot + 5)) for slot in range(SLOTS)]


def bits(slots) -> int:
    return sum(1 << slot for slot in slots)


@cocotb.test()
async def leaves_return_to_their_slots(dut):
    words = sum(word << slot * DESCENT.width for slot, word in enumerate(DESCENTS))
    ports = ("in_valid_i", "awaits_i", "repeated_ready_i", "repeated_leaf_valid_i")
    await start(dut, in_i=words, **dict.fromkeys(ports, 0))
    await end_of_reset(dut)
    # The slots that offer a descent; the one that waits for a leaf; how often each slot that offers was
    # passed over.
    offers, awaits, passed, turns = set(), None, dict.fromkeys(range(SLOTS), 0), 0
    for _ in range(CYCLES):
        offers |= {slot for slot in range(SLOTS) if slot != awaits and random.random() < 0.05}
        ready, leaf = int(random.random() < 0.5), int(awaits is not None and random.random() < 0.1)
        dut.in_valid_i.value, dut.repeated_ready_i.value = bits(offers), ready
        dut.awaits_i.value, dut.repeated_leaf_valid_i.value = bits({awaits} - {None}), leaf
        await RisingEdge(dut.clk_i)
        if leaf:
            assert dut.repeated_leaf_ready_o.value == 1
            assert int(dut.leaf_valid_o.value) == 1 << awaits
            awaits = None
        elif dut.repeated_valid_o.value == 1 and ready:
            slot = DESCENTS.index(int(dut.repeated_o.value))
            assert awaits is None and slot in offers and int(dut.in_ready_o.value) == 1 << slot
            offers.remove(slot)
            awaits, passed[slot], turns = slot, 0, turns + 1
            for other in offers:
                passed[other] += 1
            assert max(passed.values()) <= SLOTS
        else:
            assert int(dut.in_ready_o.value) & bits(offers) == 0
    assert turns > CYCLES // 50


def test_repeated_descents():
    simulate("repeated_descents", Slots=SLOTS)
