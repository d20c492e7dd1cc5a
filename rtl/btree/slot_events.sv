// Reports the events of a request in a slot: those of the slot, and during the grant those of the unit.

`default_nettype none

module slot_events
  import layout_pkg::*;
  import accelerator_pkg::*;
  import scan_pkg::*;
(
  input logic begins_i,
  // verilator lint_off UNUSEDSIGNAL
  input leaf_t leaf_i,
  input logic opened_i,
  input open_leaf_t open_leaf_i,
  // verilator lint_on UNUSEDSIGNAL
  // the log of the next request was walked over
  input logic walked_i,
  input logic has_grant_i,
  input event_t event_i,

  output event_t event_o
);

  // verilator lint_off UNUSEDSIGNAL
  lock_and_size_t state;
  // verilator lint_on UNUSEDSIGNAL
  slot_t slot;

  assign state = open_leaf_i.header.lock_and_size;
  assign slot = open_leaf_i.request.slot;

  // The unit has no events in the cycle in which a leaf opens, because it waits for the leaf.
  always_comb begin
    event_o = event_if(1'b0, 0, slot, '0, '0);
    if (walked_i) event_o = event_if(1'b1, EventLogWalked, slot, '0, '0);
    if (has_grant_i) event_o = event_i;
    if (begins_i) event_o = event_if(1'b1, EventLeafAccepted, leaf_i.request.slot, '0, 64'(leaf_i.lid));
    if (opened_i)
      event_o = event_if(1'b1, EventLeafOpen, slot, 32'(state.log_count), open_leaf_i.header.node_version);
  end

endmodule

`default_nettype wire
