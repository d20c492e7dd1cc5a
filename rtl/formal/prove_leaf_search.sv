// Proves for a leaf of up to eleven items with arbitrary heads in groups of eight, an arbitrary step, and
// arbitrary registers before it: the samples select groups that have all heads equal to that of the key, and
// no group more than necessary; the heads of such groups give the range of the items with this head, and the
// offset of the first of them; a step without a search begins at an end of the leaf; later steps keep the
// result. A step reads only lines that it has awaited, and has header and columns of the leaf at its end,
// after some cycles in which it awaits no line; the result stays then. Lines with heads and offsets arrive at
// once or wait for one cycle, the others arrive at once: longer waits are left out, as are larger groups and
// leaves.

`default_nettype none

module prove_leaf_search
  import layout_pkg::*;
  import accelerator_pkg::*;
  import search_pkg::*;
  import scan_pkg::*;
(
  input logic clk_i,
  // the bytes of a line that did not arrive
  input logic [7:0] other_i
);

  localparam int unsigned Group = 8;
  localparam int unsigned ItemsStart = 452;
  localparam int unsigned Stride = 12;
  typedef logic [4:0] index_t;

  logic rst, done, line_valid, has_groups;
  line_count_t line_number;
  node_header_t header;
  leaf_columns_t columns;
  indexes_t groups, equal;
  offset_t item_offset;

  neighbours u_neighbours (.clk_i, .rst_o(rst), .in_valid_i(1'b0), .in_ready_i(1'b0));

  // ---- an arbitrary leaf: the first items have a smaller head than the key, and others follow with the same
  // one; and an arbitrary read, step, and result of the step before

  index_t count_q, less_q, not_greater_q;
  logic has_stride_q, has_key_q, at_end_q, is_greatest_q, had_groups_q;
  logic [1:0] step_q;
  // Lines with even and with odd numbers wait, if they have heads or offsets.
  logic [1:0] waits_q;
  index_t groups_first_q, groups_last_q, equal_first_q, equal_last_q, offset_q;
  slot_state_e step;
  search_t former;
  head_t head;
  node_header_t leaf_header;

  always_ff @(posedge clk_i) begin
    {count_q, less_q, not_greater_q} <= {count_q, less_q, not_greater_q};
    {has_stride_q, has_key_q, at_end_q, is_greatest_q, had_groups_q, step_q, waits_q} <=
        {has_stride_q, has_key_q, at_end_q, is_greatest_q, had_groups_q, step_q, waits_q};
    {groups_first_q, groups_last_q, equal_first_q, equal_last_q, offset_q} <=
        {groups_first_q, groups_last_q, equal_first_q, equal_last_q, offset_q};
  end

  // Missing samples equal the greatest head.
  assign head = is_greatest_q ? '1 : {1'b1, 63'd0};
  assign former = '{
    has_groups: had_groups_q, from_copy: 1'b0,
    groups: '{first: number_t'(groups_first_q), last: number_t'(groups_last_q)},
    equal: '{first: number_t'(equal_first_q), last: number_t'(equal_last_q)},
    item_offset: offset_t'(offset_q)
  };

  always_comb begin
    unique case (step_q)
      2'd0: step = SlotSamples;
      2'd1: step = SlotHeads;
      2'd2: step = SlotCurrent;
      default: step = SlotLog;
    endcase
    leaf_header = '0;
    leaf_header.sorted_count = 16'(count_q);
    leaf_header.group_bits = 8'd3;
    leaf_header.sorted_end = 16'(ItemsStart) + 16'(count_q) * 16'(Stride);
    leaf_header.right = 64'd5;
  end

  // Returns the head of an item.
  function automatic head_t head_of(index_t index);
    return index < less_q ? head - 1'b1 : index < not_greater_q ? head : head + 1'b1;
  endfunction

  // Returns a line: the header, samples, or heads and the column of offsets behind them. A stored offset, in
  // units of four bytes, is its own place in units of two bytes.
  function automatic line_t content(line_count_t line);
    for (int unsigned at = 0; at < Elements; at++) begin
      index_t index = {2'(line) - 2'(HeadsLine), 3'(at)};
      logic [7:0] words = {3'(line), 3'(at), 2'd0};
      content[64*at+:64] = index < count_q ? head_of(index)
          : {16'(words | 3), 16'(words | 2), 16'(words | 1), 16'(words)};
      if (line == line_count_t'(1))
        content[64*at+:64] = Group * at < 32'(count_q) ? head_of(index_t'(Group * at)) : '1;
    end
    if (line == line_count_t'(1))
      content[63:0] = {16'd3, 16'd9, has_stride_q ? 16'(Stride) : 16'd0, 16'(ItemsStart)};
    if (line == line_count_t'(2)) content = '1;
    if (line == '0) content = leaf_header;
  endfunction

  // ---- the search

  logic start_q, line_ready, offered_q, arrives_q, works_q, has_result_q;
  line_count_t line_q;
  logic [4:0] worked_q;

  assign line_ready = !waits_q[line_number[0]] || line_number < line_count_t'(HeadsLine) || offered_q;

  leaf_search u_leaf_search (
    .clk_i,
    .rst_i(rst),
    .start_i(start_q),
    .step_i(step),
    .before_i(former),
    .has_key_i(has_key_q), .at_end_i(at_end_q),
    .head_i(head),
    .line_valid_o(line_valid), .line_ready_i(line_ready), .line_number_o(line_number),
    .line_i(arrives_q ? content(line_q) : {LineBytes{other_i}}),
    .done_o(done), .header_o(header), .columns_o(columns),
    .has_groups_o(has_groups), .groups_o(groups),
    .equal_o(equal), .item_offset_o(item_offset)
  );

  always_ff @(posedge clk_i) begin
    {arrives_q, line_q} <= {line_valid && line_ready, line_number};
    {start_q, offered_q} <= {rst, line_valid && !line_ready};
    worked_q <= worked_q + 5'(!line_valid || line_ready);
    if (start_q) works_q <= 1'b1;
    if (done) {works_q, has_result_q} <= 2'b01;
    if (rst) {offered_q, arrives_q, works_q, has_result_q, worked_q} <= '0;
  end

  // ---- the result

  logic is_samples, is_heads;
  number_t count, less, not_greater, last_group, begins;
  offset_t offsets_start, begins_offset;

  assign {is_samples, is_heads} = {step == SlotSamples, step == SlotHeads};
  assign {count, less, not_greater} = {number_t'(count_q), number_t'(less_q), number_t'(not_greater_q)};
  assign offsets_start = offset_t'(192) + 8 * offset_t'(count_q);
  // Without groups, the read begins at this item.
  assign begins = is_heads ? less : at_end_q ? count : '0;

  always_comb begin
    begins_offset = 2 * (offsets_start + 2 * offset_t'(begins));
    if (has_stride_q) begins_offset = offset_t'(ItemsStart) + offset_t'(Stride) * offset_t'(begins);
    if (begins == '0) begins_offset = offset_t'(ItemsStart);
    if (begins == count) begins_offset = offset_t'(leaf_header.sorted_end);
  end

  // Returns whether these are whole groups with all items whose heads equal that of the key.
  function automatic logic have_equal(indexes_t some);
    return some.first < some.last && some.last <= count && some.first[2:0] == '0
        && (some.last[2:0] == '0 || some.last == count) && some.first <= less && some.last >= not_greater;
  endfunction

  // Returns whether the requested line has bytes between these offsets.
  function automatic logic is_in(offset_t first, offset_t limit);
    return 64 * 32'(line_number) < 32'(limit) && 64 * 32'(line_number) + 64 > 32'(first);
  endfunction

  logic has_result, awaited;

  assign has_result = done || has_result_q;
  assign last_group = (groups.last - 1'b1) & ~number_t'(Group - 1);

  always_comb begin
    awaited = line_number < line_count_t'(is_samples ? 3 : 2);
    if (is_heads) begin
      awaited |= is_in(head_offset(former.groups.first), head_offset(former.groups.last));
      awaited |= !has_stride_q && is_in(offsets_start + 2 * offset_t'(former.groups.first),
          offsets_start + 2 * offset_t'(former.groups.last) + (former.groups.last == count ? 0 : 2));
    end
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      LeafIsSmall : assume (count_q <= 5'd11);
      HeadsAreInOrder : assume (less_q <= not_greater_q && not_greater_q <= count_q);
      NoHeadIsGreater : assume (!is_greatest_q || not_greater_q == count_q);
      // As the searches of leaves do.
      HeadsHaveGroups : assume (!is_heads || (has_key_q && had_groups_q));
      GroupsAreThose : assume (is_samples || !had_groups_q || have_equal(former.groups));
      RangeIsInOrder : assume (is_samples || equal_first_q <= equal_last_q);

      EndsOnce : assert (!done || works_q);
      Ends : assert (!works_q || done || worked_q < 5'd15);
      ReadsAwaitedLines : assert (!line_valid || (works_q && awaited));
      HeaderIsOfTheLeaf : assert (!has_result || header == leaf_header);
      ItemsAreThere : assert (!has_result || (columns.items_start == offset_t'(ItemsStart)
          && columns.stride == (has_stride_q ? stride_t'(Stride) : '0)
          && 32'(columns.suffix_length) == 9 && 32'(columns.value_length) == 3));
      ColumnsAreThere : assert (!has_result || (columns.offsets_start == offsets_start
          && columns.fences_start == offsets_start + (has_stride_q ? '0 : 2 * offset_t'(count_q))));
      SearchesIfItCan : assert (!has_result || !is_samples || has_groups == (has_key_q && count != '0));
      GroupsHaveEqualHeads : assert (!has_result || !is_samples || !has_groups || have_equal(groups));
      FewGroups : assert (!has_result || !is_samples || !has_groups
          || (less <= groups.first + number_t'(Group)
              && (last_group < not_greater || last_group == groups.first)));
      ItemsHaveTheHead : assert (!has_result || !is_heads || equal == {less, not_greater});
      BeginsAtAnEnd : assert (!has_result || !is_samples || has_groups || equal == {begins, begins});
      OffsetIsOfTheFirst : assert (!has_result || !(is_heads || (is_samples && !has_groups))
          || item_offset == begins_offset);
      GroupsStay : assert (!has_result || is_samples
          || {has_groups, groups} == {former.has_groups, former.groups});
      ResultStays : assert (!has_result || is_samples || is_heads
          || {equal, item_offset} == {former.equal, former.item_offset});
    end
  end

endmodule

`default_nettype wire
