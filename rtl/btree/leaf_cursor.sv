// A cursor over the pairs of a leaf, which merges the sorted log with the sorted block. It is between two
// pairs: before the sorted item with index sorted_q and the log entry with index log_q. A log entry comes
// before the sorted item at its back pointer, and in place of it if it replaces that item, so merging
// compares no keys. A step can compare the key of its pair with a bound. A step from one sorted item to the
// next, with no entry between them, begins to read at once.

`default_nettype none

`include "assertions.svh"

module leaf_cursor
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

  // moves the cursor to a position; set_has_entry_i: log_entry_i is the entry at set_log_i, and not that at
  // log_index_o
  input logic set_i,
  input logic set_has_entry_i,
  input number_t set_sorted_i,
  input logic [CountBits-1:0] set_log_i,

  // steps over a pair; accepted when that is done
  input logic step_valid_i,
  output logic step_ready_o,
  input logic step_back_i,
  input logic compares_i,
  input logic by_upper_i,
  input key_length_t key_length_i,
  // the part that was read last is in use, so a step that reads none waits
  input logic hold_i,
  // valid when a step is accepted: a pair exists, and its item, which is the part that was read last
  output logic found_o,
  output item_result_t item_o,

  // verilator lint_off UNUSEDSIGNAL
  input node_header_t header_i,
  // verilator lint_on UNUSEDSIGNAL

  input logic [CountBits-1:0] log_count_i,
  output logic [CountBits-1:0] log_index_o,
  // verilator lint_off UNUSEDSIGNAL
  input sorted_entry_t log_entry_i,
  // verilator lint_on UNUSEDSIGNAL
  input logic log_hidden_i,

  output logic part_valid_o,
  input logic part_ready_i,
  output part_read_t part_read_o,
  // verilator lint_off UNUSEDSIGNAL
  input part_t part_i
  // verilator lint_on UNUSEDSIGNAL
);

  typedef enum logic [2:0] {
    // waits for a step, and for the log entry at log_index_o
    StateChoose,
    StateEntry,
    StateItem,
    StateDone
  } state_e;

  state_e state_q, state_d;
  number_t sorted_q, sorted_d, count, item_before;
  // The item of the step; a register, because a step is chosen before it reads.
  number_t item_q;
  logic [CountBits-1:0] log_q, log_d;
  // verilator lint_off UNUSEDSIGNAL
  sorted_entry_t entry_q;
  // verilator lint_on UNUSEDSIGNAL
  // an entry is on the side of the step; an older entry of the key of its neighbour
  logic has_entry_q, hidden_q, found_q, found_d;
  // the entry is that of log_q on the side looks_back_q
  logic looked_q, looks_back_q, knows_entry, set_knows;
  // The item after that of the step is the pair of the next step, if this has the same direction; the step
  // before has ended in the last cycle with an item, and this holds.
  logic item_follows_q, goes_on_q, goes_on;
  // The entry may be the pair of the step; a step back passes an entry at the item before the cursor only if
  // it replaces this item.
  logic may_pass, passes, has_item, moves_log;
  // verilator lint_off UNUSEDSIGNAL
  lock_and_size_t state;
  // verilator lint_on UNUSEDSIGNAL

  assign state = header_i.lock_and_size;
  assign count = number_t'(header_i.sorted_count);
  assign item_before = sorted_q - 1'b1;
  assign knows_entry = looked_q && looks_back_q == step_back_i;
  assign goes_on = state_q == StateChoose && goes_on_q && step_valid_i && looks_back_q == step_back_i;
  // The entry on the side of the next step is that of this cycle, or there is none.
  assign set_knows = log_count_i == '0 || (set_has_entry_i ? !step_back_i : set_log_i == log_q);
  assign log_index_o = step_back_i ? log_q - 1'b1 : log_q;

  always_comb begin
    if (step_back_i) begin
      may_pass = has_entry_q && (entry_q.back_pointer >= sorted_q ||
          (sorted_q != '0 && entry_q.back_pointer == item_before));
      passes = entry_q.back_pointer >= sorted_q || part_i.word.replaces;
      has_item = sorted_q != '0;
    end else begin
      may_pass = has_entry_q && entry_q.back_pointer <= sorted_q;
      passes = 1'b1;
      has_item = sorted_q != count;
    end
  end

  always_comb begin
    state_d = state_q;
    sorted_d = sorted_q;
    moves_log = 1'b0;
    found_d = found_q;
    unique case (state_q)
      StateChoose: if (step_valid_i && knows_entry) begin
        found_d = 1'b1;
        if (goes_on) begin
          state_d = StateItem;
        end else if (may_pass && hidden_q) begin
          // The key of the entry has a newer one.
          moves_log = 1'b1;
        end else if (may_pass) begin
          state_d = StateEntry;
        end else if (has_item) begin
          state_d = StateItem;
        end else if (!hold_i) begin
          {state_d, found_d} = {StateDone, 1'b0};
        end
      end
      StateEntry: if (part_ready_i && passes) begin
        moves_log = 1'b1;
        if (part_i.word.replaces && step_back_i) sorted_d = entry_q.back_pointer;
        else if (part_i.word.replaces && entry_q.back_pointer == sorted_q) sorted_d = sorted_q + 1'b1;
        state_d = part_i.word.tombstone ? StateChoose : StateDone;
      end else if (part_ready_i) begin
        state_d = StateItem;
      end
      StateItem: if (part_ready_i) begin
        sorted_d = step_back_i ? item_before : sorted_q + 1'b1;
        state_d = StateChoose;
      end
      default: state_d = StateChoose;
    endcase
    log_d = log_q;
    if (moves_log) log_d = step_back_i ? log_q - 1'b1 : log_q + 1'b1;
    if (set_i) {sorted_d, log_d} = {set_sorted_i, set_log_i};
  end

  always_ff @(posedge clk_i) begin
    sorted_q <= sorted_d;
    item_q <= step_back_i ? item_before : sorted_q;
    if (state_q == StateItem && part_ready_i) item_q <= step_back_i ? item_q - 1'b1 : item_q + 1'b1;
    // The position and the entry are constant while an item is read.
    if (step_back_i) item_follows_q <= item_before != '0 &&
        (!has_entry_q || (NumberBits+1)'(entry_q.back_pointer) + 2 < (NumberBits+1)'(sorted_q));
    else item_follows_q <= sorted_q + 1'b1 != count &&
        (!has_entry_q || entry_q.back_pointer > sorted_q + 1'b1);
    log_q <= log_d;
    found_q <= found_d;
    {entry_q, hidden_q} <= {log_entry_i, log_hidden_i};
    {looked_q, looks_back_q} <= {!moves_log && (!set_i || set_knows), step_back_i};
    has_entry_q <= (set_i ? set_log_i : log_q) != (step_back_i ? '0 : log_count_i);
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) {state_q, goes_on_q} <= {StateChoose, 1'b0};
    else {state_q, goes_on_q} <= {state_d, state_q == StateItem && part_ready_i && item_follows_q};
  end

  always_comb begin
    part_read_o = '0;
    part_read_o.part = state_q == StateEntry ? PartEntry : PartItem;
    part_read_o.index = item_q;
    part_read_o.offset = entry_q.entry;
    part_read_o.limit = offset_t'(state.size);
    part_read_o.compares = compares_i;
    part_read_o.by_upper = by_upper_i;
    part_read_o.key_first = key_length_t'(header_i.prefix_length);
    part_read_o.key_last = key_length_i;
  end

  assign part_valid_o = state_q inside {StateEntry, StateItem} || goes_on;
  assign step_ready_o = state_q == StateDone || (state_q == StateItem && part_ready_i);
  assign found_o = found_q;
  // A scan does not report versions of pairs.
  assign item_o = found_item(part_i, '0);

  `ASSERT(SetBetweenSteps, !set_i || (state_q == StateChoose && !step_valid_i))
  `ASSERT(DecidesAsWithoutHaste, !goes_on || (knows_entry && !may_pass && has_item))
  `ASSERT(ItemIsThatOfTheStep, !part_valid_o || item_q == (step_back_i ? item_before : sorted_q))
  `ASSERT_OFFER_STAYS(StepStays, step_valid_i, step_ready_o, {step_back_i, compares_i, by_upper_i})
  `COVER(EntryBeforeSorted, state_q == StateEntry && part_ready_i && !step_back_i && sorted_d == sorted_q)
  `COVER(EntryReplacesSorted, state_q == StateEntry && part_ready_i && !step_back_i && sorted_d != sorted_q)
  `COVER(PassesTombstone, state_q == StateEntry && state_d == StateChoose && !step_back_i)
  `COVER(PassesOlderEntry, state_q == StateChoose && log_d != log_q && !set_i && !step_back_i)
  `COVER(BackToEntry, state_q == StateEntry && state_d == StateDone && step_back_i)
  `COVER(BackToSorted, state_q == StateItem && part_ready_i && step_back_i)
  `COVER(BackOverTombstone, state_q == StateEntry && state_d == StateChoose && step_back_i)
  `COVER(BackOverOlderEntry, state_q == StateChoose && log_d != log_q && !set_i && step_back_i)
  `COVER(KnowsTheEntry, set_i && set_has_entry_i && set_knows && set_log_i != log_q)
  `COVER(GoesOn, goes_on && !step_back_i)
  `COVER(GoesOnBack, goes_on && step_back_i)
  `COVER(EntryBeforeTheItem, state_q == StateEntry && part_ready_i && !passes)

endmodule

`default_nettype wire
