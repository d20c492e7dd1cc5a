// Splits a read into bursts at page boundaries and offers them in order.

`default_nettype none

`include "assertions.svh"

module read_splitter
  import accelerator_pkg::*;
  import memory_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  // begins a read of count_i lines from line first_i on; all bursts of the previous read were accepted
  input logic          start_i,
  input line_address_t first_i,
  input line_count_t   count_i,

  output logic   burst_valid_o,
  input  logic   burst_ready_i,
  output burst_t burst_o
);

  line_address_t line_q;
  line_count_t left_q;
  line_count_t room, lines;

  // Number of lines to the end of the page.
  assign room = line_count_t'(PageLines) - line_count_t'(line_q[PageLineBits-1:0]);
  assign lines = left_q < room ? left_q : room;

  always_ff @(posedge clk_i) begin
    if (start_i) line_q <= first_i;
    else if (burst_valid_o && burst_ready_i) line_q <= line_q + line_address_t'(lines);
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) left_q <= '0;
    else if (start_i) left_q <= count_i;
    else if (burst_valid_o && burst_ready_i) left_q <= left_q - lines;
  end

  assign burst_valid_o = left_q != '0;
  assign burst_o.on_board = 1'b0;
  assign burst_o.address = {line_q, LineIndexBits'(0)};
  assign burst_o.lines = burst_lines_t'(lines);
  assign burst_o.last = left_q == lines;

  `ASSERT(OneReadAtATime, !start_i || left_q == '0)
  `ASSERT(StaysWithinPage, !burst_valid_o || (burst_o.lines != '0 && lines <= room))
  `ASSERT(ReadIsNotEmpty, !start_i || count_i != '0)
  `COVER(EndsBeforePage, burst_valid_o && left_q + 1'b1 == room)
  `COVER(EndsAtPage, burst_valid_o && left_q == room)
  `COVER(PassesPageByALine, burst_valid_o && left_q == room + 1'b1)

endmodule

`default_nettype wire
