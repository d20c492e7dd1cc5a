// Finds the value of an item to emit: its length and its address or offset.

`default_nettype none

`include "assertions.svh"

module value_finder
  import layout_pkg::*;
  import accelerator_pkg::*;
  import scan_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  // The result is valid once find_ready_o is set, and stable until consume_i.
  input logic find_valid_i,
  output logic find_ready_o,
  // verilator lint_off UNUSEDSIGNAL
  input item_result_t find_i,
  // verilator lint_on UNUSEDSIGNAL
  input logic consume_i,
  input logic keys_only_i,

  output logic [31:0] bytes_o,
  // the value is an overflow value, at address_o
  output logic is_overflow_o,
  output bus_address_t address_o,
  // offset of the value in the node
  output offset_t value_offset_o,

  output logic part_valid_o,
  input logic part_ready_i,
  output part_read_t part_read_o,
  // verilator lint_off UNUSEDSIGNAL
  input part_t part_i
  // verilator lint_on UNUSEDSIGNAL
);

  value_reference_t reference_q;
  logic has_reference_q;

  assign is_overflow_o = find_i.word.overflow && !keys_only_i;
  assign find_ready_o = !is_overflow_o || has_reference_q;
  assign value_offset_o = find_i.rest + rest_bytes(find_i.word);
  assign address_o = reference_q.address;

  always_comb begin
    bytes_o = 32'(find_i.word.value_length);
    if (is_overflow_o) bytes_o = reference_q.length;
    if (keys_only_i) bytes_o = '0;
  end

  always_comb begin
    part_read_o = '0;
    part_read_o.part = PartBytes;
    part_read_o.offset = value_offset_o;
    part_read_o.limit = value_offset_o + offset_t'(ValueReferenceSize);
  end

  assign part_valid_o = find_valid_i && !find_ready_o;

  always_ff @(posedge clk_i) begin
    if (part_valid_o && part_ready_i) reference_q <= part_i.bytes[8*ValueReferenceSize-1:0];
  end

  always_ff @(posedge clk_i) begin
    if (rst_i || consume_i) has_reference_q <= 1'b0;
    else if (part_valid_o && part_ready_i) has_reference_q <= 1'b1;
  end

  `ASSERT(ConsumesFoundValue, !consume_i || find_valid_i)
  `COVER(IsOverflow, find_valid_i && is_overflow_o)
  `COVER(IsNotRequested, find_valid_i && keys_only_i)
  `COVER(InlineValueLacksAByte, find_valid_i && !is_overflow_o && bytes_o + 1 == InlineValueBytesMax)
  `COVER(InlineValueIsTheLongest, find_valid_i && !is_overflow_o && bytes_o == InlineValueBytesMax)
  `COVER(OverflowValueIsTheShortest, find_valid_i && has_reference_q && bytes_o == InlineValueBytesMax + 1)

endmodule

`default_nettype wire
