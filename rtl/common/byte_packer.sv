// Packs chunks of up to 64 bytes into lines. The chunk with in_last_i ends a packet: zeros fill its line, and
// the next packet begins with a new line. A chunk is rotated to its place in one cycle and added in the next.

`default_nettype none

`include "assertions.svh"

module byte_packer
  import accelerator_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  input  logic       in_valid_i,
  output logic       in_ready_o,
  // bytes beyond the count are ignored
  input  line_t      in_bytes_i,
  // 1 to 64
  input  logic [6:0] in_count_i,
  input  logic       in_last_i,

  output logic  line_valid_o,
  input  logic  line_ready_i,
  output line_t line_o,
  output logic  line_last_o
);

  typedef struct packed {
    logic last;
    line_t data;
  } element_t;

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
  logic [LineIndexBits-1:0] place_q;

  assign in_ready_o = !has_chunk_q || adds_chunk;
  assign takes_chunk = in_valid_i && in_ready_o;

  always_comb begin
    chunk_d.last = in_last_i;
    limit = 8'(place_q) + 8'(in_count_i);
    for (int unsigned at = 0; at < LineBytes; at++) chunk_d.before_it[at] = 8'(at) < 8'(place_q);
    for (int unsigned at = 0; at < 2 * LineBytes; at++) chunk_d.within_it[at] = 8'(at) < limit;
    chunk_d.bytes = in_bytes_i;
    for (int unsigned i = 0; i < LineIndexBits; i++) begin
      if (place_q[i]) chunk_d.bytes = chunk_d.bytes << (8 << i) | chunk_d.bytes >> (LineBits - (8 << i));
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

  // The bytes of an incomplete line, followed by zeros. ends_q: they end a packet, so the line is sent before
  // the next chunk is added.
  line_t partial_q;
  logic ends_q;

  // the incomplete line with the chunk, and the bytes after it
  line_t line, next_line;
  logic is_full, ends, offers_line, ready;
  element_t element, out;

  for (genvar index = 0; index < LineBytes; index++) begin : gen_line
    assign line[8*index+:8] = chunk_q.before_it[index] ? partial_q[8*index+:8]
        : chunk_q.within_it[index] ? chunk_q.bytes[8*index+:8] : '0;
    assign next_line[8*index+:8] = chunk_q.within_it[LineBytes+index] ? chunk_q.bytes[8*index+:8] : '0;
  end

  assign adds_chunk = has_chunk_q && ready && !ends_q;
  assign is_full = chunk_q.within_it[LineBytes-1];
  assign ends = chunk_q.last && !chunk_q.within_it[LineBytes];

  // The offer to the skid buffer does not depend on its ready signal.
  assign offers_line = ends_q || (has_chunk_q && (is_full || ends));
  assign element.data = ends_q ? partial_q : line;
  assign element.last = ends_q || ends;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      partial_q <= '0;
      ends_q <= 1'b0;
    end else if (adds_chunk) begin
      partial_q <= ends ? '0 : is_full ? next_line : line;
      ends_q <= chunk_q.last && !ends;
    end else if (ends_q && ready) begin
      partial_q <= '0;
      ends_q <= 1'b0;
    end
  end

  skid_buffer #(
    .T(element_t)
  ) u_skid_buffer (
    .clk_i,
    .rst_i,
    .in_valid_i(offers_line),
    .in_ready_o(ready),
    .in_i(element),
    .out_valid_o(line_valid_o),
    .out_ready_i(line_ready_i),
    .out_o(out)
  );

  assign line_o = out.data;
  assign line_last_o = out.last;

  `ASSERT(CountIsValid, !in_valid_i || (in_count_i >= 7'd1 && in_count_i <= 7'(LineBytes)))
  `ASSERT_OFFER_STAYS(InStays, in_valid_i, in_ready_o, {in_count_i, in_last_i})

endmodule

`default_nettype wire
