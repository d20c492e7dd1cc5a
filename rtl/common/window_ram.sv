// A memory of lines that returns any 64 adjacent bytes, two cycles after the read.

`default_nettype none

module window_ram
  import accelerator_pkg::*;
#(
  // capacity in lines: a power of two
  parameter int unsigned Lines = 16,
  localparam int unsigned LineIndexWidth = $clog2(Lines),
  localparam int unsigned ByteIndexWidth = LineIndexWidth + LineIndexBits
) (
  input logic clk_i,
  input logic rst_i,

  input logic write_i,
  input logic [LineIndexWidth-1:0] write_line_i,
  input line_t write_data_i,

  // The window does not contain a line that is written in the same cycle.
  input  logic read_i,
  // address of the first byte of the window; line 0 follows the last line
  input  logic [ByteIndexWidth-1:0] read_byte_i,
  // see window_cutter
  output logic window_fresh_o,
  output line_t window_o
);

  line_t even, odd;
  logic is_odd;

  line_pairs #(
    .Lines(Lines)
  ) u_lines (
    .clk_i,
    .rst_i,
    .write_i,
    .write_line_i,
    .write_data_i,
    .read_i,
    .read_line_i(read_byte_i[ByteIndexWidth-1:LineIndexBits]),
    .even_o(even),
    .odd_o(odd),
    .is_odd_o(is_odd)
  );

  window_cutter u_cutter (
    .clk_i,
    .rst_i,
    .read_i,
    .skip_i(read_byte_i[LineIndexBits-1:0]),
    .even_i(even),
    .odd_i(odd),
    .is_odd_i(is_odd),
    .fresh_o(window_fresh_o),
    .window_o
  );

endmodule

`default_nettype wire
