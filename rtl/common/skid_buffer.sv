// Cuts all combinational paths between two units at full rate: no output depends on an input of the same
// cycle. An element appears at the output in the cycle after it was accepted at the earliest.

`default_nettype none

`include "assertions.svh"

module skid_buffer #(
  parameter type T = logic [31:0]
) (
  input logic clk_i,
  input logic rst_i,

  input  logic in_valid_i,
  output logic in_ready_o,
  input  T     in_i,

  output logic out_valid_o,
  input  logic out_ready_i,
  output T     out_o
);

  // The element at the output, and the skid register: the element that arrived while the output was stalled.
  T offered_q, held_q;
  logic is_offered_q, is_held_q;
  logic put, moves;

  assign put = in_valid_i && in_ready_o;
  assign moves = !is_offered_q || out_ready_i;

  always_ff @(posedge clk_i) begin
    if (moves) offered_q <= is_held_q ? held_q : in_i;
    if (put) held_q <= in_i;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      is_offered_q <= 1'b0;
      is_held_q <= 1'b0;
    end else begin
      if (moves) is_offered_q <= is_held_q || put;
      is_held_q <= !moves && (is_held_q || put);
    end
  end

  assign in_ready_o = !is_held_q;
  assign out_valid_o = is_offered_q;
  assign out_o = offered_q;

  `ASSERT(HeldOnlyIfOffered, !is_held_q || is_offered_q)
  `ASSERT_OFFER_STAYS(InStays, in_valid_i, in_ready_o, in_i)
  `ASSERT_OFFER_STAYS(OutStays, out_valid_o, out_ready_i, out_o)
  `COVER(Holds, is_held_q && !out_ready_i)

endmodule

`default_nettype wire
