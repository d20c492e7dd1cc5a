// Reports the reads of a client of memory as events. Lines belong to the request that read them, although the
// unit may already read for other requests when the last line arrives.

`default_nettype none

module read_events
  import layout_pkg::*;
  import accelerator_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  // the request of the read
  input slot_t slot_i,
  // accepted reads and beats
  input logic read_valid_i,
  // verilator lint_off UNUSEDSIGNAL
  input line_read_t read_i,
  input logic beat_valid_i,
  input line_beat_t beat_i,
  // verilator lint_on UNUSEDSIGNAL

  output event_t [1:0] events_o
);

  // More reads than a client has in flight: see client_port.
  localparam int unsigned OpenMax = 16;

  slot_t slot;
  logic ends;

  assign ends = beat_valid_i && beat_i.last;

  fifo #(
    .T(slot_t),
    .Depth(OpenMax)
  ) u_slots (
    .clk_i,
    .rst_i,
    .in_valid_i(read_valid_i), .in_ready_o(),
    .in_i(slot_i),
    .out_valid_o(), .out_ready_i(ends),
    .out_o(slot),
    .count_o()
  );

  assign events_o = {
    event_if(ends, EventLines, slot, 32'(beat_i.error), '0),
    event_if(read_valid_i, EventRead, slot_i, {20'(read_i.count), 12'd0}, '0)
  };

endmodule

`default_nettype wire
