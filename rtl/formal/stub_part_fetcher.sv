// A fetcher that is as slow as prepare_i states, and has the place, the limit, the head and the index that
// its inputs for the first item and the leaf state. Its window is the part that begins or continues.

`default_nettype none

module stub_part_fetcher
  import layout_pkg::*;
  import accelerator_pkg::*;
  import search_pkg::*;
  import scan_pkg::*;
(
  input logic clk_i,
  input logic rst_i,
  input logic forget_i,
  input logic prepare_i,
  input number_t first_i,
  input offset_t first_offset_i,
  input leaf_columns_t columns_i,
  input node_header_t header_i,
  input logic steps_i,
  input logic backward_i,
  input logic start_i,
  input logic is_index_i,
  input part_read_t part_i,
  input logic continue_i,
  input offset_t offset_i,
  input offset_t limit_i,
  output logic there_o,
  output offset_t place_o,
  output offset_t limit_o,
  output head_t head_o,
  output number_t index_o,
  input logic take_i,
  output logic window_valid_o,
  input logic window_ready_i,
  output logic window_ahead_o,
  output offset_t window_offset_o,
  output offset_t window_limit_o,
  input logic other_window_i,
  input line_t window_i
);

  assign there_o = prepare_i;
  assign place_o = first_offset_i;
  assign limit_o = offset_t'(header_i.sorted_end);
  assign head_o = header_i.right;
  assign index_o = first_i;
  assign {window_valid_o, window_ahead_o} = {start_i, continue_i};
  assign {window_offset_o, window_limit_o} = {offset_i, limit_i};

endmodule

`default_nettype wire
