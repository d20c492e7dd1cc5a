// Moves a scan from leaf to leaf: from the leaf of its descent to siblings. A sibling that is too new and
// has no previous version did not exist at the read version. In this case the navigator requests another
// descent, whose search key is the fence key at which the scan left the leaf. The fence key is written
// over the start key first, while the leaf is still open.

`default_nettype none

`include "assertions.svh"

module leaf_navigator
  import layout_pkg::*;
  import accelerator_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  // begins a scan at a leaf
  input logic begin_i,
  // verilator lint_off UNUSEDSIGNAL
  input leaf_t leaf_i,
  // verilator lint_on UNUSEDSIGNAL
  // constant until the next begin_i or go_i
  input task_t request_i,

  // continues with a sibling of the open leaf
  input logic go_i,
  input logic go_left_i,
  input lid_t sibling_i,
  input fences_t fences_i,

  // Opens the next leaf. Accepted when it is open, or when there is no further leaf, or when memory has
  // failed.
  input logic open_valid_i,
  output logic open_ready_o,
  output logic none_o,
  output logic failed_o,
  // the leaf is the first one of the scan
  output logic is_first_o,

  // the leaf to open: see leaf_opener
  output logic leaf_valid_o,
  input logic leaf_ready_i,
  output lid_t lid_o,
  output bus_address_t address_o,
  input logic too_new_i,

  output logic repeated_valid_o,
  input logic repeated_ready_i,
  output descent_t repeated_o,
  input logic repeated_leaf_valid_i,
  output logic repeated_leaf_ready_o,
  input leaf_t repeated_leaf_i
);

  typedef enum logic [1:0] {
    Leaf,
    Repeat,
    Await
  } state_e;

  state_e state_q, state_d;
  lid_t lid_q;
  bus_address_t address_q;
  logic is_first_q, is_sibling_q, went_left_q, goes_down;
  key_length_t fence_length_q;

  assign goes_down = state_q == Leaf && leaf_valid_o && leaf_ready_i && too_new_i && is_sibling_q;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Leaf: if (goes_down) state_d = Repeat;
      Repeat: if (repeated_ready_i) state_d = Await;
      default: if (repeated_leaf_valid_i) state_d = Leaf;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (begin_i) begin
      lid_q <= leaf_i.lid;
      address_q <= leaf_i.address;
      is_first_q <= 1'b1;
      is_sibling_q <= 1'b0;
    end else if (go_i) begin
      lid_q <= sibling_i;
      address_q <= '0;
      is_first_q <= 1'b0;
      is_sibling_q <= 1'b1;
      went_left_q <= go_left_i;
      fence_length_q <= key_length_t'(go_left_i ? fences_i.low_length : fences_i.high_length);
    end else if (state_q == Await) begin
      lid_q <= repeated_leaf_i.lid;
      address_q <= repeated_leaf_i.address;
      is_sibling_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= Leaf;
    else state_q <= state_d;
  end

  assign leaf_valid_o = open_valid_i && state_q == Leaf;
  assign lid_o = lid_q;
  assign address_o = address_q;
  assign is_first_o = is_first_q;
  assign failed_o = state_q == Await && repeated_leaf_valid_i && repeated_leaf_i.failed;
  assign none_o = too_new_i;
  assign open_ready_o = failed_o || (leaf_valid_o && leaf_ready_i && !goes_down);

  assign repeated_valid_o = state_q == Repeat;
  assign repeated_leaf_ready_o = state_q == Await;

  always_comb begin
    repeated_o.direction = went_left_q ? DirectionBefore : DirectionKey;
    // The start key of a backward scan is the upper key.
    repeated_o.by_upper = request_i.backward;
    repeated_o.repeated = 1'b1;
    repeated_o.request = request_i;
    if (request_i.backward) repeated_o.request.upper_length = fence_length_q;
    else repeated_o.request.lower_length = fence_length_q;
  end

  `ASSERT(SiblingExists, !go_i || sibling_i != '0)
  `ASSERT(LeafBelongsToRequest, !repeated_leaf_valid_i || !repeated_leaf_ready_o ||
      (repeated_leaf_i.repeated && repeated_leaf_i.request.slot == request_i.slot))
  `ASSERT_OFFER_STAYS(RepeatedStays, repeated_valid_o, repeated_ready_i, repeated_o)

endmodule

`default_nettype wire
