// Computes heads and fingerprints of key suffixes for the requests of a unit, one at a time.

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

  // for each slot: a suffix of a key that is loaded
  input logic [Slots-1:0] suffix_valid_i,
  output logic [Slots-1:0] suffix_ready_o,
  input suffix_t [Slots-1:0] suffix_i,
  // valid for one cycle: head and fingerprint of the suffix that was accepted from this slot
  output logic [Slots-1:0] done_o,
  output head_t head_o,
  output logic [7:0] fingerprint_o,

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

  logic is_taken, is_started_q, is_done;
  suffix_t suffix;
  logic [PlaceBits-1:0] place;

  arbiter #(
    .T(suffix_t),
    .Count(Slots)
  ) u_grants (
    .clk_i,
    .rst_i,
    .in_valid_i(suffix_valid_i),
    .in_ready_o(suffix_ready_o),
    .in_i(suffix_i),
    .in_last_i('1),
    .out_valid_o(is_taken),
    .out_ready_i(is_done),
    .out_o(suffix),
    .out_last_o(),
    .out_index_o(place)
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) is_started_q <= 1'b0;
    else is_started_q <= is_taken && !is_done;
  end

  logic summary_done;

  head_and_fingerprint u_summary (
    .clk_i,
    .rst_i,
    .start_i(is_taken && !is_started_q),
    .first_i(suffix.first),
    .last_i(suffix.last),
    .read_valid_o,
    .read_o,
    .read_last_o,
    .head_valid_i(read_head_valid_i),
    .head_i(read_head_i),
    .head_last_i(read_head_last_i),
    .done_o(summary_done),
    .head_o,
    .fingerprint_o
  );

  assign is_done = is_started_q && summary_done;
  assign read_index_o = place;
  assign read_upper_o = suffix.by_upper;

  for (genvar slot = 0; slot < Slots; slot++) begin : gen_done
    assign done_o[slot] = is_done && place == PlaceBits'(slot);
  end

  `COVER(SummaryWaits, is_taken && suffix_valid_i != '0)

endmodule

`default_nettype wire
