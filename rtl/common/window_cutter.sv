// Extracts a window of 64 adjacent bytes from two adjacent lines; the window begins in the first line. The
// window is valid one cycle after the lines.

`default_nettype none

`include "assertions.svh"

module window_cutter
  import accelerator_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  // one cycle before the lines are valid
  input logic read_i,
  // bytes of the first line before the window
  input logic [LineIndexBits-1:0] skip_i,
  // see line_pairs
  input line_t even_i,
  input line_t odd_i,
  input logic is_odd_i,

  // high in the first cycle of a window, which is stable until the next one
  output logic  fresh_o,
  output line_t window_o
);

  logic is_read_q, fresh_q;
  logic [LineIndexBits-1:0] skip_q;
  // the places of bytes that come from the first line
  logic [LineBytes-1:0] is_first_q;
  line_t chosen, rotated, window_q;

  // Each byte comes from one of the lines, from the second one if it is before the window; then they are
  // rotated.
  for (genvar index = 0; index < LineBytes; index++) begin : gen_bytes
    always_ff @(posedge clk_i) if (read_i) is_first_q[index] <= LineIndexBits'(index) >= skip_i;
    assign chosen[8*index+:8] = is_odd_i == is_first_q[index] ? odd_i[8*index+:8] : even_i[8*index+:8];
  end

  always_comb begin
    rotated = chosen;
    for (int unsigned i = 0; i < LineIndexBits; i++) begin
      if (skip_q[i]) rotated = rotated >> (8 << i) | rotated << (LineBits - (8 << i));
    end
  end

  always_ff @(posedge clk_i) begin
    if (read_i) skip_q <= skip_i;
    if (is_read_q) window_q <= rotated;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      is_read_q <= 1'b0;
      fresh_q <= 1'b0;
    end else begin
      is_read_q <= read_i;
      fresh_q <= is_read_q;
    end
  end

  assign fresh_o = fresh_q;
  assign window_o = window_q;

  `ASSERT_STAYS(WindowStays, 1'b1, fresh_q, window_q)

endmodule

`default_nettype wire
