// A skid buffer with any neighbours: elements are numbered as they arrive, and must leave in this order.

`default_nettype none

module prove_skid_buffer (
  input logic clk_i,
  input logic in_valid_i,
  input logic out_ready_i
);

  logic rst;
  logic in_ready, out_valid;
  logic [4:0] put_q, taken_q, out;

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
      taken_q <= '0;
    end else begin
      put_q <= put_q + 5'(in_valid_i && in_ready);
      taken_q <= taken_q + 5'(out_valid && out_ready_i);
    end
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      InOrder : assert (!out_valid || out == taken_q);
      OffersWhatItHas : assert (out_valid == (put_q != taken_q));
      TakesWhatItCan : assert (in_ready == (put_q - taken_q < 5'd2));
      // What the proof by induction stands on.
      HoldsTheSecond : assert (!u_skid_buffer.is_held_q || u_skid_buffer.held_q == taken_q + 5'd1);
      CountsBoth : assert (put_q - taken_q == 5'(out_valid) + 5'(!in_ready));
    end
  end

endmodule

`default_nettype wire
