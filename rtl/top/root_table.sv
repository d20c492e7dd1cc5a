// Stores the LID of the root of each table; 0 means that the table does not exist. After reset it clears
// itself, all banks in parallel.

`default_nettype none

`include "assertions.svh"

module root_table
  import layout_pkg::*;
  import accelerator_pkg::*;
#(
  // number of banks: a power of two; more banks need fewer cycles to clear
  parameter int unsigned Banks = 16
) (
  input logic clk_i,
  input logic rst_i,

  // not ready while the table is cleared
  input  logic        write_valid_i,
  output logic        write_ready_o,
  input  logic [15:0] write_table_i,
  input  lid_t        write_root_i,

  // the root is valid one cycle after the read was accepted, and stable until the next read
  input  logic        read_valid_i,
  output logic        read_ready_o,
  input  logic [15:0] read_table_i,
  output lid_t        root_o
);

  localparam int unsigned BankBits = $clog2(Banks);
  localparam int unsigned Depth = TablesMax / Banks;
  localparam int unsigned RowBits = $clog2(Depth);

  if (Banks < 2 || Banks > 256 || 2 ** BankBits != Banks)
    $fatal(1, "Banks must be a power of two from 2 to 256");

  logic is_clear_q;
  logic [RowBits-1:0] cleared_q;
  logic [BankBits-1:0] read_bank_q;
  lid_t roots[Banks];

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      is_clear_q <= 1'b0;
      cleared_q <= '0;
    end else if (!is_clear_q) begin
      is_clear_q <= &cleared_q;
      cleared_q <= cleared_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (read_valid_i && read_ready_o) read_bank_q <= read_table_i[BankBits-1:0];
  end

  for (genvar bank = 0; bank < Banks; bank++) begin : g_banks
    logic is_written;
    assign is_written = write_valid_i && write_ready_o && write_table_i[BankBits-1:0] == BankBits'(bank);
    ram #(.Width(LidBits), .Depth(Depth)) u_roots (
      .clk_i,
      .rst_i,
      .write_i(!is_clear_q || is_written),
      .write_address_i(is_clear_q ? write_table_i[15:BankBits] : cleared_q),
      .write_data_i(is_clear_q ? write_root_i : '0),
      .read_i(read_valid_i && read_ready_o),
      .read_address_i(read_table_i[15:BankBits]),
      .read_data_o(roots[bank])
    );
  end

  assign write_ready_o = is_clear_q;
  // A write has priority over a read.
  assign read_ready_o = is_clear_q && !write_valid_i;
  assign root_o = roots[read_bank_q];

  `ASSERT_OFFER_STAYS(WriteStays, write_valid_i, write_ready_o, {write_table_i, write_root_i})
  `ASSERT_OFFER_STAYS(ReadStays, read_valid_i, read_ready_o, read_table_i)

endmodule

`default_nettype wire
