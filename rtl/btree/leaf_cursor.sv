// A cursor over the pairs of a leaf, which merges the sorted log with the sorted block. It is between two
// pairs: before the sorted item at sorted_q and the log entry at log_q. A log entry comes before the
// sorted item at its back pointer, and in place of it if it replaces that item, so merging compares no
// keys. A step can compare the key of its pair with a bound.

`default_nettype none

`include "assertions.svh"

module leaf_cursor
  import layout_pkg::*;
  import accelerator_pkg::*;
  import scan_pkg::*;
#(
  parameter int unsigned EntriesMax = 64,
  localparam int unsigned CountBits = $clog2(EntriesMax + 1)
) (
  input logic clk_i,
  input logic rst_i,

  // moves the cursor to a position; set_segment_i is the segment of the preceding item, or a later one
  input logic set_i,
  input offset_t set_sorted_i,
  input logic [CountBits-1:0] set_log_i,
  input logic [7:0] set_segment_i,

  // steps over a pair; accepted when that is done
  input logic step_valid_i,
  output logic step_ready_o,
  input logic step_back_i,
  input logic compares_i,
  input logic by_upper_i,
  input key_length_t key_length_i,
  // valid when a step is accepted: a pair exists, and its item, which is the one that was read last
  output logic found_o,
  output item_result_t item_o,

  // verilator lint_off UNUSEDSIGNAL
  input node_header_t header_i,
  // verilator lint_on UNUSEDSIGNAL
  output logic seek_o,
  output logic [7:0] seek_index_o,
  input logic bounds_valid_i,
  input offset_t segment_begin_i,

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
    Merge,
    // steps back: to the segment of the sorted item before the cursor, and through it to the last item
    Seek,
    Bounds,
    Walk,
    MergeBack
  } state_e;

  typedef enum logic [1:0] {
    LookNowhere,
    LookAtSorted,
    LookAtBefore,
    LookAtEntry
  } look_e;

  state_e state_q, state_d;
  look_e look;
  offset_t sorted_q, sorted_d, before_q, before_d, sorted_end;
  logic [CountBits-1:0] log_q, log_d;
  logic [7:0] segment_q, segment_d;
  // a sorted item precedes the cursor, at before_q
  logic has_before_q, has_before_d;
  logic has_entry, is_next, is_last, is_at_entry, steps_over;
  // verilator lint_off UNUSEDSIGNAL
  lock_and_size_t state;
  // verilator lint_on UNUSEDSIGNAL

  assign state = header_i.lock_and_size;
  assign sorted_end = offset_t'(header_i.sorted_end);
  assign log_index_o = step_back_i ? log_q - 1'b1 : log_q;
  assign has_entry = log_q != (step_back_i ? '0 : log_count_i);
  assign is_next = has_entry && log_entry_i.back_pointer <= sorted_q;
  assign is_last = has_entry && (log_entry_i.back_pointer >= sorted_q ||
      (log_entry_i.replaces && has_before_q && log_entry_i.back_pointer == before_q));
  // The entry has the key of the sorted item after the cursor, so one step passes both.
  assign is_at_entry = log_entry_i.replaces && !log_hidden_i && log_entry_i.back_pointer == sorted_q;
  // The key has no pair here: the entry is superseded, or it is a tombstone.
  assign steps_over = log_hidden_i || log_entry_i.tombstone;

  always_comb begin
    state_d = state_q;
    sorted_d = sorted_q;
    before_d = before_q;
    log_d = log_q;
    segment_d = segment_q;
    has_before_d = has_before_q;
    look = LookNowhere;
    seek_o = 1'b0;
    step_ready_o = 1'b0;
    found_o = 1'b0;

    unique case (state_q)
      Merge: begin
        if (step_valid_i && step_back_i) begin
          state_d = Seek;
        end else if (step_valid_i && is_next && is_at_entry) begin
          look = LookAtSorted;
          if (part_ready_i) sorted_d = sorted_q + item_bytes(part_i.header);
        end else if (step_valid_i && is_next && steps_over) begin
          log_d = log_q + 1'b1;
        end else if (step_valid_i && is_next) begin
          look = LookAtEntry;
          step_ready_o = part_ready_i;
          found_o = 1'b1;
          if (part_ready_i) log_d = log_q + 1'b1;
        end else if (step_valid_i && sorted_q < sorted_end) begin
          look = LookAtSorted;
          step_ready_o = part_ready_i;
          found_o = 1'b1;
          if (part_ready_i) sorted_d = sorted_q + item_bytes(part_i.header);
        end else if (step_valid_i) begin
          step_ready_o = 1'b1;
        end
      end

      Seek: begin
        seek_o = 1'b1;
        state_d = Bounds;
      end
      Bounds: begin
        before_d = segment_begin_i;
        has_before_d = segment_begin_i < sorted_q;
        if (bounds_valid_i && (has_before_d || segment_q == '0)) begin
          state_d = has_before_d ? Walk : MergeBack;
        end else if (bounds_valid_i) begin
          segment_d = segment_q - 1'b1;
          state_d = Seek;
        end
      end
      Walk: begin
        look = LookAtBefore;
        if (part_ready_i) begin
          if (before_q + item_bytes(part_i.header) >= sorted_q) state_d = MergeBack;
          else before_d = before_q + item_bytes(part_i.header);
        end
      end
      default: begin
        if (is_last && steps_over) begin
          log_d = log_q - 1'b1;
          if (log_entry_i.replaces) sorted_d = log_entry_i.back_pointer;
          state_d = Merge;
        end else if (is_last) begin
          look = LookAtEntry;
          step_ready_o = part_ready_i;
          found_o = 1'b1;
          if (part_ready_i) begin
            log_d = log_q - 1'b1;
            if (log_entry_i.replaces) sorted_d = log_entry_i.back_pointer;
          end
        end else if (has_before_q) begin
          look = LookAtBefore;
          step_ready_o = part_ready_i;
          found_o = 1'b1;
          if (part_ready_i) sorted_d = before_q;
        end else begin
          step_ready_o = 1'b1;
        end
        if (step_ready_o) state_d = Merge;
      end
    endcase

    if (set_i) begin
      sorted_d = set_sorted_i;
      log_d = set_log_i;
      segment_d = set_segment_i;
    end
  end

  always_ff @(posedge clk_i) begin
    sorted_q <= sorted_d;
    before_q <= before_d;
    log_q <= log_d;
    segment_q <= segment_d;
    has_before_q <= has_before_d;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= Merge;
    else state_q <= state_d;
  end

  always_comb begin
    part_read_o = '0;
    part_read_o.part = PartItem;
    part_read_o.limit = sorted_end;
    unique case (look)
      LookAtBefore: part_read_o.offset = before_q;
      LookAtEntry: begin
        part_read_o.offset = log_entry_i.item;
        part_read_o.limit = offset_t'(state.size);
      end
      default: part_read_o.offset = sorted_q;
    endcase
    part_read_o.compares = compares_i && found_o;
    part_read_o.by_upper = by_upper_i;
    part_read_o.key_first = key_length_t'(header_i.prefix_length);
    part_read_o.key_last = key_length_i;
  end

  assign part_valid_o = look != LookNowhere;
  assign seek_index_o = segment_q;
  // A scan does not report versions of pairs.
  assign item_o = '{
      offset: part_read_o.offset,
      header: part_i.header,
      version: '0,
      in_window: part_i.in_window
  };

  `ASSERT(SetBetweenSteps, !set_i || (state_q == Merge && !step_valid_i))
  `ASSERT_OFFER_STAYS(StepStays, step_valid_i, step_ready_o, {step_back_i, compares_i, by_upper_i})
  `COVER(EntryBeforeSorted, state_q == Merge && look == LookAtEntry && part_ready_i)
  `COVER(EntryReplacesSorted, state_q == Merge && is_next && is_at_entry && step_valid_i && !step_back_i)
  `COVER(StepsOverEntry, state_q == Merge && is_next && steps_over && step_valid_i && !step_back_i)
  `COVER(BackToEntry, state_q == MergeBack && look == LookAtEntry && part_ready_i)
  `COVER(BackToSorted, state_q == MergeBack && look == LookAtBefore && part_ready_i)
  `COVER(BackOverEntry, state_q == MergeBack && is_last && steps_over)
  `COVER(BackToOtherSegment, state_q == Bounds && bounds_valid_i && segment_d != segment_q)

endmodule

`default_nettype wire
