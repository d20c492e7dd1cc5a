// Opens the leaves of a range scan unit: finds the items at which a scan or get starts, and requests the
// lines that it is likely to need, step by step: see leaf_search and leaf_prefetcher. It requests lines for
// one leaf while it searches another, and works on others while lines arrive. The first header may be that of
// a copy in on-board memory. All that precedes the log needs only fields that never change; the leaf is open
// when its current header, and the log words of a scan, have arrived.
//
//   leaf_searches | the result | prefetches ... | log words ... | end

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

  // see leaf_searches
  input logic summary_i,
  input logic [PlaceBits-1:0] summary_place_i,
  input summary_t summary_key_i,

  // see leaf_windows
  output logic line_valid_o,
  input logic line_ready_i,
  output logic [PlaceBits-1:0] line_place_o,
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
  // the slot of the fetch, and of the step that ends
  output logic [PlaceBits-1:0] place_o,

  // an open leaf, one cycle after the read, until the next read
  input logic opened_read_i,
  input logic [PlaceBits-1:0] opened_place_i,
  output opened_t opened_leaf_o
);

  typedef enum logic [2:0] {
    Idle,
    Begin,
    Prefetch,
    Log,
    End
  } state_e;

  state_e state_q, state_d;
  logic searched_valid, is_taken, prefetched, walked, log_line_valid, search_line_valid;
  logic [PlaceBits-1:0] search_place, place_q;
  logic [Slots-1:0] searches, ends_q;
  line_count_t search_line, log_line;
  searched_t searched, searched_q;
  search_t search;
  indexes_t pairs;
  logic [1:0] fetch_valid;
  fetch_t [1:0] fetch;
  logic sees_log, walks_log, awaits_log;
  opened_t opened;
  // verilator lint_off UNUSEDSIGNAL
  lock_and_size_t state;
  // verilator lint_on UNUSEDSIGNAL

  leaf_searches #(
    .Slots(Slots)
  ) u_searches (
    .clk_i,
    .rst_i,
    .geometry_i,
    .steps_i(steps_i & ~ends_q),
    .state_i, .copied_i,
    .works_o(searches), .wakes_o,
    .open_read_o, .open_place_o, .open_i,
    .summary_i, .summary_place_i, .summary_key_i,
    .line_valid_o(search_line_valid), .line_ready_i(line_ready_i && !log_line_valid),
    .line_number_o(search_line),
    .line_i,
    .searched_valid_o(searched_valid), .searched_ready_i(state_q == Idle),
    .searched_o(searched),
    .place_o(search_place)
  );

  assign is_taken = searched_valid && state_q == Idle;
  assign works_o = searches | ends_q;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle: if (searched_valid) state_d = Begin;
      Begin: state_d = searched_q.is_too_long ? End : Prefetch;
      Prefetch: if (prefetched) state_d = walks_log ? Log : End;
      Log: if (walked) state_d = End;
      default: state_d = Idle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) {state_q, ends_q} <= {Idle, Slots'(0)};
    else begin
      state_q <= state_d;
      if (is_taken) ends_q <= Slots'(1) << search_place;
      else if (end_o) ends_q <= '0;
    end
    if (is_taken) {place_q, searched_q} <= {search_place, searched};
  end

  // ---- requests of lines

  assign {search, state} = {searched_q.search, searched_q.header.lock_and_size};
  // A scan chooses log entries by their words: in the step in which these arrive with the heads, or after it.
  assign sees_log = !searched_q.open.is_get && state.log_count != '0;
  assign walks_log = sees_log &&
      (searched_q.step == SlotLog || (searched_q.step == SlotHeads && !search.from_copy));
  assign awaits_log = sees_log && searched_q.step inside {SlotSamples, SlotCurrent};

  leaf_prefetcher u_prefetcher (
    .clk_i,
    .rst_i,
    .geometry_i,
    .start_i(state_q == Begin && !searched_q.is_too_long),
    .step_i(searched_q.step),
    .open_i(searched_q.open),
    .header_i(searched_q.header),
    .columns_i(searched_q.columns),
    .search_i(search),
    .log_may_have_i(searched_q.log_may_have),
    .done_o(prefetched),
    .pairs_o(pairs),
    .fetch_valid_o(fetch_valid[0]),
    .fetch_o(fetch[0])
  );

  log_prefetcher u_log (
    .clk_i,
    .rst_i,
    .geometry_i,
    .start_i(state_q == Prefetch && state_d == Log),
    .header_i(searched_q.header),
    .pairs_i(pairs),
    .done_o(walked),
    .line_valid_o(log_line_valid), .line_ready_i,
    .line_number_o(log_line),
    .line_i,
    .fetch_valid_o(fetch_valid[1]),
    .fetch_o(fetch[1])
  );

  assign fetch_o = fetch_valid != '0;
  assign fetch_lines_o = fetch_valid[1] ? fetch[1] : fetch[0];

  // Lines of words go first, because there are few of them.
  assign line_valid_o = search_line_valid || log_line_valid;
  assign line_place_o = log_line_valid ? place_q : search_place;
  assign line_number_o = log_line_valid ? log_line : search_line;

  // ---- the end of a step

  assign end_o = state_q == End;
  assign fails_o = end_o && searched_q.is_too_long;
  assign opened_o = end_o && end_state_o == SlotFetch;
  assign place_o = place_q;
  assign header_o = searched_q.header;

  always_comb begin
    end_state_o = awaits_log ? SlotLog : SlotFetch;
    if (searched_q.step == SlotSamples && search.has_groups) end_state_o = SlotHeads;
    else if (is_search(searched_q.step) && search.from_copy) end_state_o = SlotCurrent;
  end

  function automatic logic is_search(slot_state_e step);
    return step inside {SlotSamples, SlotHeads};
  endfunction

  assign {opened.fingerprint, opened.log_may_have} = {searched_q.fingerprint, searched_q.log_may_have};
  assign opened.columns = searched_q.columns;
  assign {opened.equal, opened.item_offset} = {search.equal, search.item_offset};

  ram #(
    .Width($bits(opened_t)),
    .Depth(2 ** PlaceBits)
  ) u_opened (
    .clk_i,
    .rst_i,
    .write_i(opened_o),
    .write_address_i(place_q),
    .write_data_i(opened),
    .read_i(opened_read_i),
    .read_address_i(opened_place_i),
    .read_data_o(opened_leaf_o)
  );

  `ASSERT(OneFetches, fetch_valid != '1)
  `ASSERT(WorksForTwoSlots, (searches & ends_q) == '0)
  `COVER(SearchesMeanwhile, state_q != Idle && search_line_valid)
  `COVER(SearchWaitsForWords, log_line_valid && search_line_valid)
  `COVER(SearchWaits, searched_valid && state_q != Idle)
  `COVER(LogIsLast, end_o && searched_q.step == SlotLog)

endmodule

`default_nettype wire
