// Descends from roots to leaves, several descents at a time. Each descent has its own port to memory; all
// share one child_finder. While a descent waits for a node, the unit searches a node of another descent.

`default_nettype none

`include "assertions.svh"

module key_search_unit
  import accelerator_pkg::*;
  import layout_pkg::*;
#(
  // maximum number of descents in flight
  parameter int unsigned Descents = 2
) (
  input logic clk_i,
  input logic rst_i,

  // shortcut capacity of all nodes of the store
  input logic [7:0] shortcut_capacity_i,

  input  logic descent_valid_i,
  output logic descent_ready_o,
  input  descent_t descent_i,

  // The key buffers return a line some cycles after its read was accepted. One read is in flight.
  output logic key_valid_o,
  input  logic key_ready_i,
  output key_read_t key_o,
  input  logic key_line_valid_i,
  input  line_t key_line_i,

  // for each descent
  output logic [Descents-1:0] read_valid_o,
  input  logic [Descents-1:0] read_ready_i,
  output line_read_t [Descents-1:0] read_o,
  input  logic [Descents-1:0] beat_valid_i,
  output logic [Descents-1:0] beat_ready_o,
  input  line_beat_t [Descents-1:0] beat_i,

  output logic leaf_valid_o,
  input  logic leaf_ready_i,
  output leaf_t leaf_o,

  // for the counters: descents in flight, whether a node is searched, interior nodes, lines, and steps
  // to a previous version
  output logic [Descents-1:0] busy_o,
  output logic searches_o,
  output logic node_o,
  output logic [Descents-1:0] line_o,
  output logic [Descents-1:0] version_step_o,
  output event_t [Descents-1:0] events_o
);

  if (Descents < 1) $fatal(1, "Descents must be at least 1");

  localparam int unsigned PlaceBits = Descents > 1 ? $clog2(Descents) : 1;
  typedef logic [PlaceBits-1:0] place_t;

  // ---- descents, and their keys ----

  logic start;
  // The idle descent with the lowest number, and the descent that began last, the only one whose key may be
  // incomplete.
  place_t place, place_q;
  descent_t [Descents-1:0] descents;
  logic key_loaded, key_write;
  key_line_t key_write_line;

  always_comb begin
    place = '0;
    for (int unsigned after = 1; after <= Descents; after++) begin
      if (!busy_o[Descents-after]) place = place_t'(Descents - after);
    end
  end

  assign descent_ready_o = busy_o != '1 && key_loaded;
  assign start = descent_valid_i && descent_ready_o;

  always_ff @(posedge clk_i) begin
    if (start) place_q <= place;
  end

  // The search key of the first and the last leaf is empty.
  // verilator lint_off UNUSEDSIGNAL
  function automatic key_length_t key_length(descent_t descent);
    if (descent.direction inside {DirectionFirst, DirectionLast}) return '0;
    return descent.by_upper ? descent.request.upper_length : descent.request.lower_length;
  endfunction
  // verilator lint_on UNUSEDSIGNAL

  key_loader u_loader (
    .clk_i,
    .rst_i,
    .start_i(start),
    .slot_i(descent_i.request.slot),
    .upper_i(descent_i.by_upper),
    .length_i(key_length(descent_i)),
    .key_valid_o,
    .key_ready_i,
    .key_o,
    .key_line_valid_i,
    .write_o(key_write),
    .write_line_o(key_write_line),
    .loaded_o(key_loaded)
  );

  // ---- the grant of the child finder ----

  logic [Descents-1:0] grant_valid, grant_ready, has_grant, grant_ends;
  logic [Descents-1:0] line_valid, find, segment_ready, leaf_valid, leaf_ready;
  leaf_t [Descents-1:0] leaf;
  logic is_taken;
  place_t holder;

  logic line_ready, header_valid, segment_valid, child_valid;
  line_count_t first_lines, segment_first, segment_count;
  node_header_t header;
  lid_t child;

  arbiter #(
    .T(logic),
    .Count(Descents)
  ) u_grants (
    .clk_i,
    .rst_i,
    .in_valid_i(grant_valid),
    .in_ready_o(grant_ready),
    .in_i('0),
    .in_last_i('1),
    .out_valid_o(is_taken),
    .out_ready_i(|grant_ends),
    .out_o(),
    .out_last_o(),
    .out_index_o(holder)
  );

  child_finder #(
    .Keys(Descents)
  ) u_child_finder (
    .clk_i,
    .rst_i,
    .shortcut_capacity_i,
    .lines_o(first_lines),
    .key_write_i(key_write),
    .key_write_key_i(place_q),
    .key_write_line_i(key_write_line),
    .key_write_data_i(key_line_i),
    .key_i(holder),
    .start_i(!is_taken || |grant_ends),
    .line_valid_i(line_valid[holder] && is_taken),
    .line_ready_o(line_ready),
    .line_i(beat_i[holder].data),
    .header_valid_o(header_valid),
    .header_o(header),
    .find_i(find[holder]),
    .direction_i(descents[holder].direction),
    .key_length_i(key_length(descents[holder])),
    .segment_valid_o(segment_valid),
    .segment_ready_i(segment_ready[holder]),
    .segment_first_o(segment_first),
    .segment_count_o(segment_count),
    .child_valid_o(child_valid),
    .child_o(child)
  );

  for (genvar index = 0; index < Descents; index++) begin : gen_descents
    assign has_grant[index] = is_taken && holder == place_t'(index);

    memory_access_generator u_generator (
      .clk_i,
      .rst_i,
      .start_i(start && place == place_t'(index)),
      .descent_i,
      .busy_o(busy_o[index]),
      .descent_o(descents[index]),
      .key_loaded_i(key_loaded || place_q != place_t'(index)),
      .read_valid_o(read_valid_o[index]),
      .read_ready_i(read_ready_i[index]),
      .read_o(read_o[index]),
      .beat_valid_i(beat_valid_i[index]),
      .beat_ready_o(beat_ready_o[index]),
      .beat_i(beat_i[index]),
      .grant_valid_o(grant_valid[index]),
      .grant_ready_i(grant_ready[index]),
      .has_grant_i(has_grant[index]),
      .grant_ends_o(grant_ends[index]),
      .first_lines_i(first_lines),
      .line_valid_o(line_valid[index]),
      .line_ready_i(line_ready),
      .header_valid_i(header_valid),
      .header_i(header),
      .find_o(find[index]),
      .segment_valid_i(segment_valid),
      .segment_ready_o(segment_ready[index]),
      .segment_first_i(segment_first),
      .segment_count_i(segment_count),
      .child_valid_i(child_valid),
      .child_i(child),
      .leaf_valid_o(leaf_valid[index]),
      .leaf_ready_i(leaf_ready[index]),
      .leaf_o(leaf[index]),
      .line_o(line_o[index]),
      .version_step_o(version_step_o[index]),
      .event_o(events_o[index])
    );
  end

  assign searches_o = is_taken;
  assign node_o = |find;

  arbiter #(
    .T(leaf_t),
    .Count(Descents)
  ) u_leaves (
    .clk_i,
    .rst_i,
    .in_valid_i(leaf_valid),
    .in_ready_o(leaf_ready),
    .in_i(leaf),
    .in_last_i('1),
    .out_valid_o(leaf_valid_o),
    .out_ready_i(leaf_ready_i),
    .out_o(leaf_o),
    .out_last_o(),
    .out_index_o()
  );

  `ASSERT(OneGrant, $onehot0(grant_ends | find | segment_ready))
  `ASSERT_OFFER_STAYS(LeafStays, leaf_valid_o, leaf_ready_i, leaf_o)
  `COVER(WaitsForGrant, is_taken && |(grant_valid & ~has_grant))
  `COVER(NoFreeDescent, descent_valid_i && busy_o == '1)

endmodule

`default_nettype wire
