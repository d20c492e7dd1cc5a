// Connects the parts that process requests: the request manager receives a request, the search engine
// descends to its leaf, the scan engine reads the leaf, and the request manager sends the completion.

`default_nettype none

module accelerator_core
  import accelerator_pkg::*;
#(
  // see accelerator_top
  parameter int unsigned SlotCount = 256,
  parameter int unsigned SearchUnits = 4,
  parameter int unsigned SearchDescents = 2,
  parameter int unsigned ScanUnits = 2,
  parameter int unsigned ScanSlots = 4,
  localparam int unsigned Units = SearchUnits + ScanUnits,
  localparam int unsigned Descents = SearchUnits * SearchDescents,
  localparam int unsigned Places = Descents + ScanUnits * ScanSlots,
  // events of request_manager, of descents and slots, of the reads of all units and of their overflow
  // values, and of the comparisons of scan units
  localparam int unsigned RequestEvents = 4,
  localparam int unsigned Events = RequestEvents + Places + 2 * Units + 3 * ScanUnits
) (
  input logic clk_i,
  input logic rst_i,

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

  // state that the host writes: see control
  input  geometry_t   geometry_i,
  input  version_t    read_version_i,
  input  logic        root_valid_i,
  output logic        root_ready_o,
  input  logic [15:0] root_table_i,
  input  lid_t        root_i,

  // memory: the nodes of the search engine, then the leaves of the scan engine; its overflow values
  output logic        [Units-1:0] place_read_valid_o,
  input  logic        [Units-1:0] place_read_ready_i,
  output place_read_t [Units-1:0] place_read_o,
  input  logic        [Units-1:0] place_line_valid_i,
  input  place_line_t [Units-1:0] place_line_i,
  output logic       [ScanUnits-1:0] read_valid_o,
  input  logic       [ScanUnits-1:0] read_ready_i,
  output line_read_t [ScanUnits-1:0] read_o,
  input  logic       [ScanUnits-1:0] beat_valid_i,
  output logic       [ScanUnits-1:0] beat_ready_o,
  input  line_beat_t [ScanUnits-1:0] beat_i,

  output logic [63:0]    window_oldest_o,
  output logic [63:0]    window_newest_o,
  // see request_manager
  input  logic           drain_i,
  output logic           idle_o,
  output search_counts_t search_counts_o,
  output scan_counts_t   scan_counts_o,
  output event_t [Events-1:0]  events_o,
  // the requests that the readers of memory execute
  output slot_t  [ScanUnits-1:0] client_slots_o,
  output slot_t  [Places-1:0]    place_slots_o
);

  // Readers of keys: the scan engine comes first.
  localparam int unsigned KeyReaders = SearchUnits + ScanUnits;
  logic [KeyReaders-1:0] key_valid, key_ready, key_line_valid;
  key_read_t [KeyReaders-1:0] key;
  line_t key_line;
  logic [ScanUnits-1:0] key_write_valid, key_write_ready;
  key_write_t [ScanUnits-1:0] key_write;

  logic descent_valid, descent_ready, repeated_valid, repeated_ready;
  descent_t descent, repeated;
  logic leaf_valid, leaf_ready, repeated_leaf_valid, repeated_leaf_ready;
  leaf_t leaf, repeated_leaf;
  logic answer_valid, answer_ready;
  event_t [RequestEvents-1:0] request_events;
  event_t [Places-1:0] place_events;
  event_t [Units-1:0][1:0] unit_events;
  event_t [ScanUnits-1:0][1:0] value_events;
  event_t [ScanUnits-1:0] part_events;
  answer_beat_t answer;

  request_manager #(
    .SlotCount(SlotCount),
    .KeyReaders(KeyReaders),
    .KeyWriters(ScanUnits)
  ) u_request_manager (
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
    .root_valid_i,
    .root_ready_o,
    .root_table_i,
    .root_i,
    .read_version_i,
    .descent_valid_o(descent_valid),
    .descent_ready_i(descent_ready),
    .descent_o(descent),
    .answer_valid_i(answer_valid),
    .answer_ready_o(answer_ready),
    .answer_i(answer),
    .key_valid_i(key_valid),
    .key_ready_o(key_ready),
    .key_i(key),
    .key_line_valid_o(key_line_valid),
    .key_line_o(key_line),
    .key_write_valid_i(key_write_valid),
    .key_write_ready_o(key_write_ready),
    .key_write_i(key_write),
    .window_oldest_o,
    .window_newest_o,
    .drain_i,
    .idle_o,
    .events_o(request_events)
  );

  search_engine #(
    .Units(SearchUnits),
    .Descents(SearchDescents)
  ) u_search_engine (
    .clk_i,
    .rst_i,
    .descent_valid_i(descent_valid),
    .descent_ready_o(descent_ready),
    .descent_i(descent),
    .leaf_valid_o(leaf_valid),
    .leaf_ready_i(leaf_ready),
    .leaf_o(leaf),
    .repeated_valid_i(repeated_valid),
    .repeated_ready_o(repeated_ready),
    .repeated_i(repeated),
    .repeated_leaf_valid_o(repeated_leaf_valid),
    .repeated_leaf_ready_i(repeated_leaf_ready),
    .repeated_leaf_o(repeated_leaf),
    .key_valid_o(key_valid[KeyReaders-1:ScanUnits]),
    .key_ready_i(key_ready[KeyReaders-1:ScanUnits]),
    .key_o(key[KeyReaders-1:ScanUnits]),
    .key_line_valid_i(key_line_valid[KeyReaders-1:ScanUnits]),
    .key_line_i({SearchUnits{key_line}}),
    .read_valid_o(place_read_valid_o[SearchUnits-1:0]),
    .read_ready_i(place_read_ready_i[SearchUnits-1:0]),
    .read_o(place_read_o[SearchUnits-1:0]),
    .memory_valid_i(place_line_valid_i[SearchUnits-1:0]),
    .memory_i(place_line_i[SearchUnits-1:0]),
    .counts_o(search_counts_o),
    .events_o(place_events[Descents-1:0])
  );

  scan_engine #(
    .Units(ScanUnits),
    .Slots(ScanSlots)
  ) u_scan_engine (
    .clk_i,
    .rst_i,
    .geometry_i,
    .leaf_valid_i(leaf_valid),
    .leaf_ready_o(leaf_ready),
    .leaf_i(leaf),
    .repeated_valid_o(repeated_valid),
    .repeated_ready_i(repeated_ready),
    .repeated_o(repeated),
    .repeated_leaf_valid_i(repeated_leaf_valid),
    .repeated_leaf_ready_o(repeated_leaf_ready),
    .repeated_leaf_i(repeated_leaf),
    .key_valid_o(key_valid[ScanUnits-1:0]),
    .key_ready_i(key_ready[ScanUnits-1:0]),
    .key_o(key[ScanUnits-1:0]),
    .key_line_valid_i(key_line_valid[ScanUnits-1:0]),
    .key_line_i({ScanUnits{key_line}}),
    .key_write_valid_o(key_write_valid),
    .key_write_ready_i(key_write_ready),
    .key_write_o(key_write),
    .read_valid_o(place_read_valid_o[Units-1:SearchUnits]),
    .read_ready_i(place_read_ready_i[Units-1:SearchUnits]),
    .read_o(place_read_o[Units-1:SearchUnits]),
    .memory_valid_i(place_line_valid_i[Units-1:SearchUnits]),
    .memory_i(place_line_i[Units-1:SearchUnits]),
    .value_read_valid_o(read_valid_o),
    .value_read_ready_i(read_ready_i),
    .value_read_o(read_o),
    .value_read_slot_o(client_slots_o),
    .beat_valid_i,
    .beat_ready_o,
    .beat_i,
    .answer_valid_o(answer_valid),
    .answer_ready_i(answer_ready),
    .answer_o(answer),
    .counts_o(scan_counts_o),
    .events_o(place_events[Places-1:Descents]),
    .part_events_o(part_events)
  );

  for (genvar place = 0; place < Places; place++) begin : gen_place_slots
    assign place_slots_o[place] = slot_t'(place_events[place].slot);
  end

  for (genvar unit = 0; unit < Units; unit++) begin : gen_unit_events
    localparam bit Searches = unit < SearchUnits;
    localparam int unsigned Count = Searches ? SearchDescents : ScanSlots;
    localparam int unsigned First = Searches ? unit * SearchDescents
        : Descents + (unit - SearchUnits) * ScanSlots;

    place_events #(
      .Places(Count)
    ) u_events (
      .clk_i,
      .slots_i(place_slots_o[First+:Count]),
      .read_valid_i(place_read_valid_o[unit] && place_read_ready_i[unit]),
      .read_i(place_read_o[unit]),
      .line_valid_i(place_line_valid_i[unit]),
      .line_i(place_line_i[unit]),
      .events_o(unit_events[unit])
    );
  end

  for (genvar unit = 0; unit < ScanUnits; unit++) begin : gen_value_events
    read_events u_events (
      .clk_i,
      .rst_i,
      .slot_i(client_slots_o[unit]),
      .read_valid_i(read_valid_o[unit] && read_ready_i[unit]),
      .read_i(read_o[unit]),
      .beat_valid_i(beat_valid_i[unit] && beat_ready_o[unit]),
      .beat_i(beat_i[unit]),
      .events_o(value_events[unit])
    );
  end

  assign events_o = {part_events, value_events, unit_events, place_events, request_events};

endmodule

`default_nettype wire
