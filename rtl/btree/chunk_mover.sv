// Moves bytes of the leaf in chunks of up to 64 bytes. A move is a register, so its first request follows one
// cycle after the move is offered.

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

  // window_held_o: the window must stay the one that was requested
  output logic window_valid_o,
  input logic window_ready_i,
  output offset_t window_offset_o,
  output offset_t window_limit_o,
  output logic window_held_o,
  input logic window_fresh_i,
  input line_t window_i
);

  typedef enum logic [1:0] {
    Request,
    Wait,
    Chunk
  } state_e;

  state_e state_q, state_d;
  // The rest of the move, and its end in the leaf; has_left_q: these are known.
  move_t left_q;
  offset_t limit_q;
  logic has_left_q;
  logic takes_chunk, is_last;

  assign is_last = left_q.bytes <= LineBytes;
  assign takes_chunk = chunk_valid_o && chunk_ready_i;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Request: if (window_valid_o && window_ready_i) state_d = Wait;
      Wait: if (window_fresh_i) state_d = Chunk;
      default: ;
    endcase
    if (takes_chunk) state_d = Request;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= Request;
      has_left_q <= 1'b0;
    end else begin
      state_q <= state_d;
      // A move that was valid in the cycle before, and is not finished, is still valid.
      has_left_q <= move_valid_i && !move_ready_o;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!has_left_q) begin
      left_q <= move_i;
      limit_q <= move_i.offset + offset_t'(move_i.bytes);
    end else if (takes_chunk) begin
      left_q.bytes <= left_q.bytes - LineBytes;
      left_q.offset <= left_q.offset + offset_t'(LineBytes);
    end
  end

  assign window_valid_o = has_left_q && state_q == Request;
  assign window_offset_o = left_q.offset;
  assign window_limit_o = limit_q;
  assign window_held_o = state_q inside {Wait, Chunk};

  assign chunk_valid_o = state_q == Chunk || (state_q == Wait && window_fresh_i);
  assign chunk_o.first = '0;
  assign chunk_o.bytes = window_i;
  assign chunk_o.count = (LineIndexBits + 1)'(is_last ? left_q.bytes : LineBytes);
  assign move_ready_o = takes_chunk && is_last;

  `ASSERT(MoveIsNotEmpty, !move_valid_i || move_i.bytes != '0)
  `ASSERT(LeftIsKnown, !chunk_valid_o || has_left_q)
  `ASSERT(LeftIsTheEnd, !has_left_q || left_q.offset + offset_t'(left_q.bytes) == limit_q)
  `ASSERT_OFFER_STAYS(MoveStays, move_valid_i, move_ready_o, move_i)
  // A receiver may be slow, so the window of a chunk that waits must not change.
  `ASSERT_OFFER_STAYS(ChunkStays, chunk_valid_o, chunk_ready_i, chunk_o)

endmodule

`default_nettype wire
