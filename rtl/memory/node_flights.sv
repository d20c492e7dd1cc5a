// Knows for each tag whether a read of the cache or a fill is in flight, and of which lines.

`default_nettype none

`include "assertions.svh"

module node_flights
  import memory_pkg::*;
#(
  parameter int unsigned TagBits = 3,
  // channels of on-board memory
  parameter int unsigned Channels = 1,
  parameter int unsigned SetBits = 10,
  parameter int unsigned WayBits = 2,
  parameter int unsigned IndexBits = 7
) (
  input logic clk_i,
  input logic rst_i,

  input logic                 start_i,
  input logic [TagBits-1:0]   start_tag_i,
  input logic [SetBits-1:0]   start_set_i,
  input logic [WayBits-1:0]   start_way_i,
  input logic [IndexBits-1:0] start_index_i,
  input page_line_t           start_lines_i,
  // the flight replaces an entry
  input logic                 replaces_i,

  // the end of reads, and of a fill
  input logic [Channels-1:0]              hit_done_i,
  input logic [Channels-1:0][TagBits-1:0] hit_done_tag_i,
  input logic                             filled_i,
  input logic [TagBits-1:0]               filled_tag_i,

  // the set of the fill of a tag
  input  logic [TagBits-1:0] of_tag_i,
  output logic [SetBits-1:0] of_set_o,

  // one cycle later: whether the flight of a tag is busy, and its place; the ways of a set that are in flight
  input  logic [TagBits-1:0]    tag_i,
  input  logic [SetBits-1:0]    set_i,
  output logic                  is_busy_o,
  output logic [WayBits-1:0]    way_o,
  output logic [IndexBits-1:0]  index_o,
  output page_line_t            lines_o,
  output logic [2**WayBits-1:0] busy_ways_o
);

  typedef struct packed {
    logic busy;
    logic [SetBits-1:0] set;
    logic [WayBits-1:0] way;
  } flight_t;

  localparam int unsigned Groups = TagBits < 3 ? 1 : 8;
  localparam int unsigned GroupTags = 2 ** TagBits / Groups;

  flight_t [2**TagBits-1:0] flights_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      flights_q <= '0;
    end else begin
      for (int unsigned channel = 0; channel < Channels; channel++) begin
        if (hit_done_i[channel]) flights_q[hit_done_tag_i[channel]].busy <= 1'b0;
      end
      if (filled_i) flights_q[filled_tag_i].busy <= 1'b0;
      if (start_i) begin
        flights_q[start_tag_i] <= '{
          busy: 1'b1,
          set: start_set_i,
          way: start_way_i
        };
      end
    end
  end

  // A register for each way and group of tags divides the reduction over all tags between two cycles.
  for (genvar way = 0; way < 2 ** WayBits; way++) begin : gen_ways
    logic [Groups-1:0] busy_groups_q;
    for (genvar group = 0; group < Groups; group++) begin : gen_groups
      logic [GroupTags-1:0] busy;
      for (genvar at = 0; at < GroupTags; at++) begin : gen_flights
        flight_t flight;
        assign flight = flights_q[group*GroupTags+at];
        assign busy[at] = flight.busy && flight.set == set_i && flight.way == WayBits'(way);
      end
      always_ff @(posedge clk_i) busy_groups_q[group] <= |busy;
    end
    assign busy_ways_o[way] = |busy_groups_q;
  end

  always_ff @(posedge clk_i) is_busy_o <= flights_q[tag_i].busy;

  // No fill ends in the cycle in which its flight starts, so no place is used while it is written.
  ram #(
    .Width(WayBits + IndexBits + $bits(page_line_t)),
    .Depth(2 ** TagBits)
  ) u_places (
    .clk_i, .rst_i,
    .write_i(start_i),
    .write_address_i(start_tag_i),
    .write_data_i({start_way_i, start_index_i, start_lines_i}),
    .read_i(1'b1),
    .read_address_i(tag_i),
    .read_data_o({way_o, index_o, lines_o})
  );

  assign of_set_o = flights_q[of_tag_i].set;

  for (genvar at = 0; at < 2 ** TagBits; at++) begin : gen_assertions
    `ASSERT(ReplacesNothingInFlight, !(replaces_i && flights_q[at].busy && flights_q[at].set == start_set_i
            && flights_q[at].way == start_way_i))
  end
  `ASSERT(OneFlightPerTag, !start_i || !flights_q[start_tag_i].busy)

endmodule

`default_nettype wire
