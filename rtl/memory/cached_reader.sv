// Reads bursts from host memory, from the cache of nodes in on-board memory, from columns of leaves behind
// it, or from nodes on chip. The bursts of leaves, of the filler of columns and of clients pass the cache and
// the nodes on chip. They have a tree of arbiters of their own, because one tree passes a burst in each
// cycle, and an operation has about ten.

`default_nettype none

`include "assertions.svh"

module cached_reader
  import accelerator_pkg::*;
  import axi_pkg::*;
  import memory_pkg::*;
#(
  // see client_ports
  parameter int unsigned ClientCount = 4,
  parameter int unsigned NodeUnits = 1,
  parameter int unsigned NodePlaces = 4,
  parameter int unsigned LeafUnits = 1,
  parameter int unsigned LeafPlaces = 4,
  parameter int unsigned CacheSets = 1024,
  parameter int unsigned CacheWays = 4,
  parameter int unsigned CacheEntryLines = 128,
  // see top_nodes and host_reader
  parameter int unsigned NodesOnChip = 16,
  parameter int unsigned HostTimeoutBits = 22,
  // leaves whose columns are in on-board memory
  parameter int unsigned LidCount = 65536,
  // channels of on-board memory
  parameter int unsigned Channels = 1,
  // ports that read no nodes: of units that read leaves, of the filler of columns, and of clients
  localparam int unsigned OtherPorts = LeafUnits + 1 + ClientCount,
  localparam int unsigned Ports = NodeUnits + OtherPorts,
  localparam int unsigned AllNodePlaces = NodeUnits * NodePlaces,
  localparam int unsigned TagBits = tag_bits(ClientCount, AllNodePlaces + LeafUnits * LeafPlaces),
  localparam int unsigned CacheLines = CacheSets * CacheWays * CacheEntryLines,
  localparam int unsigned CachePlaceBits = $clog2(CacheLines),
  // lines of the cache, and after them those of columns
  localparam int unsigned PlaceBits = place_bits(CacheLines, LidCount)
) (
  input logic clk_i,
  input logic rst_i,
  input logic cache_i,
  input logic [7:0] cache_halvings_i,
  input balance_t balance_i,
  // see top_nodes
  input logic [1:0] levels_on_chip_i,
  input line_count_t node_lines_i,

  input  logic       [Ports-1:0]              burst_valid_i,
  output logic       [Ports-1:0]              burst_ready_o,
  input  burst_t     [Ports-1:0]              burst_i,
  input  logic       [Ports-1:0][TagBits-1:0] burst_tag_i,
  // of the units that read nodes
  input  node_name_t [NodeUnits-1:0]          name_i,

  input  logic drop_valid_i,
  output logic drop_ready_o,
  input  lid_t drop_lid_i,

  // the line for each port
  output logic        [Ports-1:0]              line_valid_o,
  output logic        [Ports-1:0][TagBits-1:0] line_tag_o,
  output burst_line_t [Ports-1:0]              line_o,

  // see host_reader
  output logic               host_timed_out_o,
  output axi_read_request_t  host_o,
  input  axi_read_response_t host_i,

  output logic                   hit_valid_o,
  input  logic                   hit_ready_i,
  output logic [TagBits-1:0]     hit_tag_o,
  output logic [PlaceBits-1:0]   hit_place_o,
  output burst_lines_t           hit_lines_o,
  // see dram_ports
  input  logic        [Channels-1:0]              hit_beat_i,
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

  output cache_activity_t activity_o
);

  // The tags of all readers before the places of leaves, and perhaps of some of these. Those of the filler of
  // columns are among them, but it does not read from the cache.
  localparam int unsigned CacheTagBits = $clog2(first_leaf_place(AllNodePlaces)) + BurstNumberBits;

  typedef struct packed {
    logic [CacheTagBits-1:0] tag;
    bus_address_t address;
    burst_lines_t lines;
    node_name_t name;
  } node_burst_t;

  typedef struct packed {
    logic [TagBits-1:0] tag;
    logic on_board;
    bus_address_t address;
    burst_lines_t lines;
  } other_burst_t;

  node_burst_t [NodeUnits-1:0] node_bursts;
  node_burst_t node_burst;
  other_burst_t [OtherPorts-1:0] other_bursts;
  other_burst_t other_burst;
  logic node_burst_valid, node_burst_ready, other_burst_valid, other_burst_ready;

  for (genvar index = 0; index < NodeUnits; index++) begin : gen_nodes
    assign node_bursts[index] = '{
      tag: CacheTagBits'(burst_tag_i[index]),
      address: burst_i[index].address,
      lines: burst_i[index].lines,
      name: name_i[index]
    };
  end
  for (genvar index = 0; index < OtherPorts; index++) begin : gen_others
    assign other_bursts[index] = '{
      tag: burst_tag_i[NodeUnits+index],
      on_board: burst_i[NodeUnits+index].on_board,
      address: burst_i[NodeUnits+index].address,
      lines: burst_i[NodeUnits+index].lines
    };
  end

  arbiter_tree #(
    .T(node_burst_t),
    .Count(NodeUnits)
  ) u_to_nodes (
    .clk_i, .rst_i,
    .in_valid_i(burst_valid_i[NodeUnits-1:0]),
    .in_ready_o(burst_ready_o[NodeUnits-1:0]),
    .in_i(node_bursts),
    .out_valid_o(node_burst_valid),
    .out_ready_i(node_burst_ready),
    .out_o(node_burst),
    .out_index_o()
  );

  arbiter_tree #(
    .T(other_burst_t),
    .Count(OtherPorts)
  ) u_to_others (
    .clk_i, .rst_i,
    .in_valid_i(burst_valid_i[NodeUnits+:OtherPorts]),
    .in_ready_o(burst_ready_o[NodeUnits+:OtherPorts]),
    .in_i(other_bursts),
    .out_valid_o(other_burst_valid),
    .out_ready_i(other_burst_ready),
    .out_o(other_burst),
    .out_index_o()
  );

  // ---- columns, and nodes that are kept ----

  localparam int unsigned Streams = 2;
  logic other_valid, other_ready;
  logic [Streams-1:0] chip_valid, chip_ready;
  logic [Streams-1:0][CacheTagBits-1:0] chip_tag;
  logic [Streams-1:0][TagBits-1:0] chip_line_tag;
  burst_line_t [Streams-1:0] chip_line;
  bus_address_t node_address, host_address;
  burst_lines_t node_lines, host_lines;
  logic [CacheTagBits-1:0] node_tag;
  logic [TagBits-1:0] host_tag, host_line_tag;
  burst_line_t host_line;
  logic node_valid, node_ready, host_valid, host_ready, redirects;
  logic [Channels-1:0] hit_done, hit_done_q, is_node_q;
  logic [Channels-1:0][CacheTagBits-1:0] node_hit_tag_q, node_written_tag;
  logic host_line_valid;
  logic [CacheTagBits-1:0] write_tag;
  logic hit_valid, hit_ready;
  logic [CachePlaceBits-1:0] hit_place;
  burst_lines_t hit_lines;
  logic [CacheTagBits-1:0] hit_tag;

  column_router #(
    .TagBits(TagBits),
    .CacheLines(CacheLines),
    .PlaceBits(PlaceBits)
  ) u_column_router (
    .clk_i, .rst_i,
    .burst_valid_i(other_burst_valid), .burst_ready_o(other_burst_ready),
    .on_board_i(other_burst.on_board), .burst_address_i(other_burst.address),
    .burst_lines_i(other_burst.lines), .burst_tag_i(other_burst.tag),
    .other_valid_o(other_valid), .other_ready_i(other_ready),
    .hit_valid_i(hit_valid), .hit_ready_o(hit_ready),
    .hit_place_i(hit_place), .hit_lines_i(hit_lines), .hit_tag_i(TagBits'(hit_tag)),
    .read_valid_o(hit_valid_o), .read_ready_i(hit_ready_i),
    .read_place_o(hit_place_o), .read_lines_o(hit_lines_o), .read_tag_o(hit_tag_o),
    .column_lines_o(activity_o.column_lines)
  );

  cached_nodes #(
    .TagBits(CacheTagBits),
    .FillTag(CacheTagBits'(ChipFiller << BurstNumberBits)),
    .NodesOnChip(NodesOnChip),
    .Sets(CacheSets),
    .Ways(CacheWays),
    .EntryLines(CacheEntryLines),
    .LidCount(LidCount),
    .Channels(Channels)
  ) u_nodes (
    .redirects_i(redirects),
    .burst_valid_i(node_burst_valid), .burst_ready_o(node_burst_ready),
    .burst_address_i(node_burst.address), .burst_lines_i(node_burst.lines),
    .burst_tag_i(node_burst.tag), .name_i(node_burst.name),
    .host_valid_o(node_valid), .host_ready_i(node_ready),
    .host_address_o(node_address), .host_lines_o(node_lines), .host_tag_o(node_tag),
    .line_valid_i(host_line_valid && host_line_tag >> CacheTagBits == '0),
    .line_tag_i(CacheTagBits'(host_line_tag)), .line_i(host_line),
    .hit_valid_o(hit_valid), .hit_ready_i(hit_ready),
    .hit_place_o(hit_place), .hit_lines_o(hit_lines), .hit_tag_o(hit_tag),
    .hit_done_i(hit_done_q & is_node_q), .hit_done_tag_i(node_hit_tag_q),
    .write_tag_o(write_tag),
    .written_tag_i(node_written_tag),
    .beat_valid_o(chip_valid), .beat_ready_i(chip_ready),
    .beat_tag_o(chip_tag), .beat_o(chip_line),
    .counts_hit_o(activity_o.hit), .counts_miss_o(activity_o.miss),
    .*
  );

  load_balancer #(
    .TagBits(TagBits),
    .Channels(Channels)
  ) u_load_balancer (
    .clk_i, .rst_i, .balance_i,
    .host_begins_i(host_valid && host_ready && !host_timed_out_o ? host_lines : '0),
    .host_line_i(host_i.rvalid),
    .dram_begins_i(hit_valid_o && hit_ready_i ? hit_lines_o : '0),
    .dram_line_i(hit_beat_i), .redirects_o(redirects)
  );

  // ---- host memory, and lines ----

  arbiter #(
    .T(logic [$bits(bus_address_t)+$bits(burst_lines_t)+TagBits-1:0]),
    .Count(2)
  ) u_to_host (
    .clk_i, .rst_i,
    .in_valid_i({other_valid, node_valid}),
    .in_ready_o({other_ready, node_ready}),
    .in_i({other_burst.address, other_burst.lines, other_burst.tag,
        node_address, node_lines, TagBits'(node_tag)}),
    .in_last_i('1),
    .out_valid_o(host_valid),
    .out_ready_i(host_ready),
    .out_o({host_address, host_lines, host_tag}),
    .out_last_o(), .out_index_o()
  );

  host_reader #(
    .TagBits(TagBits), .TimeoutBits(HostTimeoutBits)
  ) u_host_reader (
    .burst_valid_i(host_valid), .burst_ready_o(host_ready),
    .burst_address_i(host_address), .burst_lines_i(host_lines), .burst_tag_i(host_tag),
    .line_valid_o(host_line_valid), .line_tag_o(host_line_tag), .line_o(host_line),
    .timed_out_o(host_timed_out_o), .*
  );

  line_router #(
    .ClientCount(ClientCount),
    .NodeUnits(NodeUnits), .NodePlaces(NodePlaces),
    .LeafUnits(LeafUnits), .LeafPlaces(LeafPlaces),
    .Channels(Channels),
    .Streams(Streams)
  ) u_line_router (
    .clk_i, .rst_i,
    .host_valid_i(host_line_valid),
    .host_tag_i(host_line_tag), .host_i(host_line),
    .cache_valid_i(hit_line_valid_i), .cache_ready_o(hit_line_ready_o),
    .cache_tag_i(hit_line_tag_i), .cache_i(hit_line_i),
    .chip_valid_i(chip_valid), .chip_ready_o(chip_ready),
    .chip_tag_i(chip_line_tag), .chip_i(chip_line),
    .line_valid_o, .line_tag_o, .line_o
  );

  for (genvar channel = 0; channel < Channels; channel++) begin : gen_done
    assign hit_done[channel] =
        hit_line_valid_i[channel] && hit_line_ready_o[channel] && hit_line_i[channel].last;
    always_ff @(posedge clk_i) is_node_q[channel] <= hit_line_tag_i[channel] >> CacheTagBits == '0;
    always_ff @(posedge clk_i) node_hit_tag_q[channel] <= CacheTagBits'(hit_line_tag_i[channel]);
    assign node_written_tag[channel] = CacheTagBits'(written_tag_i[channel]);
  end
  always_ff @(posedge clk_i) hit_done_q <= hit_done;
  for (genvar stream = 0; stream < Streams; stream++) begin : gen_streams
    assign chip_line_tag[stream] = TagBits'(chip_tag[stream]);
  end
  assign write_tag_o = TagBits'(write_tag);
  assign activity_o.dram_lines = 4'($countones(hit_line_valid_i & hit_line_ready_o));
  assign activity_o.chip_lines = chip_valid & chip_ready;

endmodule

`default_nettype wire
