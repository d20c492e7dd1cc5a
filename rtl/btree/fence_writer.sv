// Replaces a key of the request in the key buffers by a fence key, so that a repeated descent uses it as
// its search key.

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

  output logic move_valid_o,
  input logic move_ready_i,
  output move_t move_o,
  input logic move_chunk_valid_i,
  output logic move_chunk_ready_o,
  input byte_chunk_t move_chunk_i,
  input logic move_chunk_last_i,

  output logic key_write_valid_o,
  input logic key_write_ready_i,
  output key_write_t key_write_o
);

  typedef enum logic [1:0] {
    First,
    Second,
    Drain
  } state_e;

  state_e state_q, state_d;
  key_line_t line_q;
  key_length_t rest_length;
  logic has_prefix, has_rest, is_second, line_last;

  // The low fence key is moved as if it had no prefix.
  assign has_prefix = !is_low_i && prefix_length_i != '0;
  assign rest_length = is_low_i ? low_length_i : high_length_i - prefix_length_i;
  assign has_rest = rest_length != '0;
  assign is_second = state_q == Second || !has_prefix;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      First: if (write_valid_i && move_ready_i) state_d = is_second || !has_rest ? Drain : Second;
      Second: if (move_ready_i) state_d = Drain;
      default: if (write_ready_o) state_d = First;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i || write_ready_o) line_q <= '0;
    else if (key_write_valid_o && key_write_ready_i) line_q <= line_q + 1'b1;
    if (rst_i) state_q <= First;
    else state_q <= state_d;
  end

  always_comb begin
    move_o = '0;
    move_o.offset = low_offset_i;
    move_o.bytes = 32'(prefix_length_i);
    if (is_second) begin
      if (!is_low_i) move_o.offset = low_offset_i + offset_t'(low_length_i);
      move_o.bytes = 32'(rest_length);
    end
  end

  assign move_valid_o = write_valid_i && state_q != Drain;

  byte_packer u_packer (
    .clk_i,
    .rst_i,
    .in_valid_i(move_chunk_valid_i),
    .in_ready_o(move_chunk_ready_o),
    .in_bytes_i(move_chunk_i.bytes),
    .in_count_i(move_chunk_i.count),
    .in_last_i(move_chunk_last_i && (is_second || !has_rest)),
    .line_valid_o(key_write_valid_o),
    .line_ready_i(key_write_ready_i),
    .line_o(key_write_o.data),
    .line_last_o(line_last)
  );

  assign key_write_o.slot = slot_i;
  assign key_write_o.upper = upper_i;
  assign key_write_o.line = line_q;
  assign write_ready_o = key_write_valid_o && key_write_ready_i && line_last;

  `ASSERT(FenceIsNotEmpty, !write_valid_i || has_prefix || has_rest)
  `ASSERT_OFFER_STAYS(WriteStays, write_valid_i, write_ready_o, {is_low_i, upper_i})

endmodule

`default_nettype wire
