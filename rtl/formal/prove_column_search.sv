// Proves for a search of an arbitrary node (see searched_node) with an arbitrary memory and arbitrary parts:
// it ends with the child of the last separator that is not greater than the search key, or less toward the
// leaf before it, and else with the leftmost child. It reads the columns, passes only lines that it has read,
// compares only separators with the head of the key, and has one read and one pass at a time. It compares few
// separators, and pauses for few cycles. It ends after a failure, too. Larger groups are left out.

`default_nettype none

module prove_column_search
  import layout_pkg::*;
  import accelerator_pkg::*;
  import search_pkg::*;
(
  input logic clk_i,
  input logic start_i,
  input logic key_ready_i,
  input logic head_valid_i,
  input logic read_accepted_i,
  input logic [1:0] read_ends_i,
  input logic read_fails_i,
  input logic pass_ready_i,
  input logic counted_i,
  input logic [5:0] undefined_i,
  input logic rest_ready_i,
  input logic rest_wants_line_i,
  input logic rest_done_i,
  input logic rest_equal_i
);

  typedef logic [5:0] index_t;

  localparam index_t HeadsInGroup = 6'd16;
  localparam key_length_t Prefix = 9'd3;
  localparam line_count_t ItemsLine = 9'd16;

  logic rst, done, reads, passes, accepted, key_valid;
  logic rest_valid, wants_line, rest_done, rest_less, rest_equal, lacks_item, is_greatest;
  direction_e direction;
  key_length_t suffix, determined;
  node_header_t header;
  index_t count, less, not_greater, wanted, first;
  line_count_t children_line, line;
  column_counts_t counts;
  lid_t child;
  column_read_t read;
  column_pass_t pass;
  head_t head, pass_head;
  element_t element;
  head_read_t key;
  rest_read_t rest;

  // The search runs; it has the samples; its key was requested. The read that waits, the reads in flight, and
  // the last read of each number. The pass that waits, the one that was accepted, and its result.
  logic searches_q, has_samples_q, awaits_head_q, waits_q, waits_number_q, failed_q, passes_q, counts_q;
  logic [1:0] flies_q;
  line_count_t [1:0] first_q;
  group_lines_t [1:0] lines_q;
  column_pass_t pass_q;
  column_counts_t result_q;
  // A comparison; it wants a line, which is the second one, and has had one. The child that was passed last.
  logic compares_q, wants_q, is_second_q, had_q;
  index_t child_q;
  // Separators that were compared; cycles in which nothing was awaited.
  logic [3:0] compared_q;
  logic [2:0] pauses_q;

  neighbours u_neighbours (.clk_i, .rst_o(rst), .in_valid_i(1'b0), .in_ready_i(1'b0));

  searched_node u_node (
    .clk_i,
    .direction_o(direction), .suffix_length_o(suffix), .head_o(head), .determined_o(determined),
    .header_o(header), .children_line_o(children_line),
    .count_o(count), .less_o(less), .not_greater_o(not_greater), .wanted_o(wanted),
    .lacks_item_o(lacks_item), .is_greatest_o(is_greatest),
    .line_i(line), .heads_i(pass_q.heads), .element_i(element), .counts_o(counts), .first_o(first)
  );

  column_search u_column_search (
    .clk_i, .rst_i(rst), .start_i,
    .direction_i(direction), .key_length_i(Prefix + suffix), .header_i(header),
    .done_o(done), .child_o(child), .read_o(reads), .column_read_o(read), .read_waits_i(waits_q),
    .has_samples_i(has_samples_q), .accepted_i(accepted), .failed_i(failed_q),
    .pass_o(passes), .column_pass_o(pass), .head_o(pass_head), .element_o(element),
    .key_valid_o(key_valid), .key_ready_i, .key_o(key),
    .head_valid_i(awaits_head_q && head_valid_i), .head_i(head),
    .counts_valid_i(counts_q && counted_i), .counts_i(result_q),
    .rest_valid_o(rest_valid), .rest_ready_i, .rest_o(rest), .rest_wants_line_i(wants_line),
    .rest_done_i(rest_done), .rest_less_i(rest_less), .rest_equal_i(rest_equal)
  );

  // ---- memory and the parts
  logic takes_pass, awaits;
  read_line_t offset;

  assign awaits = key_valid || awaits_head_q || waits_q || passes_q || counts_q || rest_valid || compares_q;
  assign accepted = waits_q && read_accepted_i && !flies_q[waits_number_q];
  assign takes_pass = passes_q && pass_ready_i && !flies_q[pass_q.number]
      && !(waits_q && waits_number_q == pass_q.number);
  // The line of the node that the pass begins with.
  assign offset = pass_q.first - read_line_t'(first_q[pass_q.number]);
  assign line = first_q[pass_q.number] + line_count_t'(offset);
  assign rest_done = compares_q && had_q && rest_done_i;
  assign wants_line = compares_q && wants_q && rest_wants_line_i && !rest_done;
  assign rest_equal = rest_equal_i && (failed_q || child_q + index_t'(direction == DirectionKey) == wanted);
  assign rest_less = failed_q ? undefined_i[0] : child_q < wanted && !rest_equal;

  always_ff @(posedge clk_i) begin
    has_samples_q <= has_samples_q;
    if (done) searches_q <= 1'b0;
    if (head_valid_i) awaits_head_q <= 1'b0;
    if (key_valid && key_ready_i) awaits_head_q <= 1'b1;
    if (accepted) {waits_q, flies_q[waits_number_q]} <= 2'b01;
    if (reads) begin
      {waits_q, waits_number_q} <= {1'b1, read.number};
      {first_q[read.number], lines_q[read.number]} <= {read.first, read.count};
    end
    for (int unsigned at = 0; at < 2; at++) begin
      if (flies_q[at] && read_ends_i[at]) {flies_q[at], failed_q} <= {1'b0, failed_q || read_fails_i};
    end
    // The header has arrived, but perhaps not the samples that were read with it.
    if (start_i) begin
      {searches_q, flies_q, failed_q} <= {2'b10, {read_ends_i[0], read_fails_i} & {2{has_samples_q}}};
      {first_q[0], lines_q[0]} <= {9'd0, has_samples_q ? 4'(HeadsLine) : 4'd1};
    end
    // The lines of a read that has failed are undefined. A comparison may want a second line.
    if (counted_i) counts_q <= 1'b0;
    if (takes_pass) {passes_q, counts_q, result_q} <=
        {1'b0, !pass_q.is_rest, failed_q ? column_counts_t'(undefined_i) : counts};
    if (takes_pass && pass_q.is_rest) {had_q, is_second_q, wants_q} <= {2'b11, !is_second_q};
    if (takes_pass && !pass_q.is_rest && line >= children_line) child_q <= first + index_t'(element);
    if (passes) {passes_q, pass_q} <= {1'b1, pass};
    if (wants_line) {wants_q, had_q} <= 2'b00;
    if (rest_done) compares_q <= 1'b0;
    if (rest_valid && rest_ready_i) {compares_q, wants_q, had_q, is_second_q} <= 4'b1100;
    compared_q <= start_i ? '0 : compared_q + 4'(rest_valid && rest_ready_i);
    pauses_q <= !searches_q || awaits || flies_q != '0 ? '0 : pauses_q + 1'b1;
    if (rst) {searches_q, awaits_head_q, waits_q, flies_q, failed_q, passes_q, counts_q} <= '0;
    if (rst) {compares_q, compared_q, pauses_q} <= '0;
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      StartsWhenIdle : assume (!start_i || !(searches_q || flies_q != '0));
      EndsWithTheChild : assert (!done || failed_q || child == lid_t'(wanted) + lid_t'(1));
      LeavesNothing : assert (!done || (searches_q && !awaits));
      ReadsOneAtATime : assert (!reads
          || ((!waits_q || accepted) && !(passes_q && pass_q.number == read.number)));
      ReadsAColumn : assert (!reads || failed_q || (read.count != '0 && (read.first < 9'(HeadsLine)
          ? read == column_read_t'{number: 1'b0, first: 9'd1, count: 4'd2}
          : read.first >= children_line || read.first + line_count_t'(read.count) <= children_line)));
      PassesOneAtATime : assert (!passes || !(passes_q || counts_q));
      PassesWhatWasRead : assert (!takes_pass || failed_q
          || group_lines_t'(offset) + pass_q.count <= lines_q[pass_q.number]);
      UsesElementsOfTheNode : assert (!takes_pass || failed_q || pass_q.is_rest || line < 9'(HeadsLine)
          || (line < children_line ? first + index_t'(pass_q.heads) <= count
          : line < ItemsLine && first + index_t'(element) < count));
      CountsWithTheHead : assert (!takes_pass || pass_q.heads == '0 || pass_head == head);
      ComparesTheItem : assert (!takes_pass || failed_q || !pass_q.is_rest || (pass_q.number
          && line == ItemsLine + line_count_t'(child_q) + line_count_t'(is_second_q)));
      ComparesTheKey : assert (!rest_valid
          || rest == rest_read_t'{suffix_length: suffix, prefix_length: Prefix, place: child_q[3:0]});
      ComparesATie : assert (!rest_valid || failed_q || (less <= child_q && child_q < not_greater));
      ReadsTheKey : assert (!key_valid || key == head_read_t'{offset: Prefix, length: Prefix + suffix});
      ComparesFew : assert (compared_q < 4'd3 || 6'd1 << (compared_q - 4'd2) < not_greater - less);
      PausesFewCycles : assert (pauses_q < 3'd6);
    end
  end

  // ---- invariants of the induction

  typedef enum logic [3:0] {
    Idle, Head, Samples, Group, Lines, Heads, Range, Child, Separator, Rest, Halve, Middle, Done
  } search_state_e;

  search_state_e state;
  logic is_low, knows_low, has_best, counted, follows, reads_children;
  logic is_keyed, in_group, at_child, has_range;
  index_t low, high, at, low_bound, high_bound, start, heads, range;
  line_count_t child_line, group_line;
  group_lines_t group_lines;
  column_child_t child_at;
  logic [3:0] compared;
  logic [13:0] group_counts;

  assign state = search_state_e'(u_column_search.state_q);
  assign {is_low, knows_low} = {u_column_search.reads_low_group_q, u_column_search.knows_low_q};
  assign {counted, follows} = {u_column_search.counted_q, u_column_search.follows_q};
  assign {has_best, reads_children} = {u_column_search.has_best_q, u_column_search.reads_children};
  assign {low, high} = {index_t'(u_column_search.low_q), index_t'(u_column_search.high_q)};
  assign at = index_t'(u_column_search.index_q);
  assign is_keyed = direction inside {DirectionKey, DirectionBefore} && count != '0;
  assign in_group = state inside {Group, Lines, Heads, Range};
  assign at_child = state inside {Child, Separator, Rest};
  assign {low_bound, high_bound} = is_keyed ? {less, not_greater} : {2{wanted}};
  assign start = (is_low ? less : not_greater) > HeadsInGroup ? HeadsInGroup : '0;
  assign heads = count - start > HeadsInGroup ? HeadsInGroup : count - start;
  assign group_counts[13:7] = 7'(less < start ? 6'd0 : less - start < heads ? less - start : heads);
  assign group_counts[6:0] = 7'(not_greater - start < heads ? not_greater - start : heads);
  assign group_lines = group_lines_t'((heads + 6'd7) >> 3);
  assign group_line = children_line + line_count_t'(start >> 3);
  assign child_line = children_line + line_count_t'(at >> 3);
  assign child_at.lid = 48'(at) + 48'd2;
  assign child_at.rest = lacks_item && at == less ? '0 : {12'(ItemsLine) + 12'(at), at[3:0]};
  // The range of the number of separators is known; separators that may decide.
  assign has_range = at_child || state inside {Halve, Middle} || (in_group && is_low);
  assign range = high - (knows_low || has_best ? low : low_bound);
  assign compared = compared_q - 4'(compares_q);

  always @(posedge clk_i) begin
    if (!rst) begin
      // What is awaited in each state.
      StateExists : assert (state <= Done && searches_q == (state != Idle));
      KeyIsAwaited : assert (2'(key_valid) + 2'(awaits_head_q) == 2'(state == Head));
      CountsAreAwaited : assert (state == Rest ? !counts_q : 2'(passes_q) + 2'(counts_q)
          + 2'(state == Heads && counted) == 2'(state inside {Samples, Heads, Child}));
      RestIsAwaited : assert (2'(rest_valid) + 2'(compares_q) == 2'(state == Rest) && (compares_q
          ? 2'(passes_q) + 2'(had_q) + 2'(wants_q && !is_second_q) == 2'd1 : !(rest_valid && passes_q)));
      ReadIsAwaited : assert (!waits_q || (waits_number_q ? state inside {Heads, Rest} && passes_q
          : (state inside {Head, Samples, Child} && !counts_q) || (state == Heads && follows)));
      PausesAsKnown : assert (pauses_q <= (state == Heads && (waits_q || passes_q) ? 3'd5
          : state inside {Lines, Child, Idle} ? 3'd4 : state inside {Group, Middle, Done} ? 3'd3
          : state == Halve ? 3'd2 : 3'(state inside {Range, Rest})));
      // The group, its reads and passes, and their results.
      NodeAsKnown : assert (u_column_search.suffix_length_q == suffix
          && u_column_search.children_line_q == children_line
          && u_column_search.has_one_group_q == (count <= HeadsInGroup && count != '0));
      FirstGroupAsKnown : assert (!(state inside {Head, Samples})
          || (is_keyed && !is_low && (state == Head || count > HeadsInGroup)));
      HeadAsKnown : assert (!is_keyed || state inside {Idle, Head} || (u_column_search.head_q == head
          && (state inside {Samples, Group} || u_column_search.determined_q == determined)));
      GroupAsKnown : assert (!in_group
          || (is_keyed && u_column_search.group_q == 4'(start >> 4) && !(is_low && (has_best || knows_low))));
      LowGroupAsKnown : assert (state inside {Idle, Head, Samples, Done} || !is_keyed
          || u_column_search.low_group_q == 4'(less > HeadsInGroup));
      GroupIsPlaced : assert (!(state inside {Lines, Heads, Range}) || (u_column_search.left_q
          == number_t'(count - start) && u_column_search.start_q == number_t'(start)));
      LinesAsKnown : assert (!(state inside {Heads, Range})
          || (u_column_search.lines_q == group_lines && u_column_search.group_line_q == group_line));
      SamplesAreRead : assert (!(state inside {Head, Samples}) || {first_q[0], lines_q[0]} == (has_samples_q
          ? {9'd0, 4'd3} : state == Head && (u_column_search.reads_samples_q || count <= HeadsInGroup)
          ? {9'd0, 4'd1} : {9'd1, 4'd2}));
      SamplesAreMissing : assert (!(u_column_search.reads_samples_q || (state == Head && waits_q))
          || (!u_column_search.reads_samples_q || !waits_q)
          && !has_samples_q && (!is_keyed || count > HeadsInGroup));
      SamplesArePassed : assert (state != Samples || !passes_q || pass_q == column_pass_t'{
          first: 3'd1, count: 4'd2, heads: head_count_t'(16), skips_first: 1'b1, default: '0});
      SamplesAreCounted : assert (state != Samples || !counts_q || failed_q
          || (result_q.less == head_count_t'(less > HeadsInGroup) && result_q.not_greater
          == (is_greatest ? head_count_t'(15) : head_count_t'(not_greater > HeadsInGroup))));
      HeadsAreRead : assert (state != Heads || (first_q[1] == line_count_t'(HeadsLine)
          + line_count_t'(start >> 3) && lines_q[1] == group_lines));
      HeadsArePassed : assert (state != Heads || !passes_q || pass_q == column_pass_t'{number: 1'b1,
          first: read_line_t'(first_q[1]), count: lines_q[1], heads: head_count_t'(heads), default: '0});
      HeadsAreCounted : assert (state != Heads || !counts_q || failed_q
          || {result_q.less, result_q.not_greater} == group_counts);
      CountsAsKnown : assert (!(state == Range || (state == Heads && counted && !failed_q))
          || {u_column_search.less_q, u_column_search.not_greater_q} == group_counts);
      ChildrenAreRead : assert (!(state == Heads && follows) && !(state == Range && reads_children)
          || (reads_children && first_q[0] == group_line && lines_q[0] == group_lines));
      ChildrenFollow : assert (state != Heads || follows || !reads_children || (waits_q && waits_number_q));
      // The child that is examined.
      ChildIsRead : assert (state != Child || !passes_q || (pass_q == column_pass_t'{
          first: read_line_t'(child_line), count: group_lines_t'(1), default: '0}
          && first_q[0] <= child_line && child_line < first_q[0] + line_count_t'(lines_q[0])
          && lines_q[0] <= group_lines_t'(HeadsLine)));
      ChildHasArrived : assert (state != Child || !counts_q
          || (child_q == at && (failed_q || result_q.element == child_at)));
      ChildAsKnown : assert (!(state inside {Separator, Rest})
          || (child_q == at && u_column_search.child_q == child_at));
      TieIsRight : assert (!(at_child || state == Middle) || (number_t'(at) == u_column_search.index_q
          && at < count && (u_column_search.is_tie_q ? low_bound <= at && low <= at && at < high
          && (knows_low && at == index_t'((7'(low) + 7'(high)) >> 1)
          || at + 6'd1 == high_bound && compared == '0) : at + 6'd1 == wanted)));
      ItemIsAmongTies : assert (state != Rest || (u_column_search.is_tie_q && child_at.rest != '0));
      ItemIsRead : assert (state != Rest || !passes_q || (pass_q.number && pass_q.is_rest && (failed_q
          || (pass_q.first == read_line_t'(first_q[1]) && pass_q.count == 4'd1 && lines_q[1] == 4'd1
          && first_q[1] == ItemsLine + line_count_t'(at) + line_count_t'(is_second_q)))));
      ItemComes : assert (state != Rest || (u_column_search.item_line_q == ItemsLine + line_count_t'(at)
          + (!compares_q ? 9'd0 : passes_q ? 9'd1 + 9'(is_second_q) : had_q ? 9'd2 - 9'(wants_q) : 9'd0)
          && !(compares_q && (passes_q ? wants_q : had_q && !is_second_q))));
      // The range of the number of separators.
      RangeAsKnown : assert (!has_range || (number_t'(high) == u_column_search.high_q
          && number_t'(low) == u_column_search.low_q && wanted <= high && high <= high_bound
          && (!(knows_low || has_best) || (low <= wanted && low_bound <= low))));
      LowIsKnown : assert (!has_range || knows_low || (is_keyed && u_column_search.group_q == 4'(!is_low)
          && less <= HeadsInGroup && not_greater > HeadsInGroup
          && (is_low ? in_group : has_best ? low == high : low == HeadsInGroup && low <= high)));
      LowIsTheBound : assert (!has_range || has_best || !knows_low || low == low_bound);
      BestAsKnown : assert (!has_best || state == Idle || u_column_search.best_q == 48'(low) + 48'd1);
      EndsAsKnown : assert (state != Done || failed_q || (has_best ? low == wanted : wanted == '0));
      RangeIsHalved : assert (!has_range || compared == '0
          || (compared <= 4'd6 && 12'(range) << (compared - 4'd1) < 12'(high_bound - low_bound)));
      FirstComparesNone : assert (has_range || state inside {Idle, Done} || (compared == '0 && !has_best));
    end
  end

endmodule

`default_nettype wire
