// Finds the position of a key in a leaf: the first sorted item whose key is not smaller (with after_i:
// greater), and the first such entry of the sorted log. Only items with the head of the search key are
// compared, by halving their range, and only entries before the item of the position. While an item is
// compared, the finder looks up the entries before it: mostly the position is this item.

`default_nettype none

`include "assertions.svh"

module position_finder
  import layout_pkg::*;
  import accelerator_pkg::*;
  import search_pkg::*;
  import scan_pkg::*;
#(
  parameter int unsigned EntriesMax = 64,
  localparam int unsigned CountBits = $clog2(EntriesMax + 1)
) (
  input logic clk_i,
  input logic rst_i,

  // accepted when the position is found
  input logic find_valid_i,
  output logic find_ready_o,
  // verilator lint_off UNUSEDSIGNAL
  input node_header_t header_i,
  // verilator lint_on UNUSEDSIGNAL
  // the sorted items with the head of the search key
  input indexes_t equal_i,
  input logic by_upper_i,
  input key_length_t key_length_i,
  input logic after_i,
  input logic is_scan_i,

  // index of the sorted item, and of the log entry
  output number_t sorted_o,
  output logic [CountBits-1:0] log_o,
  // the sorted block has the key, in this item
  output logic found_o,
  output item_result_t found_item_o,

  input logic [CountBits-1:0] log_count_i,
  output logic [CountBits-1:0] log_index_o,
  input sorted_entry_t log_entry_i,
  // another log follows
  input logic log_changes_i,
  // the number of entries with a smaller back pointer than sought_o had in the cycle before
  output number_t sought_o,
  input logic [CountBits-1:0] log_before_i,

  output logic part_valid_o,
  input logic part_ready_i,
  output part_read_t part_read_o,
  // verilator lint_off UNUSEDSIGNAL
  input part_t part_i
  // verilator lint_on UNUSEDSIGNAL
);

  typedef enum logic [2:0] {
    StateIdle,
    // compares the item in the middle of the range
    StateItem,
    // waits for the first entry whose back pointer is not smaller
    StateRank,
    // compares it, and those that follow, if their back pointer is the position
    StateCompare,
    StateLook,
    StateEntry,
    StateDone
  } state_e;

  state_e state_q, state_d;
  // The position is in this range.
  number_t low_q, low_d, high_q, high_d, middle_q;
  logic [CountBits-1:0] log_q, log_d;
  // verilator lint_off UNUSEDSIGNAL
  sorted_entry_t entry_q;
  // verilator lint_on UNUSEDSIGNAL
  logic found_q, found_d, is_before, is_empty, has_entry;
  item_result_t found_item_q;
  // The cycles since the place or the log has changed, up to two.
  number_t sought, sought_q;
  logic is_same, is_settled, log_changed_q;
  logic [1:0] steady_q;
  // verilator lint_off UNUSEDSIGNAL
  lock_and_size_t state;
  // verilator lint_on UNUSEDSIGNAL

  assign state = header_i.lock_and_size;
  // The part that was read precedes the position.
  assign is_before = part_i.less || (part_i.equal && after_i);
  // Entries with a smaller back pointer precede the position, entries with a greater one follow it.
  assign has_entry = log_q != log_count_i && entry_q.back_pointer == low_q;

  always_comb begin
    {low_d, high_d} = {low_q, high_q};
    if (state_q == StateIdle) begin
      {low_d, high_d} = equal_i;
    end else if (state_q == StateItem && part_ready_i) begin
      if (is_before) low_d = middle_q + 1'b1;
      else high_d = middle_q;
      if (part_i.equal && !after_i) low_d = middle_q;
    end
  end

  assign is_empty = low_d == high_d;

  // A place is sought: one cycle later its number of entries is known, then log_q, then entry_q.
  assign sought = state_q == StateItem ? middle_q : low_q;
  assign is_same = sought == sought_q;
  assign is_settled = is_same && steady_q == 2'd2;

  always_ff @(posedge clk_i) begin
    sought_q <= sought;
    log_changed_q <= log_changes_i;
    if (log_changed_q || !is_same) steady_q <= '0;
    else if (steady_q != 2'd2) steady_q <= steady_q + 1'b1;
  end

  always_comb begin
    state_d = state_q;
    log_d = state_q inside {StateIdle, StateItem, StateRank} ? log_before_i : log_q;
    found_d = found_q;
    unique case (state_q)
      StateIdle: begin
        found_d = 1'b0;
        if (find_valid_i) state_d = is_empty ? StateRank : StateItem;
      end
      StateItem: if (part_ready_i) begin
        found_d = found_q || part_i.equal;
        if (is_empty) state_d = StateRank;
        // A get needs no position.
        if (part_i.equal && !is_scan_i) state_d = StateDone;
      end
      StateRank: begin
        if (is_settled) state_d = has_entry ? StateCompare : StateDone;
        if (log_count_i == '0) {state_d, log_d} = {StateDone, CountBits'(0)};
      end
      StateLook: state_d = StateEntry;
      StateEntry: state_d = has_entry ? StateCompare : StateDone;
      StateCompare: if (part_ready_i) begin
        log_d = log_q + CountBits'(is_before);
        state_d = is_before ? StateLook : StateDone;
      end
      default: state_d = StateIdle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    {low_q, high_q} <= {low_d, high_d};
    middle_q <= number_t'((NumberBits+1)'({1'b0, low_d} + {1'b0, high_d}) >> 1);
    log_q <= log_d;
    if (state_q != StateCompare) entry_q <= log_entry_i;
    found_q <= found_d;
    if (state_q == StateItem && part_ready_i && part_i.equal)
      found_item_q <= found_item(part_i, header_i.node_version);
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= StateIdle;
    else state_q <= state_d;
  end

  always_comb begin
    part_read_o = '0;
    part_read_o.part = state_q == StateItem ? PartItem : PartEntry;
    part_read_o.index = state_q == StateItem ? middle_q : low_q;
    if (state_q != StateItem) part_read_o.offset = entry_q.entry;
    part_read_o.limit = offset_t'(state.size);
    part_read_o.compares = 1'b1;
    part_read_o.by_upper = by_upper_i;
    part_read_o.key_first = key_length_t'(header_i.prefix_length);
    part_read_o.key_last = key_length_i;
  end

  assign part_valid_o = state_q inside {StateItem, StateCompare};
  assign find_ready_o = state_q == StateDone;
  assign log_index_o = log_q;
  assign sorted_o = low_q;
  assign sought_o = sought;
  assign log_o = log_q;
  assign found_o = found_q;
  assign found_item_o = found_item_q;

  `ASSERT_OFFER_STAYS(FindStays, find_valid_i, find_ready_o, {by_upper_i, key_length_i, after_i})
  `ASSERT(RangeIsOrdered, (state_q == StateIdle && !find_valid_i) || low_d <= high_d)
  `ASSERT(LogIsThatOfThePlace, !(state_q == StateRank && is_settled) || log_count_i == '0 ||
      (log_q == log_before_i && (log_q == log_count_i || entry_q == log_entry_i)))
  `COVER(IsLookedUpMeanwhile, state_q == StateRank && is_settled && log_count_i != '0)
  `COVER(PlaceChanges, state_q == StateRank && !is_settled)
  `COVER(HalvesEqualHeads, state_q == StateItem && high_q - low_q > 2)
  `COVER(AfterAnEntry, state_q == StateCompare && log_d != log_q)
  `COVER(NoItemHasTheHead, state_q == StateIdle && find_valid_i && low_d == high_d)

endmodule

`default_nettype wire
