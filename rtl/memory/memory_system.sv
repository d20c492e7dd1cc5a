// Reads lines of nodes and buffers for its clients and units, all in parallel. It translates LIDs with the
// page table in on-board memory, and reads from host memory, from the cache of interior nodes in on-board
// memory, or from nodes on chip. A read that begins after a mapping was accepted sees that mapping.

`default_nettype none

`include "assertions.svh"

module memory_system
  import accelerator_pkg::*;
  import axi_pkg::*;
  import memory_pkg::*;
#(
  parameter int unsigned ClientCount = 4,
  // units with many places that read nodes, and the places of each; those that read leaves
  parameter int unsigned NodeUnits = 1,
  parameter int unsigned NodePlaces = 4,
  parameter int unsigned LeafUnits = 1,
  parameter int unsigned LeafPlaces = 4,
  // number of LIDs that can be mapped, a multiple of 512; words of the page table on chip, a power of two;
  // first page of the page table, in pages of 4 KiB
  parameter int unsigned LidCount = 65536,
  parameter int unsigned KeptLids = 1024,
  parameter int unsigned PageTablePage = 0,
  // channels of on-board memory: a power of two
  parameter int unsigned Channels = 2,
  parameter int unsigned DramAddressBits = 34,
  // geometry of the node cache; an entry has at least the lines of a node
  parameter int unsigned CacheSets = 1024,
  parameter int unsigned CacheWays = 4,
  parameter int unsigned CacheEntryLines = 128,
  // see host_reader
  parameter int unsigned HostTimeoutBits = 22,
  // see client_ports
  localparam int unsigned Units = NodeUnits + LeafUnits,
  localparam int unsigned LidPorts = Units + 1,
  localparam int unsigned Ports = LidPorts + ClientCount,
  localparam int unsigned AllNodePlaces = NodeUnits * NodePlaces,
  localparam int unsigned Places = AllNodePlaces + LeafUnits * LeafPlaces,
  localparam int unsigned ReaderBits = reader_bits(ClientCount, Places),
  localparam int unsigned TagBits = tag_bits(ClientCount, Places)
) (
  input logic clk_i,
  input logic rst_i,

  input  logic       [ClientCount-1:0] read_valid_i,
  output logic       [ClientCount-1:0] read_ready_o,
  input  line_read_t [ClientCount-1:0] read_i,
  output logic       [ClientCount-1:0] beat_valid_o,
  input  logic       [ClientCount-1:0] beat_ready_i,
  output line_beat_t [ClientCount-1:0] beat_o,

  // see place_port: the units that read nodes come first
  input  logic        [Units-1:0] place_read_valid_i,
  output logic        [Units-1:0] place_read_ready_o,
  input  place_read_t [Units-1:0] place_read_i,
  output logic        [Units-1:0] place_line_valid_o,
  output place_line_t [Units-1:0] place_line_o,

  // A mapping; address 0 removes it. It is accepted when it is in force for every read that begins later.
  input  logic         map_valid_i,
  output logic         map_ready_o,
  input  lid_t         map_lid_i,
  input  bus_address_t map_address_i,
  // On-board memory has rejected a write of the page table: reads by LID fail until reset.
  output logic         table_failed_o,
  // see host_reader
  output logic         host_timed_out_o,

  // Switches: cache interior nodes in on-board memory, in 2**cache_halvings_i times fewer sets; read some
  // cached nodes from host memory, see load_balancer; keep levels on chip, see top_nodes; keep columns of
  // leaves in on-board memory.
  input logic cache_i,
  input logic [7:0] cache_halvings_i,
  input balance_t balance_i,
  input logic [1:0] levels_on_chip_i,
  input logic columns_i,
  // lines of a node
  input line_count_t node_lines_i,

  // Host memory, read only. No burst crosses a boundary of 4 KiB, and no two bursts in flight have the same
  // id.
  output axi_read_request_t  host_o,
  input  axi_read_response_t host_i,

  // on-board memory, one AXI4 port for each channel
  output axi_read_request_t   dram_read_o[Channels],
  input  axi_read_response_t  dram_read_i[Channels],
  output axi_write_request_t  dram_write_o[Channels],
  input  axi_write_response_t dram_write_i[Channels],

  output memory_counters_t counters_o
);

  localparam int unsigned CachePage = PageTablePage + LidCount / (PageBytes / 8);
  localparam int unsigned CacheLines = CacheSets * CacheWays * CacheEntryLines;
  localparam int unsigned PlaceBits = place_bits(CacheLines, LidCount);

  logic [LidPorts-1:0] lookup_valid, lookup_ready;
  logic found_valid;
  lookup_t [LidPorts-1:0] lookup;
  logic [LidPorts-1:0][ReaderBits-1:0] lookup_reader;
  logic [ReaderBits-1:0] found_reader;
  bus_address_t found, mark_address;
  logic found_columns, lacks_valid, mark_valid, mark_ready, copy_valid, copy_ready;
  lid_t lacks_lid, mark_lid;
  column_place_t copy_place;
  logic [Ports-1:0] burst_valid, burst_ready, line_valid;
  burst_t [Ports-1:0] burst;
  logic [Ports-1:0][TagBits-1:0] burst_tag, line_tag;
  // The names of leaves are not used.
  // verilator lint_off UNUSEDSIGNAL
  node_name_t [Units-1:0] name;
  // verilator lint_on UNUSEDSIGNAL
  burst_line_t [Ports-1:0] line;
  line_t copy;
  logic [Channels-1:0] written, written_error, filled, copied;

  client_ports #(
    .ClientCount(ClientCount),
    .NodeUnits(NodeUnits), .NodePlaces(NodePlaces),
    .LeafUnits(LeafUnits), .LeafPlaces(LeafPlaces),
    .LidCount(LidCount),
    .Channels(Channels)
  ) u_client_ports (
    .lookup_valid_o(lookup_valid), .lookup_ready_i(lookup_ready),
    .lookup_o(lookup), .lookup_reader_o(lookup_reader),
    .found_valid_i(found_valid), .found_reader_i(found_reader),
    .found_i(found), .found_columns_i(found_columns),
    .burst_valid_o(burst_valid), .burst_ready_i(burst_ready),
    .burst_o(burst), .burst_tag_o(burst_tag),
    .name_o(name),
    .line_valid_i(line_valid), .line_tag_i(line_tag),
    .line_i(line),
    .lacks_valid_i(lacks_valid), .lacks_lid_i(lacks_lid),
    .write_valid_o(copy_valid), .write_ready_i(copy_ready),
    .write_place_o(copy_place),
    .write_o(copy),
    .written_i(copied), .written_error_i(written_error),
    .mark_valid_o(mark_valid), .mark_ready_i(mark_ready),
    .mark_lid_o(mark_lid), .mark_address_o(mark_address),
    .*
  );

  // ---- bursts ----

  logic hit_valid, hit_ready, drop_valid, drop_ready;
  logic [Channels-1:0] dram_line_valid, dram_line_ready, dram_beat;
  logic [Channels-1:0][TagBits-1:0] dram_line_tag, written_tag;
  cache_activity_t activity;
  logic [TagBits-1:0] hit_tag, fill_tag;
  logic [PlaceBits-1:0] hit_place;
  logic [$clog2(CacheLines)-1:0] fill_place;
  logic fill_valid, fill_ready;
  line_t fill;
  burst_lines_t hit_lines;
  burst_line_t [Channels-1:0] dram_line;
  line_t table_line, word;

  cached_reader #(
    .ClientCount(ClientCount),
    .NodeUnits(NodeUnits), .NodePlaces(NodePlaces),
    .LeafUnits(LeafUnits), .LeafPlaces(LeafPlaces),
    .CacheSets(CacheSets), .CacheWays(CacheWays), .CacheEntryLines(CacheEntryLines),
    .HostTimeoutBits(HostTimeoutBits),
    .LidCount(LidCount),
    .Channels(Channels)
  ) u_cached_reader (
    .burst_valid_i(burst_valid), .burst_ready_o(burst_ready),
    .burst_i(burst), .burst_tag_i(burst_tag),
    .name_i(name[NodeUnits-1:0]),
    .drop_valid_i(drop_valid), .drop_ready_o(drop_ready),
    .drop_lid_i(map_lid_i),
    .line_valid_o(line_valid), .line_tag_o(line_tag), .line_o(line),
    .hit_valid_o(hit_valid), .hit_ready_i(hit_ready),
    .hit_tag_o(hit_tag), .hit_place_o(hit_place), .hit_lines_o(hit_lines),
    .hit_beat_i(dram_beat),
    .hit_line_valid_i(dram_line_valid), .hit_line_ready_o(dram_line_ready),
    .hit_line_tag_i(dram_line_tag), .hit_line_i(dram_line),
    .write_valid_o(fill_valid), .write_ready_i(fill_ready),
    .write_tag_o(fill_tag), .write_place_o(fill_place),
    .write_o(fill),
    .written_i(filled), .written_tag_i(written_tag), .written_error_i(written_error),
    .activity_o(activity),
    .*
  );

  // ---- the page table ----

  logic table_read_valid, table_read_ready, table_line_valid, table_line_error;
  logic table_written, table_written_error;
  logic table_burst_valid, table_burst_ready, word_valid, word_ready, word_last;
  logic [ReaderBits-1:0] table_read_id, table_line_id;
  logic [DramAddressBits-1:0] table_read_address, table_burst_address;
  logic [7:0] table_burst_len;
  logic [LineBytes-1:0] word_strobe;

  mappings #(
    .Ports(LidPorts),
    .ReaderBits(ReaderBits),
    .CachedReaders(first_leaf_place(AllNodePlaces)),
    .LidCount(LidCount),
    .KeptLids(KeptLids),
    .BasePage(PageTablePage),
    .AddressBits(DramAddressBits)
  ) u_mappings (
    .lookup_valid_i(lookup_valid), .lookup_ready_o(lookup_ready),
    .lookup_i(lookup), .lookup_reader_i(lookup_reader),
    .found_valid_o(found_valid), .found_reader_o(found_reader),
    .found_o(found), .found_columns_o(found_columns), .lacks_valid_o(lacks_valid), .lacks_lid_o(lacks_lid),
    .mark_valid_i(mark_valid), .mark_ready_o(mark_ready),
    .mark_lid_i(mark_lid), .mark_address_i(mark_address),
    .drop_valid_o(drop_valid), .drop_ready_i(drop_ready), .read_valid_o(table_read_valid),
    .read_ready_i(table_read_ready), .read_id_o(table_read_id), .read_address_o(table_read_address),
    .line_valid_i(table_line_valid), .line_id_i(table_line_id), .line_i(table_line),
    .line_error_i(table_line_error), .burst_valid_o(table_burst_valid), .burst_ready_i(table_burst_ready),
    .burst_address_o(table_burst_address), .burst_len_o(table_burst_len), .word_valid_o(word_valid),
    .word_ready_i(word_ready), .word_o(word), .word_strobe_o(word_strobe),
    .word_last_o(word_last), .written_i(table_written), .written_error_i(table_written_error),
    .failed_o(table_failed_o),
    .*
  );

  // ---- on-board memory ----

  logic [Channels-1:0] read_error, write_error;
  logic [TagBits-1:0] write_tag;
  logic [PlaceBits-1:0] write_place;
  logic write_valid, write_ready;
  line_t write;

  line_writes #(
    .TagBits(TagBits),
    .CopyTag(TagBits'(ColumnFiller << BurstNumberBits)),
    .CacheLines(CacheLines),
    .PlaceBits(PlaceBits),
    .Channels(Channels)
  ) u_line_writes (
    .fill_valid_i(fill_valid), .fill_ready_o(fill_ready),
    .fill_tag_i(fill_tag), .fill_place_i(fill_place),
    .fill_i(fill),
    .filled_o(filled),
    .copy_valid_i(copy_valid), .copy_ready_o(copy_ready),
    .copy_place_i(copy_place),
    .copy_i(copy),
    .copied_o(copied),
    .line_valid_o(write_valid), .line_ready_i(write_ready),
    .line_tag_o(write_tag), .line_place_o(write_place),
    .line_o(write),
    .line_written_i(written), .line_written_tag_i(written_tag),
    .*
  );

  dram_ports #(
    .Channels(Channels),
    .AddressBits(DramAddressBits),
    .ClientBits(ReaderBits),
    .TagBits(TagBits),
    .PlaceBits(PlaceBits),
    .CachePage(CachePage)
  ) u_dram_ports (
    .table_read_valid_i(table_read_valid), .table_read_ready_o(table_read_ready),
    .table_read_id_i(table_read_id), .table_read_address_i(table_read_address),
    .table_line_valid_o(table_line_valid), .table_line_id_o(table_line_id), .table_line_o(table_line),
    .table_line_error_o(table_line_error), .hit_valid_i(hit_valid), .hit_ready_o(hit_ready),
    .hit_tag_i(hit_tag), .hit_place_i(hit_place), .hit_lines_i(hit_lines), .hit_beat_o(dram_beat),
    .hit_line_valid_o(dram_line_valid), .hit_line_ready_i(dram_line_ready), .hit_line_tag_o(dram_line_tag),
    .hit_line_o(dram_line), .burst_valid_i(table_burst_valid), .burst_ready_o(table_burst_ready),
    .burst_address_i(table_burst_address), .burst_len_i(table_burst_len), .word_valid_i(word_valid),
    .word_ready_o(word_ready), .word_i(word), .word_strobe_i(word_strobe),
    .word_last_i(word_last), .table_written_o(table_written),
    .table_written_error_o(table_written_error),
    .line_valid_i(write_valid), .line_ready_o(write_ready),
    .line_tag_i(write_tag), .line_place_i(write_place), .line_i(write),
    .line_written_o(written), .line_written_tag_o(written_tag), .line_written_error_o(written_error),
    .read_error_o(read_error), .write_error_o(write_error),
    .*
  );

  memory_counters #(
    .Clients(ClientCount),
    .Units(Units),
    .Channels(Channels)
  ) u_memory_counters (
    .reads_i({place_read_valid_i & place_read_ready_o, read_valid_i & read_ready_o}),
    .lookups_i(lookup_valid[Units-1:0] & lookup_ready[Units-1:0]),
    .host_read_i(host_o.arvalid && host_i.arready),
    .host_line_i(host_i.rvalid && host_i.rresp == AxiRespOkay),
    .host_stall_i(host_o.arvalid && !host_i.arready),
    .activity_i(activity),
    .table_line_i(table_line_valid),
    .dram_read_error_i(read_error),
    .dram_write_error_i(write_error),
    .*
  );

endmodule

`default_nettype wire
