// Several range scan units that work in parallel, each on several requests, and the assignment of leaves to
// them. A leaf goes to a unit with a free slot, round-robin. The answers of several units are never mixed.

`default_nettype none

`include "assertions.svh"

module scan_engine
  import layout_pkg::*;
  import accelerator_pkg::*;
#(
  parameter int unsigned Units = 5,
  // maximum number of requests of a unit in flight
  parameter int unsigned Slots = 4,
  // see range_scan_unit
  parameter int unsigned NodeBytes = NodeBytesDefault,
  parameter int unsigned LogEntries = 64,
  parameter int unsigned ResultLines = 32
) (
  input logic clk_i,
  input logic rst_i,

  input geometry_t geometry_i,

  input  logic  leaf_valid_i,
  output logic  leaf_ready_o,
  input  leaf_t leaf_i,

  // descents of scans that found a sibling that is too new, and their leaves
  output logic     repeated_valid_o,
  input  logic     repeated_ready_i,
  output descent_t repeated_o,
  input  logic     repeated_leaf_valid_i,
  output logic     repeated_leaf_ready_o,
  input  leaf_t    repeated_leaf_i,

  // of each unit: see range_scan_unit
  output logic       [Units-1:0] key_valid_o,
  input  logic       [Units-1:0] key_ready_i,
  output key_read_t  [Units-1:0] key_o,
  input  logic       [Units-1:0] key_line_valid_i,
  input  line_t      [Units-1:0] key_line_i,
  output logic       [Units-1:0] key_write_valid_o,
  input  logic       [Units-1:0] key_write_ready_i,
  output key_write_t [Units-1:0] key_write_o,

  output logic        [Units-1:0] read_valid_o,
  input  logic        [Units-1:0] read_ready_i,
  output place_read_t [Units-1:0] read_o,
  input  logic        [Units-1:0] memory_valid_i,
  input  place_line_t [Units-1:0] memory_i,
  output logic        [Units-1:0] value_read_valid_o,
  input  logic        [Units-1:0] value_read_ready_i,
  output line_read_t  [Units-1:0] value_read_o,
  output slot_t       [Units-1:0] value_read_slot_o,
  input  logic        [Units-1:0] beat_valid_i,
  output logic        [Units-1:0] beat_ready_o,
  input  line_beat_t  [Units-1:0] beat_i,

  output logic         answer_valid_o,
  input  logic         answer_ready_i,
  output answer_beat_t answer_o,

  output scan_counts_t counts_o,
  output event_t [Units*Slots-1:0] events_o,
  output event_t [Units-1:0] part_events_o
);

  if (Units < 1) $fatal(1, "Units must be at least 1");

  logic [Units-1:0] has_slot, later, awaits, returns_q, granted;
  logic [Units-1:0] repeated_valid, repeated_ready, repeated_leaf_accepted;
  logic [Units-1:0][Slots-1:0] busy;
  descent_t [Units-1:0] repeated;
  logic [Units-1:0] answer_valid, answer_ready, answer_last;
  answer_beat_t [Units-1:0] answer;

  // ---- assignment, round-robin: the units have about the same number of requests

  // The unit of the next leaf, a register: otherwise the states of the slots of all units would depend on
  // each other within a cycle.
  logic [Units-1:0] next_q;

  // Units after the next one that have a slot.
  assign later = has_slot & ~(next_q | (next_q - 1'b1));
  assign leaf_ready_o = (next_q & has_slot) != '0;
  assign repeated_leaf_ready_o = |(returns_q & repeated_leaf_accepted);

  always_ff @(posedge clk_i) begin
    if (rst_i) next_q <= Units'(1);
    else if (has_slot != '0 && (leaf_valid_i || !leaf_ready_o))
      next_q <= later != '0 ? later & (~later + 1'b1) : has_slot & (~has_slot + 1'b1);
  end

  // The unit of the offered leaf, a register: otherwise the comparison of its slot would be before the states
  // of all slots.
  always_ff @(posedge clk_i) begin
    if (rst_i) returns_q <= '0;
    else returns_q <= awaits & {Units{repeated_leaf_valid_i && !repeated_leaf_ready_o}};
  end

  for (genvar unit = 0; unit < Units; unit++) begin : gen_units
    // A unit has at most one descent in flight.
    logic awaits_q;
    slot_t slot_q;

    always_ff @(posedge clk_i) begin
      if (repeated_valid[unit] && repeated_ready[unit]) slot_q <= repeated[unit].request.slot;
    end

    always_ff @(posedge clk_i) begin
      if (rst_i) awaits_q <= 1'b0;
      else if (repeated_valid[unit] && repeated_ready[unit]) awaits_q <= 1'b1;
      else if (returns_q[unit] && repeated_leaf_accepted[unit]) awaits_q <= 1'b0;
    end

    assign awaits[unit] = awaits_q && slot_q == repeated_leaf_i.request.slot;
    assign answer_last[unit] = answer[unit].last;

    range_scan_unit #(
      .Slots(Slots),
      .NodeBytes(NodeBytes),
      .LogEntries(LogEntries),
      .ResultLines(ResultLines)
    ) u_unit (
      .clk_i,
      .rst_i,
      .geometry_i,
      .leaf_valid_i(leaf_valid_i && next_q[unit]),
      .leaf_ready_o(has_slot[unit]),
      .leaf_i,
      .repeated_valid_o(repeated_valid[unit]),
      .repeated_ready_i(repeated_ready[unit]),
      .repeated_o(repeated[unit]),
      .repeated_leaf_valid_i(returns_q[unit]),
      .repeated_leaf_ready_o(repeated_leaf_accepted[unit]),
      .repeated_leaf_i,
      .key_valid_o(key_valid_o[unit]),
      .key_ready_i(key_ready_i[unit]),
      .key_o(key_o[unit]),
      .key_line_valid_i(key_line_valid_i[unit]),
      .key_line_i(key_line_i[unit]),
      .key_write_valid_o(key_write_valid_o[unit]),
      .key_write_ready_i(key_write_ready_i[unit]),
      .key_write_o(key_write_o[unit]),
      .read_valid_o(read_valid_o[unit]),
      .read_ready_i(read_ready_i[unit]),
      .read_o(read_o[unit]),
      .memory_valid_i(memory_valid_i[unit]),
      .memory_i(memory_i[unit]),
      .value_read_valid_o(value_read_valid_o[unit]),
      .value_read_ready_i(value_read_ready_i[unit]),
      .value_read_o(value_read_o[unit]),
      .value_read_slot_o(value_read_slot_o[unit]),
      .beat_valid_i(beat_valid_i[unit]),
      .beat_ready_o(beat_ready_o[unit]),
      .beat_i(beat_i[unit]),
      .answer_valid_o(answer_valid[unit]),
      .answer_ready_i(answer_ready[unit]),
      .answer_o(answer[unit]),
      .busy_o(busy[unit]),
      .granted_o(granted[unit]),
      .events_o(events_o[unit*Slots+:Slots]),
      .part_event_o(part_events_o[unit])
    );
  end

  arbiter #(
    .T(descent_t),
    .Count(Units)
  ) u_repeated (
    .clk_i,
    .rst_i,
    .in_valid_i(repeated_valid),
    .in_ready_o(repeated_ready),
    .in_i(repeated),
    .in_last_i('1),
    .out_valid_o(repeated_valid_o),
    .out_ready_i(repeated_ready_i),
    .out_o(repeated_o),
    .out_last_o(),
    .out_index_o()
  );

  arbiter #(
    .T(answer_beat_t),
    .Count(Units)
  ) u_answers (
    .clk_i,
    .rst_i,
    .in_valid_i(answer_valid),
    .in_ready_o(answer_ready),
    .in_i(answer),
    .in_last_i(answer_last),
    .out_valid_o(answer_valid_o),
    .out_ready_i(answer_ready_i),
    .out_o(answer_o),
    .out_last_o(),
    .out_index_o()
  );

  // ---- counts, two cycles later than the events

  // The busy slots of each unit: one sum of those of all units would be the longest path of the engine.
  localparam int unsigned CountBits = $clog2(Slots + 1);
  logic [Units-1:0][CountBits-1:0] busy_count_q;
  logic [Units-1:0] granted_q;
  // The sums over all units, and those since reset.
  scan_counts_t sums_d, sums_q, counts_q;

  always_comb begin
    sums_d = '{busy: 64'($countones(granted_q)), requests: '0};
    for (int unsigned unit = 0; unit < Units; unit++) begin
      sums_d.requests = sums_d.requests + 64'(busy_count_q[unit]);
    end
  end

  always_ff @(posedge clk_i) begin
    granted_q <= granted;
    for (int unsigned unit = 0; unit < Units; unit++) begin
      busy_count_q[unit] <= CountBits'($countones(busy[unit]));
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) {sums_q, counts_q} <= '0;
    else begin
      sums_q <= sums_d;
      counts_q.busy <= counts_q.busy + sums_q.busy;
      counts_q.requests <= counts_q.requests + sums_q.requests;
    end
  end

  assign counts_o = counts_q;

  `ASSERT(RepeatedLeafHasUnit, !repeated_leaf_valid_i || $onehot(awaits))
  `ASSERT(ReturnedLeafIsOffered, returns_q == '0 || repeated_leaf_valid_i)
  `ASSERT(OneUnitIsNext, $onehot(next_q))

endmodule

`default_nettype wire
