// Chooses the slot for which a part of a range scan unit works next: slots take turns, and a slot that was
// chosen waits until the part has ended its work for the one before.

`default_nettype none

`include "assertions.svh"

module slot_turns #(
  parameter int unsigned Slots = 4,
  localparam int unsigned PlaceBits = Slots > 1 ? $clog2(Slots) : 1
) (
  input logic clk_i,
  input logic rst_i,

  // for each slot: the part can work for it, until it does
  input logic [Slots-1:0] asks_i,
  // the part can begin; it ends its work
  input logic is_idle_i,
  input logic ends_i,

  // the part begins to work for the slot begin_place_o, as a number and as a bit
  output logic begins_o,
  output logic [PlaceBits-1:0] begin_place_o,
  output logic [Slots-1:0] is_begin_place_o,
  // the slot for which it works
  output logic [PlaceBits-1:0] place_o,
  // for each slot: it was chosen, or the part works for it
  output logic [Slots-1:0] works_o
);

  logic picked;
  logic [PlaceBits-1:0] place_q;
  logic [Slots-1:0] works_q;

  picker #(
    .Count(Slots)
  ) u_picker (
    .clk_i,
    .rst_i,
    .asks_i(asks_i & ~works_q),
    .valid_o(picked),
    .index_o(begin_place_o),
    .is_index_o(is_begin_place_o),
    .take_i(begins_o)
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) works_q <= '0;
    else if (begins_o) works_q <= is_begin_place_o;
    else if (ends_i) works_q <= '0;
    if (begins_o) place_q <= begin_place_o;
  end

  assign begins_o = picked && is_idle_i;
  assign place_o = place_q;
  assign works_o = is_begin_place_o | works_q;

  `ASSERT(WorksForOne, $onehot0(works_q))
  `ASSERT(EndsItsWork, !ends_i || works_q != '0)
  `ASSERT(EndsBeforeItBegins, !begins_o || works_q == '0)

endmodule

`default_nettype wire
