// The reset of a clock domain, from a reset of any other clock: it begins at once and without a clock, and
// ends at an edge of the clock, after two edges at least.

`default_nettype none

`include "assertions.svh"

module reset_sync (
  input  logic clk_i,
  input  logic async_rst_i,
  output logic rst_o
);

  (* async_reg = "true" *) logic first_q, second_q;

  always_ff @(posedge clk_i or posedge async_rst_i) begin
    if (async_rst_i) {second_q, first_q} <= '1;
    else {second_q, first_q} <= {first_q, 1'b0};
  end

  assign rst_o = second_q;

  always @(posedge clk_i) begin
    `ASSERTION(EndsStageByStage, !first_q || second_q)
  end

endmodule

`default_nettype wire
