// A constant, arbitrary node with up to two groups of 16 separators, an arbitrary search key, and what the
// lines of the node return. Child i, counted from 0, has the LID i + 2, and the leftmost child has the LID 1.
// The item of each separator begins in a line of its own.

`default_nettype none

module searched_node
  import layout_pkg::*;
  import accelerator_pkg::*;
  import search_pkg::*;
#(
  parameter int unsigned GroupHeads = 16,
  // the first line of the items, and the length of the prefix
  parameter int unsigned ItemsLine = 16,
  parameter int unsigned Prefix = 3,
  localparam type index_t = logic [5:0]
) (
  input logic clk_i,

  output direction_e direction_o,
  output key_length_t suffix_length_o,
  output head_t head_o,
  // the length of the head without its zeros at the end
  output key_length_t determined_o,
  output node_header_t header_o,
  output line_count_t children_line_o,

  // Separators; those with heads that are less, or not greater, than that of the search key; those before the
  // child that the search should find.
  output index_t count_o,
  output index_t less_o,
  output index_t not_greater_o,
  output index_t wanted_o,
  // the first separator with the head of the key has no item; the head of the key is the greatest one
  output logic lacks_item_o,
  output logic is_greatest_o,

  // A pass: its first line, the number of heads, and the place of the child. What it returns; the index of
  // the first head or child of the line.
  input line_count_t line_i,
  input head_count_t heads_i,
  input element_t element_i,
  output column_counts_t counts_o,
  output index_t first_o
);

  // number: separators that are not greater than the key, or less toward the leaf before it.
  index_t count_q, less_q, not_greater_q, number_q, limit, index;
  logic lacks_item_q, is_zero_q, is_greatest_q;
  logic [3:0] suffix_q;
  direction_e direction_q;
  column_child_t child;

  always_ff @(posedge clk_i) begin
    {count_q, less_q, not_greater_q, number_q} <= {count_q, less_q, not_greater_q, number_q};
    {lacks_item_q, is_zero_q, is_greatest_q} <= {lacks_item_q, is_zero_q, is_greatest_q};
    {suffix_q, direction_q} <= {suffix_q, direction_q};
  end

  assign {direction_o, suffix_length_o, count_o} = {direction_q, key_length_t'(suffix_q), count_q};
  assign {less_o, not_greater_o} = {less_q, not_greater_q};
  assign {lacks_item_o, is_greatest_o} = {lacks_item_q, is_greatest_q};

  always_comb begin
    {head_o, determined_o} = {64'h6100_0000_0000_0000, key_length_t'(1)};
    if (is_zero_q) {head_o, determined_o} = '0;
    if (is_greatest_q) {head_o, determined_o} = {64'hffff_ffff_ffff_ffff, key_length_t'(8)};
    header_o = '0;
    header_o.sorted_count = 16'(count_q);
    header_o.prefix_length = 16'(Prefix);
    header_o.group_bits = 8'd4;
    header_o.level = 8'd1;
    header_o.left = 64'd1;
    // Heads have room for whole groups.
    children_line_o = line_count_t'(HeadsLine + (count_q > index_t'(GroupHeads) ? 4 : 2));
    if (count_q == '0) children_line_o = line_count_t'(HeadsLine);
    wanted_o = number_q;
    if (direction_q == DirectionFirst) wanted_o = '0;
    if (direction_q == DirectionLast) wanted_o = count_q;
  end

  assign first_o = index_t'(line_i - (line_i < children_line_o
      ? line_count_t'(HeadsLine) : children_line_o)) << ElementBits;
  assign limit = first_o + index_t'(heads_i);
  assign index = first_o + index_t'(element_i);

  // Returns how many of the passed heads are before `bound`.
  function automatic head_count_t heads_before(index_t bound);
    if (bound <= first_o) return '0;
    return head_count_t'((bound < limit ? bound : limit) - first_o);
  endfunction

  always_comb begin
    child.lid = 48'(index) + 48'd2;
    child.rest = {12'(ItemsLine) + 12'(index), index[3:0]};
    if (lacks_item_q && index == less_q) child.rest = '0;
    counts_o = '{less: heads_before(less_q), not_greater: heads_before(not_greater_q), element: child};
    if (line_i < line_count_t'(HeadsLine)) begin
      counts_o.less = head_count_t'(less_q > index_t'(GroupHeads));
      counts_o.not_greater = head_count_t'(not_greater_q > index_t'(GroupHeads));
      // Samples of groups that do not exist equal the greatest head.
      if (is_greatest_q) counts_o.not_greater = head_count_t'(15);
    end
  end

  always @(posedge clk_i) begin
    NodeFits : assume (count_q <= index_t'(GroupHeads + 4));
    HeadsAreSorted : assume (less_q <= number_q && number_q <= not_greater_q && not_greater_q <= count_q);
    NoHeadIsLessThanZero : assume (!is_zero_q || less_q == '0);
    NoHeadIsGreater : assume (!is_greatest_q || (not_greater_q == count_q && !is_zero_q));
    KeyHasItsHead : assume (suffix_length_o >= determined_o);
    // A separator without an item is not greater than the keys that begin with it.
    ComparesWithoutAnItem : assume (!lacks_item_q || less_q == not_greater_q || (number_q > less_q)
        == (direction_q == DirectionKey || suffix_length_o > determined_o));
  end

endmodule

`default_nettype wire
