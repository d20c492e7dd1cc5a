"""Every module has its own test, or is listed here as part of a module that has one."""

import re

from runner import RTL, modules

# Modules without their own test, by the module whose test exercises them most: internal parts of a unit.
PARTS = {
    "fifo_async": ["synchronizer"],
    "key_search_unit": [
        "column_search", "descent_leaves", "descent_lines", "descent_rests", "memory_access_generator",
    ],
    "place_port": ["place_columns"],
    "range_scan_unit": [
        "answer_writer", "fence_writer", "key_copies", "key_summaries", "leaf_bounds", "chunk_mover",
        "leaf_cursor", "leaf_fetcher", "leaf_lines", "leaf_opener", "leaf_pairs", "leaf_prefetcher",
        "leaf_searches",
        "leaf_starter", "leaf_view", "leaf_windows", "log_walker", "next_log", "pair_emitter",
        "pair_measurer", "part_fetcher", "part_reader", "position_finder", "scan_control",
        "scan_grants", "scan_limits", "scan_slots", "slot_keys",
        "slot_lines", "slot_reads", "slot_requests", "slot_states", "slot_turns",
        "stored_lines", "value_finder",
    ],
    "host_reader": ["failed_bursts", "read_timeouts"],
    "log_sorter": ["sorted_log"],
    "window_ram": ["line_pairs", "window_cutter"],
    "memory_system": ["client_ports", "line_writes", "memory_counters"],
    "cached_reader": ["cached_nodes", "column_router"],
    "top_nodes": ["ram_two_ports", "top_entries", "top_filler", "top_lines"],
    "node_cache": ["cache_decision", "cache_sets", "cache_updates", "node_flights"],
    "accelerator_top": ["accelerator", "accelerator_core", "request_manager"],
    "pcie_adapter": [
        "pcie_read_answers", "pcie_read_requests", "pcie_reads", "pcie_registers", "pcie_writes",
    ],
    "pcie_top": ["pcie_accelerator", "pcie_clocks", "pcie_shell", "shell_registers"],
}
# Modules that report events exist only in simulations. Their test checks the events of a request.
EVENTS = ["memory_events", "place_events", "read_events", "scan_events", "slot_events"]
EVENTS_TEST = "crates/lab/simulation/tests/explain.rs"


def parts(module: str, texts: dict[str, str]) -> set[str]:
    """Returns a module and, transitively, all modules that it instantiates."""
    instances = re.findall(r"^\s*(\w+) (?:#\(|u_\w+ \()", texts[module], re.MULTILINE)
    return {module}.union(*(parts(name, texts) for name in instances if name in texts))


def test_every_module_has_a_test():
    texts = {path.stem: path.read_text() for path in modules()}
    own = {name for name in texts if (RTL / "test" / f"test_{name}.py").exists()}
    for module, named in PARTS.items():
        assert module in own, f"{module} has no test"
        assert set(named) <= parts(module, texts), f"{module} lacks {set(named) - parts(module, texts)}"
    assert (RTL.parent / EVENTS_TEST).exists()
    named = [name for names in PARTS.values() for name in names] + EVENTS
    assert sorted([*own, *named]) == sorted(texts), "a module is missing or listed twice"
