// Computes heads and fingerprints of key suffixes for the requests of a unit, one at a time.

`default_nettype none

`include "assertions.svh"

module key_summaries
  import accelerator_pkg::*;
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

  // windows of keys, valid two cycles after the read
  output logic key_read_o,
  output logic [PlaceBits-1:0] key_index_o,
  output logic key_upper_o,
  output key_length_t key_byte_o,
  input line_t key_window_i
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

  logic fingerprint_valid;

  head_and_fingerprint u_summary (
    .clk_i,
    .rst_i,
    .start_i(is_taken && !is_started_q),
    .first_i(suffix.first),
    .last_i(suffix.last),
    .key_read_o,
    .key_byte_o,
    .key_window_i,
    .head_valid_o(),
    .head_o,
    .fingerprint_valid_o(fingerprint_valid),
    .fingerprint_o
  );

  assign is_done = is_started_q && fingerprint_valid;
  assign key_index_o = place;
  assign key_upper_o = suffix.by_upper;

  for (genvar slot = 0; slot < Slots; slot++) begin : gen_done
    assign done_o[slot] = is_done && place == PlaceBits'(slot);
  end

  `COVER(SummaryWaits, is_taken && suffix_valid_i != '0)

endmodule

`default_nettype wire
