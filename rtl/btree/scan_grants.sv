// Grants a range scan unit to the requests in its slots, in two stages: while the request that has the grant
// is answered, the log of the next one is walked over and sorted. The leaf of each stage is a register.
//
//   a slot is ready | next: log | grant: range ... | grant_ends_i

`default_nettype none

`include "assertions.svh"

module scan_grants
  import layout_pkg::*;
  import accelerator_pkg::*;
  import search_pkg::*;
  import scan_pkg::*;
#(
  parameter int unsigned Slots = 4,
  localparam int unsigned PlaceBits = Slots > 1 ? $clog2(Slots) : 1
) (
  input logic clk_i,
  input logic rst_i,

  input geometry_t geometry_i,

  // For each slot: its request waits for the grant; there is no leaf, its descent or a read of the leaf has
  // failed.
  input logic [Slots-1:0] grant_valid_i,
  output logic [Slots-1:0] grant_ready_o,
  input logic [Slots-1:0] none_i,
  input logic [Slots-1:0] descent_failed_i,
  input logic [Slots-1:0] failed_i,
  // Request and leaf of a slot, one cycle after they are read. While it waits or has the grant, they are
  // constant.
  output logic read_o,
  output logic [PlaceBits-1:0] read_place_o,
  // verilator lint_off UNUSEDSIGNAL
  input slot_request_t request_i,
  // verilator lint_on UNUSEDSIGNAL
  input opened_t opened_i,

  // the request that is next, and the lines and entries of its log: see next_log
  output logic [Slots-1:0] is_next_o,
  output logic [PlaceBits-1:0] next_o,
  output logic walked_o,
  output logic line_valid_o,
  input logic line_ready_i,
  output offset_t line_offset_o,
  input line_t line_i,
  output logic entry_valid_o,
  output sorted_entry_t entry_o,
  output logic [LogWordOrderHintBits-1:0] rank_o,
  // the next request gets the grant in the next cycle
  output logic take_o,

  output logic granted_o,
  output logic [Slots-1:0] has_grant_o,
  output logic [PlaceBits-1:0] holder_o,
  output open_leaf_t leaf_o,
  // grant_continues_i: valid then, the scan continues with a sibling
  input logic grant_ends_i,
  input logic grant_continues_i,
  // The slot whose grant has ended in the cycle before: the end of an answer would otherwise be before the
  // states of all slots.
  output logic [Slots-1:0] left_o,
  output logic left_continues_o
);

  typedef logic [PlaceBits-1:0] place_t;

  // The leaf that is next, and the one that has the grant.
  logic chosen, has_next_q, log_ready, granted_q;
  logic [Slots-1:0] is_next_q, has_grant_q;
  logic none_q, descent_failed_q, failed_q;
  place_t place, next_q, holder_q;
  open_leaf_t next_leaf, leaf_q;
  node_header_t header;

  arbiter #(
    .T(logic),
    .Count(Slots)
  ) u_grants (
    .clk_i, .rst_i, .in_valid_i(grant_valid_i), .in_ready_o(grant_ready_o), .in_i('0), .in_last_i('1),
    .out_valid_o(chosen), .out_ready_i(take_o), .out_o(), .out_last_o(),
    .out_index_o(place)
  );

  assign read_o = chosen;
  assign read_place_o = place;

  always_ff @(posedge clk_i) begin
    next_q <= place;
    {none_q, descent_failed_q, failed_q} <= {none_i[place], descent_failed_i[place], failed_i[place]};
    if (rst_i) {has_next_q, is_next_q} <= '0;
    else begin
      has_next_q <= chosen && !take_o;
      for (int unsigned index = 0; index < Slots; index++)
        is_next_q[index] <= chosen && !take_o && place == place_t'(index);
    end
  end

  next_log u_log (
    .clk_i,
    .rst_i,
    .geometry_i,
    .valid_i(has_next_q), .ready_o(log_ready),
    .header_o(header),
    .request_i(request_i.request),
    .has_leaf_i(!(descent_failed_q || none_q)),
    .failed_i(failed_q),
    .take_i(take_o),
    .walked_o,
    .entry_valid_o,
    .entry_o,
    .rank_o,
    .line_valid_o, .line_ready_i,
    .line_offset_o,
    .line_i
  );

  assign take_o = log_ready && !granted_q;

  always_comb begin
    next_leaf.request = request_i.request;
    next_leaf.is_first = request_i.is_first;
    next_leaf.empty_leaves = request_i.empty_leaves;
    {next_leaf.none, next_leaf.descent_failed, next_leaf.failed} = {none_q, descent_failed_q, failed_q};
    next_leaf.header = header;
    {next_leaf.fingerprint, next_leaf.log_may_have} = {opened_i.fingerprint, opened_i.log_may_have};
    {next_leaf.columns, next_leaf.equal} = {opened_i.columns, opened_i.equal};
    next_leaf.item_offset = opened_i.item_offset;
  end

  always_ff @(posedge clk_i) begin
    // A read of the leaf can fail during the grant.
    leaf_q.failed <= |(failed_i & has_grant_q);
    if (take_o) {holder_q, leaf_q} <= {next_q, next_leaf};
    if (rst_i || grant_ends_i) {granted_q, has_grant_q} <= '0;
    else if (take_o) {granted_q, has_grant_q} <= {1'b1, is_next_q};
    left_o <= rst_i ? '0 : has_grant_q & {Slots{grant_ends_i}};
    left_continues_o <= grant_continues_i;
  end

  assign is_next_o = is_next_q;
  assign next_o = next_q;
  assign granted_o = granted_q;
  assign has_grant_o = has_grant_q;
  assign holder_o = holder_q;
  assign leaf_o = leaf_q;

  `ASSERT(OneGrant, $onehot0(has_grant_q) && granted_q == (has_grant_q != '0))
  `ASSERT(OneNext, $onehot0(is_next_q) && has_next_q == (is_next_q != '0))
  `ASSERT(NextWaits, (is_next_q & has_grant_q) == '0)
  `ASSERT(EndsDuringTheGrant, !grant_ends_i || granted_q)
  `COVER(WaitsForGrant, granted_q && grant_valid_i != '0)
  `COVER(IsSortedMeanwhile, granted_q && walked_o)

endmodule

`default_nettype wire
