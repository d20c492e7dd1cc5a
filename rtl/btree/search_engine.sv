// Several key search units that work in parallel, each on several descents, and the assignment of descents to
// them.
//
// Descents come from requests, and from scans that found a sibling that is too new and descend again. Such a
// scan occupies its range scan unit until it receives the leaf. If leaves of requests could block the key
// search units while they wait for range scan units, there would be a deadlock. This is impossible: a descent
// of a request starts only when a queue has room for its leaf, and the leaves of scans bypass that queue.

`default_nettype none

`include "assertions.svh"

module search_engine
  import accelerator_pkg::*;
#(
  parameter int unsigned Units = 14,
  // maximum number of descents of a unit in flight
  parameter int unsigned Descents = 2,
  // maximum number of descents of requests in flight, plus their leaves that wait for a range scan unit
  parameter int unsigned Leaves = 2 * Units * Descents,
  localparam int unsigned Places = Units * Descents
) (
  input logic clk_i,
  input logic rst_i,

  // descents of requests, and their leaves
  input  logic descent_valid_i,
  output logic descent_ready_o,
  input  descent_t descent_i,
  output logic leaf_valid_o,
  input  logic leaf_ready_i,
  output leaf_t leaf_o,

  // descents of scans that have begun, and their leaves
  input  logic repeated_valid_i,
  output logic repeated_ready_o,
  input  descent_t repeated_i,
  output logic repeated_leaf_valid_o,
  input  logic repeated_leaf_ready_i,
  output leaf_t repeated_leaf_o,

  // for each unit a port to the key buffers and a port to memory: see key_search_unit
  output logic [Units-1:0] key_valid_o,
  input  logic [Units-1:0] key_ready_i,
  output key_read_t [Units-1:0] key_o,
  input  logic [Units-1:0] key_line_valid_i,
  input  line_t [Units-1:0] key_line_i,

  output logic [Units-1:0] read_valid_o,
  input  logic [Units-1:0] read_ready_i,
  output place_read_t [Units-1:0] read_o,
  input  logic [Units-1:0] memory_valid_i,
  input  place_line_t [Units-1:0] memory_i,

  output search_counts_t counts_o,
  output event_t [Places-1:0] events_o
);

  if (Units < 1) $fatal(1, "Units must be at least 1");
  if (Leaves < Places) $fatal(1, "Leaves must be at least Units * Descents");

  localparam int unsigned LeafCountBits = $clog2(Leaves + 1);

  logic [Units-1:0] has_place, was_idle_q, is_idle, candidates, starts, leaf_valid, leaf_ready;
  logic [Units-1:0] searches, line;
  logic [Units-1:0] is_repeated;
  logic [Units-1:0][Descents-1:0] busy, node, version_step;
  leaf_t [Units-1:0] leaf;
  // Descents of requests in flight, plus their leaves that wait for a range scan unit.
  logic [LeafCountBits-1:0] leaves_q;
  logic has_room, start, starts_repeated;

  // The first idle unit is next, or else the first unit with a free descent; descents of scans have priority.
  // A unit has no free descent in the cycle after one began, so one that was idle in the last cycle still is.
  assign is_idle = has_place & was_idle_q;
  assign candidates = |is_idle ? is_idle : has_place;
  assign starts = candidates & (~candidates + 1'b1);
  assign has_room = leaves_q != LeafCountBits'(Leaves);
  assign repeated_ready_o = |has_place;
  assign descent_ready_o = |has_place && has_room && !repeated_valid_i;
  assign starts_repeated = repeated_valid_i && repeated_ready_o;
  assign start = descent_valid_i && descent_ready_o;

  for (genvar unit = 0; unit < Units; unit++) begin : gen_units
    always_ff @(posedge clk_i) was_idle_q[unit] <= busy[unit] == '0;
    assign is_repeated[unit] = leaf[unit].repeated;

    key_search_unit #(
      .Descents(Descents)
    ) u_unit (
      .clk_i,
      .rst_i,
      .descent_valid_i((start || starts_repeated) && starts[unit]),
      .descent_ready_o(has_place[unit]),
      .descent_i(repeated_valid_i ? repeated_i : descent_i),
      .key_valid_o(key_valid_o[unit]),
      .key_ready_i(key_ready_i[unit]),
      .key_o(key_o[unit]),
      .key_line_valid_i(key_line_valid_i[unit]),
      .key_line_i(key_line_i[unit]),
      .read_valid_o(read_valid_o[unit]),
      .read_ready_i(read_ready_i[unit]),
      .read_o(read_o[unit]),
      .memory_valid_i(memory_valid_i[unit]),
      .memory_i(memory_i[unit]),
      .leaf_valid_o(leaf_valid[unit]),
      .leaf_ready_i(leaf_ready[unit]),
      .leaf_o(leaf[unit]),
      .busy_o(busy[unit]),
      .searches_o(searches[unit]),
      .node_o(node[unit]),
      .line_o(line[unit]),
      .version_step_o(version_step[unit]),
      .events_o(events_o[unit*Descents+:Descents])
    );
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) leaves_q <= '0;
    else leaves_q <= leaves_q + LeafCountBits'(start) - LeafCountBits'(leaf_valid_o && leaf_ready_i);
  end

  // ---- leaves

  logic found_valid, found_ready;
  leaf_t found;
  logic [Units-1:0] found_taken, repeated_leaf_accepted;

  assign leaf_ready = is_repeated & repeated_leaf_accepted | ~is_repeated & found_taken;

  arbiter #(
    .T(leaf_t),
    .Count(Units)
  ) u_found (
    .clk_i,
    .rst_i,
    .in_valid_i(leaf_valid & ~is_repeated),
    .in_ready_o(found_taken),
    .in_i(leaf),
    .in_last_i('1),
    .out_valid_o(found_valid),
    .out_ready_i(found_ready),
    .out_o(found),
    .out_last_o(),
    .out_index_o()
  );

  fifo #(
    .T(leaf_t),
    .Depth(Leaves)
  ) u_leaves (
    .clk_i,
    .rst_i,
    .in_valid_i(found_valid),
    .in_ready_o(found_ready),
    .in_i(found),
    .out_valid_o(leaf_valid_o),
    .out_ready_i(leaf_ready_i),
    .out_o(leaf_o),
    .count_o()
  );

  arbiter #(
    .T(leaf_t),
    .Count(Units)
  ) u_repeated (
    .clk_i,
    .rst_i,
    .in_valid_i(leaf_valid & is_repeated),
    .in_ready_o(repeated_leaf_accepted),
    .in_i(leaf),
    .in_last_i('1),
    .out_valid_o(repeated_leaf_valid_o),
    .out_ready_i(repeated_leaf_ready_i),
    .out_o(repeated_leaf_o),
    .out_last_o(),
    .out_index_o()
  );

  // ---- counts, two cycles later than the events

  // The events of a cycle, and their sums since reset.
  search_counts_t sums_q, counts_q;
  logic [Units-1:0] searches_q, line_q;
  logic [Units-1:0][Descents-1:0] busy_q, node_q, version_step_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) {searches_q, busy_q, line_q, node_q, version_step_q} <= '0;
    else {searches_q, busy_q, line_q, node_q, version_step_q} <= {searches, busy, line, node, version_step};
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) {sums_q, counts_q} <= '0;
    else begin
      sums_q.busy <= 64'($countones(searches_q));
      sums_q.descents <= 64'($countones(busy_q));
      sums_q.nodes <= 64'($countones(node_q));
      sums_q.lines <= 64'($countones(line_q));
      sums_q.version_steps <= 64'($countones(version_step_q));
      counts_q.busy <= counts_q.busy + sums_q.busy;
      counts_q.descents <= counts_q.descents + sums_q.descents;
      counts_q.nodes <= counts_q.nodes + sums_q.nodes;
      counts_q.lines <= counts_q.lines + sums_q.lines;
      counts_q.version_steps <= counts_q.version_steps + sums_q.version_steps;
    end
  end

  assign counts_o = counts_q;

  `ASSERT(LeavesHaveRoom, leaves_q <= LeafCountBits'(Leaves) && (!found_valid || found_ready))
  `ASSERT(RepeatedDescentIsOfScan,
      !(descent_valid_i && descent_i.repeated) && (!repeated_valid_i || repeated_i.repeated))
  `ASSERT(OneUnitStarts, $onehot0(starts))
  `ASSERT_OFFER_STAYS(DescentStays, descent_valid_i, descent_ready_o, descent_i)
  `ASSERT_OFFER_STAYS(RepeatedStays, repeated_valid_i, repeated_ready_o, repeated_i)

endmodule

`default_nettype wire
