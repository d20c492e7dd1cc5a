// Finds a segment of a node: counts the heads that are not greater than the head of the search key, one
// line of eight heads per cycle.
//
// After start_i the finder accepts the first lines_o lines of a node, which its user reads. The first line
// contains the header. Then the finder waits for the head of the key suffix, which depends on the prefix
// length in the header. When all lines have arrived, found_o is set together with the last segment whose
// head is not greater and the last one whose head is less. Heads in between are equal, so the bytes after
// the first eight decide. seek_i then requests the bounds of any segment; they are valid three cycles
// later and stable. All outputs are stable until the next start_i.
//
//   start_i  line 0 .............. lines 1, 2 ... last ... found_o, seek_i ....... bounds_valid_o
//                   header_valid_o ... head_valid_i

`default_nettype none

`include "assertions.svh"

module segment_finder
  import accelerator_pkg::*;
  import layout_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  // shortcut capacity of all nodes of the store
  input logic [7:0] shortcut_capacity_i,
  // number of lines to accept: those of header and shortcuts
  output line_count_t lines_o,

  // discards the previous node; the lines of the new node begin in the next cycle
  input logic start_i,

  input  logic  line_valid_i,
  output logic  line_ready_o,
  input  line_t line_i,

  output logic header_valid_o,
  output node_header_t header_o,

  // valid and constant until found_o
  input logic  head_valid_i,
  input head_t head_i,

  output logic found_o,
  // the last segment whose head is not greater, and the last one whose head is less; 0 if none exists
  output logic [7:0] found_index_o,
  output logic [7:0] found_less_o,
  // every head is greater: every key of the node is greater than the search key
  output logic found_none_o,

  // The bounds of a segment: the offsets of its first item and of the end of its last item. Segments
  // beyond the last one are empty and are at the end of the sorted block.
  input logic seek_i,
  input logic [7:0] seek_index_i,
  output logic bounds_valid_o,
  output offset_t begin_o,
  output offset_t end_o
);

  localparam int unsigned HeadsALine = LineBytes / 8;
  localparam int unsigned OffsetsALine = LineBytes / 2;
  // Maximum number of lines with offsets, which may begin in the middle of a line.
  localparam int unsigned OffsetLines = (2 * 255 + LineBytes - 8 + LineBytes - 1) / LineBytes;
  localparam int unsigned OffsetLineBits = $clog2(OffsetLines);
  // An index of an offset in these lines.
  localparam int unsigned PlaceBits = OffsetLineBits + $clog2(OffsetsALine);

  typedef logic [5:0] block_line_t;
  typedef logic [PlaceBits-1:0] place_t;

  // Number of lines of the shortcut block, and the current line.
  block_line_t block_lines, line_q;
  logic [11:0] block_bytes;
  logic header_q, found_q, take;
  node_header_t node_q;
  logic [7:0] count_q, less_count_q;

  // Ten bytes for each shortcut: a head and an offset.
  assign block_bytes = {1'b0, shortcut_capacity_i, 3'b0} + {3'b0, shortcut_capacity_i, 1'b0};
  assign block_lines = block_line_t'((block_bytes + 12'(LineBytes - 1)) >> LineIndexBits);
  assign lines_o = line_count_t'(block_lines) + 1'b1;

  assign line_ready_o = !start_i && !found_q && (!header_q || head_valid_i);
  assign take = line_valid_i && line_ready_o;

  // Heads ascend: the smaller ones come first, then the equal ones, so counting is sufficient.
  logic [HeadsALine-1:0] less, not_greater;

  for (genvar i = 0; i < HeadsALine; i++) begin : gen_heads
    logic exists;
    assign exists = {line_q, 3'(i)} < 9'(node_q.shortcut_count);
    assign less[i] = exists && line_i[64*i+:64] < head_i;
    assign not_greater[i] = less[i] || (exists && line_i[64*i+:64] == head_i);
  end

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      line_q <= '0;
      count_q <= '0;
      less_count_q <= '0;
    end else if (take && !header_q) begin
      node_q <= line_i;
    end else if (take) begin
      line_q <= line_q + 1'b1;
      count_q <= count_q + 8'($countones(not_greater));
      less_count_q <= less_count_q + 8'($countones(less));
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i || start_i) begin
      header_q <= 1'b0;
      found_q <= 1'b0;
    end else if (take) begin
      header_q <= 1'b1;
      found_q <= header_q && line_q + 1'b1 == block_lines;
    end
  end

  // The offsets follow the room for all heads, and may begin in the middle of a line.
  block_line_t offsets_line;
  place_t place;
  logic [$clog2(OffsetsALine)-1:0] in_line_q;
  line_t offsets;
  offset_t sorted_end, offset, begin_q, end_q;
  logic [7:0] index_q;
  // Bit 0: the beginning of the segment was read; bit 1: the beginning of the next segment was read.
  logic [1:0] seeking_q;
  logic bounds_valid_q;

  assign offsets_line = block_line_t'(shortcut_capacity_i[7:3]);
  assign place = place_t'({shortcut_capacity_i[2:0], 2'b0}) +
      (seek_i ? place_t'(seek_index_i) : place_t'(index_q) + 1'b1);

  ram #(
    .Width(LineBits),
    .Depth(OffsetLines)
  ) u_offset_lines (
    .clk_i,
    .rst_i,
    .write_i(take && header_q && line_q >= offsets_line),
    .write_address_i(OffsetLineBits'(line_q - offsets_line)),
    .write_data_i(line_i),
    .read_i(seek_i || seeking_q[0]),
    .read_address_i(place[PlaceBits-1-:OffsetLineBits]),
    .read_data_o(offsets)
  );

  assign offset = offset_t'(offsets[16*in_line_q+:16]);
  assign sorted_end = offset_t'(node_q.sorted_end);

  always_ff @(posedge clk_i) begin
    if (seek_i) index_q <= seek_index_i;
    if (seek_i || seeking_q[0]) in_line_q <= place[$clog2(OffsetsALine)-1:0];
    if (seeking_q[0]) begin_q <= index_q < node_q.shortcut_count ? offset : sorted_end;
    if (seeking_q[1]) end_q <= 9'(index_q) + 1'b1 < 9'(node_q.shortcut_count) ? offset : sorted_end;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i || start_i) begin
      seeking_q <= '0;
      bounds_valid_q <= 1'b0;
    end else begin
      seeking_q <= {seeking_q[0], seek_i};
      bounds_valid_q <= seeking_q[1] || (bounds_valid_q && !seek_i);
    end
  end

  assign header_valid_o = header_q;
  assign header_o = node_q;
  assign found_o = found_q;
  assign found_none_o = count_q == '0;
  assign found_index_o = found_none_o ? '0 : count_q - 1'b1;
  assign found_less_o = less_count_q == '0 ? '0 : less_count_q - 1'b1;
  assign bounds_valid_o = bounds_valid_q;
  assign begin_o = begin_q;
  assign end_o = end_q;

  `ASSERT(ShortcutsHaveRoom, !header_q || node_q.shortcut_count <= shortcut_capacity_i)
  `ASSERT(SeeksAfterFound, !seek_i || (found_q && seeking_q == '0))
  `ASSERT_STAYS(HeadStays, head_valid_i && header_q && !start_i, found_q, {head_valid_i, head_i})

endmodule

`default_nettype wire
