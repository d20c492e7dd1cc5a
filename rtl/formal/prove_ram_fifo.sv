// Proves for a queue in a memory with arbitrary neighbours that elements leave in the order of their
// arrival, that one is offered three cycles after it arrived, or in the second cycle after the one before
// at the latest, and that the queue accepts an element if its memory has room.

`default_nettype none

module prove_ram_fifo (
  input logic clk_i,
  input logic in_valid_i,
  input logic out_ready_i
);

  localparam int unsigned Depth = 2;

  logic rst;
  logic in_ready, out_valid;
  logic [4:0] put_q, sent_q, out;
  // the elements that arrived in time
  logic [2:0][4:0] before_q;
  logic offered_q;

  neighbours u_neighbours (
    .clk_i,
    .rst_o(rst),
    .in_valid_i,
    .in_ready_i(in_ready)
  );

  ram_fifo #(
    .T(logic [4:0]),
    .Depth(Depth)
  ) u_fifo (
    .clk_i,
    .rst_i(rst),
    .in_valid_i,
    .in_ready_o(in_ready),
    .in_i(put_q),
    .out_valid_o(out_valid),
    .out_ready_i,
    .out_o(out)
  );

  always_ff @(posedge clk_i) begin
    before_q <= {before_q[1:0], put_q};
    offered_q <= out_valid && !rst;
    if (rst) {put_q, sent_q, before_q} <= '0;
    else begin
      put_q <= put_q + 5'(in_valid_i && in_ready);
      sent_q <= sent_q + 5'(out_valid && out_ready_i);
    end
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      InOrder : assert (!out_valid || out == sent_q);
      OffersWhatArrived : assert (!out_valid || put_q != sent_q);
      OffersInTime : assert (out_valid || offered_q || sent_q == before_q[1]);
      HasRoom : assert (in_ready || put_q - sent_q >= 5'(Depth));
    end
  end

endmodule

`default_nettype wire
