// A comparison with an arbitrary order: that which the lowest bits of the second string state.

`default_nettype none

module stub_key_compare
  import accelerator_pkg::*;
(
  input logic clk_i,
  input line_t a_i,
  input logic [LineIndexBits:0] a_count_i,
  input line_t b_i,
  input logic [LineIndexBits:0] b_count_i,
  output logic less_o,
  output logic equal_o
);

  logic [1:0] order_q;

  always_ff @(posedge clk_i) order_q <= b_i[1:0];

  assign {less_o, equal_o} = order_q;

endmodule

`default_nettype wire
