// A memory of lines, or of a few bits for each line, that returns two adjacent lines, one cycle after the
// read. Even and odd lines are in separate memories, so both lines are read at the same time.

`default_nettype none

`include "assertions.svh"

module line_pairs
  import accelerator_pkg::*;
#(
  // capacity in lines: a power of two
  parameter int unsigned Lines = 16,
  parameter int unsigned Width = LineBits,
  localparam int unsigned LineIndexWidth = $clog2(Lines)
) (
  input logic clk_i,
  input logic rst_i,

  input logic write_i,
  input logic [LineIndexWidth-1:0] write_line_i,
  input logic [Width-1:0] write_data_i,

  // A read does not return a line that is written in the same cycle.
  input logic read_i,
  // the first of the two lines; line 0 follows the last line
  input logic [LineIndexWidth-1:0] read_line_i,
  // stable until the next read; is_odd_o: the odd line is the first of the two
  output logic [Width-1:0] even_o,
  output logic [Width-1:0] odd_o,
  output logic is_odd_o
);

  if (Lines < 4 || (Lines & (Lines - 1)) != 0) $fatal(1, "Lines must be a power of two and at least 4");

  localparam int unsigned RowWidth = LineIndexWidth - 1;

  logic [RowWidth-1:0] even_row, odd_row;
  logic is_odd_q;

  assign odd_row = read_line_i[LineIndexWidth-1:1];
  assign even_row = odd_row + RowWidth'(read_line_i[0]);

  ram #(
    .Width(Width),
    .Depth(Lines / 2)
  ) u_even (
    .clk_i,
    .rst_i,
    .write_i(write_i && !write_line_i[0]),
    .write_address_i(write_line_i[LineIndexWidth-1:1]),
    .write_data_i,
    .read_i,
    .read_address_i(even_row),
    .read_data_o(even_o)
  );

  ram #(
    .Width(Width),
    .Depth(Lines / 2)
  ) u_odd (
    .clk_i,
    .rst_i,
    .write_i(write_i && write_line_i[0]),
    .write_address_i(write_line_i[LineIndexWidth-1:1]),
    .write_data_i,
    .read_i,
    .read_address_i(odd_row),
    .read_data_o(odd_o)
  );

  always_ff @(posedge clk_i) begin
    if (read_i) is_odd_q <= read_line_i[0];
  end

  assign is_odd_o = is_odd_q;

endmodule

`default_nettype wire
