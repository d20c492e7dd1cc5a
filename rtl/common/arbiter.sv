// Merges several streams into one. It grants one stream at a time, round-robin; a stream keeps the grant
// until its element with in_last_i, so packets are never mixed. The output is registered: an element appears
// at the output in the cycle after it was accepted.

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

  // Sets of streams, a bit each. grant_q: the stream that has the grant, or had it last; later_q: the streams
  // after it. is_locked_q: this stream keeps the grant, because it has offered an element and its last
  // element has not been accepted.
  logic [Count-1:0] grant_d, grant_q, later_d, later_q, offers, chosen;
  logic is_locked_q, valid, ready;

  // The streams after the first one of a set, in a tree of few levels.
  function automatic logic [Count-1:0] after(logic [Count-1:0] streams);
    after = streams << 1;
    for (int unsigned distance = 1; distance < Count; distance *= 2) after |= after << distance;
  endfunction

  // Round-robin: the first stream after the last grant that offers an element, or else the first one of all.
  assign offers = in_valid_i & later_q;
  always_comb begin
    chosen = |offers ? offers & ~after(offers) : in_valid_i & ~after(in_valid_i);
    later_d = |offers ? after(offers) : after(in_valid_i);
    if (is_locked_q) later_d = later_q;
  end
  assign grant_d = is_locked_q ? grant_q : chosen;
  assign valid = |(grant_d & in_valid_i);
  assign in_ready_o = grant_d & {Count{ready}};

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      grant_q <= Count'(1);
      later_q <= ~Count'(1);
      is_locked_q <= 1'b0;
    end else if (valid) begin
      grant_q <= grant_d;
      later_q <= later_d;
      is_locked_q <= !ready || !(|(grant_d & in_last_i));
    end
  end

  element_t in, out;
  always_comb begin
    in = '0;
    for (int unsigned at = 0; at < Count; at++) begin
      if (grant_d[at]) in |= element_t'{data: in_i[at], last: in_last_i[at], index: IndexBits'(at)};
    end
  end

  skid_buffer #(
    .T(element_t)
  ) u_skid_buffer (
    .clk_i,
    .rst_i,
    .in_valid_i(valid),
    .in_ready_o(ready),
    .in_i(in),
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
