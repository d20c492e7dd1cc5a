// Reads a part of a leaf: finds its place, decodes its lengths, and compares its bytes with a key, window by
// window, until the order is known. The heads of eight adjacent items and the offsets of 16 stay in
// registers. A read takes seven cycles, and three more if it compares.
//
//   heads | offsets | place | window ... | bytes | order | done

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

  // the leaf; forget_i: another one
  input logic forget_i,
  input leaf_columns_t columns_i,
  // verilator lint_off UNUSEDSIGNAL
  input node_header_t header_i,
  // verilator lint_on UNUSEDSIGNAL

  // accepted when the part was read
  input logic read_valid_i,
  output logic read_ready_o,
  input part_read_t read_i,
  // valid in the cycle in which the read is accepted, and until the next read
  output part_t part_o,

  output logic window_valid_o,
  input logic window_ready_i,
  output offset_t window_offset_o,
  output offset_t window_limit_o,
  input logic window_fresh_i,
  input line_t window_i,

  // windows of the keys, read at the same time
  output logic key_read_o,
  output logic key_upper_o,
  output key_length_t key_byte_o,
  input line_t key_window_i
);

  localparam int unsigned Offsets = 16;
  localparam int unsigned OffsetIndexBits = $clog2(Offsets);
  localparam int unsigned WordBytes = ItemWordBits / 8;

  typedef enum logic [3:0] {
    StateIdle,
    // reads the heads, and the offsets, unless they are in the registers
    StateHeads,
    StateHeadsWindow,
    StateOffsets,
    StateOffsetsWindow,
    StatePlace,
    StateWindow,
    StateBytes,
    // numbers of bytes to compare, their words, their order
    StateMasks,
    StateCompare,
    StateOrder,
    StateDone
  } state_e;

  typedef logic [LineIndexBits:0] window_count_t;

  state_e state_q, state_d;
  // verilator lint_off UNUSEDSIGNAL
  part_read_t read_q;
  // verilator lint_on UNUSEDSIGNAL
  part_t part_q;
  line_t heads_q;
  logic [8*OffsetBytes*Offsets-1:0] offsets_q;
  number_t heads_first_q, offsets_first_q;
  logic has_heads_q, has_offsets_q, has_stride, needs_heads, needs_offsets, is_item;
  offset_t place_q, item_end_q;
  // bytes that were compared
  offset_t compared_q;
  logic is_first_q, decides, less, equal;

  assign has_stride = columns_i.stride != '0;
  assign is_item = read_q.part == PartItem;
  assign needs_heads = !has_heads_q || heads_first_q != heads_first(read_i.index);
  assign needs_offsets = !has_stride && (!has_offsets_q || offsets_first_q != offsets_first(read_q.index));

  // verilator lint_off UNUSEDSIGNAL
  function automatic number_t heads_first(number_t index);
    return {index[NumberBits-1:ElementBits], ElementBits'(0)};
  endfunction

  function automatic number_t offsets_first(number_t index);
    return {index[NumberBits-1:OffsetIndexBits], OffsetIndexBits'(0)};
  endfunction
  // verilator lint_on UNUSEDSIGNAL

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StateIdle: if (read_valid_i) begin
        state_d = StateWindow;
        if (read_i.part == PartItem) state_d = needs_heads ? StateHeads : StateOffsets;
      end
      StateHeads: if (window_ready_i) state_d = StateHeadsWindow;
      StateHeadsWindow: if (window_fresh_i) state_d = StateOffsets;
      StateOffsets: begin
        if (!needs_offsets) state_d = StatePlace;
        else if (window_ready_i) state_d = StateOffsetsWindow;
      end
      StateOffsetsWindow: if (window_fresh_i) state_d = StatePlace;
      StatePlace: state_d = StateWindow;
      StateWindow: if (window_ready_i) state_d = StateBytes;
      StateBytes: if (window_fresh_i) state_d = read_q.compares ? StateMasks : StateDone;
      StateMasks: state_d = StateCompare;
      StateCompare: state_d = StateOrder;
      StateOrder: state_d = decides ? StateDone : StateWindow;
      default: state_d = StateIdle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= StateIdle;
    else state_q <= state_d;
    if (state_q == StateIdle) read_q <= read_i;
  end

  // ---- heads, offsets, and the place of an item

  always_ff @(posedge clk_i) begin
    if (state_q == StateHeadsWindow && window_fresh_i)
      {heads_q, heads_first_q} <= {window_i, heads_first(read_q.index)};
    if (state_q == StateOffsetsWindow && window_fresh_i)
      {offsets_q, offsets_first_q} <= {window_i[8*OffsetBytes*Offsets-1:0], offsets_first(read_q.index)};
    if (rst_i || forget_i) {has_heads_q, has_offsets_q} <= '0;
    else begin
      if (state_q == StateHeadsWindow && window_fresh_i) has_heads_q <= 1'b1;
      if (state_q == StateOffsetsWindow && window_fresh_i) has_offsets_q <= 1'b1;
    end
  end

  offset_t product_q;
  logic [OffsetBits-1-2:0] stored;

  assign stored = offsets_q[16*read_q.index[OffsetIndexBits-1:0]+:OffsetBits-2];

  always_ff @(posedge clk_i) begin
    if (state_q == StateIdle) product_q <= offset_t'(read_i.index) * offset_t'(columns_i.stride);
    if (state_q == StatePlace) item_end_q <= columns_i.items_start + product_q + offset_t'(columns_i.stride);
    if (state_q == StateIdle) place_q <= read_i.offset;
    else if (state_q == StatePlace)
      place_q <= has_stride ? columns_i.items_start + product_q : {stored, 2'b0};
    // The next window.
    else if (state_q == StateOrder)
      place_q <= (is_first_q && read_q.part != PartBytes ? part_q.rest : place_q) + window_bytes();
  end

  // The bytes of a window that are compared, of an item those after the head.
  function automatic offset_t window_bytes();
    return is_first_q && read_q.part != PartBytes ? offset_t'(RestBytes) : offset_t'(LineBytes);
  endfunction

  // ---- the first bytes

  logic [3:0] in_head;
  item_word_t word;
  head_t head;
  line_t rest;
  offset_t before_rest, place_rest;

  always_comb begin
    word = item_word_t'(window_i[ItemWordBits-1:0]);
    before_rest = offset_t'(WordBytes);
    head = heads_q[64*read_q.index[ElementBits-1:0]+:64];
    if (is_item && has_stride) begin
      word = '0;
      word.suffix_length = columns_i.suffix_length;
      word.value_length = columns_i.value_length;
      before_rest = '0;
    end else if (read_q.part == PartEntry) begin
      word = item_word_t'(window_i[8*HeadBytes+:ItemWordBits]);
      before_rest = offset_t'(HeadBytes + WordBytes);
      head = window_i[63:0];
    end
    in_head = head_length(word);
    rest = window_i >> (8 * before_rest);
    place_rest = place_q + before_rest;
  end

  function automatic line_t with_head(head_t first, logic [3:0] count, line_t after);
    return after << (8 * count) | line_t'(head_bytes(first, count));
  endfunction

  always_ff @(posedge clk_i) begin
    if (state_q == StateIdle) is_first_q <= 1'b1;
    else if (state_q == StateOrder) is_first_q <= 1'b0;
    if (state_q == StateBytes && window_fresh_i && is_first_q && read_q.part != PartBytes) begin
      part_q.word <= word;
      part_q.head <= head;
      part_q.rest <= place_rest;
      part_q.bytes <= with_head(head, in_head, rest);
      part_q.has_all <= rest_bytes(word) + offset_t'(word.value_length) <= offset_t'(RestBytes);
    end else if (state_q == StateBytes && window_fresh_i) begin
      part_q.bytes <= window_i;
      part_q.has_all <= 1'b0;
    end
    if (state_q == StateOrder) {part_q.less, part_q.equal} <= {less, equal};
  end

  // ---- the comparison

  offset_t whole_bytes, part_bytes, key_bytes;
  window_count_t room, part_count_q, key_count_q;
  logic is_last_q;

  function automatic window_count_t at_most(window_count_t limit, offset_t bytes);
    return bytes < offset_t'(limit) ? window_count_t'(bytes) : limit;
  endfunction

  assign room = is_first_q && read_q.part != PartBytes ? window_count_t'(HeadBytes + RestBytes)
      : window_count_t'(LineBytes);
  assign whole_bytes = read_q.part == PartBytes ? read_q.length : offset_t'(part_q.word.suffix_length);
  assign part_bytes = whole_bytes - compared_q;
  assign key_bytes = offset_t'(read_q.key_last) - offset_t'(read_q.key_first) - compared_q;

  always_ff @(posedge clk_i) begin
    if (state_q == StateIdle) compared_q <= '0;
    else if (state_q == StateOrder) compared_q <= compared_q + offset_t'(room);
    part_count_q <= at_most(room, part_bytes);
    key_count_q <= at_most(room, key_bytes);
    is_last_q <= part_bytes <= offset_t'(room) && key_bytes <= offset_t'(room);
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

  assign decides = !equal || is_last_q;

  // ---- windows

  always_comb begin
    window_valid_o = state_q inside {StateHeads, StateWindow} || (state_q == StateOffsets && needs_offsets);
    window_offset_o = place_q;
    window_limit_o = read_q.limit;
    if (state_q == StateHeads) begin
      window_offset_o = head_offset(heads_first(read_q.index));
      // A line of heads.
      window_limit_o = window_offset_o + offset_t'(LineBytes);
    end else if (state_q == StateOffsets) begin
      window_offset_o = columns_i.offsets_start + (offset_t'(offsets_first(read_q.index)) << 1);
      if (window_offset_o + offset_t'(OffsetBytes * Offsets) < columns_i.fences_start)
        window_limit_o = window_offset_o + offset_t'(OffsetBytes * Offsets);
      else window_limit_o = columns_i.fences_start;
    end else if (is_item) begin
      window_limit_o = has_stride ? item_end_q : offset_t'(header_i.sorted_end);
    end
  end

  assign read_ready_o = state_q == StateDone;
  assign part_o = part_q;
  assign key_read_o = state_q == StateWindow && window_ready_i && read_q.compares;
  assign key_upper_o = read_q.by_upper;
  assign key_byte_o = read_q.key_first + key_length_t'(compared_q);

  `ASSERT(KeyBytesAreInOrder, !read_valid_i || !read_i.compares || read_i.key_first <= read_i.key_last)
  `ASSERT(WaitsForItsReader, state_q == StateIdle || read_valid_i)
  `ASSERT_OFFER_STAYS(ReadStays, read_valid_i, read_ready_o, read_i)
  `COVER(HeadsAreKnown, state_q == StateIdle && state_d == StateOffsets)
  `COVER(OffsetsAreKnown, state_q == StateOffsets && !needs_offsets && !has_stride)
  `COVER(SecondWindow, state_q == StateOrder && !decides)

endmodule

`default_nettype wire
