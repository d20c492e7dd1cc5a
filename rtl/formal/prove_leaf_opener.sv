// Proves for two slots with arbitrary leaves and reads, as slot_states has them: each step of a slot ends
// once, in the state that its step, its request and its leaf demand: heads are searched if there are groups,
// the current header follows that of a copy, and a scan awaits the words of a log. The step has the header
// of the leaf, and fails if the leaf is too large. No slot works for two steps, and it works until the end
// of its step. Requests of lines are those of one part at a time, for the slot that prefetches, and none for
// a leaf that is too large; lines are read for the slot of the part that reads, and the words of a log when
// they were awaited. The opened leaf is that of its slot, with the fingerprint of its key. A step is delayed
// only by search, prefetches and lines.
//
// The first step of a leaf is an arbitrary one. In place of leaf_search and leaf_prefetcher, which have
// proofs, there are parts with arbitrary results and requests. Left out are the entries that log_prefetcher
// requests.

`default_nettype none

module prove_leaf_opener
  import layout_pkg::*;
  import accelerator_pkg::*;
  import search_pkg::*;
  import scan_pkg::*;
(
  input logic clk_i,
  // the slots
  input logic begin_i,
  input logic begin_place_i,
  input logic start_i,
  input logic start_place_i,
  input logic [1:0] start_step_i,
  input logic [1:0] woken_i,
  input logic [1:0] fails_i,
  input logic [1:0] copied_i,
  input logic [1:0] settled_i,
  input logic [1:0] grant_i,
  input logic [1:0] leaves_i,
  input logic continues_i,
  input logic summary_i,
  input logic summary_place_i,
  input logic [1:0] fingerprint_i,
  // what search and prefetcher do
  input logic [2:0] search_i,
  input logic [7:0] searched_i,
  input logic [4:0] prefetch_i,
  input logic line_ready_i,
  input logic opened_read_i,
  input logic opened_place_i
);

  localparam int unsigned Delay = 12;

  // The result of a search.
  typedef struct packed {
    logic has_groups;
    logic is_too_long;
    logic [1:0] entries;
    logic [1:0] columns;
    logic [1:0] tag;
  } result_t;

  logic rst, ends, opened, fails, place, line_valid, line_place, fetches, open_read, open_place;
  logic [1:0] works, wakes, steps;
  slot_state_e end_state, start_step;
  slot_state_e [1:0] state;
  geometry_t geometry;
  open_t open;
  summary_t summary;
  line_count_t line_number;
  line_t line;
  fetch_t fetch;
  node_header_t header;
  opened_t opened_leaf;

  neighbours u_neighbours (.clk_i, .rst_o(rst), .in_valid_i(1'b0), .in_ready_i(1'b0));

  // ---- the slots: a leaf begins with an arbitrary step, and a read of it may fail at any time

  logic [1:0] failed_q, copied_q, is_get_q, woken_q;
  logic open_place_q;

  slot_states #(
    .Slots(2)
  ) u_states (
    .clk_i, .rst_i(rst),
    .begin_i, .begin_place_i, .begin_failed_i(1'b0), .has_place_o(), .place_o(),
    .keys_ready_i('1), .woken_i, .works_i(works), .settled_i, .failed_i(failed_q),
    .end_i({ends, start_i}), .end_place_i({place, start_place_i}), .end_state_i({end_state, start_step}),
    .end_none_i(1'b0),
    .grant_i, .leaves_i, .continues_i, .repeats_i('0), .returns_i('0), .return_failed_i(1'b0),
    .state_o(state), .busy_o(), .begins_o(), .headers_o(), .steps_o(steps), .ready_o(), .repeats_o(),
    .none_o(), .descent_failed_o()
  );

  leaf_opener #(
    .Slots(2)
  ) u_opener (
    .clk_i, .rst_i(rst),
    .geometry_i(geometry),
    .steps_i(steps), .state_i(state), .copied_i(copied_q & copied_i), .works_o(works), .wakes_o(wakes),
    .open_read_o(open_read), .open_place_o(open_place), .open_i(open),
    .summary_i, .summary_place_i, .summary_key_i(summary),
    .line_valid_o(line_valid), .line_ready_i, .line_place_o(line_place), .line_number_o(line_number),
    .line_i(line),
    .fetch_o(fetches), .fetch_lines_o(fetch),
    .end_o(ends), .end_state_o(end_state), .opened_o(opened), .header_o(header), .fails_o(fails),
    .place_o(place),
    .opened_read_i, .opened_place_i, .opened_leaf_o(opened_leaf)
  );

  always_comb begin
    unique case (start_step_i)
      2'd0: start_step = SlotSamples;
      2'd1: start_step = SlotHeads;
      2'd2: start_step = SlotCurrent;
      default: start_step = SlotLog;
    endcase
    geometry = '{node_bytes: {10'h100, prefetch_i}};
    open = '0;
    open.is_get = is_get_q[open_place_q];
    summary = '{head: '0, fingerprint: 8'(fingerprint_i)};
    line = '0;
    {line[15:8], line[2:0]} = {searched_i, search_i};
  end

  // ---- for each slot: a step has begun and not ended; the search of the step has ended; its result; the
  // fingerprint of the key; the leaf that was opened last

  typedef struct packed {
    logic [1:0] fingerprint;
    result_t result;
  } leaf_t;

  // is_later: a step of the leaf has begun; has_walked: the words of its log were read in this step;
  // is_first: the step that begins is the first one of its leaf, and not that with samples
  logic [1:0] steps_q, searched_q, is_later_q, has_walked_q, from_copy_q;
  logic [1:0] has_summary_q, has_opened_q, is_opened_q;
  slot_state_e [1:0] step_q;
  result_t [1:0] result_q;
  logic [1:0][1:0] fingerprint_q;
  leaf_t [1:0] opened_q;
  logic search_place_q, is_first_q, reads_opened_q;
  leaf_t read_q;
  logic [3:0] delayed_q;
  logic search_ends, search_reads, prefetches, walks;

  assign search_ends = u_opener.u_searches.u_search.done_o;
  assign search_reads = u_opener.u_searches.u_search.line_valid_o;
  assign prefetches = u_opener.u_prefetcher.works_q;
  assign walks = u_opener.u_log.line_valid_o;

  always_ff @(posedge clk_i) begin
    is_get_q <= is_get_q;
    if (open_read) open_place_q <= open_place;
    woken_q <= woken_i & ~wakes;
    for (int unsigned slot = 0; slot < 2; slot++) begin
      if (state[slot] inside {SlotIdle, SlotBegin}) failed_q[slot] <= 1'b0;
      else if (fails_i[slot] || (fails && place == slot[0])) failed_q[slot] <= 1'b1;
      copied_q[slot] <= start_i && start_place_i == slot[0] ? copied_i[slot] : copied_q[slot];
      if (wakes[slot]) {steps_q[slot], searched_q[slot], step_q[slot]} <= {2'b10, state[slot]};
      if (wakes[slot]) is_later_q[slot] <= 1'b1;
      if (start_i && start_place_i == slot[0]) is_later_q[slot] <= 1'b0;
      if (wakes[slot]) has_walked_q[slot] <= 1'b0;
      else if (walks && line_ready_i && place == slot[0]) has_walked_q[slot] <= 1'b1;
      if (wakes[slot] && state[slot] == SlotSamples) from_copy_q[slot] <= copied_q[slot];
      if (summary_i && summary_place_i == slot[0])
        {has_summary_q[slot], fingerprint_q[slot]} <= {1'b1, fingerprint_i};
      if (search_ends && search_place_q == slot[0]) {searched_q[slot], result_q[slot]} <= {1'b1, searched_i};
      if (ends && place == slot[0]) begin
        steps_q[slot] <= 1'b0;
        if (end_state == SlotFetch)
          {is_opened_q[slot], has_opened_q[slot], opened_q[slot]} <=
              {1'b1, has_summary_q[slot], fingerprint_q[slot], result_q[slot]};
      end
      if (rst) {steps_q[slot], has_summary_q[slot], is_opened_q[slot]} <= '0;
    end
    is_first_q <= 1'b0;
    for (int unsigned slot = 0; slot < 2; slot++) begin
      if (wakes[slot]) search_place_q <= slot[0];
      if (wakes[slot] && !is_later_q[slot] && state[slot] != SlotSamples) is_first_q <= 1'b1;
    end
    if (opened_read_i) {reads_opened_q, read_q} <= {has_opened_q[opened_place_i], opened_q[opened_place_i]};
    delayed_q <= delayed_q + 1'b1;
    if (steps_q == '0 || wakes != '0 || ends || prefetches || (line_valid && !line_ready_i)
        || u_opener.u_searches.u_search.works_q) delayed_q <= '0;
    if (rst) {is_first_q, reads_opened_q, delayed_q} <= '0;
  end

  // ---- the end of a step

  result_t result;
  logic has_log, walks_log, may_have;
  slot_state_e expected_state;
  leaf_columns_t columns;

  assign result = result_q[place];
  assign has_log = !is_get_q[place] && result.entries != '0;
  assign walks_log = has_log && !result.is_too_long
      && (step_q[place] == SlotLog || (step_q[place] == SlotHeads && !from_copy_q[place]));

  always_comb begin
    unique case (step_q[place])
      SlotSamples: expected_state = result.has_groups ? SlotHeads : from_copy_q[place] ? SlotCurrent
          : has_log ? SlotLog : SlotFetch;
      SlotHeads: expected_state = from_copy_q[place] ? SlotCurrent : SlotFetch;
      SlotCurrent: expected_state = has_log ? SlotLog : SlotFetch;
      default: expected_state = SlotFetch;
    endcase
    columns = '0;
    columns.items_start = offset_t'(read_q.result.columns);
    // One tag is that of the leaf, and the others are not those of a key.
    may_have = read_q.result.entries != '0 && read_q.result.tag == read_q.fingerprint;
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      // As scan_slots does.
      BeginsWhenIdle : assume (!begin_i || state[begin_place_i] == SlotIdle);
      StartsALeaf : assume (!start_i || state[start_place_i] == SlotBegin);
      ReadsAnOpenLeaf : assume (!opened_read_i
          || (is_opened_q[opened_place_i] && state[opened_place_i] == SlotReady));
      // As slot_reads does: a slot is woken until its step begins.
      StaysWoken : assume ((woken_q & ~woken_i) == '0);
      // As the step before does, if the leaf does not begin with this one.
      SearchIsKnown : assume (!is_first_q
          || u_opener.u_searches.former.from_copy == from_copy_q[search_place_q]);
      // As key_summaries does, before it wakes the slot.
      SummaryIsFirst : assume (!summary_i || (state[summary_place_i] inside {SlotHeader, SlotSamples}
          && !woken_i[summary_place_i] && !steps_q[summary_place_i]));
    end
  end

  for (genvar slot = 0; slot < 2; slot++) begin : gen_slots
    always @(posedge clk_i) begin
      if (!rst) begin
        GrantsWhenReady : assume (!grant_i[slot] || state[slot] == SlotReady);
        LeavesWhenGranted : assume (!leaves_i[slot] || state[slot] == SlotGranted);
        // As slot_reads does: the first header stays until that step.
        FirstHeaderStays : assume (state[slot] != SlotSamples || copied_i[slot] == copied_q[slot]);
        NoCopyIsCurrent : assume (!(state[slot] inside {SlotCurrent, SlotLog}) || !copied_i[slot]);

        BeginsAStep : assert (!wakes[slot]
            || (!steps_q[slot] && state[slot] inside {SlotSamples, SlotHeads, SlotCurrent, SlotLog}));
        WorksUntilTheEnd : assert (!steps_q[slot] || works[slot]);
        StateStays : assert (!steps_q[slot] || state[slot] == step_q[slot]);
      end
    end
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      OneBegins : assert (wakes != '1);
      EndsAStep : assert (!ends || (steps_q[place] && searched_q[place]));
      EndsInItsState : assert (!ends || end_state == expected_state);
      OpensAtTheEnd : assert (opened == (ends && end_state == SlotFetch));
      FailsIfTooLarge : assert (fails == (ends && result.is_too_long));
      HeaderIsThatOfTheLeaf : assert (!ends
          || header[LineBits-1-:128] == {{14{8'hff}}, 8'hfe, 8'(result.tag)});
      FetchesForItsSlot : assert (!fetches || (steps_q[place] && searched_q[place] && !result.is_too_long));
      FetchIsThatOfAPart : assert (!fetches || fetch == (prefetches ? u_opener.u_prefetcher.fetch_o
          : u_opener.u_log.fetch_o));
      WalksTheLog : assert (walks ? walks_log : !ends || has_walked_q[place] == walks_log);
      OnePartReads : assert (!(walks && search_reads && u_opener.u_searches.u_search.line_ready_i));
      LineIsOfAPart : assert (!line_valid || (walks
          ? line_place == place && line_number == u_opener.u_log.line_number_o && steps_q[place]
          : line_place == search_place_q && line_number == u_opener.u_searches.u_search.line_number_o
          && steps_q[search_place_q] && !searched_q[search_place_q]));
      OpenedIsThatOfItsSlot : assert (!reads_opened_q || opened_leaf == opened_t'{
          fingerprint: 8'(read_q.fingerprint), log_may_have: may_have, columns: columns,
          equal: '{first: number_t'(read_q.result.columns), last: number_t'(read_q.result.tag)},
          item_offset: offset_t'(read_q.result.tag)});
      IsNotDelayed : assert (delayed_q < 4'(Delay));
    end
  end

endmodule

`default_nettype wire
