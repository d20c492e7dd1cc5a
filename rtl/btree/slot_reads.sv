// The reads of one slot of a range scan unit: the queue of its fetches, which is in a memory of the unit, its
// two reads in flight, and how many of them the slot awaits. Both reads may return lines at the same time. A
// read that was awaited has ended when all reads before it have, too. An error ends all fetches.

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

  // The queue: the places of its ends, and whether a fetch can be read. The first fetch is read; halves: only
  // its lines in the first page, so it stays in the queue.
  input logic push_i,
  input logic pop_i,
  input logic halves_i,
  output logic [FetchBits-1:0] first_o,
  output logic [FetchBits-1:0] end_o,
  output logic fetches_o,
  // the first page of the first fetch was read
  output logic is_half_o,

  // a read was accepted; the number that the next one has
  input logic read_i,
  input flight_t flight_i,
  output logic number_o,

  // a line of a read; its number in the leaf
  input logic line_i,
  input logic line_number_i,
  input logic line_last_i,
  input logic line_error_i,
  input logic line_copied_i,
  output line_count_t line_o,

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

  typedef logic [1:0] wakes_t;

  logic [FetchBits-1:0] first_q, end_d, end_q;
  logic next_q, failed_q, copied_q, has_header_q, is_half_q, ends, errs, is_first_line, is_later;
  logic [1:0] flies_q;
  line_count_t [1:0] line_q;
  // how often the slot wakes at the end of a read
  wakes_t [1:0] wakes_q;
  wakes_t woken_q;

  assign ends = line_i && line_last_i;
  assign errs = line_i && line_error_i;

  // ---- the queue

  assign end_d = end_q + FetchBits'(push_i && !failed_q);

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {first_q, end_q, is_half_q} <= '0;
    end else begin
      if (errs || leaves_i) {first_q, is_half_q} <= {end_d, 1'b0};
      else if (pop_i && first_q != end_q) begin
        first_q <= first_q + FetchBits'(!halves_i);
        is_half_q <= halves_i;
      end
      end_q <= end_d;
    end
  end

  // ---- reads in flight, with alternating numbers: if both fly, the earlier one has that of the next read

  assign is_later = flies_q == '1 && line_number_i != next_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) {flies_q, next_q} <= '0;
    else begin
      if (ends) flies_q[line_number_i] <= 1'b0;
      if (read_i) flies_q[next_q] <= 1'b1;
      next_q <= next_q ^ read_i;
    end
    if (line_i) line_q[line_number_i] <= line_q[line_number_i] + 1'b1;
    if (ends && is_later) wakes_q[next_q] <= wakes_q[next_q] + wakes_q[line_number_i];
    if (read_i) {line_q[next_q], wakes_q[next_q]} <= {flight_i.line, wakes_t'(flight_i.wakes)};
  end

  // ---- the awaited reads

  assign is_first_line = line_i && line_o == '0;

  always_ff @(posedge clk_i) begin
    if (rst_i || starts_i) woken_q <= '0;
    else begin
      woken_q <= woken_q + (ends && !is_later && !errs && !failed_q ? wakes_q[line_number_i] : '0)
          + wakes_t'(wake_i) - wakes_t'(wakes_i);
    end
    if (rst_i || begin_i || starts_i) failed_q <= 1'b0;
    else if (errs || fails_i) failed_q <= 1'b1;
    // The second header of a leaf is the current one.
    if (starts_i) has_header_q <= 1'b0;
    else if (is_first_line) {has_header_q, copied_q} <= {1'b1, line_copied_i && !has_header_q};
  end

  assign first_o = first_q;
  assign end_o = end_q;
  assign fetches_o = first_q != end_q && !flies_q[next_q];
  assign is_half_o = is_half_q;
  assign number_o = next_q;
  assign line_o = line_q[line_number_i];
  assign woken_o = woken_q != '0;
  assign settled_o = first_q == end_q && flies_q == '0;
  assign failed_o = failed_q;
  assign copied_o = copied_q;

  `ASSERT(QueueHasRoom, !push_i || end_q + 1'b1 != first_q)
  `ASSERT(ReadsHaveRoom, !read_i || !flies_q[next_q])
  `ASSERT(LinesWereRequested, !line_i || flies_q[line_number_i])
  `ASSERT(StartsSettled, !starts_i || settled_o)
  `ASSERT(WakesOnce, !wakes_i || woken_q != '0)
  `ASSERT(FewWake, woken_q != '1)
  `COVER(AwaitsTwoReads, woken_q == 2'd2)
  `COVER(LaterReadEndsFirst, ends && is_later && wakes_q[line_number_i] != '0)

endmodule

`default_nettype wire
