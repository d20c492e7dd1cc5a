// A queue, whatever its neighbours do: elements are numbered as they come, and must leave in that order.

module prove_fifo (
  input logic clk_i,
  input logic in_valid_i,
  input logic out_ready_i
);

  logic rst;
  logic in_ready, out_valid;
  logic [4:0] put_q, taken_q, out;
  logic [1:0] count;

  neighbours u_neighbours (
    .clk_i,
    .rst_o(rst),
    .in_valid_i,
    .in_ready_i(in_ready)
  );

  fifo #(
    .T(logic [4:0]),
    .Depth(3)
  ) u_fifo (
    .clk_i,
    .rst_i(rst),
    .in_valid_i,
    .in_ready_o(in_ready),
    .in_i(put_q),
    .out_valid_o(out_valid),
    .out_ready_i,
    .out_o(out),
    .count_o(count)
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
      Counts : assert (5'(count) == put_q - taken_q);
      OffersWhatItHas : assert (out_valid == (put_q != taken_q));
      TakesWhatItCan : assert (in_ready == (put_q - taken_q < 5'd3));
    end
  end

endmodule
