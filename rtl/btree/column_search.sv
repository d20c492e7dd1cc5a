// Finds the child of an interior node in columns for one descent. It requests the lines that it needs, and
// passes those of a read that has ended to the parts that the descents of a unit share, which return the
// result some cycles later. So these parts never wait for memory.
//
//   samples | group | heads | number of separators | child |
//
// A node with one group of heads needs no samples. The others request them if they were not read together
// with the header.
//
// All descents of a unit share the lines that arrive, one in each cycle. So of children in several lines only
// the one with the child is read, after the heads; a single line is read together with them.
//
// The child follows from the number of separators that are not greater than the search key (toward the leaf
// before a fence key: less). Heads determine it unless a separator has the head of the search key. Then the
// last one of these decides if it has no item, and otherwise the items decide, by halving the range
// low_q..high_q of possible numbers.

`default_nettype none

`include "assertions.svh"

module column_search
  import accelerator_pkg::*;
  import layout_pkg::*;
  import search_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  // begins a search; these inputs are constant until done_o
  input logic start_i,
  input direction_e direction_i,
  input key_length_t key_length_i,
  // The search uses only some fields of the header.
  // verilator lint_off UNUSEDSIGNAL
  input node_header_t header_i,
  // verilator lint_on UNUSEDSIGNAL

  // In the last cycle of the search. After a failure there is no child.
  output logic done_o,
  output lid_t child_o,

  // A read of lines begins. The previous one was accepted unless read_waits_i is set; accepted_i: it is
  // accepted in this cycle. failed_i: a read has failed
  output logic read_o,
  output column_read_t column_read_o,
  input  logic read_waits_i,
  // the samples were read with the header
  input  logic has_samples_i,
  input  logic accepted_i,
  input  logic failed_i,
  // Lines are to be passed. Their head and element are those of the cycles that follow, until the result.
  output logic pass_o,
  output column_pass_t column_pass_o,
  output head_t head_o,
  output element_t element_o,

  // a read of the head of the search key, and its result
  output logic key_valid_o,
  input  logic key_ready_i,
  output head_read_t key_o,
  input  logic head_valid_i,
  input  head_t head_i,

  input logic counts_valid_i,
  input column_counts_t counts_i,

  // a comparison by the rest_comparer, which requests the lines of the item, and its result
  output logic rest_valid_o,
  input  logic rest_ready_i,
  output rest_read_t rest_o,
  input  logic rest_wants_line_i,
  input  logic rest_done_i,
  input  logic rest_less_i,
  input  logic rest_equal_i
);

  // Reads of header and samples, and of children, have number 0, those of heads and items number 1.
  typedef enum logic [3:0] {
    StateIdle,
    // waits for the head of the search key and for the group that the samples select, computes its place and
    // its lines
    StateHead,
    StateSamples,
    StateGroup,
    StateLines,
    // waits for the heads of the group, and computes the range of the number of separators
    StateHeads,
    StateRange,
    // waits for a child, and examines its separator
    StateChild,
    StateSeparator,
    // waits for the comparison of the lines of the separator's item
    StateRest,
    // ends or halves the range, and requests the child in its middle
    StateHalve,
    StateMiddle,
    // the search has ended in another way than with the child of StateSeparator
    StateDone
  } state_e;

  state_e state_d, state_q;
  head_t head_q;
  // The lengths of a separator that the head determines, and of the search key without the prefix.
  key_length_t determined_q, suffix_length_q;
  // The groups of the last heads that are not greater, and of the last ones that are less.
  group_t last_group, group_d, group_q, low_group_q;
  logic reads_low_group_d, reads_low_group_q, counted_q, has_one_group_q, reads_samples_q;
  number_t count, start, start_q, left_q, low_d, low_q, high_d, high_q, index_d, index_q;
  head_count_t less_q, not_greater_q;
  // The separator at index_q has the head of the search key.
  logic is_tie_d, is_tie_q;
  // The child at index_q; the child before the range, if has_best_q.
  column_child_t child_q;
  lid_t best_d, best_q;
  logic has_best_d, has_best_q, knows_low_d, knows_low_q;
  // The key or the item is requested.
  logic asks_key_d, asks_key_q, asks_rest_d, asks_rest_q, counts_separator, decides;

  // The first line of the children, and of those of the group; the lines of a group. Its children are read
  // with the heads; they were requested.
  line_count_t children_line_q, group_line_q;
  group_lines_t lines_q;
  logic reads_children, follows_q;

  logic [2:0] group_bits;
  group_lines_t group_lines;
  line_count_t child_line, child_place_q, item_line_q;
  head_count_t group_heads;

  assign count = number_t'(header_i.sorted_count);
  assign group_bits = header_i.group_bits[2:0];
  assign start = number_t'(group_q) << group_bits;
  assign last_group = group_t'((count - 1'b1) >> group_bits);
  assign group_lines = lines_of(left_q, group_bits);
  assign group_heads = head_count_t'(group_lines) << ElementBits;
  assign reads_children = !reads_low_group_q && lines_q == group_lines_t'(1);
  // the line of the last child that the heads allow, in those of the group
  assign child_line = line_of(number_t'(not_greater_q) - 1'b1);

  // Whether the separator counts that was compared. One without an item begins the search key.
  always_comb begin
    counts_separator = state_q == StateRest ? rest_less_i : suffix_length_q > determined_q;
    if (direction_i == DirectionKey)
      counts_separator = state_q == StateRest ? rest_less_i || rest_equal_i : 1'b1;
  end

  always_comb begin
    state_d = state_q;
    {group_d, reads_low_group_d, knows_low_d} = {group_q, reads_low_group_q, knows_low_q};
    {low_d, high_d, index_d, is_tie_d} = {low_q, high_q, index_q, is_tie_q};
    {asks_key_d, asks_rest_d} = {asks_key_q && !key_ready_i, asks_rest_q && !rest_ready_i};
    {best_d, has_best_d} = {best_q, has_best_q};
    {read_o, pass_o, done_o, decides} = '0;
    {column_read_o, column_pass_o} = '0;
    column_pass_o.count = group_lines_t'(1);
    child_o = has_best_q ? best_q : lid_t'(header_i.left);
    case (state_q)
      StateIdle: begin
        {has_best_d, is_tie_d, reads_low_group_d, knows_low_d} = 4'b0001;
        {low_d, high_d} = direction_i == DirectionLast ? {2{count}} : '0;
        if (start_i) begin
          asks_key_d = direction_i inside {DirectionKey, DirectionBefore} && count != '0;
          state_d = asks_key_d ? StateHead : StateHalve;
        end
      end
      StateHead: begin
        column_pass_o.count = group_lines_t'(HeadsLine - 1);
        {column_pass_o.heads, column_pass_o.skips_first} = {head_count_t'((HeadsLine - 1) * Elements), 1'b1};
        {column_read_o.first, column_read_o.count} = {line_count_t'(1), group_lines_t'(HeadsLine - 1)};
        read_o = reads_samples_q;
        if (head_valid_i && has_one_group_q) {state_d, group_d} = {StateGroup, group_t'(0)};
        else if (head_valid_i) {state_d, pass_o} = {StateSamples, 1'b1};
      end
      StateSamples: begin
        group_d = group_t'(counts_i.not_greater);
        if (counts_i.not_greater > head_count_t'(last_group)) group_d = last_group;
        if (counts_valid_i) state_d = StateGroup;
      end
      StateGroup: state_d = StateLines;
      StateLines: begin
        {state_d, read_o, pass_o} = {StateHeads, 2'b11};
        {column_read_o.number, column_pass_o.number} = 2'b11;
        column_read_o.first = line_count_t'(HeadsLine) + line_of(start_q);
        {column_read_o.count, column_pass_o.count} = {2{group_lines}};
        column_pass_o.heads = left_q < number_t'(group_heads) ? head_count_t'(left_q) : group_heads;
      end
      StateHeads: begin
        // The children follow the heads.
        read_o = accepted_i && !follows_q && reads_children;
        column_read_o = '{number: 1'b0, first: group_line_q, count: lines_q};
        if (counted_q && !read_waits_i) state_d = StateRange;
      end
      StateRange: begin
        low_d = start_q + number_t'(less_q);
        knows_low_d = reads_low_group_q || group_q == low_group_q;
        state_d = StateHalve;
        if (!reads_low_group_q) begin
          high_d = start_q + number_t'(not_greater_q);
          index_d = high_d - 1'b1;
          is_tie_d = less_q != not_greater_q;
          // The line with the last child that the heads allow is one of those that were read, or is read now.
          column_read_o = '{number: 1'b0, first: child_place_q, count: group_lines_t'(1)};
          if (group_q != '0 || not_greater_q != '0)
            {state_d, pass_o, read_o} = {StateChild, 1'b1, !reads_children};
        end
      end
      StateChild: if (counts_valid_i) state_d = StateSeparator;
      StateSeparator: begin
        child_o = child_q.lid;
        if (!is_tie_q) {state_d, done_o} = {StateIdle, 1'b1};
        else if (child_q.rest == '0) decides = 1'b1;
        else {state_d, asks_rest_d} = {StateRest, 1'b1};
      end
      StateRest: begin
        // A failed item may have any length, so no line is read then.
        {pass_o, read_o} = {rest_wants_line_i, rest_wants_line_i && !failed_i};
        column_read_o = '{number: 1'b1, first: item_line_q, count: group_lines_t'(1)};
        {column_pass_o.number, column_pass_o.is_rest} = 2'b11;
        decides = rest_done_i;
      end
      StateHalve: begin
        is_tie_d = low_q != high_q;
        index_d = is_tie_d ? number_t'((NumberBits+1)'({1'b0, low_q} + {1'b0, high_q}) >> 1) : low_q - 1'b1;
        if (!is_tie_d && (has_best_q || (knows_low_q && low_q == '0))) state_d = StateDone;
        else if (knows_low_q) state_d = StateMiddle;
        else {state_d, group_d, reads_low_group_d} = {StateGroup, low_group_q, 1'b1};
      end
      StateMiddle: begin
        {column_read_o.first, column_read_o.count} = {children_line_q + line_of(index_q), group_lines_t'(1)};
        {state_d, read_o, pass_o} = {StateChild, 2'b11};
      end
      StateDone: {state_d, done_o} = {StateIdle, 1'b1};
      default: state_d = StateIdle;
    endcase
    column_pass_o.first = read_line_t'(column_read_o.first);
    // The separator at index_q is compared.
    if (decides) begin
      state_d = StateHalve;
      if (counts_separator) {low_d, best_d, has_best_d} = {index_q + 1'b1, lid_t'(child_q.lid), 1'b1};
      else high_d = index_q;
    end
    // After a failure the parts have ended their work.
    if (failed_i && state_d != state_q && state_q inside {StateSamples, StateHeads, StateChild, StateRest})
      state_d = StateDone;
  end

  always_ff @(posedge clk_i) begin
    {group_q, reads_low_group_q, knows_low_q} <= {group_d, reads_low_group_d, knows_low_d};
    {low_q, high_q, index_q, is_tie_q} <= {low_d, high_d, index_d, is_tie_d};
    {best_q, has_best_q} <= {best_d, has_best_d};
    // The column of the heads has room for whole groups of 16.
    children_line_q <= line_count_t'(HeadsLine) + line_count_t'({(count + 11'd15) >> 4, 1'b0});
    suffix_length_q <= key_length_i - key_length_t'(header_i.prefix_length);
    if (head_valid_i) head_q <= head_i;
    determined_q <= determined(head_q);
    if (counts_valid_i) {less_q, not_greater_q} <= {counts_i.less, counts_i.not_greater};
    if (state_q == StateSamples) low_group_q <= group_t'(counts_i.less);
    else if (state_q == StateHead) low_group_q <= '0;
    has_one_group_q <= last_group == '0;
    reads_samples_q <= state_q == StateIdle && !has_samples_i && last_group != '0;
    if (state_q == StateChild) child_q <= counts_i.element;
    if (state_q == StateLines) lines_q <= group_lines;
    group_line_q <= children_line_q + line_of(start_q);
    child_place_q <= line_count_t'(group_line_q + child_line);
    if (state_q == StateGroup) {start_q, left_q} <= {start, count - start};
    if (state_q == StateSeparator) item_line_q <= line_count_t'(child_q.rest >> 4);
    else if (rest_wants_line_i) item_line_q <= item_line_q + 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= StateIdle;
      {asks_key_q, asks_rest_q, counted_q, follows_q} <= '0;
    end else begin
      state_q <= state_d;
      {asks_key_q, asks_rest_q} <= {asks_key_d, asks_rest_d};
      counted_q <= state_q == StateHeads && (counts_valid_i || counted_q);
      follows_q <= state_q == StateHeads && (read_o || follows_q);
    end
  end

  // ---- outputs

  assign key_valid_o = asks_key_q;
  assign key_o = '{offset: key_length_t'(header_i.prefix_length), length: key_length_i};
  assign head_o = head_q;
  assign element_o = element_t'(index_q);
  assign rest_valid_o = asks_rest_q;
  assign rest_o = '{
      suffix_length: suffix_length_q,
      prefix_length: key_length_t'(header_i.prefix_length),
      place: child_q.rest[3:0]
  };

  `ASSERT(StartsWhenIdle, !start_i || state_q == StateIdle)
  `ASSERT(AsksInItsState, (!asks_key_q || state_q == StateHead) && (!asks_rest_q || state_q == StateRest))
  `ASSERT(CountsOnRequest, !counts_valid_i || state_q inside {StateSamples, StateHeads, StateChild})
  `ASSERT(ChildIsOfTheGroup, !pass_o || state_q != StateRange || child_line < line_count_t'(lines_q))
  `ASSERT(PlaceIsThatOfTheChild, state_q != StateRange || child_place_q == group_line_q + child_line)
  `COVER(NeedsNoSamples, state_q == StateHead && state_d == StateGroup)
  `COVER(ReadsSamples, read_o && state_q == StateHead)
  `COVER(ReadsOneChild, read_o && state_q == StateRange)
  `ASSERT(RangeIsOrdered, state_q != StateHalve || low_q <= high_q)
  `ASSERT(KeyHasPrefix, state_q != StateHead || 16'(key_length_i) >= header_i.prefix_length)
  `ASSERT(NodeIsValid, state_q != StateHead || header_i.group_bits inside {8'd4, 8'd5, 8'd6})
  `COVER(TieWithoutItem, state_q == StateSeparator && is_tie_q && child_q.rest == '0)
  `COVER(HalvesEqualHeads, state_q == StateHalve && high_q - low_q > 2)
  `COVER(EqualHeadsBeginInOtherGroup, state_q == StateRange && reads_low_group_q)
  `COVER(GroupOf16LacksAHead, state_q == StateLines && group_bits == 4 && left_q == 15)
  `COVER(GroupOf16IsFull, state_q == StateLines && group_bits == 4 && left_q == 16)
  `COVER(HeadFollowsAGroupOf16, state_q == StateLines && group_bits == 4 && left_q == 17)
  `COVER(GroupOf32LacksAHead, state_q == StateLines && group_bits == 5 && left_q == 31)
  `COVER(GroupOf32IsFull, state_q == StateLines && group_bits == 5 && left_q == 32)
  `COVER(HeadFollowsAGroupOf32, state_q == StateLines && group_bits == 5 && left_q == 33)
  `COVER(GroupsOf16LackAHead, state_q == StateLines && count == 16 * 16 - 1)
  `COVER(GroupsOf16AreFull, state_q == StateLines && count == 16 * 16)
  `COVER(GroupsOf32Begin, state_q == StateLines && count == 16 * 16 + 1)

endmodule

`default_nettype wire
