// Proves for two arbitrary strings of up to 64 bytes that the order is that of their first difference, or,
// if there is none before the end of the shorter one, that of their lengths.

`default_nettype none

module prove_key_compare
  import accelerator_pkg::*;
(
  input logic clk_i,
  input line_t a_i,
  input logic [LineIndexBits:0] a_count_i,
  input line_t b_i,
  input logic [LineIndexBits:0] b_count_i
);

  logic rst, less, equal, expected_less, expected_equal, less_q, equal_q;

  neighbours u_neighbours (.clk_i, .rst_o(rst), .in_valid_i(1'b0), .in_ready_i(1'b0));

  key_compare u_compare (
    .clk_i,
    .a_i, .a_count_i, .b_i, .b_count_i,
    .less_o(less), .equal_o(equal)
  );

  always_comb begin
    expected_less = a_count_i < b_count_i;
    expected_equal = a_count_i == b_count_i;
    // The first difference is the last one that this loop finds.
    for (int unsigned after = 1; after <= LineBytes; after++) begin
      automatic int unsigned at = LineBytes - after;
      if (at < 32'(a_count_i) && at < 32'(b_count_i) && a_i[8*at+:8] != b_i[8*at+:8]) begin
        expected_less = a_i[8*at+:8] < b_i[8*at+:8];
        expected_equal = 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) {less_q, equal_q} <= {expected_less, expected_equal};

  always @(posedge clk_i) begin
    StringsAreShort : assume (a_count_i <= 7'(LineBytes) && b_count_i <= 7'(LineBytes));
    if (!rst) begin
      LessIsTheOrder : assert (less == less_q);
      EqualIsTheOrder : assert (equal == equal_q);
    end
  end

endmodule

`default_nettype wire
