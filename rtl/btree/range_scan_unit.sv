// Executes gets and scans on leaves: returns the value of a get, or the pairs of a scan from the leaf of
// its descent and its siblings (Honeycomb, section 4). It has several requests in flight and works on one
// at a time while the leaves of the others arrive. A scan that continues with a sibling leaf waits for it as
// for its first leaf.
//
// scan_slots contains the requests and their leaves. scan_control sequences the parts of the unit for the
// request that has the grant. leaf_view decodes and compares parts of the leaf, leaf_pairs returns its
// pairs, and answer_writer writes the answers. The log of the next request is sorted meanwhile.

`default_nettype none

`include "assertions.svh"

module range_scan_unit
  import layout_pkg::*;
  import accelerator_pkg::*;
  import scan_pkg::*;
#(
  // maximum number of requests in flight
  parameter int unsigned Slots = 4,
  // size of the largest node; a request that finds a larger one fails with status_fault
  parameter int unsigned NodeBytes = NodeBytesDefault,
  // Maximum number of log entries of a leaf that a scan sorts; with more it fails with status_fault. A
  // store with the default log threshold has at most 25.
  parameter int unsigned LogEntries = 64,
  // maximum size of an answer, except for an overflow value
  parameter int unsigned ResultLines = 32,
  // A scan that has left this number of leaves without a pair, one after the other, fails with status_fault:
  // its siblings lead back to the same leaves. A power of two; by default the number of leaves of 128 GiB.
  parameter int unsigned EmptyLeaves = 1 << 24
) (
  input logic clk_i,
  input logic rst_i,

  input geometry_t geometry_i,

  input logic leaf_valid_i,
  output logic leaf_ready_o,
  input leaf_t leaf_i,

  // Requests another descent for a sibling that is too new. The request must be accepted without waiting
  // for a leaf.
  output logic repeated_valid_o,
  input logic repeated_ready_i,
  output descent_t repeated_o,
  input logic repeated_leaf_valid_i,
  output logic repeated_leaf_ready_o,
  input leaf_t repeated_leaf_i,

  output logic key_valid_o,
  input logic key_ready_i,
  output key_read_t key_o,
  input logic key_line_valid_i,
  input line_t key_line_i,
  output logic key_write_valid_o,
  input logic key_write_ready_i,
  output key_write_t key_write_o,

  // memory: the reads of the slots, each in its place, and their lines; the reads of overflow values, each
  // with the request that it belongs to
  output logic read_valid_o,
  input logic read_ready_i,
  output place_read_t read_o,
  input logic memory_valid_i,
  input place_line_t memory_i,
  output logic value_read_valid_o,
  input logic value_read_ready_i,
  output line_read_t value_read_o,
  output slot_t value_read_slot_o,
  input logic beat_valid_i,
  output logic beat_ready_o,
  input line_beat_t beat_i,

  output logic answer_valid_o,
  input logic answer_ready_i,
  output answer_beat_t answer_o,

  // for the counters: requests in flight, and whether one of them has the grant
  output logic [Slots-1:0] busy_o,
  output logic granted_o,
  output event_t [Slots-1:0] events_o,
  output event_t part_event_o
);

  if (EmptyLeaves != 1 << $clog2(EmptyLeaves) || $clog2(EmptyLeaves) >= EmptyLeafBits)
    $fatal(1, "EmptyLeaves must be a power of two, at most 2^24");

  open_leaf_t leaf;
  logic failed, overflow, grant_begins, grant_ends, grant_continues;
  logic go_valid, go_ready, enter_valid, enter_ready, bound_has_prefix, leaf_is_beyond;
  logic leave_valid, leave_ready, leave_continues;
  go_t go;
  logic walk_valid, walk_ready, walk_found, find_valid, find_ready, find_after, find_found;
  item_result_t walk_item, find_item, step_item, emit, measure;
  logic set, set_to_end, set_to_position, step_valid, step_ready, step_back, step_compares, step_found;
  logic part_ready, part_hold, forget, pairs_part_valid, writer_part_valid;
  part_read_t pairs_part, writer_part;
  part_t part;
  logic window_valid, window_ready, window_ahead, bytes_valid, bytes_ready, bytes_held, bytes_fresh;
  logic compare_read, compare_upper;
  offset_t window_offset, window_limit, bytes_offset, bytes_limit, low_offset;
  key_length_t compare_byte;
  line_t window, compare_window;
  logic emit_valid, emit_ready, measured, finish_valid, finish_ready, finish_continues, finish_more;
  logic [31:0] value_bytes, emitted_bytes;
  logic [7:0] finish_status;
  prefix_t prefix;
  logic fence_valid, fence_ready;
  fences_t fences;
  event_t grant_event;
  logic entry_valid, takes;
  sorted_entry_t entry;
  logic [LogWordOrderHintBits-1:0] rank;
  logic [Slots > 1 ? $clog2(Slots)-1 : 0:0] holder;

  scan_slots #(
    .Slots(Slots),
    .NodeBytes(NodeBytes)
  ) u_slots (
    .clk_i,
    .rst_i,
    .geometry_i,
    .leaf_valid_i, .leaf_ready_o,
    .leaf_i,
    .busy_o,
    .event_i(grant_event),
    .events_o,
    .granted_o, .holder_o(holder), .grant_ends_i(grant_ends), .grant_continues_i(grant_continues),
    .leaf_o(leaf),
    .entry_valid_o(entry_valid), .entry_o(entry), .rank_o(rank), .take_o(takes),
    .go_valid_i(go_valid), .go_ready_o(go_ready),
    .go_i(go),
    .fences_i(fences),
    .fence_valid_o(fence_valid), .fence_ready_i(fence_ready),
    .repeated_valid_o, .repeated_ready_i,
    .repeated_o,
    .repeated_leaf_valid_i, .repeated_leaf_ready_o,
    .repeated_leaf_i,
    .window_valid_i(window_valid), .window_ready_o(window_ready),
    .window_offset_i(window_offset), .window_limit_i(window_limit),
    .window_ahead_i(window_ahead), .window_o(window),
    .compare_read_i(compare_read),
    .compare_upper_i(compare_upper), .compare_byte_i(compare_byte),
    .compare_window_o(compare_window),
    .key_valid_o, .key_ready_i,
    .key_o,
    .key_line_valid_i,
    .key_line_i,
    .read_valid_o, .read_ready_i,
    .read_o,
    .memory_valid_i, .memory_i
  );

  assign failed = leaf.failed || overflow || leaf.empty_leaves[$clog2(EmptyLeaves)];

  scan_control u_control (
    .clk_i,
    .rst_i,
    .granted_i(granted_o), .grant_begins_o(grant_begins), .grant_ends_o(grant_ends),
    .grant_continues_o(grant_continues),
    .request_i(leaf.request),
    .descent_failed_i(leaf.descent_failed), .none_i(leaf.none),
    .is_first_i(leaf.is_first), .empty_leaves_i(leaf.empty_leaves),
    .go_valid_o(go_valid), .go_ready_i(go_ready),
    .go_o(go),
    .log_may_have_i(leaf.log_may_have),
    .header_i(leaf.header),
    .failed_i(failed),
    .walk_valid_o(walk_valid), .walk_ready_i(walk_ready),
    .walk_found_i(walk_found), .walk_item_i(walk_item),
    .find_valid_o(find_valid), .find_ready_i(find_ready),
    .find_after_o(find_after),
    .find_found_i(find_found), .find_item_i(find_item),
    .set_o(set),
    .set_to_end_o(set_to_end), .set_to_position_o(set_to_position),
    .step_valid_o(step_valid), .step_ready_i(step_ready),
    .step_back_o(step_back), .step_compares_o(step_compares),
    .step_found_i(step_found), .step_item_i(step_item),
    .enter_valid_o(enter_valid), .enter_ready_i(enter_ready),
    .bound_has_prefix_i(bound_has_prefix), .leaf_is_beyond_i(leaf_is_beyond),
    .leave_valid_o(leave_valid), .leave_ready_i(leave_ready),
    .leave_continues_i(leave_continues),
    .part_i(part), .part_hold_o(part_hold), .forget_o(forget),
    .emit_valid_o(emit_valid), .emit_ready_i(emit_ready),
    .emit_o(emit), .measure_o(measure), .measured_o(measured),
    .emit_bytes_i(emitted_bytes),
    .finish_valid_o(finish_valid), .finish_ready_i(finish_ready), .finish_continues_o(finish_continues),
    .finish_status_o(finish_status), .finish_more_o(finish_more)
  );

  leaf_view u_view (
    .clk_i,
    .rst_i,
    .forget_i(forget), .prepare_i(grant_begins),
    .leaf_i(leaf),
    .enter_valid_i(enter_valid), .enter_ready_o(enter_ready),
    .bound_has_prefix_o(bound_has_prefix), .leaf_is_beyond_o(leaf_is_beyond),
    .fences_o(fences), .prefix_o(prefix), .low_offset_o(low_offset),
    .leave_valid_i(leave_valid), .leave_ready_o(leave_ready),
    .leave_continues_o(leave_continues),
    .part_valid_i(pairs_part_valid || writer_part_valid), .part_ready_o(part_ready),
    .part_read_i(writer_part_valid ? writer_part : pairs_part),
    .part_o(part),
    .part_hold_i(part_hold),
    .bytes_valid_i(bytes_valid), .bytes_ready_o(bytes_ready),
    .bytes_held_i(bytes_held), .bytes_fresh_o(bytes_fresh),
    .bytes_offset_i(bytes_offset), .bytes_limit_i(bytes_limit),
    .window_valid_o(window_valid), .window_ready_i(window_ready),
    .window_offset_o(window_offset), .window_limit_o(window_limit),
    .window_ahead_o(window_ahead), .window_i(window),
    .key_read_o(compare_read),
    .key_upper_o(compare_upper), .key_byte_o(compare_byte),
    .key_window_i(compare_window)
  );

  leaf_pairs #(
    .LogEntries(LogEntries)
  ) u_pairs (
    .clk_i,
    .rst_i,
    .request_i(leaf.request),
    .geometry_i,
    .header_i(leaf.header),
    .equal_i(leaf.equal),
    .entry_valid_i(entry_valid), .entry_i(entry), .rank_i(rank), .take_i(takes),
    .overflow_o(overflow),
    .walk_valid_i(walk_valid), .walk_ready_o(walk_ready),
    .fingerprint_i(leaf.fingerprint),
    .walk_found_o(walk_found), .walk_item_o(walk_item),
    .find_valid_i(find_valid), .find_ready_o(find_ready),
    .find_after_i(find_after),
    .find_found_o(find_found), .find_item_o(find_item),
    .set_i(set),
    .set_to_position_i(set_to_position), .set_to_end_i(set_to_end),
    .step_valid_i(step_valid), .step_ready_o(step_ready),
    .step_back_i(step_back), .step_compares_i(step_compares), .step_hold_i(part_hold),
    .step_found_o(step_found), .step_item_o(step_item),
    .part_valid_o(pairs_part_valid), .part_ready_i(part_ready),
    .part_read_o(pairs_part),
    .part_i(part)
  );

  answer_writer #(
    .Slots(Slots),
    .ResultLines(ResultLines)
  ) u_writer (
    .clk_i,
    .rst_i,
    .request_i(leaf.request), .place_i(holder),
    .failed_i(failed),
    .fences_i(fences),
    .low_offset_i(low_offset),
    .prefix_i(prefix),
    .prefix_length_i(key_length_t'(leaf.header.prefix_length)),
    .emit_valid_i(emit_valid), .emit_ready_o(emit_ready),
    .emit_i(emit), .measure_i(measure), .measured_i(measured),
    .value_bytes_o(value_bytes), .bytes_o(emitted_bytes),
    .finish_valid_i(finish_valid), .finish_ready_o(finish_ready), .finish_continues_i(finish_continues),
    .finish_status_i(finish_status), .finish_more_i(finish_more),
    .fence_valid_i(fence_valid), .fence_ready_o(fence_ready),
    .fence_is_low_i(go.left),
    .part_valid_o(writer_part_valid), .part_ready_i(part_ready),
    .part_read_o(writer_part),
    .part_i(part),
    .window_valid_o(bytes_valid), .window_ready_i(bytes_ready),
    .window_offset_o(bytes_offset), .window_limit_o(bytes_limit),
    .window_held_o(bytes_held), .window_fresh_i(bytes_fresh), .window_i(window),
    .value_read_valid_o, .value_read_ready_i,
    .value_read_o,
    .value_read_slot_o,
    .beat_valid_i, .beat_ready_o,
    .beat_i,
    .key_write_valid_o, .key_write_ready_i,
    .key_write_o,
    .answer_valid_o, .answer_ready_i,
    .answer_o
  );

  scan_events u_events (
    .slot_i(leaf.request.slot),
    .begins_i(grant_begins),
    .walked_i(walk_valid && walk_ready), .walk_found_i(walk_found),
    .placed_i(find_valid && find_ready), .find_found_i(find_found),
    .stepped_i(step_valid && step_ready), .step_found_i(step_found),
    .emitted_i(emit_valid && emit_ready), .value_bytes_i(value_bytes),
    .continues_i(go_valid && go_ready), .sibling_i(go.sibling),
    .answered_i(finish_valid && finish_ready && !finish_continues), .status_i(finish_status),
    .compared_i(pairs_part_valid && part_ready), .part_read_i(pairs_part), .part_i(part),
    .event_o(grant_event), .part_event_o
  );

  `COVER(TooManyEmptyLeaves, grant_begins && leaf.empty_leaves[$clog2(EmptyLeaves)])
  `COVER(OneMoreLeafMayBeEmpty, grant_begins && leaf.empty_leaves == empty_leaves_t'(EmptyLeaves - 1))
  `ASSERT(OnePart, !(pairs_part_valid && writer_part_valid))

endmodule

`default_nettype wire
