// Proves for a tree of two levels with five arbitrary streams: the elements of each stream leave in order,
// once each, and with the number of their stream.

`default_nettype none

module prove_arbiter_tree (
  input logic clk_i,
  input logic [4:0] in_valid_i,
  input logic out_ready_i
);

  localparam int unsigned Count = 5;

  logic rst, out_valid;
  logic [4:0] in_ready;
  logic [4:0][2:0] offered, expected;
  logic [2:0] out, index;

  neighbours #(.Count(Count)) u_neighbours (.clk_i, .rst_o(rst), .in_valid_i, .in_ready_i(in_ready));

  arbiter_tree #(
    .T(logic [2:0]),
    .Count(Count)
  ) u_tree (
    .clk_i,
    .rst_i(rst),
    .in_valid_i,
    .in_ready_o(in_ready),
    .in_i(offered),
    .out_valid_o(out_valid),
    .out_ready_i,
    .out_o(out),
    .out_index_o(index)
  );

  numbered_streams #(
    .Count(Count),
    .Bits(3)
  ) u_numbers (
    .clk_i,
    .rst_i(rst),
    .put_i(in_valid_i & in_ready),
    .offered_o(offered),
    .sent_i(out_valid && out_ready_i),
    .index_i(index),
    .expected_o(expected)
  );

  always @(posedge clk_i) begin
    if (!rst) begin
      StreamExists : assert (!out_valid || index < 3'd5);
      InOrder : assert (!out_valid || out == expected[index]);
      WasAccepted : assert (!out_valid || expected[index] != offered[index]);
    end
  end

endmodule

`default_nettype wire
