// Stores the lower and the upper key of each request in flight, in lines. It executes one write and one
// read per cycle. It grants writers and readers in turn, each in every second cycle at most; keys of new
// requests are written in all other cycles. Grants are registers, so no path leads from one engine through a
// port to another one. A line can be read from the second cycle after the cycle in which its write was
// accepted.

`default_nettype none

`include "assertions.svh"

module key_buffers
  import accelerator_pkg::*;
#(
  parameter int unsigned SlotCount = 256,
  parameter int unsigned ReaderCount = 1,
  parameter int unsigned WriterCount = 1
) (
  input logic clk_i,
  input logic rst_i,

  // keys of new requests
  input  logic       new_valid_i,
  output logic       new_ready_o,
  input  key_write_t new_i,

  input  logic       [WriterCount-1:0] write_valid_i,
  output logic       [WriterCount-1:0] write_ready_o,
  input  key_write_t [WriterCount-1:0] write_i,

  // A reader has at most one read in flight. Its line is valid two cycles after the read was accepted.
  input  logic      [ReaderCount-1:0] read_valid_i,
  output logic      [ReaderCount-1:0] read_ready_o,
  input  key_read_t [ReaderCount-1:0] read_i,
  output logic      [ReaderCount-1:0] line_valid_o,
  // the line for the reader whose bit is set in line_valid_o
  output line_t                       line_o
);

  if (SlotCount < 1 || SlotCount > 256) $fatal(1, "SlotCount must be 1 to 256");

  localparam int unsigned Depth = SlotCount * 2 * KeyLines;
  localparam int unsigned AddressBits = $clog2(Depth);
  localparam int unsigned ReaderBits = ReaderCount > 1 ? $clog2(ReaderCount) : 1;

  typedef logic [AddressBits-1:0] address_t;

  function automatic address_t address_of(slot_t slot, logic upper, key_line_t line);
    return address_t'({slot, upper, line});
  endfunction

  logic write_valid;
  key_write_t granted_write, write;
  wide_arbiter #(.T(key_write_t), .Count(WriterCount)) u_writes (
    .clk_i,
    .rst_i,
    .in_valid_i(write_valid_i),
    .in_ready_o(write_ready_o),
    .in_i(write_i),
    .out_valid_o(write_valid),
    .out_ready_i(1'b1),
    .out_o(granted_write),
    // verilator lint_off PINCONNECTEMPTY
    .out_index_o()
    // verilator lint_on PINCONNECTEMPTY
  );

  assign new_ready_o = !write_valid;
  assign write = write_valid ? granted_write : new_i;

  logic read_valid;
  key_read_t read;
  logic [ReaderBits-1:0] reader;
  wide_arbiter #(.T(key_read_t), .Count(ReaderCount)) u_reads (
    .clk_i,
    .rst_i,
    .in_valid_i(read_valid_i),
    .in_ready_o(read_ready_o),
    .in_i(read_i),
    .out_valid_o(read_valid),
    .out_ready_i(1'b1),
    .out_o(read),
    .out_index_o(reader)
  );

  ram #(.Width(LineBits), .Depth(Depth)) u_lines (
    .clk_i,
    .rst_i,
    .write_i(write_valid || new_valid_i),
    .write_address_i(address_of(write.slot, write.upper, write.line)),
    .write_data_i(write.data),
    .read_i(read_valid),
    .read_address_i(address_of(read.slot, read.upper, read.line)),
    .read_data_o(line_o)
  );

  always_ff @(posedge clk_i) begin
    line_valid_o <= rst_i || !read_valid ? '0 : ReaderCount'(1) << reader;
  end

  `ASSERT(WrittenSlotExists, !(write_valid || new_valid_i) || 32'(write.slot) < SlotCount)
  `ASSERT(ReadSlotExists, !read_valid || 32'(read.slot) < SlotCount)
  `ASSERT(OneReaderPerLine, (line_valid_o & (line_valid_o - 1'b1)) == '0)
  `COVER(NewKeyWaits, new_valid_i && !new_ready_o)

endmodule

`default_nettype wire
