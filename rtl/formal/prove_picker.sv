// Proves for a picker of three that ask until they are taken: the choice is one that asks and stays until it
// is taken, and nobody waits for more than three others.

`default_nettype none

module prove_picker (
  input logic clk_i,
  input logic [2:0] asks_i,
  input logic take_i
);

  logic rst, valid, takes;
  logic [1:0] index;
  logic [2:0] is_index;

  assign takes = take_i && valid;

  neighbours #(.Count(3)) u_neighbours (
    .clk_i, .rst_o(rst), .in_valid_i(asks_i), .in_ready_i(is_index & {3{takes}})
  );

  picker #(
    .Count(3)
  ) u_picker (
    .clk_i,
    .rst_i(rst),
    .asks_i,
    .valid_o(valid),
    .index_o(index),
    .is_index_o(is_index),
    .take_i(takes)
  );

  // How many others were taken since each one began to ask; and the choice of the cycle before, if it stays.
  logic [2:0][2:0] others_q;
  logic [2:0] stays_q;

  always_ff @(posedge clk_i) begin
    if (rst) {others_q, stays_q} <= '0;
    else begin
      for (int at = 0; at < 3; at++) begin
        if (!asks_i[at] || (takes && is_index[at])) others_q[at] <= '0;
        else if (takes && others_q[at] != '1) others_q[at] <= others_q[at] + 1'b1;
      end
      stays_q <= takes ? '0 : is_index;
    end
  end

  // One that was taken may ask again in the next cycle, in which the picker does not see it.
  always @(posedge clk_i) begin
    if (!rst) begin
      ChoiceAsks : assert ((is_index & ~asks_i) == '0);
      ChoiceStays : assert (stays_q == '0 || is_index == stays_q);
      ChoiceHasItsNumber : assert (is_index == (valid ? 3'b1 << index : 3'b0));
      OthersWaitInTurn : assert (others_q[0] <= 3'd3 && others_q[1] <= 3'd3 && others_q[2] <= 3'd3);
    end
  end

endmodule

`default_nettype wire
