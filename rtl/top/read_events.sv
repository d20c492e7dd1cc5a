// Reports the reads of a client of memory as events. Lines belong to the request that read them, although the
// unit may already execute the next request when the last line arrives.

`default_nettype none

module read_events
  import layout_pkg::*;
  import accelerator_pkg::*;
(
  input logic clk_i,

  input slot_t slot_i,
  // accepted reads and beats
  input logic read_valid_i,
  // verilator lint_off UNUSEDSIGNAL
  input line_read_t read_i,
  // verilator lint_on UNUSEDSIGNAL
  input logic beat_valid_i,
  // verilator lint_off UNUSEDSIGNAL
  input line_beat_t beat_i,
  // verilator lint_on UNUSEDSIGNAL

  output event_t [1:0] events_o
);

  slot_t slot_q;
  logic [31:0] lines;

  assign lines = {read_i.by_lid, 19'(read_i.count), 12'(read_i.first)};

  always_ff @(posedge clk_i) begin
    if (read_valid_i) slot_q <= slot_i;
  end

  // All reads in flight belong to one request: see line_read_t.
  assign events_o = {
    event_if(beat_valid_i && beat_i.last, EventLines, slot_q, 32'(beat_i.error), 64'(beat_i.address)),
    event_if(read_valid_i, EventRead, slot_i, lines, 64'(read_i.lid))
  };

endmodule

`default_nettype wire
