// Proves for a reset until the first edge and at arbitrary times, and a clock with arbitrary edges, that the
// reset of the clock domain begins at once, and ends at the second edge after its cause.

`default_nettype none

module prove_reset_sync (
  input logic clk_i,
  input logic async_rst_i
);

  logic rst;
  logic started_q = 1'b0;
  // edges since the end of the reset that caused it, up to three
  logic [1:0] edges_q;

  always_ff @(posedge clk_i) started_q <= 1'b1;

  always_ff @(posedge clk_i or posedge async_rst_i) begin
    if (async_rst_i) edges_q <= '0;
    else if (edges_q != 2'd3) edges_q <= edges_q + 1'b1;
  end

  reset_sync u_reset_sync (
    .clk_i,
    .async_rst_i,
    .rst_o(rst)
  );

  always_comb begin
    StartsInReset : assume (started_q || async_rst_i);
    BeginsAtOnce : assert (!async_rst_i || rst);
    EndsAtAnEdge : assert (rst == (edges_q < 2'd2));
  end

endmodule

`default_nettype wire
