// The reads of one slot of a range scan unit: the queue of its fetches, which is in a memory of the unit, its
// reads in flight, and how many of them the slot awaits. An error ends all reads in flight and all fetches.

`default_nettype none

`include "assertions.svh"

module slot_reads
  import accelerator_pkg::*;
  import scan_pkg::*;
#(
  // capacity of the queue: a power of two
  parameter int unsigned Fetches = 8,
  localparam int unsigned FetchBits = $clog2(Fetches)
) (
  input logic clk_i,
  input logic rst_i,

  // a request begins in the slot; the reads of a leaf begin: nothing is left of the one before; the leaf is
  // too large, which counts as a failure
  input logic begin_i,
  input logic starts_i,
  input logic fails_i,
  // the leaf is left: its fetches are not needed
  input logic leaves_i,

  // the queue: the places of its ends
  input logic push_i,
  input logic pop_i,
  output logic [FetchBits-1:0] first_o,
  output logic [FetchBits-1:0] end_o,
  // a fetch can be read
  output logic fetches_o,

  // a read was accepted
  input logic read_i,
  input flight_t flight_i,

  // a beat of the oldest read is taken
  input logic takes_i,
  // verilator lint_off UNUSEDSIGNAL
  input line_beat_t beat_i,
  // verilator lint_on UNUSEDSIGNAL
  output logic flies_o,
  output flight_t oldest_o,

  // an awaited read has ended, or wake_i was set, until wakes_i
  input logic wake_i,
  input logic wakes_i,
  output logic woken_o,
  // no fetch is queued, and no read is in flight
  output logic settled_o,
  output logic failed_o,
  // the stored header is that of a copy
  output logic copied_o
);

  logic [FetchBits-1:0] first_q, end_d, end_q;
  logic [1:0] flies_q, woken_q;
  flight_t oldest_q, next_q;
  logic failed_q, copied_q, has_header_q, ends, errs, is_first_line;

  assign ends = takes_i && beat_i.last;
  assign errs = takes_i && beat_i.error;

  // ---- the queue

  assign end_d = end_q + FetchBits'(push_i && !failed_q);

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {first_q, end_q} <= '0;
    end else begin
      if (errs || leaves_i) first_q <= end_d;
      else if (pop_i) first_q <= first_q + 1'b1;
      end_q <= end_d;
    end
  end

  // ---- reads in flight

  always_ff @(posedge clk_i) begin
    if (rst_i) flies_q <= '0;
    else if (errs) flies_q <= {1'b0, read_i};
    else flies_q <= ends ? {1'b0, flies_q[1] || read_i} : flies_q[0] ? flies_q | {read_i, 1'b0} :
        {1'b0, read_i};
    if (errs || !flies_q[0] || (ends && !flies_q[1])) oldest_q <= flight_i;
    else if (ends) oldest_q <= next_q;
    else if (takes_i) oldest_q.line <= oldest_q.line + 1'b1;
    if (read_i) next_q <= flight_i;
  end

  // ---- what the slot awaits

  assign is_first_line = takes_i && !oldest_q.is_value && oldest_q.line == '0;

  always_ff @(posedge clk_i) begin
    if (rst_i || starts_i) woken_q <= '0;
    else woken_q <= woken_q + 2'((ends && !errs && oldest_q.wakes) || wake_i) - 2'(wakes_i);
    if (rst_i || begin_i || starts_i) failed_q <= 1'b0;
    else if (errs || fails_i) failed_q <= 1'b1;
    // The second header of a leaf is the current one.
    if (starts_i) has_header_q <= 1'b0;
    else if (is_first_line) {has_header_q, copied_q} <= {1'b1, beat_i.copied && !has_header_q};
  end

  assign first_o = first_q;
  assign end_o = end_q;
  assign fetches_o = first_q != end_q && !flies_q[1] && !(flies_q[0] && oldest_q.is_value);
  assign flies_o = flies_q[0];
  assign oldest_o = oldest_q;
  assign woken_o = woken_q != '0;
  assign settled_o = first_q == end_q && flies_q == '0;
  assign failed_o = failed_q;
  assign copied_o = copied_q;

  `ASSERT(QueueHasRoom, !push_i || end_q + 1'b1 != first_q)
  `ASSERT(PopsAFetch, !pop_i || first_q != end_q)
  `ASSERT(ReadsHaveRoom, !read_i || !flies_q[1])
  `ASSERT(BeatsWereRequested, !takes_i || flies_q[0])
  `ASSERT(StartsSettled, !starts_i || settled_o)
  `ASSERT(WakesOnce, !wakes_i || woken_q != '0)
  `ASSERT(OneWakes, !(wake_i && ends && oldest_q.wakes))
  `COVER(AwaitsTwoReads, woken_q == 2'd2)

endmodule

`default_nettype wire
