// A memory with one write port and one read port, which synthesis maps to block memory or lookup tables. Read
// data is valid in the next cycle, and stable until the next read. A read of the address that is written in
// the same cycle returns undefined data.

`default_nettype none

`include "assertions.svh"

module ram #(
  parameter int unsigned Width = 32,
  parameter int unsigned Depth = 16,
  localparam int unsigned AddressBits = Depth > 1 ? $clog2(Depth) : 1
) (
  input logic clk_i,
  input logic rst_i,

  input logic                   write_i,
  input logic [AddressBits-1:0] write_address_i,
  input logic [Width-1:0]       write_data_i,

  input  logic                   read_i,
  input  logic [AddressBits-1:0] read_address_i,
  output logic [Width-1:0]       read_data_o
);

  if (Width < 1 || Depth < 1) $fatal(1, "Width and Depth must be at least 1");

  // Synthesis may choose the result of a read that collides with a write, because no module uses that result.
  (* no_rw_check *)
  logic [Width-1:0] words_q[Depth];
  logic [Width-1:0] read_q;

  always_ff @(posedge clk_i) begin
    if (write_i) words_q[write_address_i] <= write_data_i;
    if (read_i) read_q <= words_q[read_address_i];
  end

  assign read_data_o = read_q;

  `ASSERT(WriteAddressIsValid, !write_i || 32'(write_address_i) < Depth)
  `ASSERT(ReadAddressIsValid, !read_i || 32'(read_address_i) < Depth)

endmodule

`default_nettype wire
