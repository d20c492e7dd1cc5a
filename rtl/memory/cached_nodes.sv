// Reads bursts of nodes that may be kept, and passes others on: first the nodes on chip have a burst, then
// the cache in on-board memory, then host memory, whose lines fill both.

`default_nettype none

module cached_nodes
  import accelerator_pkg::*;
  import memory_pkg::*;
#(
  parameter int unsigned TagBits = 3,
  // the tag of the filler of nodes on chip; see top_nodes
  parameter logic [TagBits-1:0] FillTag = '1,
  parameter int unsigned NodesOnChip = 16,
  // see node_cache
  parameter int unsigned Sets = 1024,
  parameter int unsigned Ways = 4,
  parameter int unsigned EntryLines = 128,
  parameter int unsigned LidCount = 65536,
  // channels of on-board memory
  parameter int unsigned Channels = 1,
  localparam int unsigned Streams = 2,
  localparam int unsigned PlaceBits = $clog2(Sets * Ways * EntryLines)
) (
  input logic clk_i,
  input logic rst_i,

  // switches: see memory_system; redirects hits of the cache to host memory
  input logic cache_i,
  input logic [7:0] cache_halvings_i,
  input logic [1:0] levels_on_chip_i,
  input line_count_t node_lines_i,
  input logic redirects_i,

  input  logic               burst_valid_i,
  output logic               burst_ready_o,
  input  bus_address_t       burst_address_i,
  input  burst_lines_t       burst_lines_i,
  input  logic [TagBits-1:0] burst_tag_i,
  input  node_name_t         name_i,

  // a node is mapped
  input  logic drop_valid_i,
  output logic drop_ready_o,
  input  lid_t drop_lid_i,

  // host memory: bursts, and all lines of their tags
  output logic               host_valid_o,
  input  logic               host_ready_i,
  output bus_address_t       host_address_o,
  output burst_lines_t       host_lines_o,
  output logic [TagBits-1:0] host_tag_o,
  input  logic               line_valid_i,
  input  logic [TagBits-1:0] line_tag_i,
  input  burst_line_t        line_i,

  // the cache: see node_cache and cache_filler
  output logic                             hit_valid_o,
  input  logic                             hit_ready_i,
  output logic [PlaceBits-1:0]             hit_place_o,
  output burst_lines_t                     hit_lines_o,
  output logic [TagBits-1:0]               hit_tag_o,
  input  logic [Channels-1:0]              hit_done_i,
  input  logic [Channels-1:0][TagBits-1:0] hit_done_tag_i,
  output logic                             write_valid_o,
  input  logic                             write_ready_i,
  output logic [TagBits-1:0]               write_tag_o,
  output logic [PlaceBits-1:0]             write_place_o,
  output line_t                            write_o,
  input  logic [Channels-1:0]              written_i,
  input  logic [Channels-1:0][TagBits-1:0] written_tag_i,
  input  logic [Channels-1:0]              written_error_i,

  // lines of nodes on chip
  output logic        [Streams-1:0]              beat_valid_o,
  input  logic        [Streams-1:0]              beat_ready_i,
  output logic        [Streams-1:0][TagBits-1:0] beat_tag_o,
  output burst_line_t [Streams-1:0]              beat_o,

  output logic counts_hit_o,
  output logic counts_miss_o
);

  logic other_valid, other_ready;
  bus_address_t other_address;
  burst_lines_t other_lines;
  logic [TagBits-1:0] other_tag;
  buffer_name_t other_name;
  logic fill_start, filled_valid, filled_ready, filled_failed;
  logic [TagBits-1:0] fill_tag, filled_tag;
  logic [PlaceBits-1:0] fill_place;

  top_nodes #(
    .TagBits(TagBits),
    .FillTag(FillTag),
    .Nodes(NodesOnChip),
    .EntryLines(EntryLines),
    .LidCount(LidCount)
  ) u_top_nodes (
    .levels_i(levels_on_chip_i),
    .drop_valid_i(drop_valid_i && drop_ready_o),
    .other_valid_o(other_valid), .other_ready_i(other_ready),
    .other_address_o(other_address), .other_lines_o(other_lines),
    .other_tag_o(other_tag), .other_name_o(other_name),
    .*
  );

  node_cache #(
    .TagBits(TagBits),
    .Channels(Channels),
    .Sets(Sets),
    .Ways(Ways),
    .EntryLines(EntryLines)
  ) u_node_cache (
    .enable_i(cache_i),
    .halvings_i(cache_halvings_i),
    .burst_valid_i(other_valid), .burst_ready_o(other_ready),
    .burst_address_i(other_address), .burst_lines_i(other_lines),
    .burst_tag_i(other_tag), .name_i(other_name),
    .fill_start_o(fill_start), .fill_tag_o(fill_tag), .fill_place_o(fill_place),
    .filled_valid_i(filled_valid), .filled_ready_o(filled_ready),
    .filled_tag_i(filled_tag), .filled_failed_i(filled_failed),
    .*
  );

  cache_filler #(
    .TagBits(TagBits),
    .PlaceBits(PlaceBits),
    .Channels(Channels)
  ) u_cache_filler (
    .start_i(fill_start), .start_tag_i(fill_tag), .start_place_i(fill_place),
    .filled_valid_o(filled_valid), .filled_ready_i(filled_ready),
    .filled_tag_o(filled_tag), .filled_failed_o(filled_failed),
    .*
  );

endmodule

`default_nettype wire
