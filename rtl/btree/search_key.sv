// Stores search keys and outputs one of them chunk by chunk, without the prefix of a node, as often as
// there are items to compare.
//
// The lines of a key can be written in any order, even while another key is output. aim_i selects a key,
// the number of bytes to skip (the prefix of the node), and the length of the whole key. The first chunk
// is valid two cycles later. next_i continues with the next chunk, rewind_i returns to the first one. If
// the key is not longer than the skipped bytes, its chunk has no bytes.
//
//   line 0                           line 1                     of the key
//   | half 0: even | half 1: odd     | half 2: even | ...
//          |<----- chunk ---->|  a half from each of two memories, wherever it begins

`default_nettype none

`include "assertions.svh"

module search_key
  import accelerator_pkg::*;
#(
  // number of keys
  parameter int unsigned Keys = 1,
  localparam int unsigned KeyIndexBits = Keys > 1 ? $clog2(Keys) : 1
) (
  input logic clk_i,
  input logic rst_i,

  input logic write_i,
  input logic [KeyIndexBits-1:0] write_key_i,
  input key_line_t write_line_i,
  input line_t write_data_i,

  // the key to output; constant until the next aim_i
  input logic [KeyIndexBits-1:0] key_i,
  input logic aim_i,
  // number of bytes to skip
  input key_length_t skip_i,
  // length of the whole key
  input key_length_t length_i,

  input logic next_i,
  input logic rewind_i,

  output logic chunk_valid_o,
  output chunk_t chunk_o,
  // number of bytes of the chunk that belong to the key; the others are undefined
  output chunk_count_t chunk_count_o,
  // head of the first chunk: its first eight bytes as a big-endian number, padded with zeros
  output head_t head_o
);

  if (Keys < 1) $fatal(1, "Keys must be at least 1");

  localparam int unsigned HalfBits = $clog2(ChunkBytes);
  localparam int unsigned Lines = Keys * KeyLines;

  typedef logic [$clog2(Lines)-1:0] address_t;

  // The offset of the chunk that was read last, and the number of bytes of the key from there on.
  key_length_t offset_d, offset_q, left_d, left_q;
  // The same for the first chunk.
  key_length_t first_offset_q, first_left_q;
  logic read;
  logic [1:0] valid_q;
  chunk_t even, odd, chunk_q;

  always_comb begin
    read = aim_i || next_i || rewind_i;
    offset_d = offset_q;
    left_d = left_q;
    if (aim_i) begin
      offset_d = skip_i;
      left_d = length_i > skip_i ? length_i - skip_i : '0;
    end else if (rewind_i) begin
      offset_d = first_offset_q;
      left_d = first_left_q;
    end else if (next_i) begin
      offset_d = offset_q + key_length_t'(ChunkBytes);
      left_d = left_q > key_length_t'(ChunkBytes) ? left_q - key_length_t'(ChunkBytes) : '0;
    end
  end

  // The parity of a half selects its memory, so both halves of any chunk are read in one cycle.
  key_line_t even_line, odd_line;

  assign odd_line = offset_d[KeyLengthBits-1-:KeyLineBits];
  assign even_line = odd_line + key_line_t'(offset_d[HalfBits]);

  ram #(
    .Width(ChunkBits),
    .Depth(Lines)
  ) u_even_halves (
    .clk_i,
    .rst_i,
    .write_i,
    .write_address_i(address_t'({write_key_i, write_line_i})),
    .write_data_i(write_data_i[ChunkBits-1:0]),
    .read_i(read),
    .read_address_i(address_t'({key_i, even_line})),
    .read_data_o(even)
  );

  ram #(
    .Width(ChunkBits),
    .Depth(Lines)
  ) u_odd_halves (
    .clk_i,
    .rst_i,
    .write_i,
    .write_address_i(address_t'({write_key_i, write_line_i})),
    .write_data_i(write_data_i[LineBits-1:ChunkBits]),
    .read_i(read),
    .read_address_i(address_t'({key_i, odd_line})),
    .read_data_o(odd)
  );

  line_t halves;

  assign halves = offset_q[HalfBits] ? {even, odd} : {odd, even};

  always_ff @(posedge clk_i) begin
    offset_q <= offset_d;
    left_q <= left_d;
    if (aim_i) begin
      first_offset_q <= offset_d;
      first_left_q <= left_d;
    end
    if (valid_q[0]) chunk_q <= ChunkBits'(halves >> {offset_q[HalfBits-1:0], 3'b0});
  end

  // Bit 0: the halves are valid; bit 1: the chunk is valid.
  always_ff @(posedge clk_i) begin
    if (rst_i || read) valid_q <= {1'b0, read && !rst_i};
    else if (valid_q[0]) valid_q <= 2'b10;
  end

  assign chunk_valid_o = valid_q[1];
  assign chunk_o = chunk_q;
  assign chunk_count_o =
      left_q > key_length_t'(ChunkBytes) ? chunk_count_t'(ChunkBytes) : chunk_count_t'(left_q);

  for (genvar i = 0; i < 8; i++) begin : gen_head
    assign head_o[8*(7-i)+:8] = key_length_t'(i) < left_q ? chunk_q[8*i+:8] : '0;
  end

  `ASSERT(ContinuesAfterChunk, !next_i || chunk_valid_o)
  `ASSERT(NextExcludesRewind, !(next_i && rewind_i))
  `ASSERT(KeyIndexIsValid, (!read || 32'(key_i) < Keys) && (!write_i || 32'(write_key_i) < Keys))
  `ASSERT(KeyLengthIsValid, !aim_i || length_i <= key_length_t'(layout_pkg::KeyBytesMax))

endmodule

`default_nettype wire
