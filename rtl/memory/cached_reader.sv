// Reads bursts from host memory, from the cache of nodes in on-board memory, from columns of leaves behind
// it, or from nodes on chip. A client that reads columns reads no cacheable nodes.

`default_nettype none

`include "assertions.svh"

module cached_reader
  import accelerator_pkg::*;
  import axi_pkg::*;
  import memory_pkg::*;
#(
  parameter int unsigned ClientCount = 4,
  parameter int unsigned Banks = 2,
  parameter int unsigned CacheSets = 1024,
  parameter int unsigned CacheWays = 4,
  parameter int unsigned CacheEntryLines = 128,
  // see top_nodes
  parameter int unsigned NodesOnChip = 16,
  // leaves whose columns are in on-board memory
  parameter int unsigned LidCount = 65536,
  // channels of on-board memory
  parameter int unsigned Channels = 1,
  // the clients, and the filler of nodes on chip
  localparam int unsigned ClientBits = reader_bits(ClientCount),
  localparam int unsigned BankBits = $clog2(Banks),
  localparam int unsigned TagBits = ClientBits + BankBits,
  localparam int unsigned CacheLines = CacheSets * CacheWays * CacheEntryLines,
  localparam int unsigned CachePlaceBits = $clog2(CacheLines),
  // lines of the cache, and after them those of columns
  localparam int unsigned PlaceBits = place_bits(CacheLines, LidCount)
) (
  input logic clk_i,
  input logic rst_i,
  input logic cache_i,
  input logic [7:0] cache_halvings_i,
  input logic balance_i,
  // see top_nodes
  input logic [1:0] levels_on_chip_i,
  input line_count_t node_lines_i,

  input  logic       [ClientCount-1:0]               burst_valid_i,
  output logic       [ClientCount-1:0]               burst_ready_o,
  input  burst_t     [ClientCount-1:0]               burst_i,
  input  logic       [ClientCount-1:0][BankBits-1:0] burst_bank_i,
  input  node_name_t [ClientCount-1:0]               name_i,

  input  logic drop_valid_i,
  output logic drop_ready_o,
  input  lid_t drop_lid_i,

  // the line for each client
  output logic        [ClientCount-1:0]               line_valid_o,
  output logic        [ClientCount-1:0][BankBits-1:0] line_bank_o,
  output burst_line_t [ClientCount-1:0]               line_o,

  // see host_reader
  output axi_read_request_t  host_o,
  input  axi_read_response_t host_i,

  output logic                   hit_valid_o,
  input  logic                   hit_ready_i,
  output logic [TagBits-1:0]     hit_tag_o,
  output logic [PlaceBits-1:0]   hit_place_o,
  output burst_lines_t           hit_lines_o,
  input  logic        [Channels-1:0]              hit_line_valid_i,
  output logic        [Channels-1:0]              hit_line_ready_o,
  input  logic        [Channels-1:0][TagBits-1:0] hit_line_tag_i,
  input  burst_line_t [Channels-1:0]              hit_line_i,

  output logic                      write_valid_o,
  input  logic                      write_ready_i,
  output logic [TagBits-1:0]        write_tag_o,
  output logic [CachePlaceBits-1:0] write_place_o,
  output line_t                  write_o,
  input  logic [Channels-1:0]              written_i,
  input  logic [Channels-1:0][TagBits-1:0] written_tag_i,
  input  logic [Channels-1:0]              written_error_i,

  output cache_events_t events_o
);

  typedef struct packed {
    logic [BankBits-1:0] bank;
    logic on_board;
    bus_address_t address;
    burst_lines_t lines;
    node_name_t name;
  } element_t;

  element_t [ClientCount-1:0] elements;
  element_t element;
  logic [ClientBits-1:0] client;
  logic [(ClientCount > 1 ? $clog2(ClientCount) : 1)-1:0] arbitrated;
  logic valid, ready;

  for (genvar index = 0; index < ClientCount; index++) begin : gen_elements
    assign elements[index] = '{
      bank: burst_bank_i[index],
      on_board: burst_i[index].on_board,
      address: burst_i[index].address,
      lines: burst_i[index].lines,
      name: name_i[index]
    };
  end

  arbiter_tree #(
    .T(element_t),
    .Count(ClientCount)
  ) u_arbiter (
    .clk_i, .rst_i,
    .in_valid_i(burst_valid_i),
    .in_ready_o(burst_ready_o),
    .in_i(elements),
    .out_valid_o(valid),
    .out_ready_i(ready),
    .out_o(element),
    .out_index_o(arbitrated)
  );

  assign client = ClientBits'(arbitrated);

  // ---- nodes on chip, then the cache ----

  localparam int unsigned Streams = 2;
  logic other_valid, other_ready, dropped;
  logic [Streams-1:0] chip_valid, chip_ready;
  logic [Streams-1:0][TagBits-1:0] chip_tag;
  burst_line_t [Streams-1:0] chip_line;
  bus_address_t other_address, host_address;
  burst_lines_t other_lines, host_lines;
  logic [TagBits-1:0] other_tag, host_tag, host_line_tag;
  buffer_name_t other_name;
  burst_line_t host_line;
  logic host_valid, host_ready, redirects;
  logic [Channels-1:0] hit_done;
  logic host_line_valid;
  logic fill_start, filled_valid, filled_ready, filled_failed;
  logic [TagBits-1:0] fill_tag, filled_tag;
  logic [CachePlaceBits-1:0] fill_place;
  logic hit_valid, hit_ready, any_valid, any_ready;
  logic [CachePlaceBits-1:0] hit_place;
  burst_lines_t hit_lines;
  logic [TagBits-1:0] hit_tag;

  column_router #(
    .TagBits(TagBits),
    .CacheLines(CacheLines),
    .PlaceBits(PlaceBits)
  ) u_column_router (
    .clk_i, .rst_i,
    .burst_valid_i(valid), .burst_ready_o(ready),
    .on_board_i(element.on_board),
    .burst_address_i(element.address),
    .burst_lines_i(element.lines),
    .burst_tag_i({client, element.bank}),
    .other_valid_o(any_valid), .other_ready_i(any_ready),
    .hit_valid_i(hit_valid), .hit_ready_o(hit_ready),
    .hit_place_i(hit_place), .hit_lines_i(hit_lines), .hit_tag_i(hit_tag),
    .read_valid_o(hit_valid_o), .read_ready_i(hit_ready_i),
    .read_place_o(hit_place_o), .read_lines_o(hit_lines_o), .read_tag_o(hit_tag_o),
    .column_lines_o(events_o.column_lines)
  );

  assign dropped = drop_valid_i && drop_ready_o;

  top_nodes #(
    .TagBits(TagBits),
    .FillTag({ClientBits'(ClientCount), BankBits'(0)}),
    .Nodes(NodesOnChip),
    .EntryLines(CacheEntryLines),
    .LidCount(LidCount)
  ) u_top_nodes (
    .clk_i, .rst_i,
    .levels_i(levels_on_chip_i),
    .node_lines_i,
    .drop_valid_i(dropped),
    .drop_lid_i,
    .burst_valid_i(any_valid), .burst_ready_o(any_ready),
    .burst_address_i(element.address),
    .burst_lines_i(element.lines),
    .burst_tag_i({client, element.bank}),
    .name_i(element.name),
    .other_valid_o(other_valid), .other_ready_i(other_ready),
    .other_address_o(other_address), .other_lines_o(other_lines),
    .other_tag_o(other_tag), .other_name_o(other_name),
    .line_valid_i(host_line_valid),
    .line_tag_i(host_line_tag),
    .line_i(host_line),
    .beat_valid_o(chip_valid), .beat_ready_i(chip_ready),
    .beat_tag_o(chip_tag), .beat_o(chip_line)
  );

  node_cache #(
    .TagBits(TagBits),
    .Channels(Channels),
    .Sets(CacheSets),
    .Ways(CacheWays),
    .EntryLines(CacheEntryLines)
  ) u_node_cache (
    .clk_i, .rst_i,
    .enable_i(cache_i),
    .redirects_i(redirects),
    .halvings_i(cache_halvings_i),
    .burst_valid_i(other_valid), .burst_ready_o(other_ready),
    .burst_address_i(other_address),
    .burst_lines_i(other_lines),
    .burst_tag_i(other_tag),
    .name_i(other_name),
    .host_valid_o(host_valid), .host_ready_i(host_ready),
    .host_address_o(host_address),
    .host_lines_o(host_lines),
    .host_tag_o(host_tag),
    .hit_valid_o(hit_valid), .hit_ready_i(hit_ready),
    .hit_place_o(hit_place), .hit_lines_o(hit_lines), .hit_tag_o(hit_tag),
    .hit_done_i(hit_done),
    .hit_done_tag_i(hit_line_tag_i),
    .fill_start_o(fill_start),
    .fill_tag_o(fill_tag), .fill_place_o(fill_place),
    .filled_valid_i(filled_valid), .filled_ready_o(filled_ready),
    .filled_tag_i(filled_tag), .filled_failed_i(filled_failed),
    .drop_valid_i,
    .drop_ready_o,
    .drop_lid_i,
    .counts_hit_o(events_o.hit),
    .counts_miss_o(events_o.miss)
  );

  cache_filler #(
    .TagBits(TagBits),
    .PlaceBits(CachePlaceBits),
    .Channels(Channels)
  ) u_cache_filler (
    .clk_i, .rst_i,
    .start_i(fill_start),
    .start_tag_i(fill_tag), .start_place_i(fill_place),
    .line_valid_i(host_line_valid),
    .line_tag_i(host_line_tag),
    .line_i(host_line),
    .write_valid_o,
    .write_ready_i,
    .write_tag_o,
    .write_place_o,
    .write_o,
    .written_i,
    .written_tag_i,
    .written_error_i,
    .filled_valid_o(filled_valid), .filled_ready_i(filled_ready),
    .filled_tag_o(filled_tag), .filled_failed_o(filled_failed)
  );

  load_balancer #(
    .TagBits(TagBits),
    .Channels(Channels)
  ) u_load_balancer (
    .clk_i, .rst_i,
    .enable_i(balance_i),
    .host_begins_i(host_valid && host_ready),
    .host_ends_i(host_line_valid && host_line.last),
    .dram_begins_i(hit_valid_o && hit_ready_i),
    .dram_ends_i(hit_done),
    .redirects_o(redirects)
  );

  // ---- lines ----

  host_reader #(
    .ClientCount(ClientCount),
    .Banks(Banks)
  ) u_host_reader (
    .burst_valid_i(host_valid), .burst_ready_o(host_ready),
    .burst_address_i(host_address),
    .burst_lines_i(host_lines),
    .burst_tag_i(host_tag),
    .line_valid_o(host_line_valid),
    .line_tag_o(host_line_tag),
    .line_o(host_line),
    .*
  );

  line_router #(
    .ClientCount(ClientCount),
    .Banks(Banks),
    .Channels(Channels),
    .Streams(Streams)
  ) u_line_router (
    .clk_i, .rst_i,
    .host_valid_i(host_line_valid),
    .host_tag_i(host_line_tag), .host_i(host_line),
    .cache_valid_i(hit_line_valid_i), .cache_ready_o(hit_line_ready_o),
    .cache_tag_i(hit_line_tag_i), .cache_i(hit_line_i),
    .chip_valid_i(chip_valid), .chip_ready_o(chip_ready),
    .chip_tag_i(chip_tag), .chip_i(chip_line),
    .line_valid_o,
    .line_bank_o,
    .line_o
  );

  for (genvar channel = 0; channel < Channels; channel++) begin : gen_done
    assign hit_done[channel] =
        hit_line_valid_i[channel] && hit_line_ready_o[channel] && hit_line_i[channel].last;
  end
  assign events_o.dram_lines = 4'($countones(hit_line_valid_i & hit_line_ready_o));
  assign events_o.chip_lines = chip_valid & chip_ready;

endmodule

`default_nettype wire
