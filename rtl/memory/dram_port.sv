// The AXI4 port of on-board memory, for the page table and for the cache. Ids tell them apart: the highest
// bit is set for the cache, and the others are the client of a lookup or the tag of a piece.

`default_nettype none

`include "assertions.svh"

module dram_port
  import accelerator_pkg::*;
  import memory_pkg::*;
#(
  parameter int unsigned AddressBits = 34,
  parameter int unsigned ClientBits = 2,
  parameter int unsigned TagBits = 3,
  localparam int unsigned IdBits = TagBits + 1
) (
  input logic clk_i,
  input logic rst_i,

  // lookups: a line each
  input  logic                   table_read_valid_i,
  output logic                   table_read_ready_o,
  input  logic [ClientBits-1:0]  table_read_id_i,
  input  logic [AddressBits-1:0] table_read_address_i,
  output logic                   table_line_valid_o,
  output logic [ClientBits-1:0]  table_line_id_o,
  output line_t                  table_line_o,
  output logic                   table_line_error_o,

  // pieces from the cache
  input  logic                   hit_valid_i,
  output logic                   hit_ready_o,
  input  logic [TagBits-1:0]     hit_tag_i,
  input  logic [AddressBits-1:0] hit_address_i,
  input  piece_lines_t           hit_lines_i,
  output logic                   hit_line_valid_o,
  input  logic                   hit_line_ready_i,
  output logic [TagBits-1:0]     hit_line_tag_o,
  output piece_line_t            hit_line_o,

  // writes of the page table: see dram_writer
  input  logic                   burst_valid_i,
  output logic                   burst_ready_o,
  input  logic [AddressBits-1:0] burst_address_i,
  input  logic [7:0]             burst_len_i,
  input  logic                   word_valid_i,
  output logic                   word_ready_o,
  input  line_t                  word_i,
  input  logic [LineBytes-1:0]   word_strobe_i,
  input  logic                   word_last_i,
  output logic                   table_written_o,

  // lines to the cache, and the answers to them
  input  logic                   line_valid_i,
  output logic                   line_ready_o,
  input  logic [TagBits-1:0]     line_tag_i,
  input  logic [AddressBits-1:0] line_address_i,
  input  line_t                  line_i,
  output logic               line_written_o,
  output logic [TagBits-1:0] line_written_tag_o,
  output logic               line_written_error_o,

  output logic                   dram_arvalid_o,
  input  logic                   dram_arready_i,
  output logic [IdBits-1:0]      dram_arid_o,
  output logic [AddressBits-1:0] dram_araddr_o,
  output logic [7:0]             dram_arlen_o,
  output logic [2:0]             dram_arsize_o,
  output logic [1:0]             dram_arburst_o,
  input  logic                   dram_rvalid_i,
  output logic                   dram_rready_o,
  input  logic [IdBits-1:0]      dram_rid_i,
  input  line_t                  dram_rdata_i,
  input  logic [1:0]             dram_rresp_i,
  input  logic                   dram_rlast_i,
  output logic                   dram_awvalid_o,
  input  logic                   dram_awready_i,
  output logic [IdBits-1:0]      dram_awid_o,
  output logic [AddressBits-1:0] dram_awaddr_o,
  output logic [7:0]             dram_awlen_o,
  output logic [2:0]             dram_awsize_o,
  output logic [1:0]             dram_awburst_o,
  output logic                   dram_wvalid_o,
  input  logic                   dram_wready_i,
  output line_t                  dram_wdata_o,
  output logic [LineBytes-1:0]   dram_wstrb_o,
  output logic                   dram_wlast_o,
  input  logic                   dram_bvalid_i,
  output logic                   dram_bready_o,
  input  logic [IdBits-1:0]      dram_bid_i,
  input  logic [1:0]             dram_bresp_i
);

  localparam logic [2:0] SizeOfLine = 3'(LineIndexBits);
  localparam logic [1:0] Incrementing = 2'b01;

  typedef struct packed {
    logic [IdBits-1:0] id;
    logic [AddressBits-1:0] address;
    logic [7:0] len;
  } read_t;

  read_t table_read, hit_read, read;
  assign table_read = '{id: IdBits'(table_read_id_i), address: table_read_address_i, len: '0};
  assign hit_read = '{id: {1'b1, hit_tag_i}, address: hit_address_i, len: 8'(hit_lines_i) - 8'd1};

  arbiter #(
    .T(read_t),
    .Count(2)
  ) u_arbiter (
    .clk_i,
    .rst_i,
    .in_valid_i({hit_valid_i, table_read_valid_i}),
    .in_ready_o({hit_ready_o, table_read_ready_o}),
    .in_i({hit_read, table_read}),
    .in_last_i('1),
    .out_valid_o(dram_arvalid_o),
    .out_ready_i(dram_arready_i),
    .out_o(read),
    .out_last_o(),
    .out_index_o()
  );

  assign dram_arid_o = read.id;
  assign dram_araddr_o = read.address;
  assign dram_arlen_o = read.len;

  logic is_hit, is_error;
  assign is_hit = dram_rid_i[IdBits-1];
  assign is_error = dram_rresp_i != '0;
  assign dram_rready_o = !is_hit || hit_line_ready_i;
  assign table_line_valid_o = dram_rvalid_i && !is_hit;
  assign table_line_id_o = dram_rid_i[ClientBits-1:0];
  assign table_line_o = dram_rdata_i;
  assign table_line_error_o = is_error;
  assign hit_line_valid_o = dram_rvalid_i && is_hit;
  assign hit_line_tag_o = dram_rid_i[TagBits-1:0];
  assign hit_line_o = '{data: dram_rdata_i, last: dram_rlast_i, error: is_error};

  dram_writer #(
    .AddressBits(AddressBits),
    .IdBits(IdBits)
  ) u_dram_writer (
    .line_id_i({1'b1, line_tag_i}),
    .aw_valid_o(dram_awvalid_o),
    .aw_ready_i(dram_awready_i),
    .aw_id_o(dram_awid_o),
    .aw_address_o(dram_awaddr_o),
    .aw_len_o(dram_awlen_o),
    .w_valid_o(dram_wvalid_o),
    .w_ready_i(dram_wready_i),
    .w_data_o(dram_wdata_o),
    .w_strobe_o(dram_wstrb_o),
    .w_last_o(dram_wlast_o),
    .*
  );

  assign dram_arsize_o = SizeOfLine;
  assign dram_arburst_o = Incrementing;
  assign dram_awsize_o = SizeOfLine;
  assign dram_awburst_o = Incrementing;

  assign dram_bready_o = 1'b1;
  assign table_written_o = dram_bvalid_i && !dram_bid_i[IdBits-1];
  assign line_written_o = dram_bvalid_i && dram_bid_i[IdBits-1];
  assign line_written_tag_o = dram_bid_i[TagBits-1:0];
  assign line_written_error_o = dram_bresp_i != '0;

  `ASSERT(OneBeatALookup, !table_line_valid_o || dram_rlast_i)
  `ASSERT_OFFER_STAYS(ReadStays, dram_arvalid_o, dram_arready_i, {dram_arid_o, dram_araddr_o, dram_arlen_o})

endmodule

`default_nettype wire
