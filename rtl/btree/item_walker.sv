// Compares the items of a segment of an interior node with the search key, one after the other.
//
// start_i sets the offsets at which the segment begins and ends. The walker then accepts the lines of the
// node, beginning with the first line of the segment. For each item it outputs the order of its key
// relative to the search key, and then its child. next_i continues with the next item. end_o is set after
// the last item. A short item needs two cycles.
//
// The ports search_key_* connect to a search_key. It is at its first chunk when the walk begins and
// whenever an item is output; after a walk that was aborted, its position is undefined. Each chunk after
// the first one that must be compared needs three more cycles.

`default_nettype none

`include "assertions.svh"

module item_walker
  import accelerator_pkg::*;
  import layout_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  // discards the previous segment; the lines of the new one begin in the next cycle
  input logic start_i,
  // offsets in the node of the first item and of the end of the last item
  input offset_t begin_i,
  input offset_t end_i,

  input  logic  line_valid_i,
  output logic  line_ready_o,
  input  line_t line_i,

  input  logic search_key_valid_i,
  input  chunk_t search_key_chunk_i,
  input  chunk_count_t search_key_count_i,
  output logic search_key_next_o,
  output logic search_key_rewind_o,

  // an item is output until next_i
  output logic item_valid_o,
  // its key is less than the search key, or equal to it; otherwise greater
  output logic item_less_o,
  output logic item_equal_o,
  // its child is valid
  output logic child_valid_o,
  output lid_t child_o,
  // allowed once the child is valid
  input  logic next_i,

  // all items were visited
  output logic end_o
);

  localparam int unsigned HeaderBytes = ItemHeaderBits / 8;

  // A number of bytes that are consumed or valid.
  typedef logic [6:0] count_t;
  typedef logic [7:0] known_t;

  typedef enum logic [1:0] {
    // all items were visited
    StateEnd,
    // decodes a header, and compares the first chunk
    StateHeader,
    // compares a further chunk at the start of the window
    StateCompare,
    // outputs the item
    StateItem
  } state_e;

  state_e state_d, state_q;
  offset_t end_q;
  // The offset of the next header; after the current header, the end of the current item.
  offset_t offset_d, offset_q;
  // Bytes of the key suffix that were not compared; they precede the child.
  key_length_t suffix_d, suffix_q;
  logic less_q, equal_q;

  // Skips faster than it compares.
  // verilator lint_off UNUSEDSIGNAL
  line_t window;
  // verilator lint_on UNUSEDSIGNAL
  known_t known;
  count_t take;

  byte_window u_window (
    .clk_i,
    .rst_i,
    .start_i,
    .skip_i(begin_i[LineIndexBits-1:0]),
    .line_valid_i,
    .line_ready_o,
    .line_i,
    .bytes_o(window),
    .count_o(known),
    .consume_i(take)
  );

  function automatic count_t at_most(count_t most, key_length_t bytes);
    return bytes < key_length_t'(most) ? count_t'(bytes) : most;
  endfunction

  // Compares the first chunk, which follows the header, or a further chunk at the start of the window.
  // The module uses no other fields of a header, because these are equal for all items.
  // verilator lint_off UNUSEDSIGNAL
  item_header_t header;
  // verilator lint_on UNUSEDSIGNAL
  logic is_header, less, equal, compares, decided;
  chunk_t chunk;
  key_length_t suffix;
  count_t chunk_count;

  assign is_header = state_q == StateHeader;
  assign header = window[0+:ItemHeaderBits];
  assign suffix = is_header ? header.suffix_length : suffix_q;
  assign chunk = is_header ? window[8*HeaderBytes+:ChunkBits] : window[0+:ChunkBits];
  assign chunk_count = at_most(count_t'(ChunkBytes), suffix);

  key_compare u_compare (
    .a_i(line_t'(chunk)),
    .a_count_i(chunk_count),
    .b_i(line_t'(search_key_chunk_i)),
    .b_count_i(count_t'(search_key_count_i)),
    .less_o(less),
    .equal_o(equal)
  );

  // If whole chunks are equal, the bytes after them decide.
  assign decided = !equal || chunk_count != count_t'(ChunkBytes);
  assign compares = search_key_valid_i &&
      (is_header ? known >= known_t'(HeaderBytes) && known >= known_t'(chunk_count + count_t'(HeaderBytes)) :
      state_q == StateCompare && known >= known_t'(chunk_count));

  always_comb begin
    state_d = state_q;
    offset_d = offset_q;
    suffix_d = suffix_q;
    take = '0;
    case (state_q)
      StateHeader, StateCompare: begin
        if (compares) begin
          take = chunk_count;
          suffix_d = suffix - key_length_t'(chunk_count);
          state_d = decided ? StateItem : StateCompare;
        end
        if (compares && is_header) begin
          take = chunk_count + count_t'(HeaderBytes);
          offset_d =
              offset_q + offset_t'(HeaderBytes + ChildSize) + offset_t'(header.suffix_length);
        end
      end
      StateItem: begin
        if (suffix_q != '0) begin
          take = at_most(count_t'(LineBytes), suffix_q);
          if (known < known_t'(take)) take = count_t'(known);
          suffix_d = suffix_q - key_length_t'(take);
        end else if (next_i) begin
          take = count_t'(ChildSize);
          state_d = offset_q < end_q ? StateHeader : StateEnd;
        end
      end
      default: ;
    endcase
    if (start_i) begin
      state_d = begin_i < end_i ? StateHeader : StateEnd;
      offset_d = begin_i;
    end
  end

  always_ff @(posedge clk_i) begin
    offset_q <= offset_d;
    suffix_q <= suffix_d;
    if (start_i) end_q <= end_i;
    if (compares) begin
      less_q <= less;
      equal_q <= equal;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= StateEnd;
    else state_q <= state_d;
  end

  assign search_key_next_o = compares && !decided;
  assign search_key_rewind_o = state_q == StateCompare && compares && decided;
  assign item_valid_o = state_q == StateItem;
  assign item_less_o = less_q;
  assign item_equal_o = equal_q;
  assign child_valid_o = item_valid_o && suffix_q == '0 && known >= known_t'(ChildSize);
  assign child_o = window[0+:LidBits];
  assign end_o = state_q == StateEnd;

  `ASSERT(ContinuesAfterChild, !next_i || child_valid_o)
  `ASSERT(ItemEndsInSegment, !item_valid_o || offset_q <= end_q)
  `ASSERT(ItemHasChild, !(is_header && compares) || 32'(header.value_length) == ChildSize)

endmodule

`default_nettype wire
