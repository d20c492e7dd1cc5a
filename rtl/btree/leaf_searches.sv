// Searches the leaves of a range scan unit, one at a time, step by step: see leaf_search. It has the search
// of each slot between its steps, and the summary of its key.
//
//   choice | state of the slot | search ... | the result is taken

`default_nettype none

`include "assertions.svh"

module leaf_searches
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

  // verilator lint_off UNUSEDSIGNAL
  input geometry_t geometry_i,
  // verilator lint_on UNUSEDSIGNAL

  // For each slot: its step can begin; its state; its header is that of a copy. works: a step has begun, or
  // is about to, and its result was not taken; wakes: it begins.
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

  // the result of a step
  output logic searched_valid_o,
  input logic searched_ready_i,
  output searched_t searched_o,
  // the slot of the step
  output logic [PlaceBits-1:0] place_o
);

  typedef enum logic [1:0] {
    Choose,
    Start,
    Search,
    Pass
  } state_e;

  state_e state_q, state_d;
  logic takes, searched, is_taken;
  logic [PlaceBits-1:0] pick;
  logic [Slots-1:0] is_pick;
  slot_state_e step_q;
  logic copied_q;
  search_t former, search;
  summary_t summary;
  node_header_t header;
  // verilator lint_off UNUSEDSIGNAL
  lock_and_size_t state;
  // verilator lint_on UNUSEDSIGNAL

  slot_turns #(
    .Slots(Slots)
  ) u_turns (
    .clk_i,
    .rst_i,
    .asks_i(steps_i),
    .is_idle_i(state_q == Choose), .ends_i(is_taken),
    .begins_o(takes),
    .begin_place_o(pick), .is_begin_place_o(is_pick),
    .place_o,
    .works_o
  );

  assign wakes_o = is_pick & {Slots{takes}};
  assign open_read_o = takes;
  assign open_place_o = pick;
  assign searched_valid_o = state_q == Pass;
  assign is_taken = searched_valid_o && searched_ready_i;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Choose: if (takes) state_d = Start;
      Start: state_d = Search;
      Search: if (searched) state_d = Pass;
      default: if (is_taken) state_d = Choose;
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
    .write_i(is_taken),
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
    .header_o(header),
    .columns_o(searched_o.columns),
    .has_groups_o(search.has_groups),
    .groups_o(search.groups),
    .equal_o(search.equal),
    .item_offset_o(search.item_offset)
  );

  assign search.from_copy = step_q == SlotSamples ? copied_q : former.from_copy;
  assign state = header.lock_and_size;

  // Some log entry has the fingerprint of the key suffix, or has none: it may have the key.
  logic log_may_have, log_may_have_q, is_too_long_q;

  always_comb begin
    log_may_have = state.log_count > 8'(NodeHeaderTagsCount);
    for (int unsigned i = 0; i < NodeHeaderTagsCount; i++) begin
      if (i < 32'(state.log_count) && header.tags[i] == summary.fingerprint) log_may_have = 1'b1;
    end
  end

  // The search goes on in between.
  always_ff @(posedge clk_i) begin
    log_may_have_q <= log_may_have;
    is_too_long_q <= exceeds_node(header, geometry_i);
  end

  assign {searched_o.step, searched_o.open, searched_o.header} = {step_q, open_i, header};
  assign {searched_o.search, searched_o.fingerprint} = {search, summary.fingerprint};
  assign {searched_o.log_may_have, searched_o.is_too_long} = {log_may_have_q, is_too_long_q};

  `ASSERT_OFFER_STAYS(ResultStays, searched_valid_o, searched_ready_i, {place_o, searched_o})
  `ASSERT(CurrentIsNotCopied, state_q != Search || !(step_q inside {SlotCurrent, SlotLog}) || !copied_q)
  `COVER(SearchesNothing, searched && step_q == SlotSamples && !search.has_groups)

endmodule

`default_nettype wire
