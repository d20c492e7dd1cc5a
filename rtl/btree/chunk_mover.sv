// Moves bytes of the leaf or of an overflow value in chunks of up to 64 bytes. A move is a register, so its
// first request follows one cycle after the move is offered.

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
  localparam int unsigned ValueLineBits = $clog2(ValueLines);

  typedef enum logic [1:0] {
    Request,
    Wait,
    Chunk,
    Lines
  } state_e;

  state_e state_q, state_d;
  // The rest of the move, and its end in the leaf; has_left_q: these are known.
  move_t left_q;
  offset_t limit_q;
  logic has_left_q;
  logic [31:0] left_lines;
  // The line of a read of a value; a line is there: a register, so each takes two cycles.
  logic [ValueLineBits-1:0] line_q;
  logic has_line_q, takes_chunk, is_read_over;

  assign left_lines = (left_q.bytes + LineBytes - 1) >> LineIndexBits;
  assign takes_chunk = chunk_valid_o && chunk_ready_i;
  // The next line belongs to the next read.
  assign is_read_over = line_q == '1;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Request: begin
        if (value_valid_o && value_ready_i) state_d = Lines;
        if (window_valid_o && window_ready_i) state_d = Wait;
      end
      Wait: if (window_fresh_i) state_d = Chunk;
      default: ;
    endcase
    if (takes_chunk && (chunk_last_o || !left_q.is_value || is_read_over)) state_d = Request;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= Request;
      {has_left_q, has_line_q} <= '0;
    end else begin
      state_q <= state_d;
      // A move that was valid in the cycle before, and is not finished, is still valid.
      has_left_q <= move_valid_i && !move_ready_o;
      has_line_q <= state_q == Lines && value_line_valid_i && !value_line_ready_o;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!has_left_q) begin
      left_q <= move_i;
      limit_q <= move_i.offset + offset_t'(move_i.bytes);
      line_q <= '0;
    end else if (takes_chunk) begin
      left_q.bytes <= left_q.bytes - LineBytes;
      left_q.offset <= left_q.offset + offset_t'(LineBytes);
      line_q <= line_q + 1'b1;
      if (is_read_over) left_q.address <= left_q.address + bus_address_t'(ValueLines * LineBytes);
    end
  end

  assign window_valid_o = has_left_q && !left_q.is_value && state_q == Request;
  assign window_offset_o = left_q.offset;
  assign window_limit_o = limit_q;
  assign window_held_o = state_q inside {Wait, Chunk};

  assign value_valid_o = has_left_q && left_q.is_value && state_q == Request;
  assign value_address_o = left_q.address;
  assign value_count_o = left_lines > ValueLines ? line_count_t'(ValueLines) : line_count_t'(left_lines);

  assign chunk_valid_o = state_q == Lines ? has_line_q :
      state_q == Chunk || (state_q == Wait && window_fresh_i);
  assign chunk_o.first = '0;
  assign chunk_o.bytes = left_q.is_value ? value_line_i : window_i;
  assign chunk_last_o = left_q.bytes <= LineBytes;
  assign chunk_o.count = (LineIndexBits + 1)'(chunk_last_o ? left_q.bytes : LineBytes);
  assign value_line_ready_o = state_q == Lines && has_line_q && chunk_ready_i;
  assign move_ready_o = takes_chunk && chunk_last_o;

  `ASSERT(MoveIsNotEmpty, !move_valid_i || move_i.bytes != '0)
  `ASSERT(LeftIsKnown, !chunk_valid_o || has_left_q)
  `ASSERT(LeftIsTheEnd, !has_left_q || left_q.is_value || left_q.offset + offset_t'(left_q.bytes) == limit_q)
  `ASSERT_OFFER_STAYS(MoveStays, move_valid_i, move_ready_o, move_i)
  // A receiver may be slow, so the window of a chunk that waits must not change.
  `ASSERT_OFFER_STAYS(ChunkStays, chunk_valid_o, chunk_ready_i, {chunk_o, chunk_last_o})

endmodule

`default_nettype wire
