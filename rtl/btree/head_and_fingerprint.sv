// Computes the head of a key suffix, which is its first eight bytes as a number, and its fingerprint,
// which is the complement of the low byte of its CRC-32C. It consumes eight bytes per cycle. A checksum is
// linear: each of its bits is the parity of some bits of the former checksum and of the bytes.

`default_nettype none

`include "assertions.svh"

module head_and_fingerprint
  import accelerator_pkg::*;
  import search_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  // begins with the bytes first_i to last_i of a key, last_i is not included; allowed when it is done
  input logic start_i,
  input key_length_t first_i,
  input key_length_t last_i,

  // a read in each cycle: see search_key; the last one of the suffix is tagged
  output logic read_valid_o,
  output head_read_t read_o,
  output logic read_last_o,
  input logic head_valid_i,
  input head_t head_i,
  input logic head_last_i,

  // valid from then on until start_i
  output logic done_o,
  output head_t head_o,
  output logic [7:0] fingerprint_o
);

  localparam int unsigned StepBytes = 8;
  // reflected
  localparam logic [31:0] Polynomial = 32'h82f63b78;

  // ---- reads

  logic reads_q;
  head_read_t read_q;

  assign read_last_o = read_q.length - read_q.offset <= key_length_t'(StepBytes);

  always_ff @(posedge clk_i) begin
    if (start_i) read_q <= '{offset: first_i, length: last_i};
    else if (reads_q) read_q.offset <= read_q.offset + key_length_t'(StepBytes);
    if (rst_i) reads_q <= 1'b0;
    else if (start_i) reads_q <= 1'b1;
    else if (read_last_o) reads_q <= 1'b0;
  end

  assign read_valid_o = reads_q;
  assign read_o = read_q;

  // ---- checksums

  logic [8*StepBytes-1:0] bytes;
  // bytes that are left
  key_length_t left_q;
  logic [31:0] crc_q;
  logic [StepBytes:0][31:0] crc_after;
  head_t head_q;
  logic [7:0] fingerprint_q;
  logic is_first_q, done_q;

  for (genvar i = 0; i < StepBytes; i++) begin : gen_bytes
    assign bytes[8*i+:8] = head_i[8*(StepBytes-1-i)+:8];
  end

  function automatic logic [31:0] add_byte(logic [31:0] crc, logic [7:0] next);
    logic [31:0] sum = crc ^ {24'd0, next};
    for (int unsigned i = 0; i < 8; i++) sum = (sum >> 1) ^ (sum[0] ? Polynomial : 32'd0);
    return sum;
  endfunction

  // For each bit of the checksum after some bytes: the bits of which it is the parity.
  typedef logic [31:0][32+8*StepBytes-1:0] parities_t;

  function automatic parities_t parities_of(int unsigned count);
    logic [31:0] crc;
    logic [8*StepBytes-1:0] data;
    for (int unsigned from = 0; from < 32 + 8 * StepBytes; from++) begin
      {data, crc} = (32 + 8 * StepBytes)'(1) << from;
      for (int unsigned i = 0; i < count; i++) crc = add_byte(crc, data[8*i+:8]);
      for (int unsigned to = 0; to < 32; to++) parities_of[to][from] = crc[to];
    end
  endfunction

  for (genvar count = 0; count <= StepBytes; count++) begin : gen_counts
    localparam parities_t Parities = parities_of(count);
    for (genvar to = 0; to < 32; to++) begin : gen_bits
      assign crc_after[count][to] = ^(Parities[to] & {bytes, crc_q});
    end
  end

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      left_q <= last_i - first_i;
      crc_q <= '1;
      is_first_q <= 1'b1;
    end else if (head_valid_i) begin
      left_q <= left_q - key_length_t'(StepBytes);
      crc_q <= crc_after[StepBytes];
      is_first_q <= 1'b0;
      if (is_first_q) head_q <= head_i;
      // The last step may have fewer bytes.
      fingerprint_q <= ~crc_after[32'(left_q) < StepBytes ? 4'(left_q) : 4'(StepBytes)][7:0];
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i || start_i) done_q <= 1'b0;
    else if (head_valid_i && head_last_i) done_q <= 1'b1;
  end

  assign done_o = done_q;
  assign head_o = head_q;
  assign fingerprint_o = fingerprint_q;

  `ASSERT(BytesAreInOrder, !start_i || first_i <= last_i)
  `ASSERT(StartsWhenDone, !start_i || (!reads_q && !head_valid_i))
  `COVER(LastStepLacksAByte, head_valid_i && head_last_i && !is_first_q && 32'(left_q) == StepBytes - 1)
  `COVER(LastStepIsWhole, head_valid_i && head_last_i && !is_first_q && 32'(left_q) == StepBytes)
  `COVER(LastStepHasOneByte, head_valid_i && head_last_i && !is_first_q && left_q == 1)
  `COVER(SuffixHas31Bytes, start_i && last_i - first_i == 31)
  `COVER(SuffixHas32Bytes, start_i && last_i - first_i == 32)
  `COVER(SuffixHas33Bytes, start_i && last_i - first_i == 33)

endmodule

`default_nettype wire
