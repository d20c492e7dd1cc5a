// Merges many streams of single elements into one. The grant is a register, chosen a cycle before the element
// is accepted. So the acceptance of an element depends on no offer of the same cycle. A stream that offers an
// element offers it until it is accepted, an element appears at the output in the second cycle after its
// offer, and a single stream is granted in every second cycle. Streams are granted in turn: each grant goes
// to the next stream after that of the grant before the last one, which is known in time.
//
//   offers | grant | element

`default_nettype none

`include "assertions.svh"

module wide_arbiter #(
  parameter type T = logic [31:0],
  // number of streams
  parameter int unsigned Count = 16,
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

  typedef struct packed {
    logic [IndexBits-1:0] index;
    T data;
  } element_t;

  // grant_q: the stream whose element is accepted as soon as there is room. after_q: the streams after the
  // one that was granted before it.
  logic [Count-1:0] grant_d, grant_q, after_q, asks, later;
  logic granted_q, ready;

  assign asks = in_valid_i & ~grant_q;
  assign later = asks & after_q;
  assign grant_d = later != '0 ? first_of(later) : first_of(asks);
  assign in_ready_o = grant_q & {Count{ready}};

  function automatic logic [Count-1:0] first_of(logic [Count-1:0] streams);
    for (int unsigned at = 0; at < Count; at++)
      first_of[at] = streams[at] && (streams & ((Count'(1) << at) - 1'b1)) == '0;
  endfunction

  // The streams after the one of a grant.
  function automatic logic [Count-1:0] after(logic [Count-1:0] grant);
    for (int unsigned at = 0; at < Count; at++) after[at] = (grant & ((Count'(1) << at) - 1'b1)) != '0;
  endfunction

  always_ff @(posedge clk_i) begin
    if (rst_i) {granted_q, grant_q, after_q} <= '0;
    else if (!granted_q || ready) begin
      {granted_q, grant_q} <= {asks != '0, grant_d};
      if (granted_q) after_q <= after(grant_q);
    end
  end

  // The element of the grant, as the union of all others made zero, in a tree: a node has the nodes at twice
  // its place and behind.
  element_t out;
  element_t [2*Count-1:1] nodes;
  always_comb begin
    for (int unsigned at = 0; at < Count; at++)
      nodes[Count+at] = grant_q[at] ? element_t'{index: IndexBits'(at), data: in_i[at]} : '0;
    for (int unsigned at = Count - 1; at > 0; at--) nodes[at] = nodes[2*at] | nodes[2*at+1];
  end

  skid_buffer #(
    .T(element_t)
  ) u_skid_buffer (
    .clk_i,
    .rst_i,
    .in_valid_i(granted_q),
    .in_ready_o(ready),
    .in_i(nodes[1]),
    .out_valid_o,
    .out_ready_i,
    .out_o(out)
  );

  assign out_o = out.data;
  assign out_index_o = out.index;

  `ASSERT(OneGrant, $onehot0(grant_q) && granted_q == (grant_q != '0))
  `ASSERT(GrantedOffers, (grant_q & ~in_valid_i) == '0)
  for (genvar index = 0; index < Count; index++) begin : gen_assertions
    `ASSERT_OFFER_STAYS(InStays, in_valid_i[index], in_ready_o[index], in_i[index])
  end
  `ASSERT_OFFER_STAYS(OutStays, out_valid_o, out_ready_i, {out_o, out_index_o})
  `COVER(SeveralStreamsOffer, $countones(in_valid_i) > 1)

endmodule

`default_nettype wire
