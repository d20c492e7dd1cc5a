// Answers one request at a time from the leaf that its descent came to, and from those beside it: the value
// of a get, the pairs of a scan (Honeycomb, section 4).
//
// scan_control says what is done, one thing after the other. leaf_view shows the leaf, leaf_pairs knows which
// pairs it has, answer_writer gives what was found.

`include "assertions.svh"

module range_scan_unit
  import layout_pkg::*;
  import accelerator_pkg::*;
  import scan_pkg::*;
#(
  // of the longest node; a request that meets a longer one gets status_fault
  parameter int unsigned NodeBytes = NodeBytesDefault,
  // Most log entries that a scan sees in a leaf; beyond, it gets status_fault. A store with the default log
  // threshold has at most 46.
  parameter int unsigned LogEntries = 64,
  // of an answer that is not a value out of line
  parameter int unsigned ResultLines = 32
) (
  input logic clk_i,
  input logic rst_i,

  input geometry_t geometry_i,

  input logic leaf_valid_i,
  output logic leaf_ready_o,
  input leaf_t leaf_i,

  // Down again, for a sibling that is too new. This must not wait for a leaf to be taken.
  output logic again_valid_o,
  input logic again_ready_i,
  output descent_t again_o,
  input logic again_leaf_valid_i,
  output logic again_leaf_ready_o,
  input leaf_t again_leaf_i,

  output logic key_valid_o,
  input logic key_ready_i,
  output key_read_t key_o,
  input logic key_line_valid_i,
  input line_t key_line_i,
  output logic key_write_valid_o,
  input logic key_write_ready_i,
  output key_write_t key_write_o,

  output logic read_valid_o,
  input logic read_ready_i,
  output line_read_t read_o,
  input logic beat_valid_i,
  output logic beat_ready_o,
  input line_beat_t beat_i,

  output logic answer_valid_o,
  input logic answer_ready_i,
  output answer_beat_t answer_o,
  output event_t event_o,
  output event_t part_event_o
);

  task_t request;
  logic failed, view_failed, overflow, begins, keys_ready;
  node_header_t header;
  logic open_valid, open_ready, open_none, open_failed, is_first, log_may_have, seek, bounds_valid;
  logic go_valid, go_ready, go_left, enter_valid, enter_ready, bound_is_here, leaf_is_beyond;
  logic leave_valid, leave_ready, leave_goes_on;
  lid_t sibling;
  open_t open;
  logic [7:0] tag, segment_index, seek_index;
  offset_t segment_begin, segment_end;
  logic walk_valid, walk_ready, walk_found, find_valid, find_ready, find_after, find_found;
  found_t walk_item, find_item, step_item, emit;
  logic set, set_to_end, set_to_place, step_valid, step_ready, step_back, step_compares, step_found;
  logic part_ready, pairs_part_valid, writer_part_valid;
  part_read_t pairs_part, writer_part;
  part_t part;
  logic window_valid, window_ready, window_fresh;
  logic value_valid, value_ready, value_line_valid, value_line_ready;
  offset_t window_offset, window_limit;
  line_t window, value_line;
  bus_address_t value_address;
  line_count_t value_count;
  logic emit_valid, emit_ready, answered, finish_valid, finish_ready, finish_more;
  logic [31:0] value_bytes;
  logic [7:0] finish_status;
  prefix_t prefix;
  logic fence_valid, fence_ready;
  fences_t fences;

  assign failed = view_failed || overflow;

  scan_control u_control (
    .clk_i,
    .rst_i,
    .leaf_valid_i, .leaf_ready_o,
    .leaf_i,
    .request_o(request),
    .keys_begin_o(begins),
    .keys_ready_i(keys_ready),
    .open_valid_o(open_valid), .open_ready_i(open_ready),
    .open_o(open),
    .open_none_i(open_none),
    .open_failed_i(open_failed),
    .is_first_i(is_first),
    .go_valid_o(go_valid), .go_ready_i(go_ready),
    .go_left_o(go_left),
    .sibling_o(sibling),
    .log_may_have_i(log_may_have),
    .header_i(header),
    .failed_i(failed),
    .walk_valid_o(walk_valid), .walk_ready_i(walk_ready),
    .walk_found_i(walk_found),
    .walk_item_i(walk_item),
    .find_valid_o(find_valid), .find_ready_i(find_ready),
    .find_after_o(find_after),
    .find_found_i(find_found),
    .find_item_i(find_item),
    .set_o(set),
    .set_to_end_o(set_to_end),
    .set_to_place_o(set_to_place),
    .step_valid_o(step_valid), .step_ready_i(step_ready),
    .step_back_o(step_back),
    .step_compares_o(step_compares),
    .step_found_i(step_found),
    .step_item_i(step_item),
    .enter_valid_o(enter_valid), .enter_ready_i(enter_ready),
    .bound_is_here_i(bound_is_here),
    .leaf_is_beyond_i(leaf_is_beyond),
    .leave_valid_o(leave_valid), .leave_ready_i(leave_ready),
    .leave_goes_on_i(leave_goes_on),
    .part_i(part),
    .emit_valid_o(emit_valid), .emit_ready_i(emit_ready),
    .emit_o(emit),
    .emit_value_bytes_i(value_bytes),
    .emit_answered_i(answered),
    .finish_valid_o(finish_valid), .finish_ready_i(finish_ready),
    .finish_status_o(finish_status),
    .finish_more_o(finish_more)
  );

  leaf_view #(
    .NodeBytes(NodeBytes)
  ) u_view (
    .clk_i,
    .rst_i,
    .geometry_i,
    .begin_i(begins),
    .leaf_i,
    .request_i(request),
    .keys_ready_o(keys_ready),
    .open_valid_i(open_valid), .open_ready_o(open_ready),
    .open_i(open),
    .open_none_o(open_none),
    .open_failed_o(open_failed),
    .is_first_o(is_first),
    .go_valid_i(go_valid), .go_ready_o(go_ready),
    .go_left_i(go_left),
    .sibling_i(sibling),
    .fence_valid_o(fence_valid), .fence_ready_i(fence_ready),
    .again_valid_o, .again_ready_i,
    .again_o,
    .again_leaf_valid_i, .again_leaf_ready_o,
    .again_leaf_i,
    .failed_o(view_failed),
    .header_o(header),
    .tag_o(tag),
    .log_may_have_o(log_may_have),
    .segment_index_o(segment_index),
    .seek_i(seek),
    .seek_index_i(seek_index),
    .bounds_valid_o(bounds_valid),
    .segment_begin_o(segment_begin),
    .segment_end_o(segment_end),
    .enter_valid_i(enter_valid), .enter_ready_o(enter_ready),
    .bound_is_here_o(bound_is_here),
    .leaf_is_beyond_o(leaf_is_beyond),
    .fences_o(fences),
    .prefix_o(prefix),
    .leave_valid_i(leave_valid), .leave_ready_o(leave_ready),
    .leave_goes_on_o(leave_goes_on),
    .part_valid_i(pairs_part_valid || writer_part_valid), .part_ready_o(part_ready),
    .part_read_i(writer_part_valid ? writer_part : pairs_part),
    .part_o(part),
    .window_valid_i(window_valid), .window_ready_o(window_ready),
    .window_offset_i(window_offset),
    .window_limit_i(window_limit),
    .window_fresh_o(window_fresh),
    .window_o(window),
    .value_valid_i(value_valid), .value_ready_o(value_ready),
    .value_address_i(value_address),
    .value_count_i(value_count),
    .value_line_valid_o(value_line_valid), .value_line_ready_i(value_line_ready),
    .value_line_o(value_line),
    .key_valid_o, .key_ready_i,
    .key_o,
    .key_line_valid_i,
    .key_line_i,
    .read_valid_o, .read_ready_i,
    .read_o,
    .beat_valid_i, .beat_ready_o,
    .beat_i
  );

  leaf_pairs #(
    .LogEntries(LogEntries)
  ) u_pairs (
    .clk_i,
    .rst_i,
    .request_i(request),
    .header_i(header),
    .forget_i(open_valid),
    .failed_i(failed),
    .overflow_o(overflow),
    .walk_valid_i(walk_valid), .walk_ready_o(walk_ready),
    .tag_i(tag),
    .walk_found_o(walk_found),
    .walk_item_o(walk_item),
    .find_valid_i(find_valid), .find_ready_o(find_ready),
    .find_after_i(find_after),
    .find_found_o(find_found),
    .find_item_o(find_item),
    .set_i(set),
    .set_to_place_i(set_to_place),
    .set_to_end_i(set_to_end),
    .step_valid_i(step_valid), .step_ready_o(step_ready),
    .step_back_i(step_back),
    .step_compares_i(step_compares),
    .step_found_o(step_found),
    .step_item_o(step_item),
    .segment_index_i(segment_index),
    .seek_o(seek),
    .seek_index_o(seek_index),
    .bounds_valid_i(bounds_valid),
    .segment_begin_i(segment_begin),
    .segment_end_i(segment_end),
    .part_valid_o(pairs_part_valid), .part_ready_i(part_ready),
    .part_read_o(pairs_part),
    .part_i(part)
  );

  answer_writer #(
    .ResultLines(ResultLines)
  ) u_writer (
    .clk_i,
    .rst_i,
    .request_i(request),
    .failed_i(failed),
    .fences_i(fences),
    .fences_offset_i(geometry_i.sorted_start),
    .prefix_i(prefix),
    .prefix_length_i(key_length_t'(header.prefix_length)),
    .emit_valid_i(emit_valid), .emit_ready_o(emit_ready),
    .emit_i(emit),
    .value_bytes_o(value_bytes),
    .answered_o(answered),
    .finish_valid_i(finish_valid), .finish_ready_o(finish_ready),
    .finish_status_i(finish_status),
    .finish_more_i(finish_more),
    .fence_valid_i(fence_valid), .fence_ready_o(fence_ready),
    .fence_is_low_i(go_left),
    .part_valid_o(writer_part_valid), .part_ready_i(part_ready),
    .part_read_o(writer_part),
    .window_valid_o(window_valid), .window_ready_i(window_ready),
    .window_offset_o(window_offset),
    .window_limit_o(window_limit),
    .window_fresh_i(window_fresh),
    .window_i(window),
    .value_valid_o(value_valid), .value_ready_i(value_ready),
    .value_address_o(value_address),
    .value_count_o(value_count),
    .value_line_valid_i(value_line_valid), .value_line_ready_o(value_line_ready),
    .value_line_i(value_line),
    .key_write_valid_o, .key_write_ready_i,
    .key_write_o,
    .answer_valid_o, .answer_ready_i,
    .answer_o
  );

  scan_events u_events (
    .slot_i(begins ? leaf_i.request.slot : request.slot),
    .begins_i(begins), .lid_i(begins ? leaf_i.lid : sibling),
    .opened_i(open_valid && open_ready), .header_i(header),
    .walked_i(walk_valid && walk_ready), .walk_found_i(walk_found),
    .placed_i(find_valid && find_ready), .find_found_i(find_found),
    .stepped_i(step_valid && step_ready), .step_found_i(step_found),
    .emitted_i(emit_valid && emit_ready), .value_bytes_i(value_bytes),
    .goes_on_i(go_valid && go_ready),
    .answered_i(finish_valid && finish_ready), .status_i(finish_status),
    .looked_i(pairs_part_valid && part_ready), .part_read_i(pairs_part), .part_i(part),
    .event_o, .part_event_o
  );

  `ASSERT(OnePart, !(pairs_part_valid && writer_part_valid))

endmodule
