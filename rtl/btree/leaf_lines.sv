// The lines of the leaves of a range scan unit, in one memory. It stores a line in each cycle, and returns
// any 64 adjacent bytes of a leaf two cycles after the read.

`default_nettype none

`include "assertions.svh"

module leaf_lines
  import layout_pkg::*;
  import accelerator_pkg::*;
  import scan_pkg::*;
#(
  parameter int unsigned Slots = 4,
  // size of the largest node
  parameter int unsigned NodeBytes = NodeBytesDefault,
  localparam int unsigned PlaceBits = Slots > 1 ? $clog2(Slots) : 1,
  localparam int unsigned LineIndexWidth = $clog2(NodeBytes / LineBytes)
) (
  input logic clk_i,
  input logic rst_i,

  // a line of a slot, and its number in the leaf
  input logic line_valid_i,
  // verilator lint_off UNUSEDSIGNAL
  input place_line_t line_i,
  input line_count_t line_number_i,
  // verilator lint_on UNUSEDSIGNAL

  // the line is stored, one cycle later: its slot, and its number
  output logic stored_o,
  output logic [PlaceBits-1:0] stored_place_o,
  output logic [LineIndexWidth-1:0] stored_line_o,

  // Reads the line at an offset of a leaf in each cycle: line_o, one cycle later; and, with window_i, the
  // window from the offset on, two cycles later, until the next one. A line that is stored in the same
  // cycle is undefined.
  input logic window_i,
  input logic [PlaceBits-1:0] read_place_i,
  // verilator lint_off UNUSEDSIGNAL
  input offset_t read_offset_i,
  // verilator lint_on UNUSEDSIGNAL
  output line_t window_o,
  output line_t line_o
);

  localparam int unsigned Lines = 2 ** LineIndexWidth * (Slots > 1 ? 2 ** PlaceBits : 1);

  typedef logic [$clog2(Lines)-1:0] line_address_t;

  logic stores_q;
  logic [PlaceBits-1:0] place_q;
  line_count_t number_q;
  line_t data_q;

  always_ff @(posedge clk_i) begin
    stores_q <= line_valid_i && !line_i.error && !rst_i;
    {place_q, number_q, data_q} <= {PlaceBits'(line_i.place), line_number_i, line_i.data};
  end

  assign stored_o = stores_q;
  assign stored_place_o = place_q;
  assign stored_line_o = LineIndexWidth'(number_q);

  line_t even, odd;
  logic is_odd;

  line_pairs #(
    .Lines(Lines)
  ) u_lines (
    .clk_i,
    .rst_i,
    .write_i(stores_q),
    .write_line_i(line_address_t'({place_q, stored_line_o})),
    .write_data_i(data_q),
    .read_i(1'b1),
    .read_line_i(line_address_t'({read_place_i, read_offset_i[LineIndexBits+:LineIndexWidth]})),
    .even_o(even),
    .odd_o(odd),
    .is_odd_o(is_odd)
  );

  window_cutter u_cutter (
    .clk_i,
    .rst_i,
    .read_i(window_i),
    .skip_i(read_offset_i[LineIndexBits-1:0]),
    .even_i(even),
    .odd_i(odd),
    .is_odd_i(is_odd),
    .fresh_o(),
    .window_o
  );

  assign line_o = is_odd ? odd : even;

  `ASSERT(PlaceExists, !line_valid_i || 32'(line_i.place) < Slots)
  `ASSERT(LinesFit, !stores_q || 32'(number_q) < NodeBytes / LineBytes)

endmodule

`default_nettype wire
