// Finds the sorted items of a leaf whose heads equal that of the search key, in steps between which lines of
// the leaf arrive. Each step reads the header and the columns first:
//
//   SlotSamples: header | columns and samples | samples | counts | the groups of heads, or no search
//   SlotHeads:   header | columns | heads of the groups | counts | offset of the first item | result
//   SlotCurrent: header | columns | the result of the step before
//   SlotLog:     likewise
//
// The samples select the groups of heads that may have the head; mostly it is one. The number of heads that
// are less, and of those that are not greater, are the result, with the offset of the first of these items.
// Without a key, or without items, nothing is searched. Outputs are stable from done_o until start_i.

`default_nettype none

`include "assertions.svh"

module leaf_search
  import layout_pkg::*;
  import accelerator_pkg::*;
  import search_pkg::*;
  import scan_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  // begins a step; the step, and the results of the one before, are constant until done_o
  input logic start_i,
  input slot_state_e step_i,
  // verilator lint_off UNUSEDSIGNAL
  input search_t before_i,
  // verilator lint_on UNUSEDSIGNAL

  // Constant until done_o. Without a key the read begins before all items, or at_end_i after them.
  input logic has_key_i,
  input logic at_end_i,
  input head_t head_i,

  // a line of the leaf, one cycle after its request was accepted
  output logic line_valid_o,
  input logic line_ready_i,
  output line_count_t line_number_o,
  input line_t line_i,

  // for one cycle
  output logic done_o,
  output node_header_t header_o,
  output leaf_columns_t columns_o,
  // the heads of these items are to be searched in another step
  output logic has_groups_o,
  output indexes_t groups_o,
  // the result, unless there are groups in step SlotSamples
  output indexes_t equal_o,
  // the offset of the first of these items, or of the item after them
  output offset_t item_offset_o
);

  typedef enum logic [3:0] {
    Idle,
    Header,
    Columns,
    // the next line of samples, unless nothing is searched
    Samples,
    Groups,
    Heads,
    // waits for the counts
    Counts,
    Place,
    // the line with the offset of the first item, and its number
    Offset,
    Number,
    Product,
    Result
  } state_e;

  state_e state_q, state_d, arrives_q;
  node_header_t header_q;
  // verilator lint_off UNUSEDSIGNAL
  columns_t first_samples;
  // verilator lint_on UNUSEDSIGNAL
  leaf_columns_t columns_q;
  number_t count, low, low_q, left_q, heads_q, less_q, not_greater_q;
  indexes_t groups_q, equal_q;
  logic searches, is_edge, accepts, arrives;
  // Lines whose counts are not added yet.
  logic [1:0] pending_q;
  line_count_t head_line_q;
  // verilator lint_off UNUSEDSIGNAL
  offset_t offset_place, offset_place_q;
  // verilator lint_on UNUSEDSIGNAL
  offset_t product_q, item_offset_q;
  column_line_t counted;
  column_counts_t counts;
  logic counts_line, counts_valid;

  assign count = number_t'(header_q.sorted_count);
  assign searches = has_key_i && count != '0;
  assign accepts = line_valid_o && line_ready_i;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle: if (start_i) state_d = Header;
      Header: if (accepts) state_d = Columns;
      Columns: if (accepts) state_d = step_i == SlotSamples ? Samples : step_i == SlotHeads ? Heads : Result;
      Samples: if (!searches) state_d = Place; else if (accepts) state_d = Groups;
      Groups: if (pending_q == '0 && !arrives) state_d = Result;
      Heads: if (accepts && left_q <= number_t'(Elements)) state_d = Counts;
      Counts: if (pending_q == '0 && !arrives) state_d = Place;
      Place: state_d = is_edge || columns_q.stride != '0 ? Product : Offset;
      Offset: if (accepts) state_d = Number;
      Number: if (counts_valid) state_d = Product;
      Product: state_d = Result;
      default: if (done_o) state_d = Idle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) {state_q, arrives_q} <= {Idle, Idle};
    else {state_q, arrives_q} <= {state_d, accepts ? state_q : Idle};
  end

  assign arrives = arrives_q != Idle;
  assign line_valid_o = state_q inside {Header, Columns, Heads, Offset} || (state_q == Samples && searches);

  always_comb begin
    line_number_o = '0;
    unique case (state_q)
      Columns: line_number_o = line_count_t'(1);
      Samples: line_number_o = line_count_t'(2);
      Heads: line_number_o = head_line_q;
      Offset: line_number_o = line_count_t'(offset_place_q >> LineIndexBits);
      default: ;
    endcase
  end

  // ---- the header, and the word before the samples

  assign first_samples = columns_t'({960'd0, line_i[63:0]});

  always_ff @(posedge clk_i) begin
    if (arrives_q == Header) header_q <= node_header_t'(line_i);
    if (arrives_q == Columns) begin
      columns_q.items_start <= offset_t'(first_samples.items_start);
      columns_q.stride <= stride_t'(first_samples.stride);
      columns_q.suffix_length <= ItemWordSuffixLengthBits'(first_samples.suffix_length);
      columns_q.value_length <= ItemWordValueLengthBits'(first_samples.value_length);
      columns_q.offsets_start <= head_offset(count);
      columns_q.fences_start <= head_offset(count) +
          (stride_t'(first_samples.stride) == '0 ? offset_t'(count) << 1 : offset_t'('0));
    end
  end

  // ---- counts of samples, heads, and an element of the offsets

  assign counts_line = arrives_q inside {Samples, Heads, Offset} ||
      (arrives_q == Columns && step_i == SlotSamples && searches);

  always_comb begin
    counted = '{use_as: '0, data: line_i};
    counted.use_as.head = head_i;
    counted.use_as.skips_first = arrives_q == Columns;
    counted.use_as.heads = (ElementBits+1)'(Elements);
    if (arrives_q == Heads && heads_q < number_t'(Elements))
      counted.use_as.heads = (ElementBits+1)'(heads_q);
    if (arrives_q == Offset) counted.use_as.heads = '0;
    counted.use_as.element = offset_place_q[LineIndexBits-1:3];
  end

  head_counter u_counter (
    .clk_i,
    .rst_i,
    .line_valid_i(counts_line),
    .line_i(counted),
    .line_last_i(1'b1),
    .line_tag_i(1'b0),
    .counts_valid_o(counts_valid),
    .counts_o(counts),
    .counts_tag_o()
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) pending_q <= '0;
    else pending_q <= pending_q + 2'(counts_line) - 2'(counts_valid);
    // The counts begin at the first head that is counted.
    if (state_q == Header) begin
      {less_q, not_greater_q} <= step_i == SlotHeads ? {2{before_i.groups.first}} : '0;
    end else if (counts_valid) begin
      less_q <= less_q + number_t'(counts.less);
      not_greater_q <= not_greater_q + number_t'(counts.not_greater);
    end
  end

  // ---- groups. Samples of missing groups can equal the head.

  logic [2:0] group_bits;
  group_t low_group, group, last_group_q;

  assign group_bits = header_q.group_bits[2:0];
  assign low_group = group_t'(less_q);
  assign group = not_greater_q > number_t'(last_group_q) ? last_group_q : group_t'(not_greater_q);

  always_ff @(posedge clk_i) begin
    last_group_q <= group_t'((count - 1'b1) >> group_bits);
    if (state_q == Groups) begin
      groups_q.first <= number_t'(low_group) << group_bits;
      groups_q.last <= group == last_group_q ? count : (number_t'(group) + 1'b1) << group_bits;
    end else if (state_q == Header) begin
      groups_q <= before_i.groups;
    end
  end

  // Heads that are left to request; those of the line that arrives, and after it.
  always_ff @(posedge clk_i) begin
    if (state_q == Columns) begin
      head_line_q <= line_count_t'(HeadsLine) + line_of(groups_q.first);
      left_q <= groups_q.last - groups_q.first;
    end else if (state_q == Heads && accepts) begin
      head_line_q <= head_line_q + 1'b1;
      left_q <= left_q - number_t'(Elements);
    end
    heads_q <= left_q;
  end

  // ---- the offset of the first item: at the edges, of all items and of the log

  assign low = step_i == SlotHeads ? less_q : at_end_i ? count : '0;
  assign is_edge = low_q == '0 || low_q == count;
  assign offset_place = columns_q.offsets_start + (offset_t'(low) << 1);

  always_ff @(posedge clk_i) begin
    {low_q, offset_place_q} <= {low, offset_place};
    if (counts_valid) product_q <= offset_t'(counts.element[16*offset_place_q[2:1]+:16]) << 2;
    if (state_q == Place && columns_q.stride != '0)
      product_q <= offset_t'(low_q) * offset_t'(columns_q.stride);
    if (state_q == Product) begin
      item_offset_q <= (columns_q.stride == '0 ? '0 : columns_q.items_start) + product_q;
      if (low_q == '0) item_offset_q <= columns_q.items_start;
      if (low_q == count) item_offset_q <= offset_t'(header_q.sorted_end);
      equal_q <= step_i == SlotHeads ? {less_q, not_greater_q} : {2{low_q}};
    end
    if (state_q == Header) {equal_q, item_offset_q} <= {before_i.equal, before_i.item_offset};
  end

  assign done_o = state_q == Result && !arrives;
  assign header_o = header_q;
  assign columns_o = columns_q;
  assign has_groups_o = step_i == SlotSamples ? searches : before_i.has_groups;
  assign groups_o = groups_q;
  assign equal_o = equal_q;
  assign item_offset_o = item_offset_q;

  `ASSERT(StartsWhenIdle, !start_i || state_q == Idle)
  `ASSERT(CountsAreAwaited, !counts_valid || pending_q != '0)
  `ASSERT(RangeIsOrdered, !done_o || step_i == SlotSamples || equal_o.first <= equal_o.last)
  `ASSERT(GroupsAreInOrder, !done_o || !has_groups_o || groups_o.first < groups_o.last)
  `ASSERT_STAYS(KeyStays, state_q != Idle, state_q == Idle, {step_i, has_key_i, head_i, before_i})
  `COVER(SeveralGroups, done_o && has_groups_o && groups_o.last - groups_o.first > number_t'(GroupHeads))
  `COVER(HeadsAreEqual, done_o && equal_o.last - equal_o.first > 1)
  `COVER(AfterTheLastGroup, state_q == Product && step_i == SlotHeads && low_q == groups_q.last && !is_edge)
  // The last group of a leaf, and leaves with the most heads in groups of 16 and the fewest in groups of 32.
  `COVER(GroupOf16LacksAHead, state_q == Heads && arrives_q == Columns && group_bits == 4 &&
      groups_q.last == count && left_q == 15)
  `COVER(GroupOf16IsFull, state_q == Heads && arrives_q == Columns && group_bits == 4 &&
      groups_q.last == count && left_q == 16)
  `COVER(HeadFollowsAGroupOf16, state_q == Heads && arrives_q == Columns && group_bits == 4 &&
      groups_q.last + 1 == count && left_q == 16)
  `COVER(GroupOf32LacksAHead, state_q == Heads && arrives_q == Columns && group_bits == 5 &&
      groups_q.last == count && left_q == 31)
  `COVER(GroupOf32IsFull, state_q == Heads && arrives_q == Columns && group_bits == 5 &&
      groups_q.last == count && left_q == 32)
  `COVER(HeadFollowsAGroupOf32, state_q == Heads && arrives_q == Columns && group_bits == 5 &&
      groups_q.last + 1 == count && left_q == 32)
  `COVER(GroupsOf16LackAHead, state_q == Heads && count == 16 * 16 - 1)
  `COVER(GroupsOf16AreFull, state_q == Heads && count == 16 * 16)
  `COVER(GroupsOf32Begin, state_q == Heads && count == 16 * 16 + 1)

endmodule

`default_nettype wire
