// Merges many streams of single elements into one, in a tree of arbiters of up to four streams, because the
// logic of one arbiter grows with its streams. Each level is registered: an element that was accepted appears
// at the output some cycles later. Elements of a stream stay in order.

`default_nettype none

`include "assertions.svh"

module arbiter_tree #(
  parameter type T = logic [31:0],
  // number of streams
  parameter int unsigned Count = 5,
  localparam int unsigned IndexBits = Count > 1 ? $clog2(Count) : 1
) (
  input logic clk_i,
  input logic rst_i,

  input  logic [Count-1:0] in_valid_i,
  output logic [Count-1:0] in_ready_o,
  input  T     [Count-1:0] in_i,

  output logic out_valid_o,
  input  logic out_ready_i,
  output T     out_o,
  // the stream of the element
  output logic [IndexBits-1:0] out_index_o
);

  localparam int unsigned Branches = 4;

  typedef struct packed {
    logic [IndexBits-1:0] index;
    T data;
  } element_t;

  // The streams of a level; those of the first level come first.
  function automatic int unsigned streams(int unsigned level);
    streams = Count;
    for (int unsigned at = 0; at < level; at++) streams = (streams + Branches - 1) / Branches;
  endfunction

  function automatic int unsigned first_of(int unsigned level);
    first_of = 0;
    for (int unsigned at = 0; at < level; at++) first_of += streams(at);
  endfunction

  // One arbiter is always there, so a single stream is registered, too.
  function automatic int unsigned levels();
    levels = 1;
    while (streams(levels) > 1) levels++;
  endfunction

  localparam int unsigned Levels = levels();
  localparam int unsigned Last = first_of(Levels);

  logic [Last:0] valid, ready;
  element_t [Last:0] element;

  assign valid[Count-1:0] = in_valid_i;
  assign in_ready_o = ready[Count-1:0];
  for (genvar stream = 0; stream < Count; stream++) begin : gen_streams
    assign element[stream] = '{index: IndexBits'(stream), data: in_i[stream]};
  end

  for (genvar level = 0; level < Levels; level++) begin : gen_levels
    for (genvar at = 0; at < streams(level + 1); at++) begin : gen_arbiters
      localparam int unsigned From = first_of(level) + Branches * at;
      localparam int unsigned Left = streams(level) - Branches * at;
      localparam int unsigned Merged = Left < Branches ? Left : Branches;

      arbiter #(
        .T(element_t),
        .Count(Merged)
      ) u_arbiter (
        .clk_i,
        .rst_i,
        .in_valid_i(valid[From+:Merged]),
        .in_ready_o(ready[From+:Merged]),
        .in_i(element[From+:Merged]),
        .in_last_i('1),
        .out_valid_o(valid[first_of(level+1)+at]),
        .out_ready_i(ready[first_of(level+1)+at]),
        .out_o(element[first_of(level+1)+at]),
        .out_last_o(),
        .out_index_o()
      );
    end
  end

  assign ready[Last] = out_ready_i;
  assign out_valid_o = valid[Last];
  assign out_o = element[Last].data;
  assign out_index_o = element[Last].index;

  `ASSERT_OFFER_STAYS(OutStays, out_valid_o, out_ready_i, {out_o, out_index_o})

endmodule

`default_nettype wire
