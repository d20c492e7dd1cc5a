// Finds the child of an interior node on the way to a leaf.
//
// After start_i it takes the first lines_o lines of the node, and tells the header. If the node is the right
// one, find_i makes it go on: it looks for the last segment whose head is not greater than the wanted one,
// asks for the lines of that segment, and takes the last item there whose key is not greater (before a fence:
// less). The value of that item is the child. Of segments whose heads are equal to the wanted one, the first
// keys are looked at by halves, to find the last that does not begin after what is looked for. A node whose
// first key is greater has the leftmost child.
//
// The ends of the tree are looked for with an empty key: in the direction of the last leaf every item counts.
// Its user drops what is left of a segment's lines once child_valid_o or segment_valid_o is set.

`default_nettype none

`include "assertions.svh"

module child_finder
  import accelerator_pkg::*;
  import layout_pkg::*;
#(
  // how many are kept
  parameter int unsigned Keys = 1,
  localparam int unsigned KeyIndexBits = Keys > 1 ? $clog2(Keys) : 1
) (
  input logic clk_i,
  input logic rst_i,

  // that of the store's nodes
  input logic [7:0] shortcut_capacity_i,
  // how many lines of a node it takes first: those of header and shortcuts
  output line_count_t lines_o,

  // the lines of a key, before its find_i
  input logic key_write_i,
  input logic [KeyIndexBits-1:0] key_write_key_i,
  input key_line_t key_write_line_i,
  input line_t key_write_data_i,

  // forgets the node before; the lines come from the next cycle on
  input logic start_i,

  input  logic  line_valid_i,
  output logic  line_ready_o,
  input  line_t line_i,

  output logic header_valid_o,
  output node_header_t header_o,

  // from here on until the child is known, direction, the key and its length stay
  input logic find_i,
  input logic [KeyIndexBits-1:0] key_i,
  input direction_e direction_i,
  input key_length_t key_length_i,

  // the lines of a segment are wanted; those before are not
  output logic segment_valid_o,
  input  logic segment_ready_i,
  output line_count_t segment_first_o,
  output line_count_t segment_count_o,

  // stays until the next start_i
  output logic child_valid_o,
  output lid_t child_o
);

  typedef enum logic [2:0] {
    // no child is looked for
    StateIdle,
    // waits for the segment, then for its bounds, and asks for its lines
    StateFind,
    StateBounds,
    // walks over its items
    StateWalk,
    StateFound
  } state_e;

  state_e state_d, state_q;
  // The segment that is looked at, and those of which one holds what is looked for, from the first to the
  // last.
  logic [7:0] segment_d, segment_q, low_d, low_q, high_d, high_q;
  // What the items so far lead to, and whether there was one in this segment.
  lid_t child_d, child_q;
  logic is_first_d, is_first_q;
  logic seek, walk, takes_item;

  // The parts: their outputs by their names.
  logic wanted_valid, wanted_next, wanted_rewind;
  chunk_t wanted_chunk;
  chunk_count_t wanted_count;
  head_t wanted_head;
  logic finder_ready, found, found_none, bounds_valid;
  logic [7:0] found_index, found_less;
  offset_t segment_begin, segment_end;
  logic walker_ready, item_valid, item_less, item_equal, item_child_valid, walker_end;
  lid_t item_child;

  wanted_key #(
    .Keys(Keys)
  ) u_wanted (
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
    .next_i(wanted_next),
    .rewind_i(wanted_rewind),
    .chunk_valid_o(wanted_valid),
    .chunk_o(wanted_chunk),
    .chunk_count_o(wanted_count),
    .head_o(wanted_head)
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
    .head_valid_i(state_q == StateFind && wanted_valid),
    .head_i(wanted_head),
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
    // A new node breaks off a walk that lacks lines because memory failed.
    .start_i(walk || start_i),
    .begin_i(segment_begin),
    .end_i(segment_end),
    .line_valid_i(line_valid_i && state_q == StateWalk),
    .line_ready_o(walker_ready),
    .line_i,
    .wanted_valid_i(wanted_valid),
    .wanted_chunk_i(wanted_chunk),
    .wanted_count_i(wanted_count),
    .wanted_next_o(wanted_next),
    .wanted_rewind_o(wanted_rewind),
    .item_valid_o(item_valid),
    .item_less_o(item_less),
    .item_equal_o(item_equal),
    .child_valid_o(item_child_valid),
    .child_o(item_child),
    .next_i(takes_item),
    .end_o(walker_end)
  );

  // Whether the child of the item holds what is looked for, or something after it does.
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
  `COVER(HalvesEqualHeads, state_q == StateWalk && seek && high_q - low_q > 2)
  `ASSERT(FindsInANode, !find_i || (header_valid_o && state_q == StateIdle))
  `ASSERT(SegmentHasItems, !segment_valid_o || segment_begin < segment_end)
  `ASSERT(KeyHasThePrefix, !find_i || direction_i inside {DirectionFirst, DirectionLast} ||
      16'(key_length_i) >= header_o.prefix_length)

endmodule

`default_nettype wire
