"""The paths between parts that are connected, computed here by hand."""

import unittest

from link import link
from netlist import Netlist
from test_timing import CLOCK, LUT, SETUP, WIRE, cell
from timing import Timing


def part(cells: dict, **ports) -> dict:
    """Returns a netlist; a port is its direction and its bits."""
    named = {name: {"direction": direction, "bits": bits} for name, (direction, bits) in ports.items()}
    nets = {name: {"hide_name": 0, "bits": port["bits"]} for name, port in named.items()}
    return {"cells": cells, "ports": named, "netnames": nets}


def instance(kind: str, **wires) -> dict:
    return {"type": kind, "connections": wires, "port_directions": dict.fromkeys(wires, "inout")}


SOURCE = part(
    {"from": cell("FDRE", C=1, D=2, Q=3), "a": cell("LUT1", I0=3, O=4)},
    clk_i=("input", [1]), data_i=("input", [2]), data_o=("output", [4]))
SINK = part(
    {"b": cell("LUT1", I0=2, O=3), "to": cell("FDRE", C=1, D=3, Q=4)},
    clk_i=("input", [1]), data_i=("input", [2]), data_o=("output", [4]))
WIRES = part({}, data_i=("input", [1]), data_o=("output", [1]), one_o=("output", ["1"]))


def longest(top: dict):
    timing = Timing(Netlist(link(top, {"source": SOURCE, "sink": SINK, "wires": WIRES})))
    return timing.to_registers(timing.registered)


class Link(unittest.TestCase):
    def check(self, cells: dict, stages: int):
        found = longest(part(cells, clk_i=("input", [1]), data_i=("input", [2])))
        self.assertAlmostEqual(found.delay, CLOCK + stages * (WIRE + LUT) + WIRE + SETUP)
        self.assertEqual(found.levels, stages)

    def test_a_path_goes_on_in_another_part(self):
        self.check({
            "first": instance("source", clk_i=[1], data_i=[2], data_o=[3]),
            "second": instance("sink", clk_i=[1], data_i=[3], data_o=[4]),
        }, 2)

    def test_a_path_has_logic_between_parts(self):
        self.check({
            "first": instance("source", clk_i=[1], data_i=[2], data_o=[3]),
            "between": cell("LUT1", I0=3, O=4),
            "second": instance("sink", clk_i=[1], data_i=[4], data_o=[5]),
        }, 3)

    def test_a_part_may_only_pass_a_wire(self):
        self.check({
            "first": instance("source", clk_i=[1], data_i=[2], data_o=[3]),
            "passes": instance("wires", data_i=[3], data_o=[4], one_o=[6]),
            "second": instance("sink", clk_i=[1], data_i=[4], data_o=[5]),
        }, 2)

    def test_two_parts_of_a_kind_have_their_own_wires(self):
        cells = {
            "first": instance("source", clk_i=[1], data_i=[2], data_o=[3]),
            "other": instance("source", clk_i=[1], data_i=[2], data_o=[4]),
        }
        linked = link(part(cells, clk_i=("input", [1])), {"source": SOURCE})
        outputs = [linked["cells"][name]["connections"]["O"] for name in ("first.a", "other.a")]
        self.assertNotEqual(*outputs)

    def test_constants_and_ports_that_a_part_lacks(self):
        cells = {
            "passes": instance("wires", data_i=["0"], data_o=[4], one_o=[5], events_o=[6]),
            "and": cell("LUT2", I0=4, I1=5, O=7),
        }
        linked = link(part(cells, out_o=("output", [7])), {"wires": WIRES})
        connections = linked["cells"]["and"]["connections"]
        self.assertEqual((connections["I0"], connections["I1"]), (["0"], ["1"]))


if __name__ == "__main__":
    unittest.main()
