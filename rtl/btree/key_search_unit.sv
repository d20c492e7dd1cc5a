// Descends from roots to leaves, several descents at a time. Each descent has its own port to memory; all
// share the logic that compares. A descent uses it only for the lines that have arrived, a line in each
// cycle.

`default_nettype none

`include "assertions.svh"

module key_search_unit
  import accelerator_pkg::*;
  import search_pkg::*;
#(
  // maximum number of descents in flight
  parameter int unsigned Descents = 2
) (
  input logic clk_i,
  input logic rst_i,

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

  // for the counters: descents, whether a line is compared, interior nodes, lines, and version steps
  output logic [Descents-1:0] busy_o,
  output logic searches_o,
  output logic [Descents-1:0] node_o,
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

  // ---- the parts that all descents share ----

  logic [Descents-1:0] head_valid, head_ready, line_valid, line_ready, line_last, rest_valid, rest_ready;
  logic [Descents-1:0] leaf_valid, leaf_ready;
  head_read_t [Descents-1:0] head_reads;
  column_line_t [Descents-1:0] lines;
  rest_read_t [Descents-1:0] rests;
  leaf_t [Descents-1:0] leaf;

  // The reads of the search keys: those of the descents, and of the rest_comparer, whose tag is Descents.
  typedef logic [$clog2(Descents + 1)-1:0] tag_t;

  logic key_read_valid, rest_key_valid, rest_key_ready, key_head_valid;
  head_read_t key_read, rest_key;
  tag_t key_reader, key_head_reader;
  place_t read_place, rest_place_q;
  head_t key_head;

  assign read_place = key_reader == tag_t'(Descents) ? rest_place_q : place_t'(key_reader);

  arbiter #(
    .T(head_read_t),
    .Count(Descents + 1)
  ) u_heads (
    .clk_i,
    .rst_i,
    .in_valid_i({rest_key_valid, head_valid}),
    .in_ready_o({rest_key_ready, head_ready}),
    .in_i({rest_key, head_reads}),
    .in_last_i('1),
    .out_valid_o(key_read_valid),
    .out_ready_i(1'b1),
    .out_o(key_read),
    .out_last_o(),
    .out_index_o(key_reader)
  );

  search_key #(
    .Keys(Descents),
    .TagBits($bits(tag_t))
  ) u_search_key (
    .clk_i,
    .rst_i,
    .write_i(key_write),
    .write_key_i(place_q),
    .write_line_i(key_write_line),
    .write_data_i(key_line_i),
    .read_valid_i(key_read_valid),
    .read_key_i(read_place),
    .read_i(key_read),
    .read_tag_i(key_reader),
    .head_valid_o(key_head_valid),
    .head_o(key_head),
    .head_tag_o(key_head_reader)
  );

  logic column_valid, column_last, counts_valid;
  column_line_t column;
  column_counts_t counts;
  place_t column_place, counts_place;

  arbiter #(
    .T(column_line_t),
    .Count(Descents)
  ) u_lines (
    .clk_i,
    .rst_i,
    .in_valid_i(line_valid),
    .in_ready_o(line_ready),
    .in_i(lines),
    .in_last_i(line_last),
    .out_valid_o(column_valid),
    .out_ready_i(1'b1),
    .out_o(column),
    .out_last_o(column_last),
    .out_index_o(column_place)
  );

  head_counter #(
    .TagBits(PlaceBits)
  ) u_head_counter (
    .clk_i,
    .rst_i,
    .line_valid_i(column_valid && !column.use_as.is_rest),
    .line_i(column),
    .line_last_i(column_last),
    .line_tag_i(column_place),
    .counts_valid_o(counts_valid),
    .counts_o(counts),
    .counts_tag_o(counts_place)
  );

  logic rest_start_valid, rest_start_ready, rest_wants_line, rest_done, rest_less, rest_equal;
  rest_read_t rest_start;
  place_t rest_start_place;

  arbiter #(
    .T(rest_read_t),
    .Count(Descents)
  ) u_rests (
    .clk_i,
    .rst_i,
    .in_valid_i(rest_valid),
    .in_ready_o(rest_ready),
    .in_i(rests),
    .in_last_i('1),
    .out_valid_o(rest_start_valid),
    .out_ready_i(rest_start_ready),
    .out_o(rest_start),
    .out_last_o(),
    .out_index_o(rest_start_place)
  );

  always_ff @(posedge clk_i) if (rest_start_valid && rest_start_ready) rest_place_q <= rest_start_place;

  rest_comparer u_rest_comparer (
    .clk_i,
    .rst_i,
    .start_valid_i(rest_start_valid),
    .start_ready_o(rest_start_ready),
    .start_i(rest_start),
    .wants_line_o(rest_wants_line),
    .line_valid_i(column_valid && column.use_as.is_rest),
    .line_i(column.data),
    .key_valid_o(rest_key_valid),
    .key_ready_i(rest_key_ready),
    .key_o(rest_key),
    .head_valid_i(key_head_valid && key_head_reader == tag_t'(Descents)),
    .head_i(key_head),
    .done_o(rest_done),
    .less_o(rest_less),
    .equal_o(rest_equal)
  );

  // ---- the descents ----

  for (genvar index = 0; index < Descents; index++) begin : gen_descents
    memory_access_generator u_generator (
      .clk_i,
      .rst_i,
      .start_i(start && place == place_t'(index)),
      .descent_i,
      .busy_o(busy_o[index]),
      .key_loaded_i(key_loaded || place_q != place_t'(index)),
      .read_valid_o(read_valid_o[index]),
      .read_ready_i(read_ready_i[index]),
      .read_o(read_o[index]),
      .beat_valid_i(beat_valid_i[index]),
      .beat_ready_o(beat_ready_o[index]),
      .beat_i(beat_i[index]),
      .key_valid_o(head_valid[index]),
      .key_ready_i(head_ready[index]),
      .key_o(head_reads[index]),
      .head_valid_i(key_head_valid && key_head_reader == tag_t'(index)),
      .head_i(key_head),
      .line_valid_o(line_valid[index]),
      .line_ready_i(line_ready[index]),
      .line_o(lines[index]),
      .line_last_o(line_last[index]),
      .counts_valid_i(counts_valid && counts_place == place_t'(index)),
      .counts_i(counts),
      .rest_valid_o(rest_valid[index]),
      .rest_ready_i(rest_ready[index]),
      .rest_o(rests[index]),
      .rest_wants_line_i(rest_wants_line && rest_place_q == place_t'(index)),
      .rest_done_i(rest_done && rest_place_q == place_t'(index)),
      .rest_less_i(rest_less),
      .rest_equal_i(rest_equal),
      .leaf_valid_o(leaf_valid[index]),
      .leaf_ready_i(leaf_ready[index]),
      .leaf_o(leaf[index]),
      .line_taken_o(line_o[index]),
      .node_o(node_o[index]),
      .version_step_o(version_step_o[index]),
      .event_o(events_o[index])
    );
  end

  assign searches_o = column_valid;

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

  `ASSERT_OFFER_STAYS(LeafStays, leaf_valid_o, leaf_ready_i, leaf_o)
  `COVER(WaitsForLines, $countones(line_valid) > 1)
  `COVER(WaitsForComparer, |rest_valid && !rest_start_ready)
  `COVER(NoFreeDescent, descent_valid_i && busy_o == '1)

endmodule

`default_nettype wire
