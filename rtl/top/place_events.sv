// Reports the reads of the places of a unit as events, as read_events does for a client.

`default_nettype none

module place_events
  import layout_pkg::*;
  import accelerator_pkg::*;
#(
  parameter int unsigned Places = 4
) (
  input logic clk_i,

  // the requests of the places
  input slot_t [Places-1:0] slots_i,
  // accepted reads, and lines
  input logic read_valid_i,
  // verilator lint_off UNUSEDSIGNAL
  input place_read_t read_i,
  // verilator lint_on UNUSEDSIGNAL
  input logic line_valid_i,
  // verilator lint_off UNUSEDSIGNAL
  input place_line_t line_i,
  // verilator lint_on UNUSEDSIGNAL

  output event_t [1:0] events_o
);

  localparam int unsigned PlaceBits = Places > 1 ? $clog2(Places) : 1;

  typedef logic [PlaceBits-1:0] place_t;

  slot_t [2**PlaceBits-1:0] slot_q;
  slot_t slot;
  place_t place;
  logic [31:0] lines;

  assign place = place_t'(read_i.place);
  assign slot = slots_i[place];
  assign lines = {read_i.by_lid, 19'(read_i.count), 12'(read_i.first)};

  always_ff @(posedge clk_i) begin
    if (read_valid_i) slot_q[place] <= slot;
  end

  assign events_o = {
    event_if(line_valid_i && line_i.last, EventLines, slot_q[place_t'(line_i.place)], 32'(line_i.error), '0),
    event_if(read_valid_i, EventRead, slot, lines, 64'(read_i.lid))
  };

endmodule

`default_nettype wire
