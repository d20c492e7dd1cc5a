// The accelerator behind its pins: registers, request processing, memory system and events. accelerator_top
// connects it to the buses.

`default_nettype none

module accelerator
  import layout_pkg::*;
  import accelerator_pkg::*;
  import axi_pkg::*;
  import memory_pkg::*;
#(
  // see accelerator_top
  parameter int unsigned SlotCount = 256,
  parameter int unsigned SearchUnits = 4,
  parameter int unsigned SearchDescents = 2,
  parameter int unsigned ScanUnits = 2,
  parameter int unsigned ScanSlots = 4,
  parameter int unsigned LidCount = 65536,
  parameter int unsigned KeptLids = 1024,
  parameter int unsigned DramAddressBits = 34,
  parameter int unsigned HostTimeoutBits = 22,
  parameter bit ReportsEvents = 1'b0,
  // channels of on-board memory: a power of two
  parameter int unsigned Channels = 2,
  localparam int unsigned Units = SearchUnits + ScanUnits,
  localparam int unsigned Places = SearchUnits * SearchDescents + ScanUnits * ScanSlots,
  localparam int unsigned TagBits = tag_bits(ScanUnits, Places),
  localparam int unsigned RegisterAddressBits = 12,
  // events of accelerator_core, and of memory_events
  localparam int unsigned CoreEvents = 4 + Places + 2 * Units + 3 * ScanUnits,
  localparam int unsigned Events = CoreEvents + 2 + 2 * Channels
) (
  input logic clk_i,
  input logic rst_i,

  // the registers: see control
  input  logic                           control_awvalid_i,
  output logic                           control_awready_o,
  input  logic [RegisterAddressBits-1:0] control_awaddr_i,
  input  logic                           control_wvalid_i,
  output logic                           control_wready_o,
  input  logic [31:0]                    control_wdata_i,
  input  logic [3:0]                     control_wstrb_i,
  output logic                           control_bvalid_o,
  input  logic                           control_bready_i,
  output logic [1:0]                     control_bresp_o,
  input  logic                           control_arvalid_i,
  output logic                           control_arready_o,
  input  logic [RegisterAddressBits-1:0] control_araddr_i,
  output logic                           control_rvalid_o,
  input  logic                           control_rready_i,
  output logic [31:0]                    control_rdata_o,
  output logic [1:0]                     control_rresp_o,

  // requests and completions: see request_manager
  input  logic                 request_valid_i,
  output logic                 request_ready_o,
  input  line_t                request_data_i,
  input  logic [LineBytes-1:0] request_keep_i,
  input  logic                 request_last_i,
  output logic                 completion_valid_o,
  input  logic                 completion_ready_i,
  output line_t                completion_data_o,
  output logic [LineBytes-1:0] completion_keep_o,
  output logic                 completion_last_o,

  // memory: see memory_system
  output axi_read_request_t   host_o,
  input  axi_read_response_t  host_i,
  output axi_read_request_t   dram_read_o[Channels],
  input  axi_read_response_t  dram_read_i[Channels],
  output axi_write_request_t  dram_write_o[Channels],
  input  axi_write_response_t dram_write_i[Channels],

  // see request_slots
  output logic [63:0] window_oldest_o,
  output logic [63:0] window_newest_o,

  // the events of a cycle
  output event_t [Events-1:0] events_o
);

  logic [ScanUnits-1:0] read_valid, read_ready, beat_valid, beat_ready;
  line_read_t [ScanUnits-1:0] read;
  line_beat_t [ScanUnits-1:0] beat;
  logic [Units-1:0] place_read_valid, place_read_ready, place_line_valid;
  place_read_t [Units-1:0] place_read;
  place_line_t [Units-1:0] place_line;

  if (TagBits + 1 > AxiIdBits) $fatal(1, "AXI ids have too few bits for all readers");

  // ---- registers ----

  geometry_t geometry;
  logic [7:0] cache_halvings;
  version_t read_version;
  logic cache, leaf_columns, drain, idle;
  balance_t balance;
  logic [1:0] levels_on_chip;
  logic root_valid, root_ready, map_valid, map_ready, table_failed, host_timed_out;
  logic [15:0] root_table;
  lid_t root, map_lid;
  bus_address_t map_address;
  memory_counters_t memory_counters;
  search_counts_t search_counts;
  scan_counts_t scan_counts;
  logic [CounterCount-1:0][63:0] counters;
  event_t [CoreEvents-1:0] core_events;
  slot_t [ScanUnits-1:0] client_slots;
  slot_t [Places-1:0] place_slots;

  assign counters[CounterSearchBusy] = search_counts.busy;
  assign counters[CounterDescents] = search_counts.descents;
  assign counters[CounterNodes] = search_counts.nodes;
  assign counters[CounterSearchLines] = search_counts.lines;
  assign counters[CounterVersionSteps] = search_counts.version_steps;
  assign counters[CounterReads] = memory_counters.reads;
  assign counters[CounterLookups] = memory_counters.lookups;
  assign counters[CounterHostReads] = memory_counters.host_reads;
  assign counters[CounterHostLines] = memory_counters.host_lines;
  assign counters[CounterHostStalls] = memory_counters.host_stalls;
  assign counters[CounterHits] = memory_counters.hits;
  assign counters[CounterMisses] = memory_counters.misses;
  assign counters[CounterDramLines] = memory_counters.dram_lines;
  assign counters[CounterChipLines] = memory_counters.chip_lines;
  assign counters[CounterTableLines] = memory_counters.table_lines;
  assign counters[CounterScanBusy] = scan_counts.busy;
  assign counters[CounterScanRequests] = scan_counts.requests;
  assign counters[CounterColumnLines] = memory_counters.column_lines;
  assign counters[CounterDramErrors] = memory_counters.dram_errors;

  control #(
    .Counters(CounterCount)
  ) u_control (
    .clk_i,
    .rst_i,
    .aw_valid_i(control_awvalid_i),
    .aw_ready_o(control_awready_o),
    .aw_address_i(control_awaddr_i),
    .w_valid_i(control_wvalid_i),
    .w_ready_o(control_wready_o),
    .w_data_i(control_wdata_i),
    .w_strobe_i(control_wstrb_i),
    .b_valid_o(control_bvalid_o),
    .b_ready_i(control_bready_i),
    .b_response_o(control_bresp_o),
    .ar_valid_i(control_arvalid_i),
    .ar_ready_o(control_arready_o),
    .ar_address_i(control_araddr_i),
    .r_valid_o(control_rvalid_o),
    .r_ready_i(control_rready_i),
    .r_data_o(control_rdata_o),
    .r_response_o(control_rresp_o),
    .geometry_o(geometry),
    .cache_halvings_o(cache_halvings),
    .read_version_o(read_version),
    .cache_o(cache),
    .balance_o(balance),
    .levels_on_chip_o(levels_on_chip),
    .leaf_columns_o(leaf_columns),
    .drain_o(drain),
    .root_valid_o(root_valid),
    .root_ready_i(root_ready),
    .root_table_o(root_table),
    .root_o(root),
    .map_valid_o(map_valid),
    .map_ready_i(map_ready),
    .map_lid_o(map_lid),
    .map_address_o(map_address),
    .table_failed_i(table_failed),
    .host_timed_out_i(host_timed_out),
    .idle_i(idle),
    .window_oldest_i(window_oldest_o),
    .window_newest_i(window_newest_o),
    .counters_i(counters)
  );

  // ---- reads ----

  accelerator_core #(
    .SlotCount(SlotCount),
    .SearchUnits(SearchUnits),
    .SearchDescents(SearchDescents),
    .ScanUnits(ScanUnits),
    .ScanSlots(ScanSlots)
  ) u_accelerator_core (
    .clk_i,
    .rst_i,
    .request_valid_i,
    .request_ready_o,
    .request_data_i,
    .request_keep_i,
    .request_last_i,
    .completion_valid_o,
    .completion_ready_i,
    .completion_data_o,
    .completion_keep_o,
    .completion_last_o,
    .geometry_i(geometry),
    .read_version_i(read_version),
    .root_valid_i(root_valid),
    .root_ready_o(root_ready),
    .root_table_i(root_table),
    .root_i(root),
    .read_valid_o(read_valid),
    .read_ready_i(read_ready),
    .read_o(read),
    .beat_valid_i(beat_valid),
    .beat_ready_o(beat_ready),
    .beat_i(beat),
    .place_read_valid_o(place_read_valid),
    .place_read_ready_i(place_read_ready),
    .place_read_o(place_read),
    .place_line_valid_i(place_line_valid),
    .place_line_i(place_line),
    .window_oldest_o,
    .window_newest_o,
    .drain_i(drain),
    .idle_o(idle),
    .search_counts_o(search_counts),
    .scan_counts_o(scan_counts),
    .events_o(core_events),
    .client_slots_o(client_slots),
    .place_slots_o(place_slots)
  );

  // ---- memory ----

  memory_system #(
    .ClientCount(ScanUnits),
    .NodeUnits(SearchUnits),
    .NodePlaces(SearchDescents),
    .LeafUnits(ScanUnits),
    .LeafPlaces(ScanSlots),
    .LidCount(LidCount),
    .KeptLids(KeptLids),
    .Channels(Channels),
    .DramAddressBits(DramAddressBits),
    .HostTimeoutBits(HostTimeoutBits)
  ) u_memory_system (
    .clk_i,
    .rst_i,
    .read_valid_i(read_valid),
    .read_ready_o(read_ready),
    .read_i(read),
    .beat_valid_o(beat_valid),
    .beat_ready_i(beat_ready),
    .beat_o(beat),
    .place_read_valid_i(place_read_valid),
    .place_read_ready_o(place_read_ready),
    .place_read_i(place_read),
    .place_line_valid_o(place_line_valid),
    .place_line_o(place_line),
    .map_valid_i(map_valid),
    .map_ready_o(map_ready),
    .map_lid_i(map_lid),
    .map_address_i(map_address),
    .table_failed_o(table_failed),
    .host_timed_out_o(host_timed_out),
    .cache_i(cache),
    .cache_halvings_i(cache_halvings),
    .balance_i(balance),
    .levels_on_chip_i(levels_on_chip),
    .columns_i(leaf_columns),
    .node_lines_i(line_count_t'(geometry.node_bytes >> LineIndexBits)),
    .counters_o(memory_counters),
    .*
  );

  // ---- events ----

  event_t [Events-CoreEvents-1:0] bus_events;

  memory_events #(
    .Clients(ScanUnits),
    .Places(Places),
    .Channels(Channels)
  ) u_memory_events (
    .clk_i,
    .client_slots_i(client_slots),
    .place_slots_i(place_slots),
    .host_request_i(host_o),
    .host_response_i(host_i),
    .dram_request_i(dram_read_o),
    .dram_response_i(dram_read_i),
    .events_o(bus_events)
  );

  assign events_o = ReportsEvents ? {bus_events, core_events} : '0;

endmodule

`default_nettype wire
