// Moves bytes of the leaf or of an overflow value in chunks of up to 64 bytes.

`default_nettype none

`include "assertions.svh"

module chunk_mover
  import accelerator_pkg::*;
  import scan_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  // accepted with the last chunk
  input logic move_valid_i,
  output logic move_ready_o,
  input move_t move_i,

  output logic chunk_valid_o,
  input logic chunk_ready_i,
  output byte_chunk_t chunk_o,
  output logic chunk_last_o,

  // window_held_o: the window must stay the one that was requested
  output logic window_valid_o,
  input logic window_ready_i,
  output offset_t window_offset_o,
  output offset_t window_limit_o,
  output logic window_held_o,
  input logic window_fresh_i,
  input line_t window_i,

  output logic value_valid_o,
  input logic value_ready_i,
  output bus_address_t value_address_o,
  output line_count_t value_count_o,
  input logic value_line_valid_i,
  output logic value_line_ready_o,
  input line_t value_line_i
);

  // Maximum number of lines of a read of an overflow value.
  localparam int unsigned ValueLines = 64;

  typedef enum logic [1:0] {
    Request,
    Wait,
    Chunk,
    Lines
  } state_e;

  state_e state_q, state_d;
  // Bytes that are moved, and bytes that are left; has_left_q: these are known.
  logic [31:0] moved_q, moved_d, left_q, left_lines;
  logic is_read_over, has_left_q;
  // A line of a value is there: a register, so each takes two cycles.
  logic has_line_q;

  assign left_lines = (left_q + LineBytes - 1) >> LineIndexBits;
  // The next line belongs to the next read.
  assign is_read_over = moved_q[11:LineIndexBits] == '1;

  always_comb begin
    state_d = state_q;
    moved_d = moved_q;
    unique case (state_q)
      Request: begin
        if (value_valid_o && value_ready_i) state_d = Lines;
        if (move_valid_i && !move_i.is_value && window_ready_i) state_d = Wait;
      end
      Wait: if (window_fresh_i) state_d = Chunk;
      default: ;
    endcase
    if (chunk_valid_o && chunk_ready_i) begin
      moved_d = moved_q + LineBytes;
      if (chunk_last_o) moved_d = '0;
      if (chunk_last_o || !move_i.is_value || is_read_over) state_d = Request;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= Request;
      moved_q <= '0;
      has_left_q <= 1'b0;
      has_line_q <= 1'b0;
    end else begin
      has_line_q <= state_q == Lines && value_line_valid_i && !value_line_ready_o;
      state_q <= state_d;
      moved_q <= moved_d;
      has_left_q <= move_valid_i && !move_ready_o;
    end
    if (!has_left_q) left_q <= move_i.bytes;
    else if (chunk_valid_o && chunk_ready_i) left_q <= left_q - LineBytes;
  end

  assign window_valid_o = move_valid_i && !move_i.is_value && state_q == Request;
  assign window_offset_o = move_i.offset + offset_t'(moved_q);
  assign window_limit_o = move_i.offset + offset_t'(move_i.bytes);
  assign window_held_o = state_q inside {Wait, Chunk};

  // A move that was valid in the cycle before, and is not finished, is still valid.
  assign value_valid_o = has_left_q && move_i.is_value && state_q == Request;
  assign value_address_o = move_i.address + bus_address_t'(moved_q);
  assign value_count_o = left_lines > ValueLines ? line_count_t'(ValueLines) : line_count_t'(left_lines);

  assign chunk_valid_o = state_q == Lines ? has_line_q :
      state_q == Chunk || (state_q == Wait && window_fresh_i);
  assign chunk_o.first = '0;
  assign chunk_o.bytes = move_i.is_value ? value_line_i : window_i;
  assign chunk_last_o = left_q <= LineBytes;
  assign chunk_o.count = chunk_last_o ? (LineIndexBits + 1)'(left_q) : (LineIndexBits + 1)'(LineBytes);
  assign value_line_ready_o = state_q == Lines && has_line_q && chunk_ready_i;
  assign move_ready_o = chunk_valid_o && chunk_ready_i && chunk_last_o;

  `ASSERT(MoveIsNotEmpty, !move_valid_i || move_i.bytes != '0)
  `ASSERT(LeftIsKnown, !chunk_valid_o || (has_left_q && left_q == move_i.bytes - moved_q))
  `ASSERT_OFFER_STAYS(MoveStays, move_valid_i, move_ready_o, move_i)
  // A receiver may be slow, so the window of a chunk that waits must not change.
  `ASSERT_OFFER_STAYS(ChunkStays, chunk_valid_o, chunk_ready_i, {chunk_o, chunk_last_o})

endmodule

`default_nettype wire
