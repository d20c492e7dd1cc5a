// The states of the slots of a range scan unit: see slot_state_e. A step ends with the next state of its
// slot. After a read of the leaf has failed, the request gets the grant at once.
//
//   begin_i | Begin | Header | Samples | Heads | Current | Log | Fetch | Ready | Granted | Idle, or Begin
//                      Repeat | Await | Begin

`default_nettype none

`include "assertions.svh"

module slot_states
  import scan_pkg::*;
#(
  parameter int unsigned Slots = 4,
  localparam int unsigned PlaceBits = Slots > 1 ? $clog2(Slots) : 1
) (
  input logic clk_i,
  input logic rst_i,

  // a request begins in an idle slot, after a descent that may have failed
  input logic begin_i,
  input logic [PlaceBits-1:0] begin_place_i,
  input logic begin_failed_i,
  // a slot is idle, and one of them: the one with the lowest number in the cycle before
  output logic has_place_o,
  output logic [PlaceBits-1:0] place_o,

  // For each slot: its keys are complete; it has awaited the lines of its next step; a step has begun, or is
  // about to; all lines that were requested have arrived; a read of the leaf has failed.
  input logic [Slots-1:0] keys_ready_i,
  input logic [Slots-1:0] woken_i,
  input logic [Slots-1:0] works_i,
  input logic [Slots-1:0] settled_i,
  input logic [Slots-1:0] failed_i,

  // of leaf_starter and leaf_opener: a step ends; none: there is no leaf at the read version
  input logic [1:0] end_i,
  input logic [1:0][PlaceBits-1:0] end_place_i,
  input slot_state_e [1:0] end_state_i,
  input logic end_none_i,

  input logic [Slots-1:0] grant_i,
  // the grant has ended, so the leaf is left; the scan continues with a sibling
  input logic [Slots-1:0] leaves_i,
  input logic continues_i,

  // the repeated descent of a slot was accepted, or its leaf arrives
  input logic [Slots-1:0] repeats_i,
  input logic [Slots-1:0] returns_i,
  input logic return_failed_i,

  output slot_state_e [Slots-1:0] state_o,
  output logic [Slots-1:0] busy_o,
  // for each slot: steps of leaf_starter, steps of leaf_opener, the grant, or a repeated descent can begin
  output logic [Slots-1:0] begins_o,
  output logic [Slots-1:0] headers_o,
  output logic [Slots-1:0] steps_o,
  output logic [Slots-1:0] ready_o,
  output logic [Slots-1:0] repeats_o,
  output logic [Slots-1:0] none_o,
  output logic [Slots-1:0] descent_failed_o
);

  // the lines that a step awaits will not come
  logic [Slots-1:0] fails;

  logic [Slots-1:0] is_idle;
  logic has_place_q;
  logic [PlaceBits-1:0] idle_place, place_q;

  always_comb begin
    is_idle = ~busy_o;
    if (begin_i) is_idle[begin_place_i] = 1'b0;
    idle_place = '0;
    for (int unsigned after = 1; after <= Slots; after++) begin
      if (is_idle[Slots-after]) idle_place = PlaceBits'(Slots - after);
    end
  end

  always_ff @(posedge clk_i) begin
    has_place_q <= is_idle != '0 && !rst_i;
    place_q <= idle_place;
  end

  assign has_place_o = has_place_q;
  assign place_o = place_q;

  // Returns whether a state is a step of leaf_opener.
  function automatic logic is_step(slot_state_e state);
    return state inside {SlotSamples, SlotHeads, SlotCurrent, SlotLog};
  endfunction

  for (genvar slot = 0; slot < Slots; slot++) begin : gen_slots
    slot_state_e state_q, state_d;
    logic begins, none_q, descent_failed_q;
    // The slot may be chosen in this cycle for the step that it has requested.
    logic requested_q;
    logic [1:0] ends;

    assign begins = begin_i && begin_place_i == PlaceBits'(slot);
    for (genvar part = 0; part < 2; part++) begin : gen_ends
      assign ends[part] = end_i[part] && end_place_i[part] == PlaceBits'(slot);
    end

    always_comb begin
      state_d = state_q;
      unique case (state_q)
        SlotIdle: if (begins) state_d = begin_failed_i ? SlotReady : SlotBegin;
        SlotBegin: ;
        SlotFetch: if (settled_i[slot] || failed_i[slot]) state_d = SlotReady;
        SlotReady: if (grant_i[slot]) state_d = SlotGranted;
        SlotGranted: if (leaves_i[slot]) state_d = continues_i ? SlotBegin : SlotIdle;
        SlotRepeat: if (repeats_i[slot]) state_d = SlotAwait;
        SlotAwait: if (returns_i[slot]) state_d = return_failed_i ? SlotReady : SlotBegin;
        default: if (failed_i[slot] && !works_i[slot] && !requested_q) state_d = SlotReady;
      endcase
      for (int unsigned part = 0; part < 2; part++) if (ends[part]) state_d = end_state_i[part];
    end

    always_ff @(posedge clk_i) begin
      requested_q <= headers_o[slot] || steps_o[slot];
      if (rst_i) state_q <= SlotIdle;
      else state_q <= state_d;
      if (begins || leaves_i[slot]) {none_q, descent_failed_q} <= {1'b0, begins && begin_failed_i};
      if (ends[0]) none_q <= end_none_i;
      if (returns_i[slot]) descent_failed_q <= return_failed_i;
    end

    assign state_o[slot] = state_q;
    assign busy_o[slot] = state_q != SlotIdle;
    assign begins_o[slot] = state_q == SlotBegin && settled_i[slot];
    assign headers_o[slot] = state_q == SlotHeader && woken_i[slot] && !failed_i[slot] && keys_ready_i[slot];
    assign steps_o[slot] = is_step(state_q) && woken_i[slot] && !failed_i[slot];
    assign ready_o[slot] = state_q == SlotReady;
    assign repeats_o[slot] = state_q == SlotRepeat;
    assign none_o[slot] = none_q;
    assign descent_failed_o[slot] = descent_failed_q;
    assign fails[slot] = state_q inside {SlotHeader, SlotHeads, SlotCurrent, SlotLog} && failed_i[slot];

    `ASSERT(BeginsWhenIdle, !begins || state_q == SlotIdle)
    `ASSERT(GrantEndsOnce, !leaves_i[slot] || state_q == SlotGranted)
    `ASSERT(StarterBegins, !ends[0] || state_q inside {SlotBegin, SlotHeader})
    `ASSERT(OpenerFollows, !ends[1] || is_step(state_q))
  end

  `COVER(FailsBeforeGrant, fails != '0)

endmodule

`default_nettype wire
