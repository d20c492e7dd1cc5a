// Passes bits from a register of another clock through two registers, of which the first may be metastable.
// Bits that change together may arrive in different cycles.

`default_nettype none

module synchronizer #(
  parameter int unsigned Bits = 1
) (
  input logic clk_i,
  input logic rst_i,

  input  logic [Bits-1:0] bits_i,
  output logic [Bits-1:0] bits_o
);

  (* async_reg = "true" *) logic [Bits-1:0] first_q, second_q;

  always_ff @(posedge clk_i) {second_q, first_q} <= rst_i ? '0 : {first_q, bits_i};

  assign bits_o = second_q;

endmodule

`default_nettype wire
