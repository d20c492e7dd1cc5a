// Chooses one of several numbers that ask, in turn. The choice is a register: it stays until it is taken, and
// the number should ask until then. A number can be chosen from the cycle on after it began to ask. A number
// that was taken may not ask in the next cycle.

`default_nettype none

`include "assertions.svh"

module picker #(
  parameter int unsigned Count = 4,
  localparam int unsigned IndexBits = Count > 1 ? $clog2(Count) : 1
) (
  input logic clk_i,
  input logic rst_i,

  input logic [Count-1:0] asks_i,

  output logic valid_o,
  output logic [IndexBits-1:0] index_o,
  output logic [Count-1:0] is_index_o,
  input logic take_i
);

  logic valid_q;
  logic [IndexBits-1:0] index_d, index_q;
  // the number that was chosen last
  logic [Count-1:0] chosen_d, chosen_q, asks_q, asks, later;

  assign asks = asks_q & ~is_index_o;
  assign later = asks & ~(chosen_q | (chosen_q - 1'b1));
  assign chosen_d = later != '0 ? later & (~later + 1'b1) : asks & (~asks + 1'b1);

  always_comb begin
    index_d = '0;
    for (int unsigned index = 0; index < Count; index++) if (chosen_d[index]) index_d |= IndexBits'(index);
  end

  always_ff @(posedge clk_i) begin
    asks_q <= rst_i ? '0 : asks_i & ~is_index_o;
    if (rst_i) {valid_q, chosen_q} <= {1'b0, Count'(1)};
    else if (!valid_q || take_i) begin
      valid_q <= asks != '0;
      if (asks != '0) chosen_q <= chosen_d;
    end
    if ((!valid_q || take_i) && asks != '0) index_q <= index_d;
  end

  assign valid_o = valid_q;
  assign index_o = index_q;
  assign is_index_o = chosen_q & {Count{valid_q}};

  `ASSERT(OneIsChosen, $onehot(chosen_q))
  `ASSERT(TakesTheChosen, !take_i || valid_q)
  `COVER(SeveralAsk, $countones(asks_i) > 1)

endmodule

`default_nettype wire
