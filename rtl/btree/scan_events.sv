// Reports the steps of a range scan unit, for the request that has the grant, as events.

`default_nettype none

module scan_events
  import layout_pkg::*;
  import accelerator_pkg::*;
  import scan_pkg::*;
(
  input slot_t slot_i,
  // the grant of a request begins
  input logic begins_i,
  input logic walked_i,
  input logic walk_found_i,
  input logic placed_i,
  input logic find_found_i,
  input logic stepped_i,
  input logic step_found_i,
  input logic emitted_i,
  input logic [31:0] value_bytes_i,
  input logic continues_i,
  input lid_t sibling_i,
  input logic answered_i,
  input logic [7:0] status_i,

  input logic compared_i,
  // verilator lint_off UNUSEDSIGNAL
  input part_read_t part_read_i,
  input part_t part_i,
  // verilator lint_on UNUSEDSIGNAL

  output event_t event_o,
  // a key of the leaf was read or compared
  output event_t part_event_o
);

  logic [2:0] order;

  assign order = {part_i.equal, part_i.less, part_read_i.compares};

  // scan_control executes one operation at a time.
  always_comb begin
    event_o = event_if(1'b0, 0, slot_i, '0, '0);
    if (begins_i) event_o = event_if(1'b1, EventGrant, slot_i, '0, '0);
    if (walked_i) event_o = event_if(1'b1, EventLogWalked, slot_i, 32'(walk_found_i), '0);
    if (placed_i) event_o = event_if(1'b1, EventPositionFound, slot_i, 32'(find_found_i), '0);
    if (stepped_i) event_o = event_if(1'b1, EventStepped, slot_i, 32'(step_found_i), '0);
    if (emitted_i) event_o = event_if(1'b1, EventEmitted, slot_i, value_bytes_i, '0);
    if (continues_i) event_o = event_if(1'b1, EventSibling, slot_i, '0, 64'(sibling_i));
    if (answered_i) event_o = event_if(1'b1, EventAnswered, slot_i, '0, 64'(status_i));
  end

  assign part_event_o = event_if(compared_i, EventCompared, slot_i, 32'(order), 64'(part_i.rest));

endmodule

`default_nettype wire
