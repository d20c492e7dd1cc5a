// Opens the leaves of a range scan unit: finds the items at which a scan or get starts, and requests the
// lines that it is likely to need, step by step: see leaf_search and leaf_prefetcher. It works on one leaf
// at a time and on another one while lines arrive. The first header may be that of a copy in on-board
// memory. All that precedes the log needs only fields that never change; the leaf is open when its current
// header has arrived.
//
//   choice | state of the slot | search ... | prefetches ... | end

`default_nettype none

`include "assertions.svh"

module leaf_opener
  import layout_pkg::*;
  import accelerator_pkg::*;
  import search_pkg::*;
  import scan_pkg::*;
#(
  parameter int unsigned Slots = 4,
  localparam int unsigned PlaceBits = Slots > 1 ? $clog2(Slots) : 1
) (
  input logic clk_i,
  input logic rst_i,

  input geometry_t geometry_i,

  // For each slot: its state, and whether the lines of its next step have arrived; whether its header is
  // that of a copy. works: a step has begun, or is about to; wakes: it begins.
  input logic [Slots-1:0] steps_i,
  input slot_state_e [Slots-1:0] state_i,
  input logic [Slots-1:0] copied_i,
  output logic [Slots-1:0] works_o,
  output logic [Slots-1:0] wakes_o,

  // see slot_requests
  output logic open_read_o,
  output logic [PlaceBits-1:0] open_place_o,
  input open_t open_i,

  // the summary of the key suffix of a slot: see key_summaries
  input logic summary_i,
  input logic [PlaceBits-1:0] summary_place_i,
  input summary_t summary_key_i,

  // see leaf_windows
  output logic line_valid_o,
  input logic line_ready_i,
  output line_count_t line_number_o,
  input line_t line_i,

  // see leaf_fetcher
  output logic fetch_o,
  output fetch_t fetch_lines_o,

  // A step ends with this state; the leaf is open: its header. fails: it is too large.
  output logic end_o,
  output slot_state_e end_state_o,
  output logic opened_o,
  // verilator lint_off UNUSEDSIGNAL
  output node_header_t header_o,
  // verilator lint_on UNUSEDSIGNAL
  output logic fails_o,
  // the slot of the step
  output logic [PlaceBits-1:0] place_o,

  // an open leaf, one cycle after the read, until the next read
  input logic opened_read_i,
  input logic [PlaceBits-1:0] opened_place_i,
  output opened_t opened_leaf_o
);

  typedef enum logic [2:0] {
    Choose,
    Start,
    Search,
    Prefetch,
    End
  } state_e;

  state_e state_q, state_d;
  logic takes, searched, prefetched, has_groups;
  logic [PlaceBits-1:0] pick;
  logic [Slots-1:0] is_pick;
  slot_state_e step_q;
  logic copied_q, log_may_have_q, is_too_long_q;
  search_t former, search;
  summary_t summary;
  opened_t opened;
  // verilator lint_off UNUSEDSIGNAL
  lock_and_size_t state;
  // verilator lint_on UNUSEDSIGNAL

  slot_turns #(
    .Slots(Slots)
  ) u_turns (
    .clk_i,
    .rst_i,
    .asks_i(steps_i),
    .is_idle_i(state_q == Choose), .ends_i(end_o),
    .begins_o(takes),
    .begin_place_o(pick), .is_begin_place_o(is_pick),
    .place_o,
    .works_o
  );

  assign wakes_o = is_pick & {Slots{takes}};
  assign open_read_o = takes;
  assign open_place_o = pick;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Choose: if (takes) state_d = Start;
      Start: state_d = Search;
      Search: if (searched) state_d = is_too_long_q ? End : Prefetch;
      Prefetch: if (prefetched) state_d = End;
      default: state_d = Choose;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= Choose;
    else state_q <= state_d;
    if (takes) step_q <= state_i[pick];
    if (state_q == Start) copied_q <= copied_i[place_o];
  end

  // ---- between the steps: the search of each slot, and the summary of its key

  ram #(
    .Width($bits(search_t)),
    .Depth(2 ** PlaceBits)
  ) u_searches (
    .clk_i,
    .rst_i,
    .write_i(end_o),
    .write_address_i(place_o),
    .write_data_i(search),
    .read_i(takes),
    .read_address_i(pick),
    .read_data_o(former)
  );

  ram #(
    .Width($bits(summary_t)),
    .Depth(2 ** PlaceBits)
  ) u_summaries (
    .clk_i,
    .rst_i,
    .write_i(summary_i),
    .write_address_i(summary_place_i),
    .write_data_i(summary_key_i),
    .read_i(takes),
    .read_address_i(pick),
    .read_data_o(summary)
  );

  // ---- a step

  leaf_search u_search (
    .clk_i,
    .rst_i,
    .start_i(state_q == Start),
    .step_i(step_q),
    .before_i(former),
    .has_key_i(open_i.key_length != '0),
    .at_end_i(open_i.at_end),
    .head_i(summary.head),
    .line_valid_o, .line_ready_i,
    .line_number_o,
    .line_i,
    .done_o(searched),
    .header_o,
    .columns_o(opened.columns),
    .has_groups_o(has_groups),
    .groups_o(search.groups),
    .equal_o(search.equal),
    .item_offset_o(search.item_offset)
  );

  assign search.has_groups = has_groups;
  assign search.from_copy = step_q == SlotSamples ? copied_q : former.from_copy;
  assign state = header_o.lock_and_size;

  // Some log entry has the fingerprint of the key suffix, or has none: it may have the key.
  logic log_may_have;

  always_comb begin
    log_may_have = state.log_count > 8'(NodeHeaderTagsCount);
    for (int unsigned i = 0; i < NodeHeaderTagsCount; i++) begin
      if (i < 32'(state.log_count) && header_o.tags[i] == summary.fingerprint) log_may_have = 1'b1;
    end
  end

  // The search goes on in between.
  always_ff @(posedge clk_i) begin
    log_may_have_q <= log_may_have;
    is_too_long_q <= exceeds_node(header_o, geometry_i);
  end

  leaf_prefetcher u_prefetcher (
    .clk_i,
    .rst_i,
    .geometry_i,
    .start_i(searched && !is_too_long_q),
    .step_i(step_q),
    .open_i,
    .header_i(header_o),
    .columns_i(opened.columns),
    .search_i(search),
    .log_may_have_i(log_may_have_q),
    .done_o(prefetched),
    .fetch_valid_o(fetch_o),
    .fetch_o(fetch_lines_o)
  );

  // ---- the end of a step

  assign end_o = state_q == End;
  assign fails_o = end_o && is_too_long_q;
  assign opened_o = end_o && end_state_o == SlotFetch;

  always_comb begin
    end_state_o = SlotFetch;
    if (step_q == SlotSamples && has_groups) end_state_o = SlotHeads;
    else if (step_q != SlotCurrent && search.from_copy) end_state_o = SlotCurrent;
  end

  assign opened.fingerprint = summary.fingerprint;
  assign opened.log_may_have = log_may_have_q;
  assign {opened.equal, opened.item_offset} = {search.equal, search.item_offset};

  ram #(
    .Width($bits(opened_t)),
    .Depth(2 ** PlaceBits)
  ) u_opened (
    .clk_i,
    .rst_i,
    .write_i(opened_o),
    .write_address_i(place_o),
    .write_data_i(opened),
    .read_i(opened_read_i),
    .read_address_i(opened_place_i),
    .read_data_o(opened_leaf_o)
  );

  `ASSERT(OpensTheCurrent, !(opened_o && step_q == SlotCurrent) || !copied_q)
  `COVER(SearchesNothing, searched && step_q == SlotSamples && !has_groups)

endmodule

`default_nettype wire
