// The pairs of an open leaf at the read version. It walks over the log for gets, finds the position of a key,
// and steps from pair to pair; the log of a scan was sorted before.

`default_nettype none

`include "assertions.svh"

module leaf_pairs
  import layout_pkg::*;
  import accelerator_pkg::*;
  import search_pkg::*;
  import scan_pkg::*;
#(
  parameter int unsigned LogEntries = 64
) (
  input logic clk_i,
  input logic rst_i,

  // verilator lint_off UNUSEDSIGNAL
  input task_t request_i,
  // verilator lint_on UNUSEDSIGNAL
  input geometry_t geometry_i,
  input node_header_t header_i,
  input indexes_t equal_i,
  // the log of the next request, and the request begins: see scan_grants
  input logic entry_valid_i,
  input sorted_entry_t entry_i,
  input logic [LogWordOrderHintBits-1:0] rank_i,
  input logic take_i,
  // a scan has more visible log entries than the sorter has room for
  output logic overflow_o,

  // see log_walker
  input logic walk_valid_i,
  output logic walk_ready_o,
  input logic [7:0] fingerprint_i,
  output logic walk_found_o,
  output item_result_t walk_item_o,

  // see position_finder
  input logic find_valid_i,
  output logic find_ready_o,
  input logic find_after_i,
  output logic find_found_o,
  output item_result_t find_item_o,

  // moves the cursor to the position that was found, or to an end of the leaf
  input logic set_i,
  input logic set_to_position_i,
  input logic set_to_end_i,
  // see leaf_cursor
  input logic step_valid_i,
  output logic step_ready_o,
  input logic step_back_i,
  input logic step_compares_i,
  input logic step_hold_i,
  output logic step_found_o,
  output item_result_t step_item_o,

  output logic part_valid_o,
  input logic part_ready_i,
  output part_read_t part_read_o,
  input part_t part_i
);

  localparam int unsigned CountBits = $clog2(LogEntries + 1);

  typedef logic [CountBits-1:0] count_t;

  logic is_get, backward, walk_part_valid, place_part_valid, cursor_part_valid;
  part_read_t walk_part, place_part, cursor_part;
  sorted_entry_t sorted_entry;
  count_t count, log_before, place_log, place_index, cursor_index;
  number_t place_sorted, place_sought;
  logic hidden;

  assign is_get = !request_i.is_scan;
  assign backward = request_i.backward;

  log_walker #(
    .Compares(1'b1)
  ) u_walker (
    .clk_i,
    .rst_i,
    .geometry_i,
    .walk_valid_i,
    .walk_ready_o,
    .header_i,
    .read_version_i(request_i.read_version),
    .fingerprint_i,
    .key_length_i(request_i.lower_length),
    .entry_valid_o(),
    .entry_o(),
    .rank_o(),
    .found_o(walk_found_o),
    .found_item_o(walk_item_o),
    .part_valid_o(walk_part_valid),
    .part_ready_i,
    .part_read_o(walk_part),
    .part_i
  );

  log_sorter #(
    .EntriesMax(LogEntries)
  ) u_sorter (
    .clk_i,
    .rst_i,
    .take_i,
    .insert_i(entry_valid_i),
    .insert_entry_i(entry_i),
    .insert_rank_i(rank_i),
    .overflow_o,
    .count_o(count),
    .index_i(find_valid_i ? place_index : cursor_index),
    .entry_o(sorted_entry),
    .hidden_o(hidden),
    .position_i(place_sought),
    .before_o(log_before)
  );

  position_finder #(
    .EntriesMax(LogEntries)
  ) u_finder (
    .clk_i,
    .rst_i,
    .find_valid_i,
    .find_ready_o,
    .header_i,
    .equal_i,
    .by_upper_i(backward),
    .key_length_i(start_length(request_i)),
    .after_i(find_after_i),
    .is_scan_i(!is_get),
    .log_changes_i(take_i),
    .sought_o(place_sought),
    .sorted_o(place_sorted),
    .log_o(place_log),
    .found_o(find_found_o),
    .found_item_o(find_item_o),
    .log_count_i(count),
    .log_index_o(place_index),
    .log_entry_i(sorted_entry),
    .log_before_i(log_before),
    .part_valid_o(place_part_valid),
    .part_ready_i,
    .part_read_o(place_part),
    .part_i
  );

  number_t set_sorted;
  count_t set_log;

  always_comb begin
    set_sorted = set_to_end_i ? number_t'(header_i.sorted_count) : '0;
    set_log = set_to_end_i ? count : '0;
    if (set_to_position_i) begin
      set_sorted = place_sorted;
      set_log = place_log;
    end
  end

  leaf_cursor #(
    .EntriesMax(LogEntries)
  ) u_cursor (
    .clk_i,
    .rst_i,
    .set_i, .set_has_entry_i(set_to_position_i),
    .set_sorted_i(set_sorted),
    .set_log_i(set_log),
    .step_valid_i,
    .step_ready_o,
    .step_back_i,
    .compares_i(step_compares_i),
    .hold_i(step_hold_i),
    .by_upper_i(!backward),
    .key_length_i(bound_length(request_i)),
    .found_o(step_found_o),
    .item_o(step_item_o),
    .header_i,
    .log_count_i(count),
    .log_index_o(cursor_index),
    .log_entry_i(sorted_entry),
    .log_hidden_i(hidden),
    .part_valid_o(cursor_part_valid),
    .part_ready_i,
    .part_read_o(cursor_part),
    .part_i
  );

  assign part_valid_o = walk_part_valid || place_part_valid || cursor_part_valid;

  always_comb begin
    part_read_o = cursor_part;
    if (walk_part_valid) part_read_o = walk_part;
    if (place_part_valid) part_read_o = place_part;
  end

  `ASSERT(OnePart, $onehot0({walk_part_valid, place_part_valid, cursor_part_valid}))

endmodule

`default_nettype wire
