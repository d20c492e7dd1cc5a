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
  input logic [2*LineBits-1:0] pair_i,

  // high in the first cycle of a window, which is stable until the next one
  output logic  fresh_o,
  output line_t window_o
);

  logic is_read_q, fresh_q;
  logic [LineIndexBits-1:0] skip_q;
  logic [2*LineBits-1:0] shifted;
  line_t window_q;

  // The long shifts come first, because the others need fewer bytes then.
  always_comb begin
    shifted = pair_i;
    for (int unsigned i = 1; i <= LineIndexBits; i++) begin
      if (skip_q[LineIndexBits-i]) shifted = shifted >> (LineBytes * 8 >> i);
    end
  end

  always_ff @(posedge clk_i) begin
    if (read_i) skip_q <= skip_i;
    if (is_read_q) window_q <= shifted[LineBits-1:0];
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
