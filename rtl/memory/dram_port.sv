// The AXI4 port of one channel of on-board memory, shared by page table and cache. The highest bit of an id
// is set for the cache; the other bits are the client of a lookup or the tag of a burst. Every pin comes from
// a register or a queue, or ends in one.

`default_nettype none

`include "assertions.svh"

module dram_port
  import accelerator_pkg::*;
  import axi_pkg::*;
  import memory_pkg::*;
#(
  parameter int unsigned AddressBits = 34,
  parameter int unsigned ClientBits = 2,
  parameter int unsigned TagBits = 3,
  localparam int unsigned IdBits = TagBits + 1
) (
  input logic clk_i,
  input logic rst_i,

  // lookups: one line each
  input  logic                   table_read_valid_i,
  output logic                   table_read_ready_o,
  input  logic [ClientBits-1:0]  table_read_id_i,
  input  logic [AddressBits-1:0] table_read_address_i,
  output logic                   table_line_valid_o,
  output logic [ClientBits-1:0]  table_line_id_o,
  output line_t                  table_line_o,
  output logic                   table_line_error_o,

  // bursts from the cache
  input  logic                   hit_valid_i,
  output logic                   hit_ready_o,
  input  logic [TagBits-1:0]     hit_tag_i,
  input  logic [AddressBits-1:0] hit_address_i,
  input  burst_lines_t           hit_lines_i,
  // a line arrives, even if it is not kept
  output logic                   hit_beat_o,
  output logic                   hit_line_valid_o,
  input  logic                   hit_line_ready_i,
  output logic [TagBits-1:0]     hit_line_tag_o,
  output burst_line_t            hit_line_o,

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
  output logic                   table_written_error_o,

  // writes of lines to the cache, and the responses
  input  logic                   line_valid_i,
  output logic                   line_ready_o,
  input  logic [TagBits-1:0]     line_tag_i,
  input  logic [AddressBits-1:0] line_address_i,
  input  line_t                  line_i,
  output logic               line_written_o,
  output logic [TagBits-1:0] line_written_tag_o,
  output logic               line_written_error_o,

  // Only the bits of a tag and the bit above them are used of an id.
  // verilator lint_off UNUSEDSIGNAL
  output axi_read_request_t   dram_read_o,
  input  axi_read_response_t  dram_read_i,
  output axi_write_request_t  dram_write_o,
  input  axi_write_response_t dram_write_i
  // verilator lint_on UNUSEDSIGNAL
);

  typedef struct packed {
    logic [IdBits-1:0] id;
    logic [AddressBits-1:0] address;
    logic [7:0] len;
  } read_t;

  read_t table_read, hit_read, read;
  assign table_read = '{id: IdBits'(table_read_id_i), address: table_read_address_i, len: '0};
  assign hit_read = '{id: {1'b1, hit_tag_i}, address: hit_address_i, len: 8'(hit_lines_i) - 8'd1};

  logic arbiter_ready, flags_ready;
  assign hit_ready_o = arbiter_ready && flags_ready;

  arbiter #(
    .T(read_t),
    .Count(2)
  ) u_arbiter (
    .clk_i,
    .rst_i,
    .in_valid_i({hit_valid_i && flags_ready, table_read_valid_i}),
    .in_ready_o({arbiter_ready, table_read_ready_o}),
    .in_i({hit_read, table_read}),
    .in_last_i('1),
    .out_valid_o(dram_read_o.arvalid),
    .out_ready_i(dram_read_i.arready),
    .out_o(read),
    .out_last_o(),
    .out_index_o()
  );

  assign dram_read_o.arid = AxiIdBits'(read.id);
  assign dram_read_o.araddr = AxiAddressBits'(read.address);
  assign dram_read_o.arlen = read.len;
  assign dram_read_o.arsize = AxiSizeLine;
  assign dram_read_o.arburst = AxiBurstIncr;

  typedef struct packed {
    logic [IdBits-1:0] id;
    // The line is not kept. A register says so, because a pin that selects lines would have many ends.
    logic discards;
    burst_line_t line;
  } beat_t;

  beat_t beat_in, beat;
  logic beat_valid, is_hit, is_error, fails, discards, hit_arrives;
  assign is_error = dram_read_i.rresp != AxiRespOkay;
  assign hit_arrives = dram_read_i.rid[IdBits-1];
  assign hit_beat_o = dram_read_i.rvalid && dram_read_o.rready && hit_arrives;

  failed_bursts #(
    .TagBits(TagBits)
  ) u_failed_bursts (
    .clk_i,
    .rst_i,
    .ready_o(flags_ready),
    .beat_i(hit_beat_o),
    .tag_i(dram_read_i.rid[TagBits-1:0]),
    .last_i(dram_read_i.rlast),
    .error_i(is_error),
    .fails_o(fails),
    .discards_o(discards)
  );

  assign beat_in = '{
    id: dram_read_i.rid[IdBits-1:0],
    discards: hit_arrives && discards,
    line: '{data: dram_read_i.rdata, last: dram_read_i.rlast, error: hit_arrives ? fails : is_error}
  };

  skid_buffer #(
    .T(beat_t)
  ) u_beats (
    .clk_i,
    .rst_i,
    .in_valid_i(dram_read_i.rvalid),
    .in_ready_o(dram_read_o.rready),
    .in_i(beat_in),
    .out_valid_o(beat_valid),
    .out_ready_i(!is_hit || beat.discards || hit_line_ready_i),
    .out_o(beat)
  );

  assign is_hit = beat.id[IdBits-1];
  assign table_line_valid_o = beat_valid && !is_hit;
  assign table_line_id_o = beat.id[ClientBits-1:0];
  assign table_line_o = beat.line.data;
  assign table_line_error_o = beat.line.error;
  assign hit_line_valid_o = beat_valid && is_hit && !beat.discards;
  assign hit_line_tag_o = beat.id[TagBits-1:0];
  assign hit_line_o = beat.line;

  logic [IdBits-1:0] write_id;
  logic [AddressBits-1:0] write_address;

  dram_writer #(
    .AddressBits(AddressBits),
    .IdBits(IdBits)
  ) u_dram_writer (
    .line_id_i({1'b1, line_tag_i}),
    .aw_valid_o(dram_write_o.awvalid),
    .aw_ready_i(dram_write_i.awready),
    .aw_id_o(write_id),
    .aw_address_o(write_address),
    .aw_len_o(dram_write_o.awlen),
    .w_valid_o(dram_write_o.wvalid),
    .w_ready_i(dram_write_i.wready),
    .w_data_o(dram_write_o.wdata),
    .w_strobe_o(dram_write_o.wstrb),
    .w_last_o(dram_write_o.wlast),
    .*
  );

  assign dram_write_o.awid = AxiIdBits'(write_id);
  assign dram_write_o.awaddr = AxiAddressBits'(write_address);
  assign dram_write_o.awsize = AxiSizeLine;
  assign dram_write_o.awburst = AxiBurstIncr;

  // The response, one cycle later.
  logic written_q, is_error_q;
  logic [IdBits-1:0] written_id_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) written_q <= 1'b0;
    else written_q <= dram_write_i.bvalid;
    written_id_q <= dram_write_i.bid[IdBits-1:0];
    is_error_q <= dram_write_i.bresp != AxiRespOkay;
  end

  assign dram_write_o.bready = 1'b1;
  assign table_written_o = written_q && !written_id_q[IdBits-1];
  assign table_written_error_o = is_error_q;
  assign line_written_o = written_q && written_id_q[IdBits-1];
  assign line_written_tag_o = written_id_q[TagBits-1:0];
  assign line_written_error_o = is_error_q;

  `ASSERT(OneBeatPerLookup, !table_line_valid_o || beat.line.last)
  `ASSERT_OFFER_STAYS(ReadStays, dram_read_o.arvalid, dram_read_i.arready,
                      {dram_read_o.arid, dram_read_o.araddr, dram_read_o.arlen})

endmodule

`default_nettype wire
