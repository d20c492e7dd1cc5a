// Contains the page table, which maps LIDs to buffers. Clients look LIDs up in it, and the control plane
// writes it.

`default_nettype none

`include "assertions.svh"

module mappings
  import accelerator_pkg::*;
  import memory_pkg::*;
#(
  // see page_table
  parameter int unsigned Ports = 4,
  parameter int unsigned ReaderBits = 2,
  parameter int unsigned CachedReaders = 4,
  // number of LIDs that can be mapped: a multiple of 512
  parameter int unsigned LidCount = 65536,
  parameter int unsigned KeptLids = 1024,
  // first page of the page table, in pages of 4 KiB
  parameter int unsigned BasePage = 0,
  parameter int unsigned AddressBits = 34
) (
  input logic clk_i,
  input logic rst_i,

  // see page_table
  input  logic         [Ports-1:0]                 lookup_valid_i,
  output logic         [Ports-1:0]                 lookup_ready_o,
  input  lookup_t      [Ports-1:0]                 lookup_i,
  input  logic         [Ports-1:0][ReaderBits-1:0] lookup_reader_i,
  output logic                                     found_valid_o,
  output logic         [ReaderBits-1:0]            found_reader_o,
  output bus_address_t                             found_o,
  output logic                                     found_columns_o,
  output logic                                     lacks_valid_o,
  output lid_t                                     lacks_lid_o,

  // see page_table_writer
  input  logic         map_valid_i,
  output logic         map_ready_o,
  input  lid_t         map_lid_i,
  input  bus_address_t map_address_i,
  output logic         drop_valid_o,
  input  logic         drop_ready_i,
  input  logic         mark_valid_i,
  output logic         mark_ready_o,
  input  lid_t         mark_lid_i,
  input  bus_address_t mark_address_i,

  // reads and writes of on-board memory: see dram_port
  output logic                   read_valid_o,
  input  logic                   read_ready_i,
  output logic [ReaderBits-1:0]  read_id_o,
  output logic [AddressBits-1:0] read_address_o,
  input  logic                   line_valid_i,
  input  logic [ReaderBits-1:0]  line_id_i,
  input  line_t                  line_i,
  input  logic                   line_error_i,
  output logic                   burst_valid_o,
  input  logic                   burst_ready_i,
  output logic [AddressBits-1:0] burst_address_o,
  output logic [7:0]             burst_len_o,
  output logic                   word_valid_o,
  input  logic                   word_ready_i,
  output line_t                  word_o,
  output logic [LineBytes-1:0]   word_strobe_o,
  output logic                   word_last_o,
  input  logic                   written_i,
  input  logic                   written_error_i,

  // The table has failed: every lookup finds its LID unmapped until reset.
  output logic failed_o
);

  logic is_clear, failed, read_valid;

  page_table #(
    .Ports(Ports),
    .ReaderBits(ReaderBits),
    .CachedReaders(CachedReaders),
    .LidCount(LidCount),
    .KeptLids(KeptLids),
    .BasePage(BasePage),
    .AddressBits(AddressBits)
  ) u_page_table (
    .drop_i(drop_valid_o && drop_ready_i),
    .failed_i(failed),
    .line_read_valid_o(read_valid),
    .line_read_ready_i(read_ready_i && is_clear),
    .line_read_id_o(read_id_o),
    .line_read_address_o(read_address_o),
    .*
  );
  assign read_valid_o = read_valid && is_clear;

  page_table_writer #(
    .LidCount(LidCount),
    .BasePage(BasePage),
    .AddressBits(AddressBits)
  ) u_page_table_writer (
    .is_clear_o(is_clear),
    .failed_o(failed),
    .done_valid_i(written_i),
    .done_ready_o(),
    .done_error_i(written_error_i),
    .*
  );
  assign failed_o = failed;

  `COVER(LookupWaitsForClear, read_valid && !is_clear)
  `COVER(MappingWaitsForCache, drop_valid_o && !drop_ready_i)

endmodule

`default_nettype wire
