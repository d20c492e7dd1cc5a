// Counts the heads of lines for the searches of all slots of a range scan unit, or returns eight bytes of
// a line: see head_counter. A unit stores one line in each cycle, so one counter is enough.
//
//   a slot stores a line | line_i | comparisons | counts

`default_nettype none

`include "assertions.svh"

module leaf_counter
  import accelerator_pkg::*;
  import search_pkg::*;
#(
  parameter int unsigned Slots = 4,
  localparam int unsigned PlaceBits = Slots > 1 ? $clog2(Slots) : 1
) (
  input logic clk_i,
  input logic rst_i,

  // for each slot: it stores a line in this cycle that is counted; at most one does
  input logic [Slots-1:0] count_valid_i,
  input column_use_t [Slots-1:0] count_i,
  // the line that was stored in the cycle before
  input line_t line_i,

  output logic [Slots-1:0] counts_valid_o,
  output column_counts_t counts_o
);

  typedef logic [PlaceBits-1:0] place_t;

  logic counts_q, counts_valid;
  column_use_t use_d, use_q;
  place_t place_d, place_q, counted;
  column_line_t line;

  always_comb begin
    {use_d, place_d} = '0;
    for (int unsigned slot = 0; slot < Slots; slot++) begin
      if (count_valid_i[slot]) {use_d, place_d} |= {count_i[slot], place_t'(slot)};
    end
  end

  always_ff @(posedge clk_i) begin
    counts_q <= count_valid_i != '0 && !rst_i;
    {use_q, place_q} <= {use_d, place_d};
  end

  assign line = '{use_as: use_q, data: line_i};

  head_counter #(
    .TagBits(PlaceBits)
  ) u_counter (
    .clk_i,
    .rst_i,
    .line_valid_i(counts_q),
    .line_i(line),
    .line_last_i(1'b1),
    .line_tag_i(place_q),
    .counts_valid_o(counts_valid),
    .counts_o,
    .counts_tag_o(counted)
  );

  for (genvar slot = 0; slot < Slots; slot++) begin : gen_slots
    assign counts_valid_o[slot] = counts_valid && counted == place_t'(slot);
  end

  `ASSERT(OneLine, $onehot0(count_valid_i))
  `COVER(SlotsTakeTurns, counts_q && count_valid_i != '0 && !count_valid_i[place_q])

endmodule

`default_nettype wire
