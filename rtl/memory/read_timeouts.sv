// Finds reads of host memory that get no answer in time. From the first of them on, no answer of host memory
// is used until reset, because a late one might be taken for that of the next read with its tag:
// all reads in flight and all later ones end with an error.
//
// A sweep visits the tags, one after the other, and all of them in 2**PeriodBits cycles. A read that two
// visits find in flight has timed out, so that takes between one and two of these periods.
//
// The state of all tags is in memories, because as registers it would be most of the reader. A read is in
// flight if it has begun and not ended: each of the two flips a bit of its own. A read begins young. The bits
// are cleared one after the other after reset; until then no read may begin.

`default_nettype none

`include "assertions.svh"

module read_timeouts #(
  parameter int unsigned TagBits = 3,
  // greater than TagBits
  parameter int unsigned PeriodBits = 22
) (
  input logic clk_i,
  input logic rst_i,
  // all bits are cleared
  output logic ready_o,

  input logic               begins_i,
  input logic [TagBits-1:0] begins_tag_i,
  // the last beat of an answer; ignored after a timeout
  input logic               ends_i,
  input logic [TagBits-1:0] ends_tag_i,

  // a read has timed out
  output logic               timed_out_o,
  // a read that ends with an error
  output logic               fails_o,
  output logic [TagBits-1:0] fails_tag_o
);

  localparam int unsigned PaceBits = PeriodBits - TagBits;

  if (PeriodBits <= TagBits) $fatal(1, "PeriodBits must be greater than TagBits");

  logic begun_q[2**TagBits], ended_q[2**TagBits], old_q[2**TagBits];
  // The number of tags whose bits are cleared.
  logic [TagBits:0] cleared_q;
  // The tag of the next visit, and the cycles since the last one.
  logic [TagBits-1:0] tag_q;
  logic [PaceBits-1:0] pace_q;
  logic timed_out_q;

  logic [TagBits-1:0] clears_tag, ends_tag;
  logic is_due, visits, is_flying, ends;

  assign ready_o = cleared_q[TagBits];
  assign clears_tag = cleared_q[TagBits-1:0];

  // A visit waits for a cycle in which no read begins, which writes the same memory.
  assign is_due = pace_q == '1;
  assign visits = ready_o && (timed_out_q || (is_due && !begins_i));
  assign is_flying = begun_q[tag_q] != ended_q[tag_q];
  assign fails_o = timed_out_q && is_flying;
  assign fails_tag_o = tag_q;
  assign timed_out_o = timed_out_q;
  assign ends = timed_out_q ? fails_o : ends_i;
  assign ends_tag = timed_out_q ? tag_q : ends_tag_i;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      cleared_q <= '0;
      tag_q <= '0;
      pace_q <= '0;
      timed_out_q <= 1'b0;
    end else begin
      if (!ready_o) cleared_q <= cleared_q + 1'b1;
      if (visits) tag_q <= tag_q + 1'b1;
      if (!is_due || visits) pace_q <= pace_q + 1'b1;
      if (visits && is_flying && old_q[tag_q]) timed_out_q <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!ready_o || begins_i)
      begun_q[ready_o ? begins_tag_i : clears_tag] <= ready_o && !begun_q[begins_tag_i];
    if (!ready_o || ends) ended_q[ready_o ? ends_tag : clears_tag] <= ready_o && !ended_q[ends_tag];
    if (begins_i || visits) old_q[begins_i ? begins_tag_i : tag_q] <= !begins_i;
  end

  `ASSERT(BeginsAfterBitsAreCleared, !begins_i || ready_o)
  `ASSERT(TagIsFree, !begins_i || begun_q[begins_tag_i] == ended_q[begins_tag_i])
  `ASSERT(AnswerWasRequested, !ends_i || timed_out_q || begun_q[ends_tag_i] != ended_q[ends_tag_i])

endmodule

`default_nettype wire
