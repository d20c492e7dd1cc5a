// Finds the sorted items of a leaf whose heads equal that of the search key. It decodes the lines of the leaf
// in order of arrival and requests the ones that follow from them:
//
//   header | samples | heads of the groups | offset of the first item | current header
//
// The last one comes only if the first is that of a copy. The samples select the groups of heads that may
// have the head; mostly it is one. The number of heads that are less, and of those that are not greater, are
// the result. The last step but one yields the offset of the first of these items, so that it can be
// prefetched. Heads are counted, and an element of a line is returned, elsewhere: see leaf_counter. After
// start_i the lines of another leaf begin. All outputs are stable from found_o until the next start_i, except
// for fields of the header that may change.

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

  input logic start_i,

  input  logic  line_valid_i,
  output logic  line_ready_o,
  input  line_t line_i,
  // the first line is the header of a copy
  input  logic  line_copied_i,

  // the line is counted when it is taken; its counts follow
  output logic count_valid_o,
  output column_use_t count_o,
  input logic counts_valid_i,
  input column_counts_t counts_i,

  output logic header_valid_o,
  output node_header_t header_o,
  // the header is that of a copy until the current one arrives
  output logic header_copied_o,
  output leaf_columns_t columns_o,

  // Valid and constant until found_o. Without a key the read begins before all items, or at_end_i after them.
  input logic key_valid_i,
  input logic has_key_i,
  input logic at_end_i,
  input head_t head_i,

  // For one cycle: the heads of these items are requested, and the offsets up to that of the item after them
  // if there is no stride. Their lines are the next ones.
  output logic groups_valid_o,
  output indexes_t groups_o,

  output logic found_o,
  output indexes_t equal_o,
  // the offset of the first of these items, or of the item after them
  output offset_t item_offset_o
);

  typedef enum logic [3:0] {
    StateHeader,
    // two lines with samples, then their counts
    StateFirstSamples,
    StateLastSamples,
    StateGroups,
    // requests the groups
    StateRequest,
    StateHeads,
    StateCounted,
    StateOffset,
    StateOffsetLines,
    StateOffsetFound,
    StateProduct,
    // the result becomes a register
    StateResult,
    StateFound
  } state_e;

  state_e state_q, state_d;
  node_header_t header_q;
  logic copied_q;
  // the word before the samples; the samples go to the counter
  // verilator lint_off UNUSEDSIGNAL
  columns_t first_samples;
  // verilator lint_on UNUSEDSIGNAL
  leaf_columns_t columns_q;
  number_t count, first_q, last_q, last_item_q, less_q, not_greater_q, left_q, low, low_q, edge_q;
  group_t low_group, group, last_group_q;
  indexes_t equal_q;
  logic [2:0] group_bits;
  logic take, searches, is_edge_q, is_last_line, is_wanted;
  // Lines whose counts are not added yet.
  logic [1:0] pending_q;
  offset_t offset_place, first_offset_line_q, last_offset_line_q, wanted_line_q, item_offset_q, product_q;
  offset_t found_offset_q;
  logic [4:0] offset_index;

  assign count = number_t'(header_q.sorted_count);
  assign group_bits = header_q.group_bits[2:0];
  assign first_samples = columns_t'({960'd0, line_i[63:0]});
  assign take = line_valid_i && line_ready_o && !start_i;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StateHeader: if (take) state_d = StateFirstSamples;
      StateFirstSamples: if (take) state_d = StateLastSamples;
      StateLastSamples: if (take) state_d = searches ? StateGroups : StateResult;
      StateGroups: if (pending_q == '0) state_d = StateRequest;
      StateRequest: state_d = StateHeads;
      StateHeads: if (take && is_last_line) state_d = StateCounted;
      StateCounted: if (pending_q == '0) state_d = StateOffset;
      StateOffset: state_d = columns_q.stride == '0 ? StateOffsetLines : StateProduct;
      StateOffsetLines: if (take && left_q == '0) state_d = StateOffsetFound;
      StateOffsetFound: if (pending_q == '0) state_d = StateProduct;
      StateProduct: state_d = StateResult;
      StateResult: state_d = StateFound;
      default: ;
    endcase
    if (start_i) state_d = StateHeader;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= StateHeader;
    else state_q <= state_d;
  end

  // ---- the header, and the word before the samples

  always_ff @(posedge clk_i) begin
    if (take && state_q inside {StateHeader, StateFound}) begin
      header_q <= line_i;
      copied_q <= state_q == StateHeader && line_copied_i;
    end
    if (state_q == StateFirstSamples && take) begin
      columns_q.items_start <= offset_t'(first_samples.items_start);
      columns_q.stride <= stride_t'(first_samples.stride);
      columns_q.suffix_length <= ItemWordSuffixLengthBits'(first_samples.suffix_length);
      columns_q.value_length <= ItemWordValueLengthBits'(first_samples.value_length);
      columns_q.offsets_start <= head_offset(count);
      columns_q.fences_start <= head_offset(count) +
          (stride_t'(first_samples.stride) == '0 ? offset_t'(count) << 1 : offset_t'('0));
    end
  end

  // ---- counts

  always_comb begin
    line_ready_o = 1'b0;
    unique case (state_q)
      StateHeader: line_ready_o = 1'b1;
      StateFirstSamples, StateLastSamples: line_ready_o = key_valid_i;
      StateHeads, StateOffsetLines: line_ready_o = 1'b1;
      StateFound: line_ready_o = copied_q;
      default: ;
    endcase
  end

  assign searches = has_key_i && count != '0;

  always_comb begin
    count_valid_o = take && searches && state_q inside {StateFirstSamples, StateLastSamples, StateHeads};
    if (take && state_q == StateOffsetLines) count_valid_o = is_wanted;
    count_o = '0;
    count_o.head = head_i;
    count_o.skips_first = state_q == StateFirstSamples;
    count_o.heads = (ElementBits+1)'(Elements);
    if (state_q == StateHeads && left_q < number_t'(Elements)) count_o.heads = (ElementBits+1)'(left_q);
    // Of a line of offsets, the eight bytes with the wanted one are returned.
    count_o.element = offset_index[4:2];
    if (state_q == StateOffsetLines) count_o.heads = '0;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) pending_q <= '0;
    else pending_q <= pending_q + 2'(count_valid_o) - 2'(counts_valid_i);
  end

  // The counts begin at the first head that is counted.
  always_ff @(posedge clk_i) begin
    if (state_q == StateHeader) begin
      {less_q, not_greater_q} <= '0;
    end else if (state_q == StateRequest) begin
      {less_q, not_greater_q} <= {2{first_q}};
    end else if (counts_valid_i) begin
      less_q <= less_q + number_t'(counts_i.less);
      not_greater_q <= not_greater_q + number_t'(counts_i.not_greater);
    end
  end

  // ---- groups. Samples of missing groups can equal the head.

  assign low_group = group_t'(less_q);
  assign group = not_greater_q > number_t'(last_group_q) ? last_group_q : group_t'(not_greater_q);

  always_ff @(posedge clk_i) begin
    last_group_q <= group_t'((count - 1'b1) >> group_bits);
    if (state_q == StateGroups) begin
      first_q <= number_t'(low_group) << group_bits;
      last_q <= group == last_group_q ? count : (number_t'(group) + 1'b1) << group_bits;
    end
  end

  assign groups_valid_o = state_q == StateRequest;
  assign groups_o = '{first: first_q, last: last_q};
  assign is_last_line = left_q <= number_t'(Elements);

  // Heads, then lines of offsets, that are left.
  always_ff @(posedge clk_i) begin
    if (state_q == StateRequest) left_q <= last_q - first_q;
    else if (state_q == StateHeads && take) left_q <= left_q - number_t'(Elements);
    else if (state_q == StateOffset) left_q <= number_t'(last_offset_line_q - first_offset_line_q);
    else if (state_q == StateOffsetLines && take) left_q <= left_q - 1'b1;
  end

  // ---- the offset of the first item

  // The lines of the offsets from the first group to the item after the last one; there is none for the item
  // after all, so last_item_q is the last item then.
  assign low = is_edge_q ? edge_q : less_q;
  assign offset_place = columns_q.offsets_start + (offset_t'(low_q) << 1);
  assign offset_index = offset_place[LineIndexBits-1:1];
  assign is_wanted = wanted_line_q == '0;

  always_ff @(posedge clk_i) begin
    low_q <= low;
    // The heads of the groups are counted in between.
    first_offset_line_q <= (columns_q.offsets_start + (offset_t'(first_q) << 1)) >> LineIndexBits;
    last_item_q <= last_q == count ? last_q - 1'b1 : last_q;
    last_offset_line_q <= (columns_q.offsets_start + (offset_t'(last_item_q) << 1)) >> LineIndexBits;
    if (state_q == StateHeader) is_edge_q <= 1'b1;
    else if (state_q == StateGroups) is_edge_q <= 1'b0;
    if (state_q == StateLastSamples) edge_q <= at_end_i ? count : '0;
    if (state_q == StateOffset) begin
      wanted_line_q <= (offset_place >> LineIndexBits) - first_offset_line_q;
      product_q <= offset_t'(low_q) * offset_t'(columns_q.stride);
    end else begin
      if (state_q == StateOffsetLines && take) wanted_line_q <= wanted_line_q - 1'b1;
      if (counts_valid_i) product_q <= offset_t'(counts_i.element[16*offset_index[1:0]+:16]) << 2;
    end
    if (state_q == StateProduct)
      item_offset_q <= (columns_q.stride == '0 ? '0 : columns_q.items_start) + product_q;
  end

  assign header_valid_o = state_q != StateHeader;
  assign header_o = header_q;
  assign header_copied_o = copied_q;
  assign columns_o = columns_q;
  assign found_o = state_q == StateFound;

  always_ff @(posedge clk_i) begin
    if (state_q == StateResult) begin
      equal_q <= '{first: less_q, last: not_greater_q};
      if (is_edge_q) equal_q <= '{first: low, last: low};
      found_offset_q <= item_offset_q;
      if (low == '0) found_offset_q <= columns_q.items_start;
      if (low == count) found_offset_q <= offset_t'(header_q.sorted_end);
    end
  end

  assign equal_o = equal_q;
  assign item_offset_o = found_offset_q;

  // Returns a header without the fields that may change in a published node.
  function automatic node_header_t lasting(node_header_t header);
    node_header_t fields = header;
    {fields.lock_and_size, fields.left, fields.right, fields.tags} = '0;
    return fields;
  endfunction

  `ASSERT(CopyIsOfThisBuffer, !take || state_q != StateFound || lasting(header_q) == lasting(line_i))
  `COVER(HeaderChanged, take && state_q == StateFound && header_q != line_i)
  `ASSERT(CountsOfThisLeaf, !start_i || pending_q == '0)
  `ASSERT(CountsAreAwaited, !counts_valid_i || rst_i || pending_q != '0)
  `ASSERT(RangeIsOrdered, !found_o || equal_o.first <= equal_o.last)
  `ASSERT(GroupsAreInOrder, !groups_valid_o || groups_o.first < groups_o.last)
  `ASSERT_STAYS(KeyStays, key_valid_i && header_valid_o && !start_i, found_o,
      {key_valid_i, has_key_i, head_i})
  `COVER(SeveralGroups, groups_valid_o && groups_o.last - groups_o.first > number_t'(GroupHeads))
  `COVER(HeadsAreEqual, found_o && equal_o.last - equal_o.first > 1)
  `COVER(AfterTheLastGroup, found_o && !is_edge_q && equal_o.first == last_q && last_q != count)

endmodule

`default_nettype wire
