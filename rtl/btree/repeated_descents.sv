// Requests the repeated descents of the slots of a range scan unit, one at a time and of the slots in turn,
// and returns their leaves. The search key of such a descent is the fence key at which the scan left its last
// leaf, which was written over the start key.

`default_nettype none

`include "assertions.svh"

module repeated_descents
  import accelerator_pkg::*;
  import scan_pkg::*;
#(
  parameter int unsigned Slots = 4,
  localparam int unsigned PlaceBits = Slots > 1 ? $clog2(Slots) : 1
) (
  input logic clk_i,
  input logic rst_i,

  // for each slot: it repeats its descent; the descent was accepted in the cycle before; its leaf arrives
  input logic [Slots-1:0] asks_i,
  output logic [Slots-1:0] repeats_o,
  output logic [Slots-1:0] returns_o,

  // see slot_requests
  output logic request_read_o,
  output logic [PlaceBits-1:0] place_o,
  // verilator lint_off UNUSEDSIGNAL
  input slot_request_t request_i,
  // verilator lint_on UNUSEDSIGNAL
  output logic return_valid_o,
  input logic return_ready_i,

  output logic repeated_valid_o,
  input logic repeated_ready_i,
  output descent_t repeated_o,
  input logic repeated_leaf_valid_i,
  output logic repeated_leaf_ready_o,
  // verilator lint_off UNUSEDSIGNAL
  input leaf_t repeated_leaf_i
  // verilator lint_on UNUSEDSIGNAL
);

  typedef enum logic [1:0] {
    Choose,
    Offer,
    Accepted,
    Await
  } state_e;

  state_e state_q, state_d;
  logic picked, ends;
  logic [Slots-1:0] is_pick;

  // The choice stays until its leaf has arrived.
  picker #(
    .Count(Slots)
  ) u_picker (
    .clk_i,
    .rst_i,
    .asks_i,
    .valid_o(picked),
    .index_o(place_o),
    .is_index_o(is_pick),
    .take_i(ends)
  );

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Choose: if (picked) state_d = Offer;
      Offer: if (repeated_ready_i) state_d = Accepted;
      Accepted: state_d = Await;
      default: if (ends) state_d = Choose;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= Choose;
    else state_q <= state_d;
  end

  assign request_read_o = picked && state_q == Choose;
  assign repeated_valid_o = state_q == Offer;
  // A register, as the choice between the descents of several units is before it.
  assign repeats_o = is_pick & {Slots{state_q == Accepted}};
  assign return_valid_o = state_q == Await && repeated_leaf_valid_i;
  assign repeated_leaf_ready_o = state_q == Await && return_ready_i;
  assign ends = return_valid_o && return_ready_i;
  assign returns_o = is_pick & {Slots{ends}};

  always_comb begin
    repeated_o.direction = request_i.went_left ? DirectionBefore : DirectionKey;
    // The start key of a backward scan is the upper key.
    repeated_o.by_upper = request_i.request.backward;
    repeated_o.repeated = 1'b1;
    repeated_o.request = request_i.request;
    if (request_i.request.backward) repeated_o.request.upper_length = request_i.fence_length;
    else repeated_o.request.lower_length = request_i.fence_length;
  end

  `ASSERT(LeafBelongsToRequest, !ends ||
      (repeated_leaf_i.repeated && repeated_leaf_i.request.slot == request_i.request.slot))
  `ASSERT_OFFER_STAYS(RepeatedStays, repeated_valid_o, repeated_ready_i, repeated_o)

endmodule

`default_nettype wire
