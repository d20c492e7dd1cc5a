// A memory with two ports, which synthesis maps to block memory: the first one writes or reads, the second
// one reads. Read data is valid in the next cycle, and stable until the next read of the port. A read of the
// address that is written in the same cycle returns undefined data.

`default_nettype none

`include "assertions.svh"

module ram_two_ports #(
  parameter int unsigned Width = 32,
  parameter int unsigned Depth = 16,
  localparam int unsigned AddressBits = Depth > 1 ? $clog2(Depth) : 1
) (
  input logic clk_i,
  input logic rst_i,

  input  logic                   first_write_i,
  input  logic                   first_read_i,
  input  logic [AddressBits-1:0] first_address_i,
  input  logic [Width-1:0]       first_data_i,
  output logic [Width-1:0]       first_data_o,

  input  logic                   second_read_i,
  input  logic [AddressBits-1:0] second_address_i,
  output logic [Width-1:0]       second_data_o
);

  // Synthesis may choose the result of a read that collides with a write, because no module uses that result.
  (* no_rw_check *)
  logic [Width-1:0] words_q[Depth];
  logic [Width-1:0] first_q, second_q;

  always_ff @(posedge clk_i) begin
    if (first_write_i) words_q[first_address_i] <= first_data_i;
    if (first_read_i) first_q <= words_q[first_address_i];
    if (second_read_i) second_q <= words_q[second_address_i];
  end

  assign first_data_o = first_q;
  assign second_data_o = second_q;

  `ASSERT(OneUseOfAPort, !(first_write_i && first_read_i))
  `ASSERT(AddressesAreValid, (!(first_write_i || first_read_i) || 32'(first_address_i) < Depth)
          && (!second_read_i || 32'(second_address_i) < Depth))

endmodule

`default_nettype wire
