// Reads a part of a leaf: decodes its lengths, and compares its bytes with a key, window by window, until the
// order is known. part_fetcher finds the windows. A read takes four cycles if the fetcher has prepared the
// item, up to twelve otherwise, and three more if it compares.
//
//   request | start | window ... | masks | words | order | done, or next: another window

`default_nettype none

`include "assertions.svh"

module part_reader
  import layout_pkg::*;
  import accelerator_pkg::*;
  import search_pkg::*;
  import scan_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  // the leaf; forget_i: another one follows; prepare_i: see part_fetcher
  input logic forget_i,
  input logic prepare_i,
  input number_t first_i,
  input offset_t first_offset_i,
  input leaf_columns_t columns_i,
  // verilator lint_off UNUSEDSIGNAL
  input node_header_t header_i,
  // verilator lint_on UNUSEDSIGNAL

  // a scan steps from item to item
  input logic steps_i,
  input logic backward_i,

  // accepted when the part was read
  input logic read_valid_i,
  output logic read_ready_o,
  input part_read_t read_i,
  // valid in the cycle in which the read is accepted, and until the next read takes its window, which waits
  // while hold_i is set
  output part_t part_o,
  input logic hold_i,

  // see part_fetcher
  output logic window_valid_o,
  input logic window_ready_i,
  output logic window_ahead_o,
  output offset_t window_offset_o,
  output offset_t window_limit_o,
  input logic other_window_i,
  input line_t window_i,

  // windows of the keys, read at the same time
  output logic key_read_o,
  output logic key_upper_o,
  output key_length_t key_byte_o,
  input line_t key_window_i
);

  localparam int unsigned WordBytes = ItemWordBits / 8;

  typedef enum logic [2:0] {
    StateIdle,
    StateStart,
    // waits for a window
    StateWindow,
    // numbers of bytes to compare, their words, their order
    StateMasks,
    StateCompare,
    StateOrder,
    // the window does not decide
    StateNext,
    StateDone
  } state_e;

  // Of a window: all bytes, or an item after its head, which is elsewhere unless it is a log entry.
  typedef enum logic [1:0] {
    FromBytes,
    FromStrided,
    FromItem,
    FromEntry
  } source_e;

  typedef logic [LineIndexBits:0] window_count_t;

  state_e state_q, state_d;
  // verilator lint_off UNUSEDSIGNAL
  part_read_t read_q;
  // verilator lint_on UNUSEDSIGNAL
  part_t part_q;
  // The part that was read last is the item with an index, and its bytes are its first ones.
  logic has_item_q, is_known_q, is_known;
  // The part is this item, or the one that may be prepared.
  logic matches_read_q, matches_prepared_q;
  number_t item_q, prepared;
  // Known from the cycle after the start on.
  source_e source, source_q;
  logic there, take, is_item, begins_window_q;
  head_t item_head;
  offset_t place, place_q, limit, limit_q;
  // bytes that were compared
  offset_t compared_q;
  // is_last_q: the window has the last bytes of part and key, so it decides
  logic is_first_q, is_last_q, less, equal;

  assign is_item = read_q.part == PartItem;
  assign is_known = has_item_q && matches_read_q;

  part_fetcher u_fetcher (
    .clk_i,
    .rst_i,
    .forget_i, .prepare_i, .first_i, .first_offset_i,
    .columns_i,
    .header_i,
    .steps_i, .backward_i,
    .start_i(state_q == StateStart && !is_known), .is_index_i(matches_prepared_q),
    .part_i(read_q),
    .continue_i(state_q == StateNext && part_q.equal),
    // The next window.
    .offset_i((is_first_q && read_q.part != PartBytes ? part_q.rest : place_q) + window_bytes()),
    .limit_i(limit_q),
    .there_o(there),
    .place_o(place),
    .limit_o(limit),
    .head_o(item_head),
    .index_o(prepared),
    .take_i(take),
    .window_valid_o, .window_ready_i,
    .window_ahead_o,
    .window_offset_o, .window_limit_o,
    .other_window_i,
    .window_i
  );

  assign take = state_q == StateWindow && !is_known_q && there && !hold_i;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StateIdle: if (read_valid_i) state_d = StateStart;
      StateStart: state_d = StateWindow;
      StateWindow: if (take || is_known_q) state_d = read_q.compares ? StateMasks : StateDone;
      StateMasks: state_d = StateCompare;
      StateCompare: state_d = StateOrder;
      StateOrder: state_d = is_last_q ? StateDone : StateNext;
      StateNext: state_d = part_q.equal ? StateWindow : StateDone;
      default: state_d = StateIdle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (state_q == StateIdle) begin
      read_q <= read_i;
      matches_read_q <= read_i.part == PartItem && read_i.index == item_q;
      matches_prepared_q <= read_i.part == PartItem && read_i.index == prepared;
    end
    source_q <= source;
    is_known_q <= state_q == StateStart && is_known;
    begins_window_q <= state_q inside {StateStart, StateNext};
    if (take) {place_q, limit_q, item_q} <= {place, limit, read_q.index};
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= StateIdle;
    else state_q <= state_d;
    if (rst_i || forget_i) has_item_q <= 1'b0;
    else if (take) has_item_q <= is_first_q && is_item;
  end

  // Returns the bytes of a window that are compared, of an item those after the head.
  function automatic offset_t window_bytes();
    return is_first_q && read_q.part != PartBytes ? offset_t'(RestBytes) : offset_t'(LineBytes);
  endfunction

  // ---- the first bytes

  item_word_t word;
  head_t head;
  line_t first_bytes;
  offset_t before_rest;

  always_comb begin
    source = FromEntry;
    if (is_item) source = columns_i.stride != '0 ? FromStrided : FromItem;
    if (read_q.part == PartBytes || !is_first_q) source = FromBytes;
  end

  // The bytes after the head are always at the same place, so a window is moved by a constant.
  always_comb begin
    word = item_word_t'(window_i[ItemWordBits-1:0]);
    before_rest = offset_t'(WordBytes);
    head = item_head;
    first_bytes = window_i;
    unique case (source_q)
      FromStrided: begin
        word = '0;
        word.suffix_length = columns_i.suffix_length;
        word.value_length = columns_i.value_length;
        before_rest = '0;
        first_bytes = window_i << (8 * HeadBytes);
      end
      FromItem: first_bytes = window_i << (8 * (HeadBytes - WordBytes));
      FromEntry: begin
        word = item_word_t'(window_i[8*HeadBytes+:ItemWordBits]);
        before_rest = offset_t'(HeadBytes + WordBytes);
        head = window_i[63:0];
        first_bytes = window_i >> (8 * WordBytes);
      end
      default: ;
    endcase
    if (source_q != FromBytes) first_bytes[8*HeadBytes-1:0] = head_bytes(head);
  end

  always_ff @(posedge clk_i) begin
    if (state_q == StateIdle) is_first_q <= 1'b1;
    else if (state_q == StateNext) is_first_q <= 1'b0;
    if (take) begin
      part_q.bytes <= first_bytes;
      part_q.has_all <= 1'b0;
    end
    if (take && source_q != FromBytes) begin
      part_q.word <= word;
      part_q.head <= head;
      part_q.rest <= place + before_rest;
      part_q.has_all <= has_all(word);
    end
    if (state_q == StateOrder) {part_q.less, part_q.equal} <= {less, equal};
  end

  // ---- the comparison

  // key_left_q: known from the cycle after the start, or after the previous window, on
  offset_t whole_bytes, part_bytes, key_left_q;
  window_count_t room, part_count_q, key_count_q;

  function automatic window_count_t at_most(window_count_t most, offset_t bytes);
    return bytes < offset_t'(most) ? window_count_t'(bytes) : most;
  endfunction

  assign room = is_first_q && read_q.part != PartBytes ? window_count_t'(HeadBytes + RestBytes)
      : window_count_t'(LineBytes);
  assign whole_bytes = read_q.part == PartBytes ? read_q.length : offset_t'(part_q.word.suffix_length);
  assign part_bytes = whole_bytes - compared_q;

  always_ff @(posedge clk_i) begin
    if (state_q == StateIdle) compared_q <= '0;
    else if (state_q == StateNext) compared_q <= compared_q + offset_t'(room);
    part_count_q <= at_most(room, part_bytes);
    if (state_q == StateStart) key_left_q <= offset_t'(read_q.key_last) - offset_t'(read_q.key_first);
    else if (state_q == StateNext) key_left_q <= key_left_q - offset_t'(room);
    key_count_q <= at_most(room, key_left_q);
    is_last_q <= part_bytes <= offset_t'(room) && key_left_q <= offset_t'(room);
  end

  key_compare u_compare (
    .clk_i,
    .a_i(part_q.bytes),
    .a_count_i(part_count_q),
    .b_i(key_window_i),
    .b_count_i(key_count_q),
    .less_o(less),
    .equal_o(equal)
  );

  assign read_ready_o = state_q == StateDone;
  assign part_o = part_q;
  assign key_read_o = state_q == StateWindow && begins_window_q && read_q.compares;
  assign key_upper_o = read_q.by_upper;
  assign key_byte_o = read_q.key_first + key_length_t'(compared_q);

  `ASSERT(KeyBytesAreInOrder, !read_valid_i || !read_i.compares || read_i.key_first <= read_i.key_last)
  `ASSERT(SourceIsKnown, !take || source_q == source)
  `ASSERT(WaitsForItsReader, state_q == StateIdle || read_valid_i)
  `ASSERT_OFFER_STAYS(ReadStays, read_valid_i, read_ready_o, read_i)
  `ASSERT(WaitsOnlyForWindows,
      !hold_i || !read_valid_i || state_q inside {StateIdle, StateStart, StateWindow})
  `COVER(IsKnown, state_q == StateStart && is_known)
  `COVER(IsHeld, there && hold_i)
  `COVER(SecondWindow, state_q == StateNext && part_q.equal)
  // The bytes of a part that are left, and those of the key, are a window.
  `COVER(PartLacksAByte, state_q == StateMasks && part_bytes + 1'b1 == offset_t'(room))
  `COVER(PartIsAWindow, state_q == StateMasks && part_bytes == offset_t'(room))
  `COVER(PartHasOneMore, state_q == StateMasks && part_bytes == offset_t'(room) + 1'b1)
  `COVER(KeyLacksAByte, state_q == StateMasks && key_left_q + 1'b1 == offset_t'(room))
  `COVER(KeyIsAWindow, state_q == StateMasks && key_left_q == offset_t'(room))
  `COVER(KeyHasOneMore, state_q == StateMasks && key_left_q == offset_t'(room) + 1'b1)

endmodule

`default_nettype wire
