// Finds the child of an interior node on the way to a leaf.
//
// After start_i the finder accepts the first lines_o lines of the node and outputs the header. If the node
// is not too new, its user sets find_i. The finder then looks for the last segment whose head is not
// greater than the head of the search key, requests the lines of that segment, and selects the last item
// whose key is not greater (toward the leaf before a fence key: less). The value of that item is the
// child. Among segments whose heads equal the head of the search key, a binary search over their first
// keys finds the last segment that may contain the key. If the first key of the node is greater, the child
// is the leftmost one.
//
// An empty search key finds the first and the last leaf: toward the last leaf every item counts. The user
// discards the remaining lines of a segment once child_valid_o or segment_valid_o is set.

`default_nettype none

`include "assertions.svh"

module child_finder
  import accelerator_pkg::*;
  import layout_pkg::*;
#(
  // number of search keys that are kept
  parameter int unsigned Keys = 1,
  localparam int unsigned KeyIndexBits = Keys > 1 ? $clog2(Keys) : 1
) (
  input logic clk_i,
  input logic rst_i,

  // shortcut capacity of all nodes of the store
  input logic [7:0] shortcut_capacity_i,
  // number of the first lines of a node: those of header and shortcuts
  output line_count_t lines_o,

  // the lines of a key, written before its find_i
  input logic key_write_i,
  input logic [KeyIndexBits-1:0] key_write_key_i,
  input key_line_t key_write_line_i,
  input line_t key_write_data_i,

  // discards the previous node; the lines of the new node begin in the next cycle
  input logic start_i,

  input  logic  line_valid_i,
  output logic  line_ready_o,
  input  line_t line_i,

  output logic header_valid_o,
  output node_header_t header_o,

  // constant from find_i until the child is known
  input logic find_i,
  input logic [KeyIndexBits-1:0] key_i,
  input direction_e direction_i,
  input key_length_t key_length_i,

  // requests the lines of a segment; the user discards all earlier lines
  output logic segment_valid_o,
  input  logic segment_ready_i,
  output line_count_t segment_first_o,
  output line_count_t segment_count_o,

  // stable until the next start_i
  output logic child_valid_o,
  output lid_t child_o
);

  typedef enum logic [2:0] {
    // no search
    StateIdle,
    // waits for the segment and its bounds, and requests its lines
    StateFind,
    StateBounds,
    // walks over its items
    StateWalk,
    StateFound
  } state_e;

  state_e state_d, state_q;
  // The current segment, and the range of segments that may contain the child, both ends included.
  logic [7:0] segment_d, segment_q, low_d, low_q, high_d, high_q;
  // The child according to the items so far, and whether the current item is the first of its segment.
  lid_t child_d, child_q;
  logic is_first_d, is_first_q;
  logic seek, walk, takes_item;

  // Outputs of the parts.
  logic search_key_valid, search_key_next, search_key_rewind;
  chunk_t search_key_chunk;
  chunk_count_t search_key_count;
  head_t search_key_head;
  logic finder_ready, found, found_none, bounds_valid;
  logic [7:0] found_index, found_less;
  offset_t segment_begin, segment_end;
  logic walker_ready, item_valid, item_less, item_equal, item_child_valid, walker_end;
  lid_t item_child;

  search_key #(
    .Keys(Keys)
  ) u_search_key (
    .clk_i,
    .rst_i,
    .write_i(key_write_i),
    .write_key_i(key_write_key_i),
    .write_line_i(key_write_line_i),
    .write_data_i(key_write_data_i),
    .key_i,
    .aim_i(find_i),
    .skip_i(key_length_t'(header_o.prefix_length)),
    .length_i(key_length_i),
    .next_i(search_key_next),
    .rewind_i(search_key_rewind),
    .chunk_valid_o(search_key_valid),
    .chunk_o(search_key_chunk),
    .chunk_count_o(search_key_count),
    .head_o(search_key_head)
  );

  segment_finder u_finder (
    .clk_i,
    .rst_i,
    .shortcut_capacity_i,
    .lines_o,
    .start_i,
    .line_valid_i(line_valid_i && state_q != StateWalk),
    .line_ready_o(finder_ready),
    .line_i,
    .header_valid_o,
    .header_o,
    .head_valid_i(state_q == StateFind && search_key_valid),
    .head_i(search_key_head),
    .found_o(found),
    .found_index_o(found_index),
    .found_less_o(found_less),
    .found_none_o(found_none),
    .seek_i(seek),
    .seek_index_i(segment_d),
    .bounds_valid_o(bounds_valid),
    .begin_o(segment_begin),
    .end_o(segment_end)
  );

  item_walker u_walker (
    .clk_i,
    .rst_i,
    // The walk may lack lines because memory failed. A new node aborts it.
    .start_i(walk || start_i),
    .begin_i(segment_begin),
    .end_i(segment_end),
    .line_valid_i(line_valid_i && state_q == StateWalk),
    .line_ready_o(walker_ready),
    .line_i,
    .search_key_valid_i(search_key_valid),
    .search_key_chunk_i(search_key_chunk),
    .search_key_count_i(search_key_count),
    .search_key_next_o(search_key_next),
    .search_key_rewind_o(search_key_rewind),
    .item_valid_o(item_valid),
    .item_less_o(item_less),
    .item_equal_o(item_equal),
    .child_valid_o(item_child_valid),
    .child_o(item_child),
    .next_i(takes_item),
    .end_o(walker_end)
  );

  // The search key is in the child of this item or after it.
  logic item_counts;

  always_comb begin
    case (direction_i)
      DirectionKey: item_counts = item_less || item_equal;
      DirectionLast: item_counts = 1'b1;
      default: item_counts = item_less;
    endcase
  end

  always_comb begin
    state_d = state_q;
    {segment_d, low_d, high_d, child_d, is_first_d} = {segment_q, low_q, high_q, child_q, is_first_q};
    {seek, walk, takes_item} = '0;
    case (state_q)
      StateIdle: begin
        child_d = lid_t'(header_o.left);
        if (find_i) state_d = StateFind;
      end
      StateFind: begin
        {low_d, high_d} = {found_less, found_index};
        if (direction_i == DirectionLast) {low_d, high_d} = {2{header_o.shortcut_count - 8'd1}};
        segment_d = segment_between(low_d, high_d);
        if (found) begin
          seek = direction_i == DirectionLast ? header_o.shortcut_count != '0 : !found_none;
          state_d = seek ? StateBounds : StateFound;
        end
      end
      StateBounds: begin
        walk = 1'b1;
        is_first_d = 1'b1;
        if (segment_valid_o && segment_ready_i) state_d = StateWalk;
      end
      StateWalk: begin
        if (item_valid && item_counts && segment_q != high_q) begin
          low_d = segment_q;
          seek = 1'b1;
        end else if (item_valid && item_counts) begin
          takes_item = item_child_valid;
          if (takes_item) {child_d, is_first_d} = {item_child, 1'b0};
        end else if (item_valid && is_first_q && segment_q != low_q) begin
          high_d = segment_q - 1'b1;
          seek = 1'b1;
        end else if (item_valid || walker_end) begin
          state_d = StateFound;
        end
      end
      StateFound: ;
      default: state_d = StateIdle;
    endcase
    if (state_q == StateWalk && seek) begin
      segment_d = segment_between(low_d, high_d);
      state_d = StateBounds;
    end
    if (start_i) state_d = StateIdle;
  end

  always_ff @(posedge clk_i) begin
    {segment_q, low_q, high_q, child_q, is_first_q} <= {segment_d, low_d, high_d, child_d, is_first_d};
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= StateIdle;
    else state_q <= state_d;
  end

  assign line_ready_o = state_q == StateWalk ? walker_ready : finder_ready;
  assign segment_valid_o = state_q == StateBounds && bounds_valid;
  assign segment_first_o = segment_begin[OffsetBits-1:LineIndexBits];
  assign segment_count_o = line_count_t'((segment_end - 1'b1) >> LineIndexBits) - segment_first_o + 1'b1;
  assign child_valid_o = state_q == StateFound;
  assign child_o = child_q;

  `ASSERT(SegmentIsBetween, state_q != StateWalk || (low_q <= segment_q && segment_q <= high_q))
  `COVER(BisectsEqualHeads, state_q == StateWalk && seek && high_q - low_q > 2)
  `ASSERT(SearchesValidNode, !find_i || (header_valid_o && state_q == StateIdle))
  `ASSERT(SegmentHasItems, !segment_valid_o || segment_begin < segment_end)
  `ASSERT(KeyHasPrefix, !find_i || direction_i inside {DirectionFirst, DirectionLast} ||
      16'(key_length_i) >= header_o.prefix_length)

endmodule

`default_nettype wire
