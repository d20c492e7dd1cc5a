// Lines in, windows out: any 64 adjacent bytes, two cycles after they were asked for. Even and odd lines are
// kept apart, so the two lines that a window lies in are read at once.

`include "assertions.svh"

module window_ram
  import accelerator_pkg::*;
#(
  // how many lines it holds: a power of two
  parameter int unsigned Lines = 16,
  localparam int unsigned LineIndexWidth = $clog2(Lines),
  localparam int unsigned ByteIndexWidth = LineIndexWidth + LineIndexBits
) (
  input logic clk_i,
  input logic rst_i,

  input logic write_i,
  input logic [LineIndexWidth-1:0] write_line_i,
  input line_t write_data_i,

  // A line that is written in the same cycle is not in the window yet.
  input  logic read_i,
  // of the window's first byte; behind the last line comes the first one again
  input  logic [ByteIndexWidth-1:0] read_byte_i,
  // in the first cycle of a window, which stays until the next one
  output logic window_fresh_o,
  output line_t window_o
);

  if (Lines < 4 || (Lines & (Lines - 1)) != 0) $fatal(1, "Lines must be a power of two and at least 4");

  localparam int unsigned PlaceWidth = LineIndexWidth - 1;

  logic [LineIndexWidth-1:0] read_line;
  logic [PlaceWidth-1:0] even_place, odd_place;
  line_t even_data, odd_data, window_q;
  logic is_read_q, is_odd_q, fresh_q;
  logic [LineIndexBits-1:0] skip_q;
  logic [2*LineBits-1:0] two_lines;

  assign read_line = read_byte_i[ByteIndexWidth-1:LineIndexBits];
  assign odd_place = read_line[LineIndexWidth-1:1];
  assign even_place = odd_place + PlaceWidth'(read_line[0]);

  ram #(
    .Width(LineBits),
    .Depth(Lines / 2)
  ) u_even (
    .clk_i,
    .rst_i,
    .write_i(write_i && !write_line_i[0]),
    .write_address_i(write_line_i[LineIndexWidth-1:1]),
    .write_data_i,
    .read_i,
    .read_address_i(even_place),
    .read_data_o(even_data)
  );

  ram #(
    .Width(LineBits),
    .Depth(Lines / 2)
  ) u_odd (
    .clk_i,
    .rst_i,
    .write_i(write_i && write_line_i[0]),
    .write_address_i(write_line_i[LineIndexWidth-1:1]),
    .write_data_i,
    .read_i,
    .read_address_i(odd_place),
    .read_data_o(odd_data)
  );

  always_ff @(posedge clk_i) begin
    if (read_i) begin
      is_odd_q <= read_line[0];
      skip_q <= read_byte_i[LineIndexBits-1:0];
    end
    if (is_read_q) window_q <= LineBits'(two_lines >> {skip_q, 3'b000});
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      is_read_q <= 1'b0;
      fresh_q <= 1'b0;
    end else begin
      is_read_q <= read_i;
      fresh_q <= is_read_q;
    end
  end

  assign two_lines = is_odd_q ? {even_data, odd_data} : {odd_data, even_data};
  assign window_fresh_o = fresh_q;
  assign window_o = window_q;

  `ASSERT_STAYS(WindowStays, 1'b1, fresh_q, window_q)

endmodule
