// Replaces a key of the request in the key buffers by a fence key, so that a repeated descent uses it as
// its search key. A line of the high fence key consists of a window of the prefix, and of the window in
// which the bytes after the prefix are at the same places; so nothing is rotated here.

`default_nettype none

`include "assertions.svh"

module fence_writer
  import layout_pkg::*;
  import accelerator_pkg::*;
  import scan_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  // accepted when the key was written
  input logic write_valid_i,
  output logic write_ready_o,
  // 1: the low fence key; 0: the high fence key
  input logic is_low_i,
  input slot_t slot_i,
  // 1: replaces the upper key
  input logic upper_i,
  // The offset of the low fence key. The high fence key, without the prefix, follows it. Lengths are
  // those of whole keys.
  input offset_t low_offset_i,
  input key_length_t low_length_i,
  input key_length_t high_length_i,
  input key_length_t prefix_length_i,

  // moves of one chunk
  output logic move_valid_o,
  input logic move_ready_i,
  output move_t move_o,
  input line_t move_bytes_i,

  output logic key_write_valid_o,
  input logic key_write_ready_i,
  output key_write_t key_write_o
);

  typedef enum logic [1:0] {
    // the bytes of the prefix in the line, if there are any
    Prefix,
    Rest,
    Write
  } state_e;

  state_e state_q, state_d;
  key_line_t index_d, index_q;
  line_t line_q;
  // the bytes before the line, and the bytes of the key that are left
  key_length_t line_start, key_length, left;
  logic is_last, is_last_q;
  // The bytes of the prefix that are left. The low fence key is stored with its prefix. Known before a key
  // begins, since a leaf is opened, and its sibling chosen, before.
  logic has_prefix_d, has_prefix_q;
  key_length_t prefix_left_q;
  // bytes of the line behind the prefix
  logic [LineBytes-1:0] in_rest;

  assign line_start = key_length_t'({index_q, LineIndexBits'(0)});
  assign key_length = is_low_i ? low_length_i : high_length_i;
  assign left = key_length - line_start;
  assign is_last = left <= key_length_t'(LineBytes);
  assign has_prefix_d = !is_low_i && prefix_length_i > key_length_t'({index_d, LineIndexBits'(0)});
  assign in_rest = '1 << prefix_left_q;

  always_comb begin
    index_d = index_q;
    if (rst_i || write_ready_o) index_d = '0;
    else if (key_write_valid_o && key_write_ready_i) index_d = index_q + 1'b1;
    state_d = state_q;
    unique case (state_q)
      Prefix: if (write_valid_i && (!has_prefix_q || move_ready_i)) state_d = Rest;
      Rest: if (move_ready_i) state_d = Write;
      default: if (key_write_ready_i) state_d = Prefix;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= Prefix;
    else state_q <= state_d;
    index_q <= index_d;
    has_prefix_q <= has_prefix_d;
    prefix_left_q <= has_prefix_d ? prefix_length_i - key_length_t'({index_d, LineIndexBits'(0)}) : '0;
    for (int unsigned at = 0; at < LineBytes; at++) begin
      if (move_valid_o && move_ready_i && (state_q == Prefix || in_rest[at]))
        line_q[8*at+:8] <= move_bytes_i[8*at+:8];
    end
  end

  function automatic logic [31:0] of_line(key_length_t bytes);
    return bytes < key_length_t'(LineBytes) ? 32'(bytes) : LineBytes;
  endfunction

  // The offset of the bytes after the prefix, as if the prefix preceded them; known before a
  // key begins.
  offset_t rest_offset_q;

  // known before the line is written, since a line takes three cycles
  always_ff @(posedge clk_i) is_last_q <= is_last;

  always_ff @(posedge clk_i) begin
    rest_offset_q <= low_offset_i;
    if (!is_low_i) rest_offset_q <= low_offset_i + offset_t'(low_length_i) - offset_t'(prefix_length_i);
  end

  always_comb begin
    move_o = '0;
    move_o.offset = (state_q == Rest ? rest_offset_q : low_offset_i) + offset_t'(line_start);
    move_o.bytes = of_line(state_q == Rest ? left : prefix_left_q);
  end

  assign move_valid_o = state_q == Rest || (state_q == Prefix && write_valid_i && has_prefix_q);
  assign key_write_valid_o = state_q == Write;
  assign key_write_o = '{slot: slot_i, upper: upper_i, line: index_q, data: line_q};
  assign write_ready_o = key_write_valid_o && key_write_ready_i && is_last_q;

  `ASSERT(PrefixIsKnown, !write_valid_i || has_prefix_q == (!is_low_i && line_start < prefix_length_i))
  `ASSERT(LastLineIsKnown, state_q != Write || is_last_q == is_last)
  `ASSERT(FenceIsNotEmpty, !write_valid_i || key_length != '0)
  `ASSERT(PrefixIsThatOfBoth, !write_valid_i || is_low_i ||
      (prefix_length_i <= low_length_i && prefix_length_i <= high_length_i))
  `ASSERT_OFFER_STAYS(WriteStays, write_valid_i, write_ready_o, {is_low_i, upper_i})
  `ASSERT_OFFER_STAYS(KeyWriteStays, key_write_valid_o, key_write_ready_i, key_write_o)
  `COVER(LineOfPrefixAndRest, state_q == Rest && has_prefix_q)

endmodule

`default_nettype wire
