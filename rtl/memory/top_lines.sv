// The lines of the nodes on chip, and the hits that read them: two streams, each of a line a cycle, take hits
// from one queue. The first stream pauses while a line is written, because it shares a port of the memory.

`default_nettype none

`include "assertions.svh"

module top_lines
  import accelerator_pkg::*;
  import memory_pkg::*;
#(
  parameter int unsigned TagBits = 3,
  parameter int unsigned PlaceBits = 11,
  // bits of an index of a line in its node
  parameter int unsigned IndexBits = 7,
  localparam int unsigned Streams = 2,
  localparam int unsigned CountBits = $clog2(2 ** TagBits + 1)
) (
  input logic clk_i,
  input logic rst_i,

  // A hit; there is always room. Its lines follow each other within the node, modulo the size of an entry.
  input logic                 hit_i,
  input logic [TagBits-1:0]   hit_tag_i,
  input logic [PlaceBits-1:0] hit_place_i,
  input burst_lines_t         hit_lines_i,

  input logic                 write_i,
  input logic [PlaceBits-1:0] write_place_i,
  input line_t                write_data_i,

  output logic        [Streams-1:0]              beat_valid_o,
  input  logic        [Streams-1:0]              beat_ready_i,
  output logic        [Streams-1:0][TagBits-1:0] beat_tag_o,
  output burst_line_t [Streams-1:0]              beat_o,

  // see top_filler
  output logic [CountBits-1:0] hits_o,
  output logic                 hit_leaves_o,
  output logic [Streams-1:0]   reads_o,
  output logic [Streams-1:0]   ends_o
);

  typedef struct packed {
    logic [TagBits-1:0] tag;
    logic [PlaceBits-1:0] place;
    burst_lines_t lines;
  } hit_t;

  hit_t next;
  hit_t [Streams-1:0] hit_q;
  logic next_valid, has_room;
  logic [Streams-1:0] busy_q, offers_q, last_q, is_free, takes, reads, ends;
  logic [Streams-1:0][TagBits-1:0] tag_q;
  line_t [Streams-1:0] data;

  // Each tag has at most one hit in flight.
  fifo #(
    .T(hit_t),
    .Depth(2 ** TagBits)
  ) u_hits (
    .clk_i,
    .rst_i,
    .in_valid_i(hit_i),
    .in_ready_o(has_room),
    .in_i('{tag: hit_tag_i, place: hit_place_i, lines: hit_lines_i}),
    .out_valid_o(next_valid),
    .out_ready_i(takes != '0),
    .out_o(next),
    .count_o(hits_o)
  );

  // The first stream that is idle takes the next hit.
  assign is_free = ~busy_q | ends;
  assign takes = next_valid ? is_free & (~is_free + 1'b1) : '0;

  for (genvar index = 0; index < Streams; index++) begin : gen_streams
    assign reads[index] = busy_q[index] && (!offers_q[index] || beat_ready_i[index])
        && !(index == 0 && write_i);
    assign ends[index] = reads[index] && hit_q[index].lines == burst_lines_t'(1);

    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        {busy_q[index], offers_q[index]} <= '0;
      end else begin
        busy_q[index] <= takes[index] || (busy_q[index] && !ends[index]);
        offers_q[index] <= reads[index] || (offers_q[index] && !beat_ready_i[index]);
      end
      if (reads[index]) {tag_q[index], last_q[index]} <= {hit_q[index].tag, ends[index]};
      if (takes[index]) begin
        hit_q[index] <= next;
      end else if (reads[index]) begin
        hit_q[index].place[IndexBits-1:0] <= hit_q[index].place[IndexBits-1:0] + 1'b1;
        hit_q[index].lines <= hit_q[index].lines - 1'b1;
      end
    end

    assign beat_valid_o[index] = offers_q[index];
    assign beat_tag_o[index] = tag_q[index];
    assign beat_o[index] = '{data: data[index], last: last_q[index], error: 1'b0};

    `ASSERT_OFFER_STAYS(BeatStays, beat_valid_o[index], beat_ready_i[index],
                        {beat_tag_o[index], beat_o[index]})
  end

  ram_two_ports #(
    .Width(LineBits),
    .Depth(2 ** PlaceBits)
  ) u_lines (
    .clk_i,
    .rst_i,
    .first_write_i(write_i),
    .first_read_i(reads[0]),
    .first_address_i(write_i ? write_place_i : hit_q[0].place),
    .first_data_i(write_data_i),
    .first_data_o(data[0]),
    .second_read_i(reads[1]),
    .second_address_i(hit_q[1].place),
    .second_data_o(data[1])
  );

  assign hit_leaves_o = takes != '0;
  assign reads_o = busy_q;
  assign ends_o = ends;

  `ASSERT(HitsHaveRoom, !hit_i || has_room)
  `ASSERT(HitsHaveLines, !hit_i || hit_lines_i != '0)
  `COVER(BothStreams, &reads)
  `COVER(PausesForWrite, write_i && busy_q[0])

endmodule

`default_nettype wire
