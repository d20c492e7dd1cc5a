// Proves for the leaves of two descents with arbitrary results: each leaf has the lid of its result and the
// request with which the descent of its place began.

`default_nettype none

module prove_descent_leaves
  import accelerator_pkg::*;
  import search_pkg::*;
(
  input logic clk_i,
  input logic start_i,
  input logic place_i,
  input logic [1:0] root_i,
  input logic [1:0] end_valid_i,
  input logic [1:0] end_failed_i,
  input logic leaf_ready_i
);

  logic rst, leaf_valid, leaf_place;
  logic [1:0] end_ready, waits;
  task_t request;
  leaf_t leaf;
  descent_end_t [1:0] results;

  always_comb begin
    request = '0;
    request.root = lid_t'(root_i);
    // The lid tells the place.
    for (int unsigned at = 0; at < 2; at++)
      results[at] = '{failed: end_failed_i[at], lid: lid_t'(at), default: '0};
  end

  neighbours #(.Count(2)) u_ends (
    .clk_i, .rst_o(rst), .in_valid_i(end_valid_i), .in_ready_i(end_ready)
  );

  descent_leaves #(
    .Descents(2)
  ) u_descent_leaves (
    .clk_i,
    .rst_i(rst),
    .start_i,
    .place_i,
    .request_i(request),
    .end_valid_i,
    .end_ready_o(end_ready),
    .end_i(results),
    .waits_o(waits),
    .leaf_valid_o(leaf_valid),
    .leaf_ready_i,
    .leaf_o(leaf)
  );

  // Descents in progress; leaves that have not left; the request and the result of each place; those of the
  // leaf that is offered.
  logic [1:0] descends_q, inside_q, failed_q;
  logic [1:0][1:0] root_q;
  logic offered_q, offered_failed_q;
  logic [1:0] offered_root_q;

  assign leaf_place = leaf.lid[0];

  always_ff @(posedge clk_i) begin
    if (rst) begin
      {descends_q, inside_q, offered_q} <= '0;
    end else begin
      offered_q <= leaf_valid && !leaf_ready_i;
      {offered_root_q, offered_failed_q} <= {leaf.request.root[1:0], leaf.failed};
      for (int unsigned at = 0; at < 2; at++) begin
        if (end_valid_i[at] && end_ready[at]) begin
          {descends_q[at], inside_q[at], failed_q[at]} <= {2'b01, end_failed_i[at]};
        end
      end
      // The place is free when its request was read: the leaf was not offered before.
      if (leaf_valid && !offered_q) inside_q[leaf_place] <= 1'b0;
      if (start_i) {descends_q[place_i], root_q[place_i]} <= {1'b1, root_i};
    end
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      StartsAtFreePlace : assume (!start_i || !(descends_q[place_i] || waits[place_i]));
      OnlyDescentsEnd : assume ((end_valid_i & ~descends_q) == '0);
      ResultStays : assume ((($past(end_valid_i & ~end_ready) & {2{!$past(rst)}})
          & (end_failed_i ^ $past(end_failed_i))) == '0);
      LeafIsOfADescent : assert (!leaf_valid || offered_q || inside_q[leaf_place]);
      LeafHasItsResult : assert (!leaf_valid || offered_q || leaf.failed == failed_q[leaf_place]);
      LeafHasItsRequest : assert (!leaf_valid || offered_q
          || leaf.request.root[1:0] == root_q[leaf_place]);
      LeafStays : assert (!leaf_valid || !offered_q
          || {leaf.request.root[1:0], leaf.failed} == {offered_root_q, offered_failed_q});
    end
  end

endmodule

`default_nettype wire
