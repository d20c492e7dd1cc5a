// Packs chunks of up to 64 bytes into lines. The chunk with in_last_i ends a packet: zeros fill its line, and
// the next packet begins with a new line.

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

  // The bytes of an incomplete line, followed by zeros, and their number. ends_q: they end a packet, so the
  // line is sent before the next chunk is accepted.
  line_t partial_q;
  logic [LineIndexBits-1:0] count_q;
  logic ends_q;

  // The chunk, rotated so that its bytes follow those of the incomplete line; its last bytes may belong to the
  // next line. line and next_line: the incomplete line with the chunk, and the bytes after it.
  line_t rotated, line, next_line;
  logic [7:0] packed_count;
  logic accepts, is_full, ends, offers_line, ready;
  element_t element, out;

  always_comb begin
    rotated = in_bytes_i;
    for (int unsigned i = 0; i < LineIndexBits; i++) begin
      if (count_q[i]) rotated = rotated << (8 << i) | rotated >> (LineBits - (8 << i));
    end
  end

  for (genvar index = 0; index < LineBytes; index++) begin : gen_line
    assign line[8*index+:8] = LineIndexBits'(index) < count_q ? partial_q[8*index+:8]
        : 8'(index) < packed_count ? rotated[8*index+:8] : '0;
    assign next_line[8*index+:8] = 8'(LineBytes + index) < packed_count ? rotated[8*index+:8] : '0;
  end
  assign packed_count = 8'(count_q) + 8'(in_count_i);

  assign in_ready_o = ready && !ends_q;
  assign accepts = in_valid_i && in_ready_o;
  assign is_full = packed_count >= 8'(LineBytes);
  assign ends = in_last_i && packed_count <= 8'(LineBytes);

  // The offer to the skid buffer does not depend on its ready signal.
  assign offers_line = ends_q || (in_valid_i && (is_full || ends));
  assign element.data = ends_q ? partial_q : line;
  assign element.last = ends_q || ends;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      partial_q <= '0;
      count_q <= '0;
      ends_q <= 1'b0;
    end else if (accepts) begin
      partial_q <= ends ? '0 : is_full ? next_line : line;
      count_q <= ends ? '0 : packed_count[LineIndexBits-1:0];
      ends_q <= in_last_i && !ends;
    end else if (ends_q && ready) begin
      partial_q <= '0;
      count_q <= '0;
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
