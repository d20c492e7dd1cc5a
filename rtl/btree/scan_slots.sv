// The requests of a range scan unit: while one has the grant, the leaves of the others arrive. A slot has
// only a state and its reads in flight; the parts that open leaves serve all slots, and the rest of a slot
// is in memories. A scan that continues with a sibling gives the grant back, and requests it again when the
// lines of the sibling have arrived. Ports without an index belong to the request that has the grant,
// except for those of repeated descents.
//
//   leaf_i | leaf_starter | leaf_opener | scan_grants: next, grant | grant_ends_i
//            leaf_fetcher reads, leaf_windows stores and returns lines

`default_nettype none

`include "assertions.svh"

module scan_slots
  import layout_pkg::*;
  import accelerator_pkg::*;
  import search_pkg::*;
  import scan_pkg::*;
#(
  parameter int unsigned Slots = 4,
  // size of the largest node
  parameter int unsigned NodeBytes = NodeBytesDefault,
  localparam int unsigned PlaceBits = Slots > 1 ? $clog2(Slots) : 1
) (
  input logic clk_i,
  input logic rst_i,

  input geometry_t geometry_i,

  // begins a request at a leaf
  input logic leaf_valid_i,
  output logic leaf_ready_o,
  input leaf_t leaf_i,
  output logic [Slots-1:0] busy_o,
  // events of each slot: its request begins, its leaf is open; during the grant those of the unit
  input event_t event_i,
  output event_t [Slots-1:0] events_o,

  output logic granted_o,
  output logic [PlaceBits-1:0] holder_o,
  input logic grant_ends_i,
  input logic grant_continues_i,
  output open_leaf_t leaf_o,
  // the log of the next request in sort order: see scan_grants
  output logic entry_valid_o,
  output sorted_entry_t entry_o,
  output logic [LogWordOrderHintBits-1:0] rank_o,
  output logic take_o,

  input logic go_valid_i,
  output logic go_ready_o,
  input go_t go_i,
  input fences_t fences_i,
  // a fence key is written before the request continues with a sibling
  output logic fence_valid_o,
  input logic fence_ready_i,
  output logic repeated_valid_o,
  input logic repeated_ready_i,
  output descent_t repeated_o,
  input logic repeated_leaf_valid_i,
  output logic repeated_leaf_ready_o,
  input leaf_t repeated_leaf_i,

  // A window of the open leaf, two cycles after its request was accepted. A request is accepted one cycle
  // after it was offered at the earliest, and is the one that was offered in the cycle before.
  input logic window_valid_i,
  output logic window_ready_o,
  input logic window_ahead_i,
  input offset_t window_offset_i,
  input offset_t window_limit_i,
  output line_t window_o,

  // the keys of its request
  input logic compare_read_i,
  input logic compare_upper_i,
  input key_length_t compare_byte_i,
  output line_t compare_window_o,

  output logic key_valid_o,
  input logic key_ready_i,
  output key_read_t key_o,
  input logic key_line_valid_i,
  input line_t key_line_i,

  // see slot_lines
  output logic read_valid_o,
  input logic read_ready_i,
  output place_read_t read_o,
  input logic memory_valid_i,
  input place_line_t memory_i
);

  if (Slots < 1) $fatal(1, "Slots must be at least 1");

  typedef logic [PlaceBits-1:0] place_t;

  // ---- states

  slot_state_e [Slots-1:0] state;
  logic [Slots-1:0] works, starter_works, opener_works, settled, failed, woken, copied, keys_ready;
  logic [Slots-1:0] grant_valid, grant_ready, has_grant, left, is_next, none, descent_failed;
  logic [Slots-1:0] begins, headers, steps, repeat_asks, repeats, returns, may_start;
  logic [1:0] end_step;
  place_t [1:0] end_place;
  slot_state_e [1:0] end_state;
  logic has_place, starts_request, end_none, walked, left_continues;
  place_t place, holder, next;

  assign leaf_ready_o = has_place && keys_ready == '1 && !go_valid_i;
  assign starts_request = leaf_valid_i && leaf_ready_o;
  assign works = starter_works | opener_works;

  slot_states #(
    .Slots(Slots)
  ) u_states (
    .clk_i, .rst_i, .begin_i(starts_request), .begin_place_i(place), .begin_failed_i(leaf_i.failed),
    .keys_ready_i(keys_ready), .woken_i(woken), .works_i(works), .settled_i(settled), .failed_i(failed),
    .end_i(end_step), .end_place_i(end_place), .end_state_i(end_state), .end_none_i(end_none),
    .has_place_o(has_place), .place_o(place),
    .grant_i(grant_valid & grant_ready), .leaves_i(left), .continues_i(left_continues),
    .repeats_i(repeats), .returns_i(returns), .return_failed_i(repeated_leaf_i.failed),
    .state_o(state), .busy_o,
    .begins_o(begins), .headers_o(headers), .steps_o(steps), .ready_o(grant_valid), .repeats_o(repeat_asks),
    .none_o(none), .descent_failed_o(descent_failed)
  );

  // ---- requests

  logic goes, go_ready_q, starter_reads, opener_reads, grants_read, repeats_read, return_valid, return_ready;
  logic previous_valid, previous_ready;
  place_t starter_place, opener_place, grants_place, repeats_place;
  open_t [1:0] open;
  open_t previous;
  slot_request_t [1:0] request;

  // The fence key is written first.
  assign goes = fence_valid_o && fence_ready_i;
  assign fence_valid_o = go_valid_i && !go_ready_q;
  assign go_ready_o = go_ready_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) go_ready_q <= 1'b0;
    else go_ready_q <= goes;
  end

  slot_requests #(
    .Slots(Slots)
  ) u_requests (
    .clk_i, .rst_i, .begin_i(starts_request), .begin_place_i(place), .leaf_i,
    .go_i(goes), .holder_i(holder), .request_i(leaf_o.request), .go_to_i(go_i), .fences_i,
    .return_valid_i(return_valid), .return_ready_o(return_ready),
    .return_place_i(repeats_place), .return_leaf_i(repeated_leaf_i),
    .previous_valid_i(previous_valid), .previous_ready_o(previous_ready),
    .previous_place_i(end_place[0]), .previous_i(previous), .open_read_i({opener_reads, starter_reads}),
    .open_place_i({opener_place, starter_place}), .open_o(open),
    .request_read_i({repeats_read, grants_read}), .request_place_i({repeats_place, grants_place}),
    .request_o(request)
  );

  repeated_descents #(
    .Slots(Slots)
  ) u_repeated (
    .clk_i, .rst_i, .asks_i(repeat_asks), .repeats_o(repeats), .returns_o(returns),
    .request_read_o(repeats_read), .place_o(repeats_place), .request_i(request[1]),
    .return_valid_o(return_valid), .return_ready_i(return_ready), .repeated_valid_o, .repeated_ready_i,
    .repeated_o, .repeated_leaf_valid_i, .repeated_leaf_ready_o,
    .repeated_leaf_i
  );

  // ---- keys

  logic suffix_valid, summary_done;
  suffix_t suffix;
  summary_t summary;
  place_t summary_place;

  slot_keys #(
    .Slots(Slots)
  ) u_keys (
    .clk_i, .rst_i, .begin_i(starts_request), .begin_place_i(place), .request_i(leaf_i.request),
    .ready_o(keys_ready), .suffix_i(suffix_valid), .suffix_place_i(end_place[0]), .suffix_bytes_i(suffix),
    .done_o(summary_done), .done_place_o(summary_place), .summary_o(summary),
    .compare_read_i, .compare_place_i(holder), .compare_upper_i, .compare_byte_i, .compare_window_o,
    .key_valid_o, .key_ready_i, .key_o, .key_line_valid_i, .key_line_i
  );

  // ---- leaves

  logic start_valid, start_ready, starter_fails, starter_wakes, opened, opener_fails, opener_fetches;
  logic [Slots-1:0] starter_begins, opener_begins, fails, wake;
  logic [1:0] line_valid, line_ready;
  line_count_t opener_line;
  place_t line_place;
  line_t line;
  fetch_t opener_fetch;
  node_header_t opened_header;
  opened_t opened_leaf;

  leaf_starter #(
    .Slots(Slots),
    .NodeBytes(NodeBytes)
  ) u_starter (
    .clk_i, .rst_i, .geometry_i, .begins_i(begins & may_start), .headers_i(headers),
    .works_o(starter_works), .wakes_o(starter_begins),
    .open_read_o(starter_reads), .open_place_o(starter_place), .open_i(open[0]),
    .previous_valid_o(previous_valid), .previous_ready_i(previous_ready), .previous_o(previous),
    .start_valid_o(start_valid), .start_ready_i(start_ready),
    .line_valid_o(line_valid[0]), .line_ready_i(line_ready[0]), .line_i(line),
    .suffix_o(suffix_valid), .suffix_bytes_o(suffix), .end_o(end_step[0]), .end_state_o(end_state[0]),
    .end_none_o(end_none), .fails_o(starter_fails), .wake_o(starter_wakes), .place_o(end_place[0])
  );

  leaf_opener #(
    .Slots(Slots)
  ) u_opener (
    .clk_i, .rst_i, .geometry_i, .steps_i(steps), .state_i(state), .copied_i(copied),
    .works_o(opener_works), .wakes_o(opener_begins),
    .open_read_o(opener_reads), .open_place_o(opener_place), .open_i(open[1]),
    .summary_i(summary_done), .summary_place_i(summary_place), .summary_key_i(summary),
    .line_valid_o(line_valid[1]), .line_ready_i(line_ready[1]), .line_place_o(line_place),
    .line_number_o(opener_line), .line_i(line),
    .fetch_o(opener_fetches), .fetch_lines_o(opener_fetch), .end_o(end_step[1]), .end_state_o(end_state[1]),
    .opened_o(opened), .header_o(opened_header), .fails_o(opener_fails), .place_o(end_place[1]),
    .opened_read_i(grants_read), .opened_place_i(grants_place), .opened_leaf_o(opened_leaf)
  );

  for (genvar slot = 0; slot < Slots; slot++) begin : gen_ends
    assign fails[slot] = (starter_fails && end_place[0] == place_t'(slot)) ||
        (opener_fails && end_place[1] == place_t'(slot));
    assign wake[slot] = (starter_wakes && end_place[0] == place_t'(slot)) ||
        (summary_done && summary_place == place_t'(slot));
  end

  // ---- lines

  logic log_line_valid, log_line_ready;
  offset_t log_line_offset;

  slot_lines #(
    .Slots(Slots),
    .NodeBytes(NodeBytes)
  ) u_lines (
    .clk_i, .rst_i, .begin_i(starts_request), .begin_place_i(place),
    .start_valid_i(start_valid), .start_ready_o(start_ready),
    .start_place_i(end_place[0]), .start_i(open[0]), .may_start_o(may_start), .waits_i(begins & ~works),
    .fetch_i(opener_fetches), .fetch_place_i(end_place[1]), .fetch_lines_i(opener_fetch), .fails_i(fails),
    .leaves_i(left), .wake_i(wake), .wakes_i(starter_begins | opener_begins),
    .woken_o(woken), .settled_o(settled), .failed_o(failed), .copied_o(copied), .holder_i(holder),
    .window_valid_i, .window_ready_o,
    .window_i(window_read(window_ahead_i, window_offset_i, window_limit_i)), .window_o,
    .next_i(next),
    .log_valid_i(log_line_valid), .log_ready_o(log_line_ready), .log_offset_i(log_line_offset),
    .line_valid_i(line_valid), .line_ready_o(line_ready),
    .line_place_i({line_place, end_place[0]}), .line_number_i({opener_line, line_count_t'(0)}), .line_o(line),
    .read_valid_o, .read_ready_i, .read_o, .memory_valid_i, .memory_i
  );

  // ---- grants

  scan_grants #(
    .Slots(Slots)
  ) u_grants (
    .clk_i, .rst_i, .geometry_i, .grant_valid_i(grant_valid), .grant_ready_o(grant_ready),
    .none_i(none), .descent_failed_i(descent_failed), .failed_i(failed),
    .read_o(grants_read), .read_place_o(grants_place), .request_i(request[0]), .opened_i(opened_leaf),
    .is_next_o(is_next), .next_o(next), .walked_o(walked),
    .line_valid_o(log_line_valid), .line_ready_i(log_line_ready),
    .line_offset_o(log_line_offset), .line_i(line), .entry_valid_o, .entry_o, .rank_o, .take_o,
    .granted_o, .has_grant_o(has_grant), .holder_o(holder), .leaf_o,
    .grant_ends_i, .grant_continues_i, .left_o(left), .left_continues_o(left_continues)
  );

  slot_events #(
    .Slots(Slots)
  ) u_events (
    .clk_i, .begin_i(starts_request), .begin_place_i(place), .leaf_i,
    .opened_i(opened), .opened_place_i(end_place[1]), .header_i(opened_header),
    .walked_i(walked), .is_next_i(is_next), .has_grant_i(has_grant), .event_i, .events_o
  );

  assign holder_o = holder;

  `ASSERT(RequestsWithGrant, granted_o || !(go_valid_i || window_valid_i))
  `COVER(NoFreeSlot, leaf_valid_i && busy_o == '1)

endmodule

`default_nettype wire
