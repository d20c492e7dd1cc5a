// Proves for a queue of packets with arbitrary neighbours that elements leave in the order of their arrival,
// that no packet has a gap, and that the queue never waits for an element that it has no room for.

`default_nettype none

module prove_packet_fifo (
  input logic clk_i,
  input logic in_valid_i,
  input logic in_last_i,
  input logic out_ready_i
);

  localparam int unsigned Depth = 3;

  logic rst;
  logic in_ready, out_valid, out_last;
  logic [3:0] put_q, sent_q, out;
  // The elements of the packet that arrives; whether one leaves; which elements were the last ones.
  logic [1:0] length_q;
  logic leaves_q, stalled_q, last_q;
  logic [15:0] lasts_q;

  neighbours u_neighbours (
    .clk_i,
    .rst_o(rst),
    .in_valid_i,
    .in_ready_i(in_ready)
  );

  packet_fifo #(
    .T(logic [3:0]),
    .Depth(Depth)
  ) u_packet_fifo (
    .clk_i,
    .rst_i(rst),
    .in_valid_i,
    .in_ready_o(in_ready),
    .in_i(put_q),
    .in_last_i,
    .out_valid_o(out_valid),
    .out_ready_i,
    .out_o(out),
    .out_last_o(out_last)
  );

  always_ff @(posedge clk_i) begin
    if (rst) begin
      put_q <= '0;
      sent_q <= '0;
      length_q <= '0;
      leaves_q <= 1'b0;
    end else begin
      put_q <= put_q + 4'(in_valid_i && in_ready);
      sent_q <= sent_q + 4'(out_valid && out_ready_i);
      if (in_valid_i && in_ready) begin
        length_q <= in_last_i ? '0 : length_q + 1'b1;
        lasts_q[put_q] <= in_last_i;
      end
      if (out_valid && out_ready_i) leaves_q <= !out_last;
    end
    stalled_q <= !rst && in_valid_i && !in_ready;
    last_q <= in_last_i;
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      LastStays : assume (!stalled_q || in_last_i == last_q);
      PacketHasRoom : assume (!in_valid_i || in_last_i || length_q < 2'(Depth - 1));
      InOrder : assert (!out_valid || (out == sent_q && out_last == lasts_q[sent_q]));
      OffersWhatHasArrived : assert (!out_valid || put_q != sent_q);
      NoGaps : assert (!leaves_q || out_valid);
      NeverStuck : assert (in_ready || out_valid);
    end
  end

endmodule

`default_nettype wire
