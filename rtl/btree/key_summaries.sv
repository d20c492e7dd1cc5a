// Computes heads and fingerprints of key suffixes for the requests of a unit, one at a time and in order.

`default_nettype none

`include "assertions.svh"

module key_summaries
  import accelerator_pkg::*;
  import search_pkg::*;
  import scan_pkg::*;
#(
  parameter int unsigned Slots = 1,
  localparam int unsigned PlaceBits = Slots > 1 ? $clog2(Slots) : 1
) (
  input logic clk_i,
  input logic rst_i,

  // a suffix of a key that is loaded; each slot awaits at most one
  input logic suffix_i,
  input logic [PlaceBits-1:0] suffix_place_i,
  input suffix_t suffix_bytes_i,
  // valid for one cycle: head and fingerprint of the suffix of this slot
  output logic done_o,
  output logic [PlaceBits-1:0] done_place_o,
  output summary_t summary_o,

  // see head_and_fingerprint
  output logic read_valid_o,
  output logic [PlaceBits-1:0] read_index_o,
  output logic read_upper_o,
  output head_read_t read_o,
  output logic read_last_o,
  input logic read_head_valid_i,
  input head_t read_head_i,
  input logic read_head_last_i
);

  typedef struct packed {
    logic [PlaceBits-1:0] place;
    suffix_t bytes;
  } suffix_of_slot_t;

  logic is_next, is_started_q, summary_done, ready;
  suffix_of_slot_t suffix;

  fifo #(
    .T(suffix_of_slot_t),
    .Depth(Slots)
  ) u_suffixes (
    .clk_i,
    .rst_i,
    .in_valid_i(suffix_i), .in_ready_o(ready),
    .in_i(suffix_of_slot_t'({suffix_place_i, suffix_bytes_i})),
    .out_valid_o(is_next), .out_ready_i(done_o),
    .out_o(suffix),
    .count_o()
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) is_started_q <= 1'b0;
    else is_started_q <= is_next && !done_o;
  end

  head_and_fingerprint u_summary (
    .clk_i,
    .rst_i,
    .start_i(is_next && !is_started_q),
    .first_i(suffix.bytes.first),
    .last_i(suffix.bytes.last),
    .read_valid_o,
    .read_o,
    .read_last_o,
    .head_valid_i(read_head_valid_i),
    .head_i(read_head_i),
    .head_last_i(read_head_last_i),
    .done_o(summary_done),
    .head_o(summary_o.head),
    .fingerprint_o(summary_o.fingerprint)
  );

  assign done_o = is_started_q && summary_done;
  assign done_place_o = suffix.place;
  assign read_index_o = suffix.place;
  assign read_upper_o = suffix.bytes.by_upper;

  `ASSERT(SuffixHasRoom, !suffix_i || ready)
  `COVER(SummaryWaits, is_started_q && suffix_i)
  `COVER(SuffixHas31Bytes, suffix_i && suffix_bytes_i.last - suffix_bytes_i.first == 31)
  `COVER(SuffixHas32Bytes, suffix_i && suffix_bytes_i.last - suffix_bytes_i.first == 32)
  `COVER(SuffixHas33Bytes, suffix_i && suffix_bytes_i.last - suffix_bytes_i.first == 33)

endmodule

`default_nettype wire
