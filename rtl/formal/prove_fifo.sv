// Proves for a queue with arbitrary neighbours that elements leave in the order of their arrival.

`default_nettype none

module prove_fifo (
  input logic clk_i,
  input logic in_valid_i,
  input logic out_ready_i
);

  logic rst;
  logic in_ready, out_valid;
  logic [4:0] put_q, sent_q, out;
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
      sent_q <= '0;
    end else begin
      put_q <= put_q + 5'(in_valid_i && in_ready);
      sent_q <= sent_q + 5'(out_valid && out_ready_i);
    end
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      InOrder : assert (!out_valid || out == sent_q);
      Counts : assert (5'(count) == put_q - sent_q);
      OffersIfNotEmpty : assert (out_valid == (put_q != sent_q));
      AcceptsIfNotFull : assert (in_ready == (put_q - sent_q < 5'd3));
    end
  end

  // Invariants of the induction: the positions of the elements in the queue.
  function automatic logic [1:0] after(logic [1:0] index, logic [1:0] steps);
    return 2'((4'(index) + 4'(steps)) % 4'd3);
  endfunction

  always @(posedge clk_i) begin
    if (!rst) begin
      IndexesAreValid : assert (u_fifo.head_q < 2'd3 && u_fifo.tail_q < 2'd3);
      TailFollowsElements : assert (u_fifo.tail_q == after(u_fifo.head_q, count));
      FirstElementIsCorrect : assert (count < 2'd1 || u_fifo.items_q[u_fifo.head_q] == sent_q);
      SecondElementIsCorrect :
          assert (count < 2'd2 || u_fifo.items_q[after(u_fifo.head_q, 2'd1)] == sent_q + 5'd1);
      ThirdElementIsCorrect :
          assert (count < 2'd3 || u_fifo.items_q[after(u_fifo.head_q, 2'd2)] == sent_q + 5'd2);
    end
  end

endmodule

`default_nettype wire
