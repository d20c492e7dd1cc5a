// Compares separators with search keys that have the same head, for the descents of a key search unit in
// turn: this is rare, so they share one rest_comparer.

`default_nettype none

`include "assertions.svh"

module descent_rests
  import accelerator_pkg::*;
  import search_pkg::*;
#(
  parameter int unsigned Descents = 2,
  localparam int unsigned PlaceBits = Descents > 1 ? $clog2(Descents) : 1
) (
  input logic clk_i,
  input logic rst_i,

  input  logic [Descents-1:0] rest_valid_i,
  output logic [Descents-1:0] rest_ready_o,
  input  rest_read_t [Descents-1:0] rest_i,
  // the descent whose separator is compared; see rest_comparer for the rest
  output logic [PlaceBits-1:0] place_o,
  output logic wants_line_o,
  input  logic line_valid_i,
  input  line_t line_i,
  output logic key_valid_o,
  input  logic key_ready_i,
  output head_read_t key_o,
  input  logic head_valid_i,
  input  head_t head_i,
  output logic done_o,
  output logic less_o,
  output logic equal_o
);

  logic start_valid, start_ready;
  rest_read_t start;
  logic [PlaceBits-1:0] place;

  wide_arbiter #(
    .T(rest_read_t),
    .Count(Descents)
  ) u_rests (
    .clk_i,
    .rst_i,
    .in_valid_i(rest_valid_i),
    .in_ready_o(rest_ready_o),
    .in_i(rest_i),
    .out_valid_o(start_valid),
    .out_ready_i(start_ready),
    .out_o(start),
    .out_index_o(place)
  );

  always_ff @(posedge clk_i) if (start_valid && start_ready) place_o <= place;

  rest_comparer u_rest_comparer (
    .start_valid_i(start_valid),
    .start_ready_o(start_ready),
    .start_i(start),
    .*
  );

  `COVER(WaitsForComparer, |rest_valid_i && !start_ready)

endmodule

`default_nettype wire
