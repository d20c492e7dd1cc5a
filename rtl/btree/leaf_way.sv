// The way of a scan from leaf to leaf: the leaf it begins with, then siblings. A sibling that is too new, and
// has no previous version, is not one of the scan's time: then the way is down again, with the fence key at
// which the scan left the leaf, in place of the key that it began with. The leaf's fence is gone by then, so
// it is written first.

`default_nettype none

`include "assertions.svh"

module leaf_way
  import layout_pkg::*;
  import accelerator_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  // begins with a leaf
  input logic begin_i,
  // verilator lint_off UNUSEDSIGNAL
  input leaf_t leaf_i,
  // verilator lint_on UNUSEDSIGNAL
  // stays until the next begin
  input task_t request_i,

  // Goes to a sibling of the leaf that is open. Taken when it is next.
  input logic go_valid_i,
  output logic go_ready_o,
  input logic go_left_i,
  input lid_t sibling_i,
  input fences_t fences_i,

  // Opens the leaf that is next. Taken when it is open, or there is none, or that is not known.
  input logic open_valid_i,
  output logic open_ready_o,
  output logic none_o,
  output logic failed_o,
  // it is the leaf that it began with
  output logic is_first_o,

  // what is opened: see leaf_opener
  output logic leaf_valid_o,
  input logic leaf_ready_i,
  output lid_t lid_o,
  output bus_address_t address_o,
  input logic too_new_i,

  output logic fence_valid_o,
  input logic fence_ready_i,

  output logic again_valid_o,
  input logic again_ready_i,
  output descent_t again_o,
  input logic again_leaf_valid_i,
  output logic again_leaf_ready_o,
  input leaf_t again_leaf_i
);

  typedef enum logic [1:0] {
    Leaf,
    Again,
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
      Leaf: if (goes_down) state_d = Again;
      Again: if (again_ready_i) state_d = Await;
      default: if (again_leaf_valid_i) state_d = Leaf;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (begin_i) begin
      lid_q <= leaf_i.lid;
      address_q <= leaf_i.address;
      is_first_q <= 1'b1;
      is_sibling_q <= 1'b0;
    end else if (go_ready_o) begin
      lid_q <= sibling_i;
      address_q <= '0;
      is_first_q <= 1'b0;
      is_sibling_q <= 1'b1;
      went_left_q <= go_left_i;
      fence_length_q <= key_length_t'(go_left_i ? fences_i.low_length : fences_i.high_length);
    end else if (state_q == Await) begin
      lid_q <= again_leaf_i.lid;
      address_q <= again_leaf_i.address;
      is_sibling_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= Leaf;
    else state_q <= state_d;
  end

  assign fence_valid_o = go_valid_i;
  assign go_ready_o = go_valid_i && fence_ready_i;

  assign leaf_valid_o = open_valid_i && state_q == Leaf;
  assign lid_o = lid_q;
  assign address_o = address_q;
  assign is_first_o = is_first_q;
  assign failed_o = state_q == Await && again_leaf_valid_i && again_leaf_i.failed;
  assign none_o = too_new_i;
  assign open_ready_o = failed_o || (leaf_valid_o && leaf_ready_i && !goes_down);

  assign again_valid_o = state_q == Again;
  assign again_leaf_ready_o = state_q == Await;

  always_comb begin
    again_o.direction = went_left_q ? DirectionBefore : DirectionKey;
    // A scan that goes backward began with its upper key.
    again_o.by_upper = request_i.backward;
    again_o.again = 1'b1;
    again_o.request = request_i;
    if (request_i.backward) again_o.request.upper_length = fence_length_q;
    else again_o.request.lower_length = fence_length_q;
  end

  `ASSERT(GoesToASibling, !go_valid_i || sibling_i != '0)
  `ASSERT(LeafIsOfTheRequest, !again_leaf_valid_i || !again_leaf_ready_o ||
      (again_leaf_i.again && again_leaf_i.request.slot == request_i.slot))
  `ASSERT_OFFER_STAYS(AgainStays, again_valid_o, again_ready_i, again_o)

endmodule

`default_nettype wire
