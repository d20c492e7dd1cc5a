// The view of a range scan unit on an open leaf: the leaf's relation to the bound of the scan, comparisons
// of its parts with the keys, and windows of its bytes.

`default_nettype none

`include "assertions.svh"

module leaf_view
  import layout_pkg::*;
  import accelerator_pkg::*;
  import scan_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  // another leaf is opened; prepare_i: it is open, in the last of these cycles
  input logic forget_i,
  input logic prepare_i,
  // verilator lint_off UNUSEDSIGNAL
  input open_leaf_t leaf_i,
  // verilator lint_on UNUSEDSIGNAL

  // see leaf_bounds
  input logic enter_valid_i,
  output logic enter_ready_o,
  output logic bound_has_prefix_o,
  output logic leaf_is_beyond_o,
  output fences_t fences_o,
  output prefix_t prefix_o,
  output offset_t low_offset_o,
  input logic leave_valid_i,
  output logic leave_ready_o,
  output logic leave_continues_o,

  // see part_reader
  input logic part_valid_i,
  output logic part_ready_o,
  input part_read_t part_read_i,
  output part_t part_o,
  input logic part_hold_i,

  // A window for the answers, while no part is read. bytes_held_i: it must stay, so no item is prepared.
  input logic bytes_valid_i,
  output logic bytes_ready_o,
  input logic bytes_held_i,
  output logic bytes_fresh_o,
  input offset_t bytes_offset_i,
  input offset_t bytes_limit_i,

  // windows of the leaf and of the keys of its request: see scan_slots
  output logic window_valid_o,
  input logic window_ready_i,
  output logic window_ahead_o,
  output offset_t window_offset_o,
  output offset_t window_limit_o,
  input line_t window_i,
  output logic key_read_o,
  output logic key_upper_o,
  output key_length_t key_byte_o,
  input line_t key_window_i
);

  logic bounds_part_valid, reader_valid, reader_ahead, is_for_bytes_q, bytes_coming_q, bytes_fresh_q;
  logic bounds_key_read, bounds_key_upper, reader_key_read, reader_key_upper;
  key_length_t reader_key_byte;
  part_read_t bounds_part;
  offset_t reader_offset, reader_limit;

  leaf_bounds u_bounds (
    .clk_i,
    .rst_i,
    .columns_i(leaf_i.columns),
    .request_i(leaf_i.request),
    .header_i(leaf_i.header),
    .is_first_i(leaf_i.is_first),
    .enter_valid_i, .enter_ready_o,
    .has_prefix_o(bound_has_prefix_o),
    .is_beyond_o(leaf_is_beyond_o),
    .fences_o,
    .prefix_o,
    .low_offset_o,
    .leave_valid_i, .leave_ready_o,
    .leave_continues_o,
    .part_valid_o(bounds_part_valid), .part_ready_i(part_ready_o),
    .part_read_o(bounds_part),
    .part_i(part_o),
    .key_read_o(bounds_key_read), .key_upper_o(bounds_key_upper),
    .key_window_i
  );

  part_reader u_reader (
    .clk_i,
    .rst_i,
    .forget_i, .prepare_i,
    .first_i(leaf_i.equal.first), .first_offset_i(leaf_i.item_offset),
    .columns_i(leaf_i.columns),
    .header_i(leaf_i.header),
    .steps_i(leaf_i.request.is_scan), .backward_i(leaf_i.request.backward),
    .read_valid_i(part_valid_i || bounds_part_valid), .read_ready_o(part_ready_o),
    .read_i(bounds_part_valid ? bounds_part : part_read_i),
    .part_o,
    .hold_i(part_hold_i),
    .window_valid_o(reader_valid), .window_ready_i(window_ready_i && !is_for_bytes_q),
    .window_ahead_o(reader_ahead),
    .window_offset_o(reader_offset),
    .window_limit_o(reader_limit),
    .other_window_i(bytes_ready_o),
    .window_i,
    .key_read_o(reader_key_read), .key_upper_o(reader_key_upper),
    .key_byte_o(reader_key_byte),
    .key_window_i
  );

  assign key_read_o = reader_key_read || bounds_key_read;
  assign key_upper_o = bounds_key_read ? bounds_key_upper : reader_key_upper;
  assign key_byte_o = bounds_key_read ? '0 : reader_key_byte;

  assign window_valid_o = (reader_valid && !bytes_held_i) || bytes_valid_i;
  assign window_ahead_o = !bytes_valid_i && reader_ahead;
  assign window_offset_o = bytes_valid_i ? bytes_offset_i : reader_offset;
  assign window_limit_o = bytes_valid_i ? bytes_limit_i : reader_limit;

  // A window for the answers takes precedence over that of a prepared item, and follows after two cycles. A
  // request that is accepted is that of the cycle before.
  assign bytes_ready_o = window_ready_i && is_for_bytes_q;
  assign bytes_fresh_o = bytes_fresh_q;

  always_ff @(posedge clk_i) begin
    is_for_bytes_q <= bytes_valid_i;
    if (rst_i) {bytes_coming_q, bytes_fresh_q} <= '0;
    else {bytes_coming_q, bytes_fresh_q} <= {bytes_ready_o, bytes_coming_q};
  end

  `ASSERT(OnePart, !(part_valid_i && bounds_part_valid))
  `ASSERT(OneKeyRead, !(reader_key_read && bounds_key_read))
  `ASSERT(OneWindow, !(reader_valid && !reader_ahead && (bytes_valid_i || bytes_held_i)))

endmodule

`default_nettype wire
