// Merges several streams into one. It grants one stream at a time, first the one whose last grant is
// longest ago; a stream keeps the grant until its element with in_last_i, so packets are never mixed. The
// output is registered: an element appears at the output in the cycle after it was accepted. Registers
// contain the order of each two streams, so a grant is a few levels of logic; they are as many as the
// square of the streams, and arbiter_tree merges more of them.

`default_nettype none

`include "assertions.svh"

module arbiter #(
  parameter type T = logic [31:0],
  // number of streams
  parameter int unsigned Count = 2,
  localparam int unsigned IndexBits = Count > 1 ? $clog2(Count) : 1
) (
  input logic clk_i,
  input logic rst_i,

  input  logic [Count-1:0] in_valid_i,
  output logic [Count-1:0] in_ready_o,
  input  T     [Count-1:0] in_i,
  input  logic [Count-1:0] in_last_i,

  output logic out_valid_o,
  input  logic out_ready_i,
  output T     out_o,
  output logic out_last_o,
  // the stream of the element
  output logic [IndexBits-1:0] out_index_o
);

  if (Count < 1) $fatal(1, "Count must be at least 1");

  typedef struct packed {
    T data;
    logic last;
    logic [IndexBits-1:0] index;
  } element_t;

  // grant_q: the stream that has the grant, or had it last. is_locked_q: this stream keeps the grant,
  // because it has offered an element and its last element has not been accepted. before_q: for each
  // stream, those that go before it.
  logic [Count-1:0] grant_d, grant_q, chosen;
  logic [Count-1:0][Count-1:0] before_q;
  logic is_locked_q, valid, ready;

  for (genvar at = 0; at < Count; at++) begin : gen_order
    assign chosen[at] = in_valid_i[at] && (in_valid_i & before_q[at]) == '0;

    // A stream that is granted goes after all others.
    always_ff @(posedge clk_i) begin
      if (rst_i) before_q[at] <= (Count'(1) << at) - 1'b1;
      else if (!is_locked_q && chosen[at]) before_q[at] <= ~(Count'(1) << at);
      else if (!is_locked_q) before_q[at] <= before_q[at] & ~chosen;
    end
  end

  assign grant_d = is_locked_q ? grant_q : chosen;
  assign valid = |(grant_d & in_valid_i);
  assign in_ready_o = grant_d & {Count{ready}};

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      grant_q <= Count'(1) << (Count - 1);
      is_locked_q <= 1'b0;
    end else if (valid) begin
      grant_q <= grant_d;
      is_locked_q <= !ready || (grant_d & ~in_last_i) != '0;
    end
  end

  // The element of the grant, as the union of all others made zero, in a tree: a node has the nodes at twice
  // its place and behind.
  element_t out;
  element_t [2*Count-1:1] nodes;
  always_comb begin
    for (int unsigned at = 0; at < Count; at++) begin
      nodes[Count+at] =
          grant_d[at] ? element_t'{data: in_i[at], last: in_last_i[at], index: IndexBits'(at)} : '0;
    end
    for (int unsigned at = Count - 1; at > 0; at--) nodes[at] = nodes[2*at] | nodes[2*at+1];
  end

  skid_buffer #(
    .T(element_t)
  ) u_skid_buffer (
    .clk_i,
    .rst_i,
    .in_valid_i(valid),
    .in_ready_o(ready),
    .in_i(nodes[1]),
    .out_valid_o,
    .out_ready_i,
    .out_o(out)
  );

  assign out_o = out.data;
  assign out_last_o = out.last;
  assign out_index_o = out.index;

  `ASSERT(OneAtATime, $onehot0(in_ready_o))
  for (genvar index = 0; index < Count; index++) begin : gen_assertions
    `ASSERT_OFFER_STAYS(InStays, in_valid_i[index], in_ready_o[index], {in_i[index], in_last_i[index]})
  end
  `COVER(SeveralStreamsOffer, $countones(in_valid_i) > 1)

endmodule

`default_nettype wire
