// Proves for a skid buffer with arbitrary neighbours that elements leave in the order of their arrival.

`default_nettype none

module prove_skid_buffer (
  input logic clk_i,
  input logic in_valid_i,
  input logic out_ready_i
);

  logic rst;
  logic in_ready, out_valid;
  logic [4:0] put_q, sent_q, out;

  neighbours u_neighbours (
    .clk_i,
    .rst_o(rst),
    .in_valid_i,
    .in_ready_i(in_ready)
  );

  skid_buffer #(
    .T(logic [4:0])
  ) u_skid_buffer (
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
    if (rst) begin
      put_q <= '0;
      sent_q <= '0;
    end else begin
      put_q <= put_q + 5'(in_valid_i && in_ready);
      sent_q <= sent_q + 5'(out_valid && out_ready_i);
    end
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      InOrder : assert (!out_valid || out == sent_q);
      OffersIfNotEmpty : assert (out_valid == (put_q != sent_q));
      AcceptsIfNotFull : assert (in_ready == (put_q - sent_q < 5'd2));
      // Invariants of the induction.
      SkidIsSecondElement : assert (u_skid_buffer.has_room_q || u_skid_buffer.skid_q == sent_q + 5'd1);
      CountsBoth : assert (put_q - sent_q == 5'(out_valid) + 5'(!in_ready));
    end
  end

endmodule

`default_nettype wire
