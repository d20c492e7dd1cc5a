// The lines of the leaves of a range scan unit, in one memory. It stores a line in each cycle, counts its
// heads for the search of its slot, and returns any 64 adjacent bytes of a leaf two cycles after the read.

`default_nettype none

`include "assertions.svh"

module leaf_lines
  import layout_pkg::*;
  import accelerator_pkg::*;
  import search_pkg::*;
#(
  parameter int unsigned Slots = 4,
  // size of the largest node
  parameter int unsigned NodeBytes = NodeBytesDefault,
  localparam int unsigned PlaceBits = Slots > 1 ? $clog2(Slots) : 1,
  localparam int unsigned LineIndexWidth = $clog2(NodeBytes / LineBytes)
) (
  input logic clk_i,
  input logic rst_i,

  // For each slot: a line of its leaf, stored in the cycle after it was accepted. A slot waits a cycle for
  // its turn, and keeps it while no other slot with a line has a lower number.
  input logic [Slots-1:0] store_valid_i,
  output logic [Slots-1:0] store_ready_o,
  input logic [Slots-1:0][LineIndexWidth-1:0] store_line_i,
  input line_t [Slots-1:0] store_data_i,

  // see leaf_counter
  input logic [Slots-1:0] count_valid_i,
  input column_use_t [Slots-1:0] count_i,
  output logic [Slots-1:0] counts_valid_o,
  output column_counts_t counts_o,

  // a read does not return a line that is stored in the same cycle
  input logic read_i,
  input logic [PlaceBits-1:0] read_slot_i,
  // verilator lint_off UNUSEDSIGNAL
  input offset_t read_offset_i,
  // verilator lint_on UNUSEDSIGNAL
  // stable until that of another read
  output line_t window_o,

  // Another read, in a cycle without one: the line at read_offset_i of a slot, one cycle later. The window
  // stays.
  input logic line_read_i,
  input logic [PlaceBits-1:0] line_slot_i,
  output line_t line_o
);

  localparam int unsigned Lines = 2 ** LineIndexWidth * (Slots > 1 ? 2 ** PlaceBits : 1);

  typedef logic [$clog2(Lines)-1:0] line_address_t;

  logic [Slots-1:0] turn_q;
  logic stores_q;
  line_address_t address_d, address_q;
  line_t line_d, line_q;

  // A slot stores a limited number of lines, so the others need not take turns.
  assign store_ready_o = turn_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) turn_q <= Slots'(1);
    else if (store_valid_i != '0) turn_q <= store_valid_i & (~store_valid_i + 1'b1);
  end

  always_comb begin
    {address_d, line_d} = '0;
    for (int unsigned slot = 0; slot < Slots; slot++) begin
      if (turn_q[slot]) begin
        address_d |= line_address_t'({PlaceBits'(slot), store_line_i[slot]});
        line_d |= store_data_i[slot];
      end
    end
  end

  always_ff @(posedge clk_i) begin
    stores_q <= (store_valid_i & turn_q) != '0 && !rst_i;
    {address_q, line_q} <= {address_d, line_d};
  end

  leaf_counter #(
    .Slots(Slots)
  ) u_counter (
    .line_i(line_q),
    .*
  );

  line_t even, odd;
  logic is_odd;

  line_pairs #(
    .Lines(Lines)
  ) u_lines (
    .clk_i,
    .rst_i,
    .write_i(stores_q),
    .write_line_i(address_q),
    .write_data_i(line_q),
    .read_i(read_i || line_read_i),
    .read_line_i(line_address_t'({line_read_i ? line_slot_i : read_slot_i,
        read_offset_i[LineIndexBits+:LineIndexWidth]})),
    .even_o(even),
    .odd_o(odd),
    .is_odd_o(is_odd)
  );

  window_cutter u_cutter (
    .clk_i,
    .rst_i,
    .read_i,
    .skip_i(read_offset_i[LineIndexBits-1:0]),
    .even_i(even),
    .odd_i(odd),
    .is_odd_i(is_odd),
    .fresh_o(),
    .window_o
  );

  assign line_o = is_odd ? odd : even;

  `ASSERT(OneRead, !(read_i && line_read_i))
  `COVER(LineAfterWindow, line_read_i && u_cutter.is_read_q)
  `ASSERT(OneStores, $onehot(turn_q))
  `ASSERT(CountsWhatIsStored, (count_valid_i & ~(store_valid_i & turn_q)) == '0)
  `COVER(SeveralStore, $countones(store_valid_i) > 1)

endmodule

`default_nettype wire
