"""The timing of small netlists, whose paths are computed here by hand."""

import unittest

from hierarchy import Hierarchy, Use
from limits import COLUMNS, exceeded, numbers
from longest import longest, names_of
from mapper import PINS, MapperArrivals
from mapper import WIRE as MAPPER_WIRE
from netlist import Netlist, Unmapped
from report import GATE, Report
from timing import Longest, Timing

OUTPUTS = {"O", "Q", "CO", "DOA", "DOUTADOUT"}
# a net with one load, and one with two
WIRE, WIRE_2 = 0.22, 0.255
CLOCK, SETUP, LUT = 0.08, 0.05, 0.12


def cell(kind: str, **connections) -> dict:
    """Returns a cell; a connection is a bit or a list of bits."""
    wires = {port: bits if isinstance(bits, list) else [bits] for port, bits in connections.items()}
    directions = {port: "output" if port in OUTPUTS else "input" for port in wires}
    return {"type": kind, "connections": wires, "port_directions": directions}


def timing(cells: dict, inputs=(), outputs=(), names=None) -> Timing:
    ports = {f"in{bit}": {"direction": "input", "bits": [bit]} for bit in inputs}
    ports |= {f"out{bit}": {"direction": "output", "bits": [bit]} for bit in outputs}
    nets = {name: {"hide_name": 0, "bits": bits} for name, bits in (names or {}).items()}
    return Timing(Netlist({"cells": cells, "ports": ports, "netnames": nets}))


class Paths(unittest.TestCase):
    def check(self, longest, delay: float, levels: int):
        self.assertAlmostEqual(longest.delay, delay)
        self.assertEqual(longest.levels, levels)

    def test_three_lookup_tables(self):
        found = timing({
            "from": cell("FDRE", C=1, D=2, Q=10),
            "a": cell("LUT1", I0=10, O=11),
            "b": cell("LUT2", I0=11, I1=2, O=12),
            "c": cell("LUT1", I0=12, O=13),
            "to": cell("FDRE", C=1, D=13, Q=14),
        }, inputs=[1, 2], outputs=[14])
        self.check(found.to_registers(found.registered), CLOCK + 3 * (WIRE + LUT) + WIRE + SETUP, 3)
        # the input has two loads
        self.check(found.to_registers(found.from_inputs), CLOCK + WIRE_2 + LUT + WIRE + LUT + WIRE + SETUP, 2)
        self.check(found.to_outputs(found.registered), CLOCK + WIRE, 0)
        self.check(found.to_outputs(found.from_inputs), 0.0, 0)
        path = found.registered.path(found.to_registers(found.registered).end)
        self.assertEqual([bit for bit, _ in path], [10, 11, 12, 13])

    def test_the_deepest_path_need_not_be_the_longest(self):
        # Two lookup tables, or a block memory and one lookup table.
        found = timing({
            "from": cell("FDRE", C=1, D=2, Q=10),
            "memory": cell("RAMB36E2", CLKARDCLK=1, ADDRARDADDR=2, DOUTADOUT=20),
            "a": cell("LUT1", I0=10, O=11),
            "b": cell("LUT2", I0=11, I1=20, O=12),
            "to": cell("FDRE", C=1, D=12, Q=14),
        }, inputs=[1, 2])
        self.check(found.to_registers(found.registered), 0.95 + WIRE + LUT + WIRE + SETUP, 2)

    def test_a_carry_chain(self):
        # The lookup table is placed beside the first carry. The second cell continues the chain without a
        # net.
        chain = {"CI": ["0"], "CYINIT": 2, "DI": ["0"] * 4}
        found = timing({
            "from": cell("FDRE", C=1, D=2, Q=10),
            "a": cell("LUT1", I0=10, O=11),
            "low": cell("CARRY4", **chain, S=[11, "0", "0", "0"], O=[20, 21, 22, 23], CO=[30, 31, 32, 33]),
            "high": cell("CARRY4", CI=33, DI=["0"] * 4, S=["0"] * 4, O=[40, 41, 42, 43], CO=[50, 51, 52, 53]),
            "sum": cell("FDRE", C=1, D=42, Q=60),
            "low_sum": cell("FDRE", C=1, D=20, Q=61),
        }, inputs=[1, 2])
        arrival = CLOCK + WIRE + LUT
        carried = 0.16 + 3 * 0.015 + 3 * 0.015 + 0.10
        self.check(found.to_registers(found.registered), arrival + carried + WIRE + SETUP, 1)
        # from the pin, which has two loads, into the beginning of the chain
        whole = 0.16 + 7 * 0.015 + 0.10
        self.check(found.to_registers(found.from_inputs), CLOCK + WIRE_2 + whole + WIRE + SETUP, 0)

    def test_a_carry_does_not_depend_on_places_above_it(self):
        # A sum of place 0 decides place 2 of the same cell: no loop.
        found = timing({
            "from": cell("FDRE", C=1, D=2, Q=10),
            "carry": cell("CARRY4", CI=["0"], DI=["0"] * 4, S=[10, "0", 12, "0"], O=[20, 21, 22, 23]),
            "a": cell("LUT1", I0=20, O=12),
            "to": cell("FDRE", C=1, D=22, Q=61),
        }, inputs=[1, 2])
        self.assertEqual(found.loops, 0)
        first = CLOCK + WIRE + 0.16 + 0.10
        self.check(found.to_registers(found.registered), first + WIRE + LUT + 0.16 + 0.10 + WIRE + SETUP, 1)

    def test_a_multiplexer_beside_its_lookup_tables(self):
        found = timing({
            "from": cell("FDRE", C=1, D=2, Q=10),
            "select": cell("FDRE", C=1, D=2, Q=11),
            "a": cell("LUT1", I0=10, O=20),
            "mux": cell("MUXF7", I0=20, I1="1", S=11, O=21),
            "to": cell("FDRE", C=1, D=21, Q=61),
        }, inputs=[1, 2])
        through = max(LUT + 0.07, 0.17)
        self.check(found.to_registers(found.registered), CLOCK + WIRE + through + WIRE + SETUP, 1)

    def test_memories(self):
        # Block memory is slow after the clock; a memory of lookup tables also has a way from address to data.
        block = timing({
            "memory": cell("RAMB18E2", CLKARDCLK=1, ADDRARDADDR=2, DOUTADOUT=20),
            "to": cell("FDRE", C=1, D=20, Q=61),
        }, inputs=[1, 2])
        self.check(block.to_registers(block.registered), 0.95 + WIRE + SETUP, 0)
        self.check(block.to_registers(block.from_inputs), CLOCK + WIRE + SETUP, 0)
        table = timing({
            "from": cell("FDRE", C=1, D=2, Q=10),
            "memory": cell("RAM32M16", WCLK=1, WE=3, ADDRA=10, ADDRH=4, DIA=5, DOA=20),
            "to": cell("FDRE", C=1, D=20, Q=61),
        }, inputs=[1, 2, 3, 4, 5])
        self.check(table.to_registers(table.registered), CLOCK + WIRE + 0.17 + WIRE + SETUP, 1)
        self.check(table.to_registers(table.from_inputs), CLOCK + WIRE + SETUP, 0)

    def test_a_loop_is_broken_and_counted(self):
        # Each lookup table passes the other one only if it does not pass it itself; a third one follows them.
        found = timing({
            "from": cell("FDRE", C=1, D=2, Q=10),
            "a": cell("LUT2", I0=10, I1=12, O=11),
            "b": cell("LUT1", I0=11, O=12),
            "c": cell("LUT1", I0=12, O=13),
            "to": cell("FDRE", C=1, D=13, Q=14),
        }, inputs=[1, 2])
        self.assertEqual(found.loops, 1)
        longest = found.to_registers(found.registered)
        self.assertGreaterEqual(longest.levels, 1)
        self.assertLessEqual(longest.levels, 3)

    def test_outputs_behind_logic(self):
        # A register, an inverter behind one, a lookup table, an input, and a constant.
        found = timing({
            "register": cell("FDRE", C=1, D=2, Q=10),
            "inverter": cell("INV", I=10, O=11),
            "table": cell("LUT1", I0=10, O=12),
        }, inputs=[1, 2], outputs=[10, 11, 12, 2, "0"])
        self.assertEqual(found.netlist.behind_logic(), {"out12", "out2"})

    def test_more_loads_take_longer(self):
        registers = {f"to{at}": cell("FDRE", C=1, D=10, Q=100 + at) for at in range(8)}
        found = timing({"from": cell("FDRE", C=1, D=2, Q=10)} | registers, inputs=[1, 2])
        self.check(found.to_registers(found.registered), CLOCK + WIRE + 3 * 0.035 + SETUP, 0)

    def test_a_cell_without_a_delay_is_an_error(self):
        with self.assertRaisesRegex(Unmapped, "DSP48E2"):
            timing({"a": cell("DSP48E2", C=1)})


class DelaysOfTheMapper(unittest.TestCase):
    CELLS = {
        "from": cell("FDRE", C=1, D=2, Q=10),
        "memory": cell("RAMB36E2", CLKARDCLK=1, ADDRARDADDR=2, DOUTADOUT=20),
        "a": cell("LUT1", I0=10, O=11),
        "b": cell("LUT3", I0=11, I1=20, I2=10, O=12),
        "sum": cell("CARRY4", CI=["0"], CYINIT=["0"], DI=["0"] * 4, S=[12, "0", "0", "0"], O=[30, 31]),
        "to": cell("FDRE", C=1, D=31, Q=40),
    }
    NAMES = {"start": {"hide_name": 0, "bits": [7, 10]}, "end": {"hide_name": 0, "bits": [40]}}

    def netlist(self) -> Netlist:
        ports = {"clk": {"direction": "input", "bits": [1]}, "in": {"direction": "input", "bits": [2]}}
        return Netlist({"cells": self.CELLS, "ports": ports, "netnames": self.NAMES})

    def test_the_input_that_changes_last_has_the_fastest_pin(self):
        arrivals = MapperArrivals(self.netlist())
        self.assertEqual(arrivals.delays[11], MAPPER_WIRE + PINS[0])
        # The others change with the clock: memories have no delay.
        self.assertEqual(arrivals.delays[12], arrivals.delays[11] + MAPPER_WIRE + PINS[0])

    def test_carries_have_the_delays_of_their_model(self):
        arrivals = MapperArrivals(self.netlist())
        self.assertEqual(arrivals.delays[31] - arrivals.delays[12], 400)
        self.assertEqual([bit for bit, _ in arrivals.path(31)], [10, 11, 12, 31])

    def test_paths_have_the_names_of_their_registers(self):
        netlist = self.netlist()
        names = names_of({"netnames": self.NAMES})
        for arrivals in (MapperArrivals(netlist), Timing(netlist).registered):
            between, path = next(item for item in longest(netlist, arrivals, names) if item[0][1] == "end")
            self.assertEqual(between[1], "end")
            self.assertEqual(path[-1][0], 31)
        self.assertEqual(longest(netlist, MapperArrivals(netlist), names)[0][0], ("start", "end"))


class Places(unittest.TestCase):
    def test_cells_belong_to_the_instances_of_their_nets(self):
        names = {"u_a.state_q": [10], "gen_x[1].u_a.u_b.value_o": [12], "gen_x[1].u_a.value": [12]}
        names["u_c.value_i"] = [12]
        found = Hierarchy(timing({
            "from": cell("FDRE", C=1, D=2, Q=10),
            # no name; its load is in u_a.u_b
            "a": cell("LUT1", I0=10, O=11),
            "b": cell("LUT1", I0=11, O=12),
            # in front of a memory of u_m
            "c": cell("LUT1", I0=12, O=13),
            "u_c.u_m.words_q.0": cell("RAMB36E2", CLKARDCLK=1, ADDRARDADDR=13, DOUTADOUT=20),
        }, inputs=[1, 2], names=names))
        expected = {"from": ("u_a",), "a": ("u_a", "u_b"), "b": ("u_a", "u_b"), "c": ("u_c",)}
        self.assertEqual({name: found.places[name] for name in expected}, expected)
        self.assertEqual(found.uses()["u_a", "u_b"].luts, 2)
        self.assertEqual(found.uses()["u_c", "u_m"].blocks, 1.0)

    def test_an_input_is_driven_outside_of_its_instance(self):
        found = Hierarchy(timing({
            "a": cell("LUT1", I0=2, O=11),
            "to": cell("FDRE", C=1, D=11, Q=12),
        }, inputs=[1, 2], names={"u_a.u_b.value_i": [11], "u_a.u_b.state_q": [12]}))
        self.assertEqual(found.places, {"a": ("u_a",), "to": ("u_a", "u_b")})


def measured(delay: float, levels: int) -> Report:
    return Report(Use(7, 8, 1.5, Longest(delay, levels)), {}, Longest(1.234, 2), set(), 0)


class Gates(unittest.TestCase):
    def test_a_clock_in_proportion_to_delay_and_levels(self):
        clocks = {(4.9, 9): 220, (5.0, 10): 220, (5.5, 10): 200, (5.0, 11): 200, (10.0, 11): 110}
        for (delay, levels), clock in clocks.items():
            self.assertAlmostEqual(measured(delay, levels).megahertz, clock)

    def test_the_gate_includes_its_bounds(self):
        for delay, levels, is_within in ((5.0, 10, True), (5.01, 10, False), (5.0, 11, False)):
            self.assertEqual(Longest(delay, levels).within(GATE), is_within)

    def test_limits_include_their_numbers(self):
        limits = numbers(measured(3.0, 5))
        self.assertEqual(list(limits.values()), [3.0, 5, 1.23, 2, 7, 8, 1.5])
        self.assertEqual(exceeded(limits, limits), [])
        for name in COLUMNS:
            self.assertEqual(exceeded(limits, limits | {name: limits[name] + 1}), [])
            self.assertEqual(len(exceeded(limits | {name: limits[name] + 1}, limits)), 1)


if __name__ == "__main__":
    unittest.main()
