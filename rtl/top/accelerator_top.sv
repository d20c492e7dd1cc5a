// The accelerator: requests in, completions out, the arena read over a bus. See docs/design/pipeline.md.

`default_nettype none

module accelerator_top
  import layout_pkg::*;
  import accelerator_pkg::*;
  import memory_pkg::*;
#(
  // requests in flight at most: a power of two up to 256
  parameter int unsigned SlotCount = 128,
  // units that work on descents and on leaves, and for how many requests each at the same time
  parameter int unsigned SearchUnits = 4,
  parameter int unsigned SearchDescents = 2,
  parameter int unsigned ScanUnits = 2,
  parameter int unsigned ScanSlots = 4,
  // LIDs that can be mapped: a multiple of 512
  parameter int unsigned LidCount = 65536,
  // of on-board memory: a power of two
  parameter int unsigned Channels = 2,
  parameter int unsigned DramAddressBits = 34,
  // events are told: in simulations
  parameter bit TellsEvents = 1'b0,
  localparam int unsigned Clients = SearchUnits * SearchDescents + ScanUnits * ScanSlots,
  // of a client: reads of host memory at the same time
  localparam int unsigned Banks = 2,
  localparam int unsigned TagBits = $clog2(Clients) + $clog2(Banks),
  localparam int unsigned RegisterAddressBits = 12,
  // those of accelerator_core and memory_events
  localparam int unsigned CoreEvents = 4 + 3 * Clients + ScanUnits,
  localparam int unsigned Events = CoreEvents + 2 + 2 * Channels
) (
  input logic clk_i,
  input logic rst_i,

  // the registers: AXI4-Lite
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

  // requests and completions: AXI-Stream
  input  logic                 request_tvalid_i,
  output logic                 request_tready_o,
  input  line_t                request_tdata_i,
  input  logic [LineBytes-1:0] request_tkeep_i,
  input  logic                 request_tlast_i,
  output logic                 completion_tvalid_o,
  input  logic                 completion_tready_i,
  output line_t                completion_tdata_o,
  output logic [LineBytes-1:0] completion_tkeep_o,
  output logic                 completion_tlast_o,

  // host memory: see memory_system
  output logic               host_read_valid_o,
  input  logic               host_read_ready_i,
  output logic [63:0]        host_read_address_o,
  output logic [15:0]        host_read_bytes_o,
  output logic [TagBits-1:0] host_read_tag_o,
  input  logic               host_beat_valid_i,
  output logic               host_beat_ready_o,
  input  logic [TagBits-1:0] host_beat_tag_i,
  input  line_t              host_beat_data_i,
  input  logic               host_beat_last_i,
  input  logic               host_beat_error_i,

  // on-board memory: AXI4, a port a channel
  output logic                       dram_arvalid_o[Channels],
  input  logic                       dram_arready_i[Channels],
  output logic [TagBits:0]          dram_arid_o[Channels],
  output logic [DramAddressBits-1:0] dram_araddr_o[Channels],
  output logic [7:0]                 dram_arlen_o[Channels],
  output logic [2:0]                 dram_arsize_o[Channels],
  output logic [1:0]                 dram_arburst_o[Channels],
  input  logic                       dram_rvalid_i[Channels],
  output logic                       dram_rready_o[Channels],
  input  logic [TagBits:0]          dram_rid_i[Channels],
  input  line_t                      dram_rdata_i[Channels],
  input  logic [1:0]                 dram_rresp_i[Channels],
  input  logic                       dram_rlast_i[Channels],
  output logic                       dram_awvalid_o[Channels],
  input  logic                       dram_awready_i[Channels],
  output logic [TagBits:0]          dram_awid_o[Channels],
  output logic [DramAddressBits-1:0] dram_awaddr_o[Channels],
  output logic [7:0]                 dram_awlen_o[Channels],
  output logic [2:0]                 dram_awsize_o[Channels],
  output logic [1:0]                 dram_awburst_o[Channels],
  output logic                       dram_wvalid_o[Channels],
  input  logic                       dram_wready_i[Channels],
  output line_t                      dram_wdata_o[Channels],
  output logic [LineBytes-1:0]       dram_wstrb_o[Channels],
  output logic                       dram_wlast_o[Channels],
  input  logic                       dram_bvalid_i[Channels],
  output logic                       dram_bready_o[Channels],
  input  logic [TagBits:0]          dram_bid_i[Channels],
  input  logic [1:0]                 dram_bresp_i[Channels],

  // the numbers of the oldest request in flight and of the newest that was begun
  output logic [63:0] window_oldest_o,
  output logic [63:0] window_newest_o,

  // what happens in a cycle: see event_t
  output event_t [Events-1:0] events_o
);

  logic [Clients-1:0] read_valid, read_ready, beat_valid, beat_ready;
  line_read_t [Clients-1:0] read;
  line_beat_t [Clients-1:0] beat;

  // ---- what writers say ----

  geometry_t geometry;
  logic [7:0] cache_halvings;
  version_t read_version;
  logic cache, balance, root_on_chip;
  logic root_valid, root_ready, map_valid, map_ready;
  logic [15:0] root_table;
  lid_t root, map_lid;
  bus_address_t map_address;
  memory_counters_t memory_counters;
  search_counts_t search_counts;
  scan_counts_t scan_counts;
  logic [CounterCount-1:0][63:0] counters;
  event_t [CoreEvents-1:0] core_events;
  slot_t [Clients-1:0] client_slots;

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
  assign counters[CounterRootLines] = memory_counters.root_lines;
  assign counters[CounterTableLines] = memory_counters.table_lines;
  assign counters[CounterScanBusy] = scan_counts.busy;
  assign counters[CounterScanRequests] = scan_counts.requests;
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
    .root_on_chip_o(root_on_chip),
    .root_valid_o(root_valid),
    .root_ready_i(root_ready),
    .root_table_o(root_table),
    .root_o(root),
    .map_valid_o(map_valid),
    .map_ready_i(map_ready),
    .map_lid_o(map_lid),
    .map_address_o(map_address),
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
    .request_valid_i(request_tvalid_i),
    .request_ready_o(request_tready_o),
    .request_data_i(request_tdata_i),
    .request_keep_i(request_tkeep_i),
    .request_last_i(request_tlast_i),
    .completion_valid_o(completion_tvalid_o),
    .completion_ready_i(completion_tready_i),
    .completion_data_o(completion_tdata_o),
    .completion_keep_o(completion_tkeep_o),
    .completion_last_o(completion_tlast_o),
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
    .window_oldest_o,
    .window_newest_o,
    .search_counts_o(search_counts), .scan_counts_o(scan_counts),
    .events_o(core_events),
    .client_slots_o(client_slots)
  );

  // ---- memory ----

  memory_system #(
    .ClientCount(Clients),
    .Banks(Banks),
    .LidCount(LidCount),
    .Channels(Channels),
    .DramAddressBits(DramAddressBits)
  ) u_memory_system (
    .clk_i,
    .rst_i,
    .read_valid_i(read_valid),
    .read_ready_o(read_ready),
    .read_i(read),
    .beat_valid_o(beat_valid),
    .beat_ready_i(beat_ready),
    .beat_o(beat),
    .map_valid_i(map_valid),
    .map_ready_o(map_ready),
    .map_lid_i(map_lid),
    .map_address_i(map_address),
    .cache_i(cache), .cache_halvings_i(cache_halvings),
    .balance_i(balance),
    .root_on_chip_i(root_on_chip),
    .root_valid_i(root_valid && root_ready),
    .root_i(root),
    .counters_o(memory_counters),
    .*
  );

  // ---- events ----

  event_t [Events-CoreEvents-1:0] bus_events;

  memory_events #(
    .Clients(Clients),
    .Channels(Channels),
    .TagBits(TagBits),
    .DramAddressBits(DramAddressBits)
  ) u_memory_events (
    .client_slots_i(client_slots),
    .host_read_i(host_read_valid_o && host_read_ready_i),
    .host_address_i(host_read_address_o),
    .host_bytes_i(host_read_bytes_o),
    .host_read_tag_i(host_read_tag_o),
    .host_last_i(host_beat_valid_i && host_beat_ready_o && host_beat_last_i),
    .host_last_tag_i(host_beat_tag_i),
    .dram_arvalid_i(dram_arvalid_o),
    .dram_arready_i,
    .dram_arid_i(dram_arid_o),
    .dram_araddr_i(dram_araddr_o),
    .dram_arlen_i(dram_arlen_o),
    .dram_rvalid_i,
    .dram_rready_i(dram_rready_o),
    .dram_rlast_i,
    .dram_rid_i,
    .events_o(bus_events)
  );

  assign events_o = TellsEvents ? {bus_events, core_events} : '0;

endmodule

`default_nettype wire
