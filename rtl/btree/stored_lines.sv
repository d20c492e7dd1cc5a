// Knows which lines of the leaves of a range scan unit are stored. A line is stored if its mark is the number
// of the leaf that its slot reads; numbers count up for each leaf of a slot. After the last number, all marks
// of the slot are swept before its next leaf.

`default_nettype none

`include "assertions.svh"

module stored_lines
  import layout_pkg::*;
  import accelerator_pkg::*;
#(
  parameter int unsigned Slots = 4,
  // size of the largest node
  parameter int unsigned NodeBytes = NodeBytesDefault,
  localparam int unsigned PlaceBits = Slots > 1 ? $clog2(Slots) : 1,
  localparam int unsigned LineIndexWidth = $clog2(NodeBytes / LineBytes)
) (
  input logic clk_i,
  input logic rst_i,

  // the slot begins to read another leaf
  input logic starts_i,
  input logic [PlaceBits-1:0] start_place_i,
  // for each slot: it may begin; and it waits for that
  output logic [Slots-1:0] may_start_o,
  input logic [Slots-1:0] waits_i,

  input logic store_i,
  input logic [PlaceBits-1:0] store_place_i,
  input logic [LineIndexWidth-1:0] store_line_i,

  // Whether a line, and the line after it, are stored: one cycle later. Lines that are stored in the same
  // cycle are not.
  input logic [PlaceBits-1:0] check_place_i,
  input logic [LineIndexWidth-1:0] check_line_i,
  output logic has_first_o,
  output logic has_second_o
);

  localparam int unsigned NumberBits = 5;
  localparam int unsigned Lines = 2 ** LineIndexWidth * (Slots > 1 ? 2 ** PlaceBits : 1);

  typedef logic [NumberBits-1:0] leaf_number_t;
  typedef logic [$clog2(Lines)-1:0] line_address_t;

  // 0 is the mark of no leaf.
  leaf_number_t [Slots-1:0] number_q;
  leaf_number_t even, odd, checked_q;
  line_address_t write_address, check_address;
  logic writes, is_odd, has_even, has_odd, hides_first_q, hides_second_q;

  // ---- sweeps

  logic picked, sweeps, is_last_line;
  logic [PlaceBits-1:0] sweep_place;
  logic [LineIndexWidth-1:0] sweep_line_q;
  logic [Slots-1:0] asks, is_swept;

  for (genvar slot = 0; slot < Slots; slot++) begin : gen_numbers
    assign may_start_o[slot] = number_q[slot] != '1;
    assign asks[slot] = waits_i[slot] && !may_start_o[slot];

    always_ff @(posedge clk_i) begin
      // The marks are undefined at first.
      if (rst_i) number_q[slot] <= '1;
      else if (is_swept[slot] && is_last_line) number_q[slot] <= '0;
      else if (starts_i && start_place_i == PlaceBits'(slot)) number_q[slot] <= number_q[slot] + 1'b1;
    end
  end

  picker #(
    .Count(Slots)
  ) u_picker (
    .clk_i,
    .rst_i,
    .asks_i(asks),
    .valid_o(picked),
    .index_o(sweep_place),
    .is_index_o(is_swept),
    .take_i(is_last_line)
  );

  assign sweeps = picked && !store_i;
  assign is_last_line = sweeps && sweep_line_q == '1;

  always_ff @(posedge clk_i) begin
    if (rst_i || !picked) sweep_line_q <= '0;
    else if (sweeps) sweep_line_q <= sweep_line_q + 1'b1;
  end

  // ---- marks

  assign writes = store_i || sweeps;
  assign write_address = store_i ? line_address_t'({store_place_i, store_line_i})
      : line_address_t'({sweep_place, sweep_line_q});
  assign check_address = line_address_t'({check_place_i, check_line_i});

  line_pairs #(
    .Lines(Lines),
    .Width(NumberBits)
  ) u_marks (
    .clk_i,
    .rst_i,
    .write_i(writes),
    .write_line_i(write_address),
    .write_data_i(store_i ? number_q[store_place_i] : '0),
    .read_i(1'b1),
    .read_line_i(check_address),
    .even_o(even),
    .odd_o(odd),
    .is_odd_o(is_odd)
  );

  // The check arrives after the write, so the sum is that of the write.
  always_ff @(posedge clk_i) begin
    checked_q <= number_q[check_place_i];
    hides_first_q <= writes && write_address == check_address;
    hides_second_q <= writes && write_address - 1'b1 == check_address;
  end

  // Both marks are compared before one is selected, because they leave their memory late.
  assign {has_even, has_odd} = {even == checked_q, odd == checked_q};
  assign has_first_o = (is_odd ? has_odd : has_even) && !hides_first_q;
  assign has_second_o = (is_odd ? has_even : has_odd) && !hides_second_q;

  `ASSERT(StartsWithANumber, !starts_i || may_start_o[start_place_i])
  `ASSERT(SweepsNoReader, !picked || waits_i[sweep_place])
  `COVER(StoresWhileItSweeps, picked && store_i)

endmodule

`default_nettype wire
