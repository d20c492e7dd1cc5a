// Accepts ends of fills and drops, one at a time, and offers them to the cache. The place of a fill comes
// from its flight.

`default_nettype none

`include "assertions.svh"

module cache_updates #(
  parameter int unsigned TagBits = 3,
  parameter int unsigned SetBits = 10
) (
  input logic clk_i,
  input logic rst_i,
  // accepts nothing
  input logic waits_i,

  input  logic               filled_valid_i,
  output logic               filled_ready_o,
  input  logic [TagBits-1:0] filled_tag_i,
  input  logic               filled_failed_i,
  // the set of this fill
  input  logic [SetBits-1:0] filled_set_i,

  // A drop stays until it is in force: dropped_i.
  input logic               drop_valid_i,
  input logic [SetBits-1:0] drop_set_i,
  input logic               dropped_i,

  // a fill or a drop
  output logic               update_valid_o,
  input  logic               update_ready_i,
  output logic               is_fill_o,
  output logic [SetBits-1:0] set_o,
  output logic [TagBits-1:0] tag_o,
  output logic               failed_o
);

  logic valid_q, is_fill_q, failed_q, dropping_q, takes_fill, takes_drop;
  logic [SetBits-1:0] set_q;
  logic [TagBits-1:0] tag_q;

  assign filled_ready_o = !valid_q && !waits_i;
  assign takes_fill = filled_valid_i && filled_ready_o;
  assign takes_drop = drop_valid_i && !dropping_q && !filled_valid_i && !valid_q && !waits_i;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      valid_q <= 1'b0;
      dropping_q <= 1'b0;
    end else begin
      valid_q <= takes_fill || takes_drop || (valid_q && !update_ready_i);
      dropping_q <= takes_drop || (dropping_q && !dropped_i);
    end
    if (takes_fill || takes_drop) begin
      is_fill_q <= takes_fill;
      set_q <= takes_fill ? filled_set_i : drop_set_i;
      tag_q <= filled_tag_i;
      failed_q <= filled_failed_i;
    end
  end

  assign update_valid_o = valid_q;
  assign is_fill_o = is_fill_q;
  assign set_o = set_q;
  assign tag_o = tag_q;
  assign failed_o = failed_q;

  `ASSERT(OnlyDropsEnd, !dropped_i || dropping_q)
  `ASSERT_OFFER_STAYS(UpdateStays, update_valid_o, update_ready_i, {is_fill_o, set_o, tag_o, failed_o})

endmodule

`default_nettype wire
