// A first-in, first-out queue. An element appears at the output in the cycle after it was accepted at the
// earliest; the outputs depend on no input of the same cycle.

`default_nettype none

`include "assertions.svh"

module fifo #(
  parameter type T = logic [31:0],
  // capacity in elements
  parameter int unsigned Depth = 2,
  localparam int unsigned CountBits = $clog2(Depth + 1)
) (
  input logic clk_i,
  input logic rst_i,

  input  logic in_valid_i,
  output logic in_ready_o,
  input  T     in_i,

  output logic out_valid_o,
  input  logic out_ready_i,
  output T     out_o,

  // number of elements in the queue
  output logic [CountBits-1:0] count_o
);

  if (Depth < 1) $fatal(1, "Depth must be at least 1");

  localparam int unsigned IndexBits = Depth > 1 ? $clog2(Depth) : 1;
  localparam logic [IndexBits-1:0] IndexLast = IndexBits'(Depth - 1);

  T items_q[Depth];
  logic [IndexBits-1:0] head_q, tail_q;
  logic [CountBits-1:0] count_q;
  // A register, because ready often runs through several units.
  logic has_room_q;
  logic push, pop;

  assign push = in_valid_i && in_ready_o;
  assign pop = out_valid_o && out_ready_i;

  function automatic logic [IndexBits-1:0] next(logic [IndexBits-1:0] index);
    return index == IndexLast ? '0 : index + 1'b1;
  endfunction

  always_ff @(posedge clk_i) begin
    if (push) items_q[tail_q] <= in_i;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      head_q <= '0;
      tail_q <= '0;
      count_q <= '0;
      has_room_q <= 1'b1;
    end else begin
      if (pop) head_q <= next(head_q);
      if (push) tail_q <= next(tail_q);
      if (push && !pop) count_q <= count_q + 1'b1;
      if (pop && !push) count_q <= count_q - 1'b1;
      has_room_q <= pop || (push ? count_q != CountBits'(Depth - 1) : has_room_q);
    end
  end

  assign in_ready_o = has_room_q;
  assign out_valid_o = count_q != '0;
  assign out_o = items_q[head_q];
  assign count_o = count_q;

  `ASSERT(CountIsBounded, count_q <= CountBits'(Depth))
  `ASSERT(RoomIsKnown, has_room_q == (count_q != CountBits'(Depth)))
  `ASSERT_OFFER_STAYS(InStays, in_valid_i, in_ready_o, in_i)
  `ASSERT_OFFER_STAYS(OutStays, out_valid_o, out_ready_i, out_o)
  `COVER(InStalls, in_valid_i && !in_ready_o)

endmodule

`default_nettype wire
