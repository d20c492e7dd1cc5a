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
  // the number that was chosen last, and those behind it
  logic [Count-1:0] chosen_d, chosen_q, behind_d, behind_q, asks_q, asks, later;
  logic [Count-1:0] behind_asks, behind_later;

  assign asks = asks_q & ~is_index_o;
  assign later = asks & behind_q;

  // The numbers behind the first one that asks; the first one is not behind any.
  function automatic logic [Count-1:0] behind_first(logic [Count-1:0] asking);
    for (int unsigned index = 0; index < Count; index++)
      behind_first[index] = |(asking & ((Count'(1) << index) - 1'b1));
  endfunction

  assign behind_asks = behind_first(asks);
  assign behind_later = behind_first(later);
  assign {chosen_d, behind_d} = later != '0 ? {later & ~behind_later, behind_later}
      : {asks & ~behind_asks, behind_asks};

  always_comb begin
    index_d = '0;
    for (int unsigned index = 0; index < Count; index++) if (chosen_d[index]) index_d |= IndexBits'(index);
  end

  always_ff @(posedge clk_i) begin
    asks_q <= rst_i ? '0 : asks_i & ~is_index_o;
    if (rst_i) {valid_q, chosen_q, behind_q} <= {1'b0, Count'(1), ~Count'(1)};
    else if (!valid_q || take_i) begin
      valid_q <= asks != '0;
      if (asks != '0) {chosen_q, behind_q} <= {chosen_d, behind_d};
    end
    if ((!valid_q || take_i) && asks != '0) index_q <= index_d;
  end

  assign valid_o = valid_q;
  assign index_o = index_q;
  assign is_index_o = chosen_q & {Count{valid_q}};

  `ASSERT(OneIsChosen, $onehot(chosen_q))
  `ASSERT(OthersAreBehind, behind_q == ~(chosen_q | (chosen_q - 1'b1)))
  `ASSERT(TakesTheChosen, !take_i || valid_q)
  `COVER(SeveralAsk, $countones(asks_i) > 1)

endmodule

`default_nettype wire
