// Reports the events of the requests in slots: those of the slots, and during a grant those of the unit.

`default_nettype none

module slot_events
  import layout_pkg::*;
  import accelerator_pkg::*;
#(
  parameter int unsigned Slots = 4,
  localparam int unsigned PlaceBits = Slots > 1 ? $clog2(Slots) : 1
) (
  input logic clk_i,

  // a request begins in a slot
  input logic begin_i,
  input logic [PlaceBits-1:0] begin_place_i,
  // verilator lint_off UNUSEDSIGNAL
  input leaf_t leaf_i,
  // the leaf of a slot is open: its header
  input logic opened_i,
  input logic [PlaceBits-1:0] opened_place_i,
  input node_header_t header_i,
  // verilator lint_on UNUSEDSIGNAL
  // the log of the next request was walked over
  input logic walked_i,
  input logic [Slots-1:0] is_next_i,
  input logic [Slots-1:0] has_grant_i,
  input event_t event_i,

  output event_t [Slots-1:0] events_o
);

  // verilator lint_off UNUSEDSIGNAL
  lock_and_size_t state;
  // verilator lint_on UNUSEDSIGNAL

  assign state = header_i.lock_and_size;

  for (genvar slot = 0; slot < Slots; slot++) begin : gen_slots
    logic begins, opens;
    slot_t slot_q;

    assign begins = begin_i && begin_place_i == PlaceBits'(slot);
    assign opens = opened_i && opened_place_i == PlaceBits'(slot);

    always_ff @(posedge clk_i) begin
      if (begins) slot_q <= leaf_i.request.slot;
    end

    // The unit has no events in the cycle in which a leaf opens, because it waits for the leaf.
    always_comb begin
      events_o[slot] = event_if(1'b0, 0, slot_q, '0, '0);
      if (walked_i && is_next_i[slot]) events_o[slot] = event_if(1'b1, EventLogWalked, slot_q, '0, '0);
      if (has_grant_i[slot]) events_o[slot] = event_i;
      if (begins)
        events_o[slot] = event_if(1'b1, EventLeafAccepted, leaf_i.request.slot, '0, 64'(leaf_i.lid));
      if (opens)
        events_o[slot] = event_if(1'b1, EventLeafOpen, slot_q, 32'(state.log_count), header_i.node_version);
    end
  end

endmodule

`default_nettype wire
