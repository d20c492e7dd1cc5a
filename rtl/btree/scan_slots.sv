// The requests of a range scan unit: while one has the grant, the leaves of the others arrive. Ports
// without an index belong to the request that has the grant; see scan_slot. Its state, the requests to it and
// the answers to them go through registers. Repeated descents are those of any slot.

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
  localparam int unsigned PlaceBits = Slots > 1 ? $clog2(Slots) : 1,
  localparam int unsigned LineIndexWidth = $clog2(NodeBytes / LineBytes)
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
  input logic value_valid_i,
  output logic value_ready_o,
  input bus_address_t value_address_i,
  input line_count_t value_count_i,
  output logic value_line_valid_o,
  input logic value_line_ready_i,
  output line_t value_line_o,

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

  // for each slot
  output logic [Slots-1:0] read_valid_o,
  input logic [Slots-1:0] read_ready_i,
  output line_read_t [Slots-1:0] read_o,
  input logic [Slots-1:0] beat_valid_i,
  output logic [Slots-1:0] beat_ready_o,
  input line_beat_t [Slots-1:0] beat_i
);

  if (Slots < 1) $fatal(1, "Slots must be at least 1");

  typedef logic [PlaceBits-1:0] place_t;

  // ---- assignment ----

  // The idle slot with the lowest number.
  place_t place;
  logic begins;
  logic [Slots-1:0] keys_ready;

  always_comb begin
    place = '0;
    for (int unsigned after = 1; after <= Slots; after++) begin
      if (!busy_o[Slots-after]) place = place_t'(Slots - after);
    end
  end

  assign leaf_ready_o = busy_o != '1 && keys_ready == '1;
  assign begins = leaf_valid_i && leaf_ready_o;

  // ---- grants ----

  logic [Slots-1:0] grant_valid, grant_ready, has_grant, is_next;
  place_t holder, next;
  open_leaf_t [Slots-1:0] leaf;
  logic walked, log_line_valid, log_line_ready;
  offset_t log_line_offset;
  line_t log_line;

  scan_grants #(
    .Slots(Slots)
  ) u_grants (
    .clk_i, .rst_i, .geometry_i,
    .grant_valid_i(grant_valid), .grant_ready_o(grant_ready),
    .leaf_i(leaf),
    .is_next_o(is_next), .next_o(next), .walked_o(walked),
    .line_valid_o(log_line_valid), .line_ready_i(log_line_ready),
    .line_offset_o(log_line_offset), .line_i(log_line),
    .entry_valid_o, .entry_o, .rank_o, .take_o,
    .granted_o, .has_grant_o(has_grant), .holder_o(holder), .leaf_o,
    .grant_ends_i
  );

  // ---- keys ----

  logic [Slots-1:0] suffix_valid, suffix_ready, summary_done;
  suffix_t [Slots-1:0] suffix;
  head_t summary_head;
  logic [7:0] summary_fingerprint;
  logic summary_read_valid, summary_upper, summary_last, summary_head_valid, summary_head_last;
  place_t summary_index;
  head_read_t summary_read;
  head_t summary_bytes;

  key_copies #(
    .Slots(Slots)
  ) u_keys (
    .clk_i, .rst_i, .begin_i(begins), .place_i(place), .slot_i(leaf_i.request.slot),
    .lower_length_i(leaf_i.request.lower_length), .upper_length_i(leaf_i.request.upper_length),
    .ready_o(keys_ready), .summary_read_valid_i(summary_read_valid),
    .summary_index_i(summary_index), .summary_upper_i(summary_upper), .summary_read_i(summary_read),
    .summary_last_i(summary_last), .summary_head_valid_o(summary_head_valid),
    .summary_head_o(summary_bytes), .summary_head_last_o(summary_head_last), .compare_read_i,
    .compare_index_i(holder), .compare_upper_i, .compare_byte_i, .compare_window_o,
    .key_valid_o, .key_ready_i, .key_o, .key_line_valid_i,
    .key_line_i
  );

  key_summaries #(
    .Slots(Slots)
  ) u_summaries (
    .clk_i, .rst_i, .suffix_valid_i(suffix_valid), .suffix_ready_o(suffix_ready), .suffix_i(suffix),
    .done_o(summary_done), .head_o(summary_head), .fingerprint_o(summary_fingerprint),
    .read_valid_o(summary_read_valid), .read_index_o(summary_index), .read_upper_o(summary_upper),
    .read_o(summary_read), .read_last_o(summary_last), .read_head_valid_i(summary_head_valid),
    .read_head_i(summary_bytes),
    .read_head_last_i(summary_head_last)
  );

  // ---- slots ----

  logic [Slots-1:0] opened, store_valid, store_ready, count_valid, counts_valid;
  column_use_t [Slots-1:0] count;
  column_counts_t counts;
  logic [Slots-1:0] repeated_valid, repeated_ready, awaits_leaf, leaf_valid;
  logic [Slots-1:0] window_ready, value_ready, value_line_valid;
  descent_t [Slots-1:0] repeated;
  line_t [Slots-1:0] value_line, store_data;
  logic [Slots-1:0][LineIndexWidth-1:0] store_line;
  logic go_ready_q, goes, asks_q;
  // the window is a line of the log of the next request
  logic looks_q;
  window_read_t window_q;

  assign goes = fence_valid_o && fence_ready_i;
  assign fence_valid_o = go_valid_i && !go_ready_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) {go_ready_q, asks_q, looks_q} <= '0;
    else begin
      go_ready_q <= goes;
      asks_q <= window_valid_i && !window_ready_o;
      looks_q <= log_line_valid && !log_line_ready && !window_valid_i;
    end
    window_q <= window_read(window_ahead_i, window_offset_i, window_limit_i);
    if (!window_valid_i) window_q <= line_window(log_line_offset);
  end

  for (genvar index = 0; index < Slots; index++) begin : gen_slots
    scan_slot #(
      .NodeBytes(NodeBytes)
    ) u_slot (
      .clk_i, .rst_i, .geometry_i, .begin_i(begins && place == place_t'(index)), .leaf_i,
      .busy_o(busy_o[index]), .leaf_o(leaf[index]), .opened_o(opened[index]),
      .keys_ready_i(keys_ready[index]),
      .suffix_valid_o(suffix_valid[index]), .suffix_ready_i(suffix_ready[index]),
      .suffix_o(suffix[index]), .summary_done_i(summary_done[index]), .summary_head_i(summary_head),
      .summary_fingerprint_i(summary_fingerprint),
      .grant_valid_o(grant_valid[index]), .grant_ready_i(grant_ready[index]),
      .grant_ends_i(grant_ends_i && has_grant[index]),
      .repeated_valid_o(repeated_valid[index]), .repeated_ready_i(repeated_ready[index]),
      .repeated_o(repeated[index]),
      .repeated_leaf_valid_i(leaf_valid[index]),
      .repeated_leaf_ready_o(awaits_leaf[index]),
      .repeated_leaf_i,
      .go_i(goes && has_grant[index]),
      .go_to_i(go_i), .fences_i, .grant_continues_i,
      .window_valid_i((asks_q && has_grant[index]) || (looks_q && is_next[index])),
      .window_ready_o(window_ready[index]),
      .window_i(window_q),
      .store_valid_o(store_valid[index]), .store_ready_i(store_ready[index]),
      .store_line_o(store_line[index]), .store_data_o(store_data[index]),
      .count_valid_o(count_valid[index]), .count_o(count[index]),
      .counts_valid_i(counts_valid[index]), .counts_i(counts),
      .value_valid_i(value_valid_i && has_grant[index]), .value_ready_o(value_ready[index]),
      .value_address_i,
      .value_count_i,
      .value_line_valid_o(value_line_valid[index]),
      .value_line_ready_i(value_line_ready_i && has_grant[index]),
      .value_line_o(value_line[index]),
      .read_valid_o(read_valid_o[index]), .read_ready_i(read_ready_i[index]),
      .read_o(read_o[index]),
      .beat_valid_i(beat_valid_i[index]), .beat_ready_o(beat_ready_o[index]),
      .beat_i(beat_i[index])
    );

    slot_events u_events (
      .begins_i(begins && place == place_t'(index)),
      .leaf_i,
      .opened_i(opened[index]),
      .open_leaf_i(leaf[index]),
      .walked_i(walked && is_next[index]),
      .has_grant_i(has_grant[index]),
      .event_i,
      .event_o(events_o[index])
    );
  end

  assign go_ready_o = go_ready_q;
  assign window_ready_o = asks_q && |(window_ready & has_grant);
  assign log_line_ready = looks_q && |(window_ready & is_next);
  assign value_ready_o = |(value_ready & has_grant);
  assign value_line_valid_o = |(value_line_valid & has_grant);
  assign value_line_o = value_line[holder];

  repeated_descents #(
    .Slots(Slots)
  ) u_repeated (
    .clk_i, .rst_i, .in_valid_i(repeated_valid), .in_ready_o(repeated_ready), .in_i(repeated),
    .awaits_i(awaits_leaf), .leaf_valid_o(leaf_valid), .repeated_valid_o, .repeated_ready_i, .repeated_o,
    .repeated_leaf_valid_i, .repeated_leaf_ready_o
  );

  leaf_lines #(
    .Slots(Slots),
    .NodeBytes(NodeBytes)
  ) u_lines (
    .clk_i,
    .rst_i,
    .store_valid_i(store_valid), .store_ready_o(store_ready),
    .store_line_i(store_line), .store_data_i(store_data),
    .count_valid_i(count_valid), .count_i(count), .counts_valid_o(counts_valid), .counts_o(counts),
    .read_i(window_ready_o),
    .read_slot_i(holder),
    .read_offset_i(window_q.offset),
    .window_o,
    .line_read_i(log_line_ready),
    .line_slot_i(next),
    .line_o(log_line)
  );

  `ASSERT(OneWindow, !(asks_q && looks_q))
  `ASSERT(RequestsWithGrant,
      granted_o || !(go_valid_i || window_valid_i || value_valid_i))
  `COVER(LogWaitsForAWindow, log_line_valid && window_valid_i)
  `COVER(NoFreeSlot, leaf_valid_i && busy_o == '1)

endmodule

`default_nettype wire
