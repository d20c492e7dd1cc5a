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

  // The stream that has the grant, or had it last. is_locked_q: this stream keeps the grant, because it has
  // offered an element and its last element has not been accepted.
  logic [IndexBits-1:0] grant_d, grant_q;
  logic is_locked_q;
  logic ready;

  // The next stream, round-robin: the first one after the last grant that offers an element.
  function automatic logic [IndexBits-1:0] next_grant(logic [IndexBits-1:0] grant, logic [Count-1:0] valid);
    logic [Count-1:0] after;
    logic [IndexBits-1:0] next;
    after = valid & ~((Count'(2) << grant) - 1'b1);
    if (after == '0) after = valid;
    next = grant;
    for (int unsigned index = 0; index < Count; index++) begin
      if (after[Count-1-index]) next = IndexBits'(Count - 1 - index);
    end
    return next;
  endfunction

  assign grant_d = is_locked_q ? grant_q : next_grant(grant_q, in_valid_i);
  always_comb begin
    in_ready_o = '0;
    in_ready_o[grant_d] = ready;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      grant_q <= '0;
      is_locked_q <= 1'b0;
    end else if (in_valid_i[grant_d]) begin
      grant_q <= grant_d;
      is_locked_q <= !ready || !in_last_i[grant_d];
    end
  end

  element_t in, out;
  assign in = '{data: in_i[grant_d], last: in_last_i[grant_d], index: grant_d};

  skid_buffer #(
    .T(element_t)
  ) u_skid_buffer (
    .clk_i,
    .rst_i,
    .in_valid_i(in_valid_i[grant_d]),
    .in_ready_o(ready),
    .in_i(in),
    .out_valid_o,
    .out_ready_i,
    .out_o(out)
  );

  assign out_o = out.data;
  assign out_last_o = out.last;
  assign out_index_o = out.index;

  `ASSERT(OneAtATime, $onehot0(in_ready_o & in_valid_i))
  for (genvar index = 0; index < Count; index++) begin : gen_assertions
    `ASSERT_OFFER_STAYS(InStays, in_valid_i[index], in_ready_o[index], {in_i[index], in_last_i[index]})
  end
  `COVER(SeveralStreamsOffer, $countones(in_valid_i) > 1)

endmodule

`default_nettype wire
