// What a range scan unit sees: an open leaf, how it lies to the scan's bound, the way to the next one, and
// the keys of its request. Shows parts of the leaf, beside the keys, and windows of its bytes.

`include "assertions.svh"

module leaf_view
  import layout_pkg::*;
  import accelerator_pkg::*;
  import scan_pkg::*;
#(
  parameter int unsigned NodeBytes = NodeBytesDefault
) (
  input logic clk_i,
  input logic rst_i,

  input geometry_t geometry_i,

  // a request, and where it begins; from then on it is request_i
  input logic begin_i,
  input leaf_t leaf_i,
  input task_t request_i,
  // its keys are there
  output logic keys_ready_o,

  // see leaf_way and leaf_opener: the way knows the leaf
  input logic open_valid_i,
  output logic open_ready_o,
  // verilator lint_off UNUSEDSIGNAL
  input open_t open_i,
  // verilator lint_on UNUSEDSIGNAL
  output logic open_none_o,
  output logic open_failed_o,
  output logic is_first_o,
  input logic go_valid_i,
  output logic go_ready_o,
  input logic go_left_i,
  input lid_t sibling_i,
  output logic fence_valid_o,
  input logic fence_ready_i,
  output logic again_valid_o,
  input logic again_ready_i,
  output descent_t again_o,
  input logic again_leaf_valid_i,
  output logic again_leaf_ready_o,
  input leaf_t again_leaf_i,
  // a read of the leaf could not be done, or it is too long
  output logic failed_o,
  output node_header_t header_o,
  output logic [7:0] tag_o,
  output logic log_may_have_o,

  output logic [7:0] segment_index_o,
  input logic seek_i,
  input logic [7:0] seek_index_i,
  output logic bounds_valid_o,
  output offset_t segment_begin_o,
  output offset_t segment_end_o,

  // see leaf_bounds
  input logic enter_valid_i,
  output logic enter_ready_o,
  output logic bound_is_here_o,
  output logic leaf_is_beyond_o,
  output fences_t fences_o,
  output prefix_t prefix_o,
  input logic leave_valid_i,
  output logic leave_ready_o,
  output logic leave_goes_on_o,

  // see part_reader
  input logic part_valid_i,
  output logic part_ready_o,
  input part_read_t part_read_i,
  output part_t part_o,

  // see leaf_buffer: a window when no part is looked at
  input logic window_valid_i,
  output logic window_ready_o,
  input offset_t window_offset_i,
  input offset_t window_limit_i,
  output logic window_fresh_o,
  output line_t window_o,
  input logic value_valid_i,
  output logic value_ready_o,
  input bus_address_t value_address_i,
  input line_count_t value_count_i,
  output logic value_line_valid_o,
  input logic value_line_ready_i,
  output line_t value_line_o,

  output logic key_valid_o,
  input logic key_ready_i,
  output key_read_t key_o,
  input logic key_line_valid_i,
  input line_t key_line_i,

  output logic read_valid_o,
  input logic read_ready_i,
  output line_read_t read_o,
  input logic beat_valid_i,
  output logic beat_ready_o,
  input line_beat_t beat_i
);

  logic begin_valid, begin_ready, begin_by_lid, first_valid, first_ready, fetch_valid, fetch_ready;
  lid_t begin_lid;
  bus_address_t begin_address;
  line_count_t begin_count, first_count;
  line_t first, key_window;
  offset_t fetch_offset, fetch_limit, reader_offset, reader_limit;
  logic has_failed, too_long, reader_valid, opener_reads_key, reader_reads_key, reader_upper;
  key_length_t opener_key_byte, reader_key_byte;

  logic opens, is_open, too_new, bounds_part_valid;
  open_t open;
  lid_t lid;
  bus_address_t address;
  part_read_t bounds_part;

  leaf_way u_way (
    .clk_i,
    .rst_i,
    .begin_i,
    .leaf_i,
    .request_i,
    .go_valid_i, .go_ready_o,
    .go_left_i,
    .sibling_i,
    .fences_i(fences_o),
    .open_valid_i, .open_ready_o,
    .none_o(open_none_o),
    .failed_o(open_failed_o),
    .is_first_o,
    .leaf_valid_o(opens), .leaf_ready_i(is_open),
    .lid_o(lid),
    .address_o(address),
    .too_new_i(too_new),
    .fence_valid_o, .fence_ready_i,
    .again_valid_o, .again_ready_i,
    .again_o,
    .again_leaf_valid_i, .again_leaf_ready_o,
    .again_leaf_i
  );

  always_comb begin
    open = open_i;
    open.lid = lid;
    open.address = address;
  end

  leaf_opener #(
    .NodeBytes(NodeBytes)
  ) u_opener (
    .clk_i,
    .rst_i,
    .geometry_i,
    .open_valid_i(opens), .open_ready_o(is_open),
    .open_i(open),
    .too_new_o(too_new),
    .failed_i(has_failed),
    .header_o,
    .tag_o,
    .log_may_have_o,
    .too_long_o(too_long),
    .segment_index_o,
    .seek_i,
    .seek_index_i,
    .bounds_valid_o,
    .segment_begin_o,
    .segment_end_o,
    .begin_valid_o(begin_valid), .begin_ready_i(begin_ready),
    .begin_by_lid_o(begin_by_lid),
    .begin_lid_o(begin_lid),
    .begin_address_o(begin_address),
    .begin_count_o(begin_count),
    .first_count_o(first_count),
    .first_valid_i(first_valid), .first_ready_o(first_ready),
    .first_i(first),
    .fetch_valid_o(fetch_valid), .fetch_ready_i(fetch_ready),
    .fetch_offset_o(fetch_offset),
    .fetch_limit_o(fetch_limit),
    .keys_ready_i(keys_ready_o),
    .key_read_o(opener_reads_key),
    .key_byte_o(opener_key_byte),
    .key_window_i(key_window)
  );

  leaf_buffer #(
    .NodeBytes(NodeBytes)
  ) u_buffer (
    .clk_i,
    .rst_i,
    .begin_valid_i(begin_valid), .begin_ready_o(begin_ready),
    .begin_by_lid_i(begin_by_lid),
    .begin_lid_i(begin_lid),
    .begin_address_i(begin_address),
    .begin_count_i(begin_count),
    .first_count_i(first_count),
    .first_valid_o(first_valid), .first_ready_i(first_ready),
    .first_o(first),
    .failed_o(has_failed),
    .fetch_valid_i(fetch_valid), .fetch_ready_o(fetch_ready),
    .fetch_offset_i(fetch_offset),
    .fetch_limit_i(fetch_limit),
    .window_valid_i(reader_valid || window_valid_i), .window_ready_o,
    .window_offset_i(reader_valid ? reader_offset : window_offset_i),
    .window_limit_i(reader_valid ? reader_limit : window_limit_i),
    .window_ahead_i(open_i.ahead),
    .window_fresh_o,
    .window_o,
    .value_valid_i, .value_ready_o,
    .value_address_i,
    .value_count_i,
    .value_line_valid_o, .value_line_ready_i,
    .value_line_o,
    .read_valid_o, .read_ready_i,
    .read_o,
    .beat_valid_i, .beat_ready_o,
    .beat_i
  );

  leaf_bounds u_bounds (
    .clk_i,
    .rst_i,
    .geometry_i,
    .request_i,
    .header_i(header_o),
    .enter_valid_i, .enter_ready_o,
    .is_here_o(bound_is_here_o),
    .is_beyond_o(leaf_is_beyond_o),
    .fences_o,
    .prefix_o,
    .leave_valid_i, .leave_ready_o,
    .leave_goes_on_o,
    .part_valid_o(bounds_part_valid), .part_ready_i(part_ready_o),
    .part_read_o(bounds_part),
    .part_i(part_o),
    .window_i(window_o)
  );

  part_reader u_reader (
    .clk_i,
    .rst_i,
    .read_valid_i(part_valid_i || bounds_part_valid), .read_ready_o(part_ready_o),
    .read_i(bounds_part_valid ? bounds_part : part_read_i),
    .part_o,
    .window_valid_o(reader_valid), .window_ready_i(window_ready_o),
    .window_offset_o(reader_offset),
    .window_limit_o(reader_limit),
    .window_fresh_i(window_fresh_o),
    .window_i(window_o),
    .key_read_o(reader_reads_key),
    .key_upper_o(reader_upper),
    .key_byte_o(reader_key_byte),
    .key_window_i(key_window)
  );

  key_copy u_keys (
    .clk_i,
    .rst_i,
    .begin_i,
    .slot_i(leaf_i.request.slot),
    .lower_length_i(leaf_i.request.lower_length),
    .upper_length_i(leaf_i.request.upper_length),
    .ready_o(keys_ready_o),
    .window_read_i(opener_reads_key || reader_reads_key),
    .window_upper_i(opener_reads_key ? open_i.by_upper : reader_upper),
    .window_byte_i(opener_reads_key ? opener_key_byte : reader_key_byte),
    .window_o(key_window),
    .key_valid_o, .key_ready_i,
    .key_o,
    .key_line_valid_i,
    .key_line_i
  );

  assign failed_o = has_failed || too_long;

  `ASSERT(OnePart, !(part_valid_i && bounds_part_valid))
  `ASSERT(OneWindow, !(reader_valid && window_valid_i))
  `ASSERT(OneKeyWindow, !(opener_reads_key && reader_reads_key))

endmodule
