// Requests the repeated descents of the slots of a range scan unit, one at a time and of the slots in turn,
// and returns their leaves.

`default_nettype none

`include "assertions.svh"

module repeated_descents
  import accelerator_pkg::*;
#(
  parameter int unsigned Slots = 4
) (
  input logic clk_i,
  input logic rst_i,

  // for each slot: a descent, and whether it waits for its leaf
  input logic [Slots-1:0] in_valid_i,
  output logic [Slots-1:0] in_ready_o,
  input descent_t [Slots-1:0] in_i,
  input logic [Slots-1:0] awaits_i,
  output logic [Slots-1:0] leaf_valid_o,

  output logic repeated_valid_o,
  input logic repeated_ready_i,
  output descent_t repeated_o,
  input logic repeated_leaf_valid_i,
  output logic repeated_leaf_ready_o
);

  // The slot whose descent is repeated, or was last; is_busy_q: it is repeated.
  logic [Slots-1:0] slot_q, later;
  logic is_busy_q;

  assign later = in_valid_i & ~(slot_q | (slot_q - 1'b1));

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {is_busy_q, slot_q} <= {1'b0, Slots'(1)};
    end else if (is_busy_q) begin
      is_busy_q <= !(repeated_leaf_valid_i && repeated_leaf_ready_o);
    end else if (in_valid_i != '0) begin
      is_busy_q <= 1'b1;
      slot_q <= later != '0 ? later & (~later + 1'b1) : in_valid_i & (~in_valid_i + 1'b1);
    end
  end

  always_comb begin
    repeated_o = '0;
    for (int unsigned slot = 0; slot < Slots; slot++) if (slot_q[slot]) repeated_o |= in_i[slot];
  end

  assign repeated_valid_o = is_busy_q && |(in_valid_i & slot_q);
  assign in_ready_o = slot_q & {Slots{is_busy_q && repeated_ready_i}};
  assign repeated_leaf_ready_o = is_busy_q && |(awaits_i & slot_q);
  assign leaf_valid_o = slot_q & {Slots{repeated_leaf_valid_i}};

  `ASSERT(OneSlot, $onehot(slot_q))
  `ASSERT(LeafWasRequested, !repeated_leaf_valid_i || is_busy_q)
  `ASSERT_OFFER_STAYS(RepeatedStays, repeated_valid_o, repeated_ready_i, repeated_o)
  `COVER(SeveralSlots, $countones(in_valid_i) > 1)

endmodule

`default_nettype wire
