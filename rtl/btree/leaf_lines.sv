// The lines of the leaves of a range scan unit, in one memory. It stores a line in each cycle, and returns
// any 64 adjacent bytes of a leaf two cycles after the read. It also passes the lines of overflow values
// through.

`default_nettype none

`include "assertions.svh"

module leaf_lines
  import layout_pkg::*;
  import accelerator_pkg::*;
  import scan_pkg::*;
#(
  parameter int unsigned Slots = 4,
  // size of the largest node
  parameter int unsigned NodeBytes = NodeBytesDefault,
  localparam int unsigned PlaceBits = Slots > 1 ? $clog2(Slots) : 1,
  localparam int unsigned LineIndexWidth = $clog2(NodeBytes / LineBytes)
) (
  input logic clk_i,
  input logic rst_i,

  // For each slot: a beat of a line of its leaf, or of an overflow value, which is taken in the next cycle.
  // A slot waits a cycle for its turn, and keeps it while no other slot with a beat has a lower number.
  input logic [Slots-1:0] beat_valid_i,
  output logic [Slots-1:0] beat_ready_o,
  input flight_t [Slots-1:0] flight_i,
  input line_beat_t [Slots-1:0] beat_i,

  // a line is stored: its slot, its place in the leaf, and the address of its buffer
  output logic stored_o,
  output logic [PlaceBits-1:0] stored_place_o,
  output logic [LineIndexWidth-1:0] stored_line_o,
  output bus_address_t stored_address_o,

  // a line of an overflow value; no line is stored until it is accepted
  output logic value_valid_o,
  input logic value_ready_i,
  output line_t value_o,

  // Reads the line at an offset of a leaf in each cycle: line_o, one cycle later; and, with window_i, the
  // window from the offset on, two cycles later, until the next one. A line that is stored in the same
  // cycle is undefined.
  input logic window_i,
  input logic [PlaceBits-1:0] read_place_i,
  // verilator lint_off UNUSEDSIGNAL
  input offset_t read_offset_i,
  // verilator lint_on UNUSEDSIGNAL
  output line_t window_o,
  output line_t line_o
);

  localparam int unsigned Lines = 2 ** LineIndexWidth * (Slots > 1 ? 2 ** PlaceBits : 1);

  typedef logic [$clog2(Lines)-1:0] line_address_t;

  // A line that is taken: to be stored, or of a value.
  typedef struct packed {
    logic [PlaceBits-1:0] place;
    // verilator lint_off UNUSEDSIGNAL
    flight_t flight;
    // verilator lint_on UNUSEDSIGNAL
    bus_address_t address;
    line_t data;
  } taken_t;

  logic [Slots-1:0] turn_q, errors;
  logic stores_q, values_q, waits, takes;
  taken_t taken_d, taken_q;
  line_address_t stored;

  // A slot stores a limited number of lines, so the others need not take turns.
  assign waits = values_q && !value_ready_i;
  assign beat_ready_o = waits ? '0 : turn_q;
  assign takes = |(beat_valid_i & beat_ready_o & ~errors);

  always_ff @(posedge clk_i) begin
    if (rst_i) turn_q <= Slots'(1);
    else if (beat_valid_i != '0) turn_q <= beat_valid_i & (~beat_valid_i + 1'b1);
  end

  for (genvar slot = 0; slot < Slots; slot++) begin : gen_errors
    assign errors[slot] = beat_i[slot].error;
  end

  always_comb begin
    taken_d = '0;
    for (int unsigned slot = 0; slot < Slots; slot++) begin
      if (turn_q[slot]) begin
        taken_d |= {PlaceBits'(slot), flight_i[slot], beat_i[slot].address, beat_i[slot].data};
      end
    end
  end

  always_ff @(posedge clk_i) begin
    stores_q <= takes && !taken_d.flight.is_value && !rst_i;
    values_q <= ((takes && taken_d.flight.is_value) || waits) && !rst_i;
    if (!waits) taken_q <= taken_d;
  end

  assign stored_o = stores_q;
  assign stored_place_o = taken_q.place;
  assign stored_line_o = LineIndexWidth'(taken_q.flight.line);
  assign stored_address_o = taken_q.address;
  assign stored = line_address_t'({stored_place_o, stored_line_o});
  assign value_valid_o = values_q;
  assign value_o = taken_q.data;

  line_t even, odd;
  logic is_odd;

  line_pairs #(
    .Lines(Lines)
  ) u_lines (
    .clk_i,
    .rst_i,
    .write_i(stores_q),
    .write_line_i(stored),
    .write_data_i(taken_q.data),
    .read_i(1'b1),
    .read_line_i(line_address_t'({read_place_i, read_offset_i[LineIndexBits+:LineIndexWidth]})),
    .even_o(even),
    .odd_o(odd),
    .is_odd_o(is_odd)
  );

  window_cutter u_cutter (
    .clk_i,
    .rst_i,
    .read_i(window_i),
    .skip_i(read_offset_i[LineIndexBits-1:0]),
    .even_i(even),
    .odd_i(odd),
    .is_odd_i(is_odd),
    .fresh_o(),
    .window_o
  );

  assign line_o = is_odd ? odd : even;

  `ASSERT(OneStores, $onehot(turn_q))
  `ASSERT(LinesFit, !stores_q || 32'(taken_q.flight.line) < NodeBytes / LineBytes)
  `ASSERT_OFFER_STAYS(ValueStays, value_valid_o, value_ready_i, value_o)
  `COVER(SeveralStore, $countones(beat_valid_i) > 1)
  `COVER(LinesWaitForAValue, waits && beat_valid_i != '0)

endmodule

`default_nettype wire
