// Requests the lines of overflow values, in the order of the values, in reads of at most 64 lines. It
// waits only for its reads to be accepted; the lines arrive while it requests further values.

`default_nettype none

`include "assertions.svh"

module value_reader
  import accelerator_pkg::*;
  import scan_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  input logic value_valid_i,
  output logic value_ready_o,
  input value_t value_i,

  // the request of the value that is read, or was read last
  output slot_t slot_o,
  output logic read_valid_o,
  input logic read_ready_i,
  output line_read_t read_o
);

  localparam int unsigned CountBits = $bits(value_i.bytes) - LineIndexBits;

  logic reads_q, ends;
  slot_t slot_q;
  bus_address_t address_q;
  // the lines of a value, and those that were not requested, less one
  logic [CountBits-1:0] more, more_q;

  assign more = value_lines_more(value_i.bytes);
  // The last read requests all lines that are left.
  assign ends = more_q < CountBits'(ValueReadLines);

  always_ff @(posedge clk_i) begin
    if (rst_i) reads_q <= 1'b0;
    else reads_q <= reads_q ? !(read_ready_i && ends) : value_valid_i;
    if (!reads_q) {slot_q, address_q, more_q} <= {value_i.slot, value_i.address, more};
    else if (read_ready_i) begin
      address_q <= address_q + bus_address_t'(ValueReadLines * LineBytes);
      more_q <= more_q - CountBits'(ValueReadLines);
    end
  end

  assign read_o.address = address_q;
  assign read_o.count = ends ? line_count_t'(more_q) + 1'b1 : line_count_t'(ValueReadLines);

  assign value_ready_o = !reads_q;
  assign slot_o = slot_q;
  assign read_valid_o = reads_q;

  `ASSERT(ValueIsNotEmpty, !value_valid_i || value_i.bytes != '0)
  `ASSERT_OFFER_STAYS(ReadStays, read_valid_o, read_ready_i, read_o)
  `COVER(ValueHasALineLess, value_valid_i && more == CountBits'(ValueReadLines - 2))
  `COVER(ValueFillsARead, value_valid_i && more == CountBits'(ValueReadLines - 1))
  `COVER(ValueHasALineMore, value_valid_i && more == CountBits'(ValueReadLines))

endmodule

`default_nettype wire
