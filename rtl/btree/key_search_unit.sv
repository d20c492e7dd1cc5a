// Descends from roots to leaves, many descents at a time. All share one port to memory, one memory of the
// lines that arrive, and the logic that compares. A descent uses it only for the lines that have arrived, a
// line in each cycle.

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

  // memory: a descent is a place
  output logic read_valid_o,
  input  logic read_ready_i,
  output place_read_t read_o,
  input  logic memory_valid_i,
  input  place_line_t memory_i,

  output logic leaf_valid_o,
  input  logic leaf_ready_i,
  output leaf_t leaf_o,

  // for the counters: descents, whether a line is compared, interior nodes, lines, and version steps
  output logic [Descents-1:0] busy_o,
  output logic searches_o,
  output logic [Descents-1:0] node_o,
  output logic line_o,
  output logic [Descents-1:0] version_step_o,
  output event_t [Descents-1:0] events_o
);

  if (Descents < 1 || Descents > PlacesMax) $fatal(1, "Descents must be at least 1 and at most PlacesMax");

  localparam int unsigned PlaceBits = Descents > 1 ? $clog2(Descents) : 1;
  typedef logic [PlaceBits-1:0] place_t;

  // ---- descents, and their keys ----

  logic start, is_idle_q;
  // The idle descent with the lowest number, and it in the next cycle, when a task may be accepted for it.
  // The descent of the last task, the only one whose key may be incomplete.
  place_t idle, idle_q, place_q;
  // The task that was accepted in the last cycle, and whose it is. Its descent begins.
  descent_task_t search, search_q;
  logic [Descents-1:0] begins_q, is_loaded_q;
  logic key_loaded, key_write;
  key_line_t key_write_line;

  always_comb begin
    idle = '0;
    for (int unsigned after = 1; after <= Descents; after++) begin
      if (!busy_o[Descents-after]) idle = place_t'(Descents - after);
    end
  end

  assign descent_ready_o = is_idle_q && key_loaded;
  assign start = descent_valid_i && descent_ready_o;

  // An idle descent stays idle until a task was accepted.
  always_ff @(posedge clk_i) begin
    {idle_q, search_q} <= {idle, search};
    is_idle_q <= !rst_i && !start && busy_o != '1;
    if (start) place_q <= idle_q;
    for (int unsigned index = 0; index < Descents; index++) begin
      begins_q[index] <= !rst_i && start && idle_q == place_t'(index);
      is_loaded_q[index] <= key_loaded || place_q != place_t'(index);
    end
  end

  assign search = '{
    direction: descent_i.direction,
    repeated: descent_i.repeated,
    slot: descent_i.request.slot,
    key_length: key_length(descent_i),
    read_version: descent_i.request.read_version,
    root: descent_i.request.root
  };

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
    .length_i(search.key_length),
    .key_valid_o,
    .key_ready_i,
    .key_o,
    .key_line_valid_i,
    .write_o(key_write),
    .write_line_o(key_write_line),
    .loaded_o(key_loaded)
  );

  // ---- the parts that all descents share ----

  logic [Descents-1:0] head_valid, head_ready, pass_valid, pass_ready, rest_valid, rest_ready;
  logic [Descents-1:0] leaf_valid, leaf_ready, read_valid, read_ready;
  head_read_t [Descents-1:0] head_reads;
  column_pass_t [Descents-1:0] passes;
  node_read_t [Descents-1:0] reads;
  node_read_t read;
  place_t reader;
  rest_read_t [Descents-1:0] rests;
  descent_end_t [Descents-1:0] leaf;
  // The descents in progress, and those whose leaf waits for its request.
  logic [Descents-1:0] descends, waits;

  assign busy_o = begins_q | descends | waits;

  // The reads of the search keys: those of the descents, and of the rest_comparer, whose tag is Descents.
  typedef logic [$clog2(Descents + 1)-1:0] tag_t;

  logic key_read_valid, rest_key_valid, rest_key_ready, key_head_valid;
  head_read_t key_read, rest_key;
  tag_t key_reader, key_head_reader;
  place_t read_place, rest_place;
  head_t key_head;

  assign read_place = key_reader == tag_t'(Descents) ? rest_place : place_t'(key_reader);

  wide_arbiter #(
    .T(head_read_t),
    .Count(Descents + 1)
  ) u_heads (
    .clk_i,
    .rst_i,
    .in_valid_i({rest_key_valid, head_valid}),
    .in_ready_o({rest_key_ready, head_ready}),
    .in_i({rest_key, head_reads}),
    .out_valid_o(key_read_valid),
    .out_ready_i(1'b1),
    .out_o(key_read),
    .out_index_o(key_reader)
  );

  search_key #(
    .Keys(Descents),
    .TagBits($bits(tag_t))
  ) u_search_key (
    .clk_i,
    .rst_i,
    .write_i(key_write), .write_key_i(place_q),
    .write_line_i(key_write_line), .write_data_i(key_line_i),
    .read_valid_i(key_read_valid), .read_key_i(read_place),
    .read_i(key_read), .read_tag_i(key_reader),
    .head_valid_o(key_head_valid),
    .head_o(key_head), .head_tag_o(key_head_reader)
  );

  logic column_valid, column_last, counts_valid;
  column_line_t column;
  column_counts_t counts;
  place_t column_place, counts_place;

  descent_lines #(
    .Descents(Descents)
  ) u_lines (
    .clk_i,
    .rst_i,
    .read_i(read_valid_o && read_ready_i), .read_place_i(reader),
    .read_number_i(read.number), .read_line_i(read_line_t'(read.first)),
    .memory_valid_i, .memory_i,
    .pass_valid_i(pass_valid), .pass_ready_o(pass_ready), .pass_i(passes),
    .line_valid_o(column_valid), .line_o(column),
    .line_last_o(column_last), .line_place_o(column_place)
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

  logic rest_wants_line, rest_done, rest_less, rest_equal;

  descent_rests #(
    .Descents(Descents)
  ) u_rests (
    .clk_i,
    .rst_i,
    .rest_valid_i(rest_valid), .rest_ready_o(rest_ready), .rest_i(rests),
    .place_o(rest_place),
    .wants_line_o(rest_wants_line),
    .line_valid_i(column_valid && column.use_as.is_rest), .line_i(column.data),
    .key_valid_o(rest_key_valid), .key_ready_i(rest_key_ready), .key_o(rest_key),
    .head_valid_i(key_head_valid && key_head_reader == tag_t'(Descents)), .head_i(key_head),
    .done_o(rest_done), .less_o(rest_less), .equal_o(rest_equal)
  );

  // ---- the descents ----

  for (genvar index = 0; index < Descents; index++) begin : gen_descents
    memory_access_generator u_generator (
      .clk_i,
      .rst_i,
      .start_i(begins_q[index]),
      .search_i(search_q),
      .busy_o(descends[index]),
      .key_loaded_i(is_loaded_q[index]),
      .read_valid_o(read_valid[index]), .read_ready_i(read_ready[index]), .read_o(reads[index]),
      .line_valid_i(memory_valid_i && place_t'(memory_i.place) == place_t'(index)),
      .line_i(memory_i),
      .key_valid_o(head_valid[index]), .key_ready_i(head_ready[index]), .key_o(head_reads[index]),
      .head_valid_i(key_head_valid && key_head_reader == tag_t'(index)),
      .head_i(key_head),
      .pass_valid_o(pass_valid[index]), .pass_ready_i(pass_ready[index]), .pass_o(passes[index]),
      .counts_valid_i(counts_valid && counts_place == place_t'(index)),
      .counts_i(counts),
      .rest_valid_o(rest_valid[index]), .rest_ready_i(rest_ready[index]), .rest_o(rests[index]),
      .rest_wants_line_i(rest_wants_line && rest_place == place_t'(index)),
      .rest_done_i(rest_done && rest_place == place_t'(index)),
      .rest_less_i(rest_less), .rest_equal_i(rest_equal),
      .leaf_valid_o(leaf_valid[index]), .leaf_ready_i(leaf_ready[index]), .leaf_o(leaf[index]),
      .node_o(node_o[index]),
      .version_step_o(version_step_o[index]),
      .event_o(events_o[index])
    );
  end

  assign searches_o = column_valid;
  assign line_o = memory_valid_i;

  wide_arbiter #(
    .T(node_read_t),
    .Count(Descents)
  ) u_reads (
    .clk_i,
    .rst_i,
    .in_valid_i(read_valid),
    .in_ready_o(read_ready),
    .in_i(reads),
    .out_valid_o(read_valid_o),
    .out_ready_i(read_ready_i),
    .out_o(read),
    .out_index_o(reader)
  );

  assign read_o = '{
    place: port_place_t'(reader),
    number: read.number,
    by_lid: read.by_lid,
    follows: read.follows,
    cacheable: read.cacheable,
    depth: read.depth,
    columns: 1'b0,
    lid: read.node,
    address: bus_address_t'(read.node),
    first: read.first,
    count: line_count_t'(read.count)
  };

  descent_leaves #(
    .Descents(Descents)
  ) u_leaves (
    .clk_i,
    .rst_i,
    .start_i(start), .place_i(idle_q), .request_i(descent_i.request),
    .end_valid_i(leaf_valid), .end_ready_o(leaf_ready), .end_i(leaf),
    .waits_o(waits),
    .leaf_valid_o, .leaf_ready_i, .leaf_o
  );

  `ASSERT(IdleBegins, !start || !busy_o[idle_q])
  `COVER(WaitsForLines, $countones(pass_valid) > 1)
  `COVER(NoFreeDescent, descent_valid_i && busy_o == '1)

endmodule

`default_nettype wire
