// A first-in, first-out queue of wide elements in a block memory. An element appears at the output three
// cycles after it was accepted at the earliest: it passes the memory, its output, and a register, because
// the output of a block memory comes late in its cycle. The outputs depend on no input of the same cycle.
//
// The memory is read without regard to the receiver: only if the register or the output of the memory was
// free before. So ready ends at the register, and of three cycles two have an element.

`default_nettype none

`include "assertions.svh"

module ram_fifo #(
  parameter type T = logic [31:0],
  // elements in the memory; two more fit behind it
  parameter int unsigned Depth = 128,
  localparam int unsigned CountBits = $clog2(Depth + 1)
) (
  input logic clk_i,
  input logic rst_i,

  input  logic in_valid_i,
  output logic in_ready_o,
  input  T     in_i,

  output logic out_valid_o,
  input  logic out_ready_i,
  output T     out_o
);

  if (Depth < 2 || Depth != 1 << $clog2(Depth)) $fatal(1, "Depth must be a power of two, at least 2");

  localparam int unsigned IndexBits = $clog2(Depth);

  // The elements that are in the memory and were not read; a register knows whether it has room for another.
  logic [IndexBits-1:0] head_q, tail_q;
  logic [CountBits-1:0] count_q;
  logic has_room_q, push, reads;
  // The output of the memory, and the register behind it.
  logic is_read_q, is_out_q, advances;
  T read, out_q;

  assign push = in_valid_i && in_ready_o;
  assign advances = !is_out_q || out_ready_i;
  assign reads = count_q != '0 && !(is_read_q && is_out_q);

  ram #(
    .Width($bits(T)),
    .Depth(Depth)
  ) u_ram (
    .clk_i,
    .rst_i,
    .write_i(push), .write_address_i(tail_q), .write_data_i(in_i),
    .read_i(reads), .read_address_i(head_q), .read_data_o(read)
  );

  always_ff @(posedge clk_i) begin
    if (advances) out_q <= read;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {head_q, tail_q, count_q, is_read_q, is_out_q} <= '0;
      has_room_q <= 1'b1;
    end else begin
      head_q <= head_q + IndexBits'(reads);
      tail_q <= tail_q + IndexBits'(push);
      if (push && !reads) count_q <= count_q + 1'b1;
      if (reads && !push) count_q <= count_q - 1'b1;
      has_room_q <= reads || (push ? count_q != CountBits'(Depth - 1) : has_room_q);
      is_read_q <= reads || (is_read_q && !advances);
      if (advances) is_out_q <= is_read_q;
    end
  end

  assign in_ready_o = has_room_q;
  assign out_valid_o = is_out_q;
  assign out_o = out_q;

  `ASSERT(CountIsBounded, count_q <= CountBits'(Depth))
  `ASSERT(RoomIsKnown, has_room_q == (count_q != CountBits'(Depth)))
  `ASSERT(CountIsThatOfTheEnds, IndexBits'(count_q) == tail_q - head_q)
  `ASSERT_OFFER_STAYS(OutStays, out_valid_o, out_ready_i, out_o)
  `COVER(InStalls, in_valid_i && !in_ready_o)

endmodule

`default_nettype wire
