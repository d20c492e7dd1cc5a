// Computes the sizes of a pair to emit, and whether it fits into the open answer, in the cycle before it is
// offered, or one cycle after it is offered and its value is found.

`default_nettype none

`include "assertions.svh"

module pair_measurer
  import layout_pkg::*;
  import accelerator_pkg::*;
  import scan_pkg::*;
#(
  // capacity of an answer
  parameter int unsigned BytesMax = 2048,
  localparam int unsigned BytesBits = $clog2(BytesMax + 1)
) (
  input logic clk_i,
  input logic rst_i,

  input logic is_get_i,
  input logic keys_only_i,
  input key_length_t prefix_length_i,
  // the bytes of the open answer, before the pair
  input logic [BytesBits-1:0] answer_bytes_i,

  // Constant until consume_i. measured_i: the item was that of emit_i in the cycle before, too, and has its
  // value.
  input logic emit_valid_i,
  input item_result_t emit_i,
  input logic measured_i,
  input logic consume_i,

  // the sizes are those of the pair, until consume_i
  output logic valid_o,
  output pair_sizes_t sizes_o,
  // the bytes of the pair with its header; if its value is in its item, these exceed the open answer
  output logic [31:0] pair_bytes_o,
  output logic exceeds_o,
  // see value_finder
  output logic is_overflow_o,
  output bus_address_t address_o,
  output offset_t value_offset_o,

  output logic part_valid_o,
  input logic part_ready_i,
  output part_read_t part_read_o,
  input part_t part_i
);

  logic value_valid, valid_q;
  logic [31:0] value_bytes;
  pair_sizes_t sizes, sizes_q;
  logic [31:0] pair_bytes, pair_bytes_q, suffix_and_value;
  logic is_joined;
  // Bytes that the open answer has room for, after the header of a pair and its prefix; negative if there is
  // none.
  logic signed [BytesBits+1:0] room_q;
  offset_t value_offset, value_offset_q;
  logic exceeds_q;

  value_finder u_value (
    .clk_i,
    .rst_i,
    .find_valid_i(emit_valid_i), .find_ready_o(value_valid),
    .find_i(emit_i),
    .consume_i,
    .keys_only_i,
    .bytes_o(value_bytes),
    .is_overflow_o,
    .address_o,
    .value_offset_o(value_offset),
    .part_valid_o, .part_ready_i,
    .part_read_o,
    .part_i
  );

  // The first bytes are the head, and the bytes after it if they were read. Others are moved: the value of
  // a get, or the rest of the key with or without the value.
  always_comb begin
    sizes.key = prefix_length_i + key_length_t'(emit_i.word.suffix_length);
    sizes.value = value_bytes;
    sizes.moved = is_get_i ? '0 : 32'(rest_bytes(emit_i.word));
    if (!is_overflow_o) sizes.moved += value_bytes;
    sizes.is_whole = emit_i.has_all && !is_overflow_o;
    sizes.first = (LineIndexBits+1)'(head_length(emit_i.word));
    // A short head is a chunk of its own, because the bytes after it are not adjacent to it.
    is_joined = sizes.is_whole && 32'(head_length(emit_i.word)) == HeadBytes;
    if (is_joined) sizes.first = (LineIndexBits+1)'(suffix_and_value);
    sizes.has_more = is_get_i ? value_bytes != '0 : !is_joined &&
        (rest_bytes(emit_i.word) != '0 || (!is_overflow_o && value_bytes != '0));
  end

  assign suffix_and_value = 32'(emit_i.word.suffix_length) + value_bytes;
  assign pair_bytes = CompletionPairSize + 32'(prefix_length_i) + suffix_and_value;

  always_ff @(posedge clk_i) begin
    {sizes_q, pair_bytes_q, value_offset_q} <= {sizes, pair_bytes, value_offset};
    // The answer has not changed since the cycle before the pair.
    room_q <= (BytesBits+2)'(BytesMax - CompletionPairSize) - (BytesBits+2)'(answer_bytes_i) -
        (BytesBits+2)'(prefix_length_i);
    if (!valid_o) exceeds_q <= $signed({2'b0, BytesBits'(suffix_and_value)}) > room_q;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i || consume_i) valid_q <= 1'b0;
    else valid_q <= emit_valid_i && value_valid;
  end

  assign valid_o = valid_q || measured_i;
  assign sizes_o = sizes_q;
  assign pair_bytes_o = pair_bytes_q;
  assign exceeds_o = exceeds_q;
  assign value_offset_o = value_offset_q;

  `ASSERT(MeasuredIsOffered, !measured_i || (emit_valid_i && value_valid))
  `ASSERT_STAYS(SizesStay, valid_q && !consume_i, 1'b0, {valid_q, sizes_q})
  `COVER(PairNeedsAByteMore, valid_o && exceeds_q && !is_get_i &&
      32'(answer_bytes_i) + pair_bytes_q == BytesMax + 1)

endmodule

`default_nettype wire
