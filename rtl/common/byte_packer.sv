// Packs chunks of up to 64 bytes into lines. The chunk with in_last_i ends a packet: zeros fill its line, and
// the next packet begins with a new line. A chunk is rotated to its place in one cycle and added in the next.
// Lines depend on no input of the same cycle, but whether a chunk is accepted depends on line_ready_i.

`default_nettype none

`include "assertions.svh"

module byte_packer
  import accelerator_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  input  logic       in_valid_i,
  output logic       in_ready_o,
  // The chunk begins at byte in_first_i and ends in the line. Other bytes are ignored.
  input  line_t      in_bytes_i,
  input  logic [LineIndexBits-1:0] in_first_i,
  // 1 to 64
  input  logic [6:0] in_count_i,
  input  logic       in_last_i,

  output logic  line_valid_o,
  input  logic  line_ready_i,
  output line_t line_o,
  output logic  line_last_o
);

  // ---- rotation: the bytes of a chunk follow those of the incomplete line; its last ones may belong to the
  // next line

  // A chunk. Before it: the bytes of the line that it follows. Within it: these bytes and its own, also those
  // in the next line.
  typedef struct packed {
    logic last;
    logic [LineBytes-1:0] before_it;
    logic [2*LineBytes-1:0] within_it;
    line_t bytes;
  } placed_chunk_t;

  placed_chunk_t chunk_d, chunk_q;
  logic [7:0] limit;
  logic has_chunk_q, takes_chunk, adds_chunk;
  // the place of the next chunk
  logic [LineIndexBits-1:0] place_q, rotation;

  assign in_ready_o = !has_chunk_q || adds_chunk;
  assign takes_chunk = in_valid_i && in_ready_o;
  assign rotation = place_q - in_first_i;

  always_comb begin
    chunk_d.last = in_last_i;
    limit = 8'(place_q) + 8'(in_count_i);
    // Shifts, because a comparison for each byte would be an adder.
    chunk_d.before_it = ~('1 << place_q);
    chunk_d.within_it = ~('1 << limit);
    chunk_d.bytes = in_bytes_i;
    for (int unsigned i = 0; i < LineIndexBits; i++) begin
      if (rotation[i]) chunk_d.bytes = chunk_d.bytes << (8 << i) | chunk_d.bytes >> (LineBits - (8 << i));
    end
  end

  always_ff @(posedge clk_i) begin
    if (in_ready_o) chunk_q <= chunk_d;
    if (rst_i) has_chunk_q <= 1'b0;
    else has_chunk_q <= takes_chunk || (has_chunk_q && !adds_chunk);
    if (rst_i) place_q <= '0;
    else if (takes_chunk) place_q <= in_last_i ? '0 : limit[LineIndexBits-1:0];
  end

  // ---- lines

  // The bytes of an incomplete line; those behind them are undefined. ends_q: these bytes, ending_q, end a
  // packet, so the line is sent before the next chunk is added.
  line_t partial_q;
  logic ends_q;
  logic [LineBytes-1:0] ending_q;
  logic is_full, ends;

  assign adds_chunk = has_chunk_q && line_ready_i && !ends_q;
  assign is_full = chunk_q.within_it[LineBytes-1];
  assign ends = chunk_q.last && !chunk_q.within_it[LineBytes];

  for (genvar index = 0; index < LineBytes; index++) begin : gen_bytes
    logic is_before, is_new;
    assign is_before = ends_q ? ending_q[index] : chunk_q.before_it[index];
    assign is_new = !ends_q && !chunk_q.before_it[index] && chunk_q.within_it[index];
    assign line_o[8*index+:8] = partial_q[8*index+:8] & {8{is_before}} |
        chunk_q.bytes[8*index+:8] & {8{is_new}};

    // After a full line, all bytes of the chunk that are left are those of the next one.
    always_ff @(posedge clk_i) begin
      if (adds_chunk && (is_full || !chunk_q.before_it[index]))
        partial_q[8*index+:8] <= chunk_q.bytes[8*index+:8];
    end
  end

  always_ff @(posedge clk_i) begin
    if (adds_chunk) ending_q <= chunk_q.within_it[2*LineBytes-1:LineBytes];
    if (rst_i) ends_q <= 1'b0;
    else if (adds_chunk) ends_q <= chunk_q.last && !ends;
    else if (line_ready_i) ends_q <= 1'b0;
  end

  assign line_valid_o = ends_q || (has_chunk_q && (is_full || ends));
  assign line_last_o = ends_q || ends;

  `ASSERT(CountIsValid, !in_valid_i || (in_count_i >= 7'd1 && 7'(in_first_i) + in_count_i <= 7'(LineBytes)))
  `ASSERT_OFFER_STAYS(InStays, in_valid_i, in_ready_o, {in_first_i, in_count_i, in_last_i})

endmodule

`default_nettype wire
