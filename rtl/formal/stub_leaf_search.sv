// A search of a leaf that lasts arbitrarily long, reads arbitrary lines, and has an arbitrary result: those
// that line_i states. Until its end the result is any other one; from then on it stays.

`default_nettype none

module stub_leaf_search
  import layout_pkg::*;
  import accelerator_pkg::*;
  import search_pkg::*;
  import scan_pkg::*;
(
  input logic clk_i,
  input logic rst_i,
  input logic start_i,
  input slot_state_e step_i,
  input search_t before_i,
  input logic has_key_i,
  input logic at_end_i,
  input head_t head_i,
  output logic line_valid_o,
  input logic line_ready_i,
  output line_count_t line_number_o,
  input line_t line_i,
  output logic done_o,
  output node_header_t header_o,
  output leaf_columns_t columns_o,
  output logic has_groups_o,
  output indexes_t groups_o,
  output indexes_t equal_o,
  output offset_t item_offset_o
);

  // The step has begun and not ended; a line was not accepted.
  logic works_q, waits_q;
  logic ends, reads, has_groups, is_too_long, line, line_q;
  logic [1:0] entries, columns, tag;
  logic [7:0] result_q;
  lock_and_size_t state;

  assign {ends, reads, line} = 3'(line_i);
  assign done_o = works_q && ends && !waits_q;
  assign line_valid_o = works_q && (waits_q || (reads && !ends));
  assign line_number_o = line_count_t'(waits_q ? line_q : line);
  assign {has_groups, is_too_long, entries, columns, tag} = works_q ? line_i[15:8] : result_q;

  always_ff @(posedge clk_i) begin
    if (works_q) {result_q, line_q} <= {8'(line_i[15:8]), line_number_o[0]};
    works_q <= !rst_i && (start_i || (works_q && !done_o));
    waits_q <= !rst_i && line_valid_o && !line_ready_i;
  end

  always_comb begin
    state = '0;
    {state.log_count, state.size} = {8'(entries), is_too_long ? 16'h7000 : 16'd256};
    header_o = '0;
    {header_o.lock_and_size, header_o.tags} = {state, {14{8'hff}}, 8'hfe, 8'(tag)};
    columns_o = '0;
    columns_o.items_start = offset_t'(columns);
    has_groups_o = has_groups;
    groups_o = '0;
    equal_o = '{first: number_t'(columns), last: number_t'(tag)};
    item_offset_o = offset_t'(tag);
  end

endmodule

`default_nettype wire
