// Proves for a queue between two clocks with arbitrary edges, and with arbitrary neighbours, that elements
// leave in the order of their arrival, and that none is lost.

`default_nettype none

module prove_fifo_async (
  input logic in_clk_i,
  input logic in_valid_i,
  input logic out_clk_i,
  input logic out_ready_i
);

  localparam int unsigned Depth = 2;

  // Each side leaves its reset after both clocks have had an edge in reset.
  logic in_rst_q = 1'b1;
  logic out_rst_q = 1'b1;
  logic in_had_edge_q = 1'b0;
  logic out_had_edge_q = 1'b0;
  logic in_ready, out_valid;
  logic [3:0] put_q, sent_q, out;

  always_ff @(posedge in_clk_i) begin
    in_had_edge_q <= 1'b1;
    if (out_had_edge_q) in_rst_q <= 1'b0;
    if (in_rst_q) put_q <= '0;
    else put_q <= put_q + 4'(in_valid_i && in_ready);
  end

  always_ff @(posedge out_clk_i) begin
    out_had_edge_q <= 1'b1;
    if (in_had_edge_q) out_rst_q <= 1'b0;
    if (out_rst_q) sent_q <= '0;
    else sent_q <= sent_q + 4'(out_valid && out_ready_i);
  end

  fifo_async #(
    .T(logic [3:0]),
    .Depth(Depth)
  ) u_fifo (
    .in_clk_i,
    .in_rst_i(in_rst_q),
    .in_valid_i,
    .in_ready_o(in_ready),
    .in_i(put_q),
    .out_clk_i,
    .out_rst_i(out_rst_q),
    .out_valid_o(out_valid),
    .out_ready_i,
    .out_o(out)
  );

  always_comb begin
    if (!in_rst_q && !out_rst_q) begin
      InOrder : assert (!out_valid || out == sent_q);
      OffersWhatArrived : assert (!out_valid || put_q != sent_q);
      HasRoom : assert (put_q - sent_q <= 4'(Depth));
    end
  end

endmodule

`default_nettype wire
