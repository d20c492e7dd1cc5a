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

  // one cycle later: the flight of a tag, if it is busy; the ways of a set that are in flight
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
    logic [IndexBits-1:0] index;
    page_line_t lines;
  } flight_t;

  flight_t [2**TagBits-1:0] flights_q;
  // verilator lint_off UNUSEDSIGNAL
  flight_t flight_q;
  // verilator lint_on UNUSEDSIGNAL
  logic [2**WayBits-1:0] busy_ways;

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
          way: start_way_i,
          index: start_index_i,
          lines: start_lines_i
        };
      end
    end
  end

  always_comb begin
    busy_ways = '0;
    for (int unsigned at = 0; at < 2 ** TagBits; at++) begin
      if (flights_q[at].busy && flights_q[at].set == set_i) busy_ways[flights_q[at].way] = 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    busy_ways_o <= busy_ways;
    flight_q <= flights_q[tag_i];
  end

  assign of_set_o = flights_q[of_tag_i].set;
  assign is_busy_o = flight_q.busy;
  assign way_o = flight_q.way;
  assign index_o = flight_q.index;
  assign lines_o = flight_q.lines;

  for (genvar at = 0; at < 2 ** TagBits; at++) begin : gen_assertions
    `ASSERT(ReplacesNothingInFlight, !(replaces_i && flights_q[at].busy && flights_q[at].set == start_set_i
            && flights_q[at].way == start_way_i))
  end
  `ASSERT(OneFlightPerTag, !start_i || !flights_q[start_tag_i].busy)

endmodule

`default_nettype wire
