// The AXI4 ports of on-board memory, one for each channel. The page table is in the first channel. The pages
// of the cache are distributed over all channels by the parity of their numbers, so that lines at the same
// offset of many entries use all channels.

`default_nettype none

`include "assertions.svh"

module dram_ports
  import accelerator_pkg::*;
  import axi_pkg::*;
  import memory_pkg::*;
#(
  // number of channels: a power of two
  parameter int unsigned Channels = 2,
  parameter int unsigned AddressBits = 34,
  parameter int unsigned ClientBits = 2,
  parameter int unsigned TagBits = 3,
  parameter int unsigned PlaceBits = 19,
  // first page of the cache in each channel, in pages of 4 KiB
  parameter int unsigned CachePage = 0
) (
  input logic clk_i,
  input logic rst_i,

  // lookups, and writes of the page table: see dram_port
  input  logic                   table_read_valid_i,
  output logic                   table_read_ready_o,
  input  logic [ClientBits-1:0]  table_read_id_i,
  input  logic [AddressBits-1:0] table_read_address_i,
  output logic                   table_line_valid_o,
  output logic [ClientBits-1:0]  table_line_id_o,
  output line_t                  table_line_o,
  output logic                   table_line_error_o,
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

  // bursts from the cache
  input  logic                                      hit_valid_i,
  output logic                                      hit_ready_o,
  input  logic        [TagBits-1:0]                 hit_tag_i,
  input  logic        [PlaceBits-1:0]               hit_place_i,
  input  burst_lines_t                              hit_lines_i,
  // a line arrives, even if it is not kept
  output logic        [Channels-1:0]                hit_beat_o,
  output logic        [Channels-1:0]                hit_line_valid_o,
  input  logic        [Channels-1:0]                hit_line_ready_i,
  output logic        [Channels-1:0][TagBits-1:0]   hit_line_tag_o,
  output burst_line_t [Channels-1:0]                hit_line_o,

  // writes of lines to the cache, and the responses
  input  logic                                 line_valid_i,
  output logic                                 line_ready_o,
  input  logic [TagBits-1:0]                   line_tag_i,
  input  logic [PlaceBits-1:0]                 line_place_i,
  input  line_t                                line_i,
  output logic [Channels-1:0]                  line_written_o,
  output logic [Channels-1:0][TagBits-1:0]     line_written_tag_o,
  output logic [Channels-1:0]                  line_written_error_o,

  output axi_read_request_t   dram_read_o[Channels],
  input  axi_read_response_t  dram_read_i[Channels],
  output axi_write_request_t  dram_write_o[Channels],
  input  axi_write_response_t dram_write_i[Channels],

  // responses with an error
  output logic [Channels-1:0] read_error_o,
  output logic [Channels-1:0] write_error_o
);

  localparam int unsigned ChannelShift = $clog2(Channels);
  localparam int unsigned ChannelBits = Channels > 1 ? ChannelShift : 1;
  localparam int unsigned PageNumberBits = PlaceBits - PageLineBits;

  if (2 ** ChannelShift != Channels) $fatal(1, "Channels must be a power of two");

  typedef logic [ChannelBits-1:0] channel_t;
  typedef logic [AddressBits-1:0] address_t;
  typedef logic [PlaceBits-1:0] place_t;

  // ---- addresses ----

  function automatic channel_t channel_of(place_t place);
    channel_t channel = '0;
    for (int unsigned at = 0; at < PageNumberBits; at++) begin
      if (Channels > 1) channel[at % ChannelBits] ^= place[PageLineBits+at];
    end
    return channel;
  endfunction

  // The channel and the remaining bits of the page number determine the omitted bits.
  function automatic address_t address_of(place_t place);
    address_t page = address_t'(place) >> (PageLineBits + ChannelShift);
    return ((address_t'(CachePage) + page) << $clog2(PageBytes))
        + (address_t'(place[PageLineBits-1:0]) << LineIndexBits);
  endfunction

  channel_t line_channel;
  assign line_channel = channel_of(line_place_i);

  // Signals of each channel. Those of the page table have a meaning only for the first channel.
  // verilator lint_off UNUSEDSIGNAL
  logic [Channels-1:0] table_read_ready, table_line_valid, table_line_error, hit_ready, line_ready;
  logic [Channels-1:0] burst_ready, word_ready, table_written, table_written_error;
  logic [Channels-1:0][ClientBits-1:0] table_line_id;
  line_t [Channels-1:0] table_line;
  // verilator lint_on UNUSEDSIGNAL

  // A burst from the cache has its channel one cycle before it is offered there.
  typedef struct packed {
    channel_t channel;
    address_t address;
    burst_lines_t lines;
    logic [TagBits-1:0] tag;
  } hit_t;

  hit_t hit_in, hit;
  logic hit_valid;
  assign hit_in = '{
    channel: channel_of(hit_place_i),
    address: address_of(hit_place_i),
    lines: hit_lines_i,
    tag: hit_tag_i
  };

  skid_buffer #(
    .T(hit_t)
  ) u_hits (
    .clk_i,
    .rst_i,
    .in_valid_i(hit_valid_i),
    .in_ready_o(hit_ready_o),
    .in_i(hit_in),
    .out_valid_o(hit_valid),
    .out_ready_i(hit_ready[hit.channel]),
    .out_o(hit)
  );

  // ---- ports ----

  for (genvar channel = 0; channel < Channels; channel++) begin : gen_channels
    dram_port #(
      .AddressBits(AddressBits),
      .ClientBits(ClientBits),
      .TagBits(TagBits)
    ) u_dram_port (
      .clk_i,
      .rst_i,
      .table_read_valid_i(channel == 0 && table_read_valid_i),
      .table_read_ready_o(table_read_ready[channel]),
      .table_read_id_i,
      .table_read_address_i,
      .table_line_valid_o(table_line_valid[channel]),
      .table_line_id_o(table_line_id[channel]),
      .table_line_o(table_line[channel]),
      .table_line_error_o(table_line_error[channel]),
      .hit_valid_i(hit_valid && hit.channel == channel_t'(channel)),
      .hit_ready_o(hit_ready[channel]),
      .hit_tag_i(hit.tag),
      .hit_address_i(hit.address),
      .hit_lines_i(hit.lines),
      .hit_beat_o(hit_beat_o[channel]),
      .hit_line_valid_o(hit_line_valid_o[channel]),
      .hit_line_ready_i(hit_line_ready_i[channel]),
      .hit_line_tag_o(hit_line_tag_o[channel]),
      .hit_line_o(hit_line_o[channel]),
      .burst_valid_i(channel == 0 && burst_valid_i),
      .burst_ready_o(burst_ready[channel]),
      .burst_address_i,
      .burst_len_i,
      .word_valid_i(channel == 0 && word_valid_i),
      .word_ready_o(word_ready[channel]),
      .word_i,
      .word_strobe_i,
      .word_last_i,
      .table_written_o(table_written[channel]),
      .table_written_error_o(table_written_error[channel]),
      .line_valid_i(line_valid_i && line_channel == channel_t'(channel)),
      .line_ready_o(line_ready[channel]),
      .line_tag_i,
      .line_address_i(address_of(line_place_i)),
      .line_i,
      .line_written_o(line_written_o[channel]),
      .line_written_tag_o(line_written_tag_o[channel]),
      .line_written_error_o(line_written_error_o[channel]),
      .dram_read_o(dram_read_o[channel]),
      .dram_read_i(dram_read_i[channel]),
      .dram_write_o(dram_write_o[channel]),
      .dram_write_i(dram_write_i[channel])
    );

    assign read_error_o[channel] = dram_read_i[channel].rvalid && dram_read_o[channel].rready
        && dram_read_i[channel].rresp != AxiRespOkay;
    assign write_error_o[channel] = dram_write_i[channel].bvalid && dram_write_o[channel].bready
        && dram_write_i[channel].bresp != AxiRespOkay;
  end

  assign table_read_ready_o = table_read_ready[0];
  assign table_line_valid_o = table_line_valid[0];
  assign table_line_id_o = table_line_id[0];
  assign table_line_o = table_line[0];
  assign table_line_error_o = table_line_error[0];
  assign burst_ready_o = burst_ready[0];
  assign word_ready_o = word_ready[0];
  assign table_written_o = table_written[0];
  assign table_written_error_o = table_written_error[0];
  assign line_ready_o = line_ready[line_channel];

  `ASSERT(TableIsInFirstChannel, (table_line_valid & ~Channels'(1)) == '0)

endmodule

`default_nettype wire
