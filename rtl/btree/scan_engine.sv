// Range scan units that answer requests at the same time, one each.

`include "assertions.svh"

module scan_engine
  import layout_pkg::*;
  import accelerator_pkg::*;
#(
  // how many requests are answered at the same time
  parameter int unsigned Units = 5,
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

  // down again, for a sibling that is too new
  output logic     again_valid_o,
  input  logic     again_ready_i,
  output descent_t again_o,
  input  logic     again_leaf_valid_i,
  output logic     again_leaf_ready_o,
  input  leaf_t    again_leaf_i,

  // for each unit its ports to key buffers and memory: see range_scan_unit
  output logic       [Units-1:0] key_valid_o,
  input  logic       [Units-1:0] key_ready_i,
  output key_read_t  [Units-1:0] key_o,
  input  logic       [Units-1:0] key_line_valid_i,
  input  line_t      [Units-1:0] key_line_i,
  output logic       [Units-1:0] key_write_valid_o,
  input  logic       [Units-1:0] key_write_ready_i,
  output key_write_t [Units-1:0] key_write_o,

  output logic       [Units-1:0] read_valid_o,
  input  logic       [Units-1:0] read_ready_i,
  output line_read_t [Units-1:0] read_o,
  input  logic       [Units-1:0] beat_valid_i,
  output logic       [Units-1:0] beat_ready_o,
  input  line_beat_t [Units-1:0] beat_i,

  output logic         answer_valid_o,
  input  logic         answer_ready_i,
  output answer_beat_t answer_o,

  // since reset: cycles that units had a request
  output logic [63:0] busy_o,
  output event_t [Units-1:0] events_o,
  output event_t [Units-1:0] part_events_o
);

  if (Units < 1) $fatal(1, "Units must be at least 1");

  logic [Units-1:0] is_idle, starts, is_of_slot, again_valid, again_ready, again_taken;
  descent_t [Units-1:0] again;
  logic [Units-1:0] answer_valid, answer_ready, answer_last;
  answer_beat_t [Units-1:0] answer;
  // Of the request that a unit answers, or answered last.
  slot_t slot_q[Units];

  // The idle unit of the lowest number is next.
  assign starts = is_idle & (~is_idle + 1'b1);
  assign leaf_ready_o = |is_idle;
  assign again_leaf_ready_o = |(is_of_slot & again_taken);

  for (genvar unit = 0; unit < Units; unit++) begin : gen_units
    assign is_of_slot[unit] = slot_q[unit] == again_leaf_i.request.slot && !is_idle[unit];
    assign answer_last[unit] = answer[unit].last;

    always_ff @(posedge clk_i) begin
      if (leaf_valid_i && starts[unit]) slot_q[unit] <= leaf_i.request.slot;
    end

    range_scan_unit #(
      .NodeBytes(NodeBytes),
      .LogEntries(LogEntries),
      .ResultLines(ResultLines)
    ) u_unit (
      .clk_i,
      .rst_i,
      .geometry_i,
      .leaf_valid_i(leaf_valid_i && starts[unit]),
      .leaf_ready_o(is_idle[unit]),
      .leaf_i,
      .again_valid_o(again_valid[unit]),
      .again_ready_i(again_ready[unit]),
      .again_o(again[unit]),
      .again_leaf_valid_i(again_leaf_valid_i && is_of_slot[unit]),
      .again_leaf_ready_o(again_taken[unit]),
      .again_leaf_i,
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
      .beat_valid_i(beat_valid_i[unit]),
      .beat_ready_o(beat_ready_o[unit]),
      .beat_i(beat_i[unit]),
      .answer_valid_o(answer_valid[unit]),
      .answer_ready_i(answer_ready[unit]),
      .answer_o(answer[unit]),
      .event_o(events_o[unit]),
      .part_event_o(part_events_o[unit])
    );
  end

  arbiter #(
    .T(descent_t),
    .Count(Units)
  ) u_again (
    .clk_i,
    .rst_i,
    .in_valid_i(again_valid),
    .in_ready_o(again_ready),
    .in_i(again),
    .in_last_i('1),
    .out_valid_o(again_valid_o),
    .out_ready_i(again_ready_i),
    .out_o(again_o),
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

  always_ff @(posedge clk_i) begin
    if (rst_i) busy_o <= '0;
    else busy_o <= busy_o + 64'($countones(~is_idle));
  end

  `ASSERT(AgainLeafHasAUnit, !again_leaf_valid_i || $onehot(is_of_slot))

endmodule
