// The keys of the requests of a range scan unit: copies of them, which windows are compared with, and the
// summaries of their suffixes.

`default_nettype none

`include "assertions.svh"

module slot_keys
  import accelerator_pkg::*;
  import search_pkg::*;
  import scan_pkg::*;
#(
  parameter int unsigned Slots = 4,
  localparam int unsigned PlaceBits = Slots > 1 ? $clog2(Slots) : 1
) (
  input logic clk_i,
  input logic rst_i,

  // a request begins in a slot; for each slot: its keys are complete
  input logic begin_i,
  input logic [PlaceBits-1:0] begin_place_i,
  // verilator lint_off UNUSEDSIGNAL
  input task_t request_i,
  // verilator lint_on UNUSEDSIGNAL
  output logic [Slots-1:0] ready_o,

  // see key_summaries
  input logic suffix_i,
  input logic [PlaceBits-1:0] suffix_place_i,
  input suffix_t suffix_bytes_i,
  output logic done_o,
  output logic [PlaceBits-1:0] done_place_o,
  output summary_t summary_o,

  // see key_copies
  input logic compare_read_i,
  input logic [PlaceBits-1:0] compare_place_i,
  input logic compare_upper_i,
  input key_length_t compare_byte_i,
  output line_t compare_window_o,
  output logic key_valid_o,
  input logic key_ready_i,
  output key_read_t key_o,
  input logic key_line_valid_i,
  input line_t key_line_i
);

  logic read_valid, read_upper, read_last, head_valid, head_last;
  logic [PlaceBits-1:0] read_place;
  head_read_t read;
  head_t head;

  key_copies #(
    .Slots(Slots)
  ) u_copies (
    .clk_i, .rst_i, .begin_i, .place_i(begin_place_i), .slot_i(request_i.slot),
    .lower_length_i(request_i.lower_length), .upper_length_i(request_i.upper_length),
    .ready_o,
    .summary_read_valid_i(read_valid), .summary_index_i(read_place), .summary_upper_i(read_upper),
    .summary_read_i(read), .summary_last_i(read_last),
    .summary_head_valid_o(head_valid), .summary_head_o(head), .summary_head_last_o(head_last),
    .compare_read_i, .compare_index_i(compare_place_i), .compare_upper_i, .compare_byte_i,
    .compare_window_o,
    .key_valid_o, .key_ready_i, .key_o, .key_line_valid_i, .key_line_i
  );

  key_summaries #(
    .Slots(Slots)
  ) u_summaries (
    .clk_i, .rst_i, .suffix_i, .suffix_place_i, .suffix_bytes_i,
    .done_o, .done_place_o, .summary_o,
    .read_valid_o(read_valid), .read_index_o(read_place), .read_upper_o(read_upper),
    .read_o(read), .read_last_o(read_last),
    .read_head_valid_i(head_valid), .read_head_i(head), .read_head_last_i(head_last)
  );

  `ASSERT(OneAwaitsItsKeys, $countones(~ready_o) <= 1)

endmodule

`default_nettype wire
