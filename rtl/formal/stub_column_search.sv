// A search in columns whose reads, passes and end are arbitrary: those that head_i states. key_o states its
// inputs.

`default_nettype none

module stub_column_search
  import accelerator_pkg::*;
  import layout_pkg::*;
  import search_pkg::*;
(
  input logic clk_i,
  input logic rst_i,
  input logic start_i,
  input direction_e direction_i,
  input key_length_t key_length_i,
  input node_header_t header_i,
  output logic done_o,
  output lid_t child_o,
  output logic read_o,
  output column_read_t column_read_o,
  input logic read_waits_i,
  input logic has_samples_i,
  input logic accepted_i,
  input logic failed_i,
  output logic pass_o,
  output column_pass_t column_pass_o,
  output head_t head_o,
  output element_t element_o,
  output logic key_valid_o,
  input logic key_ready_i,
  output head_read_t key_o,
  input logic head_valid_i,
  input head_t head_i,
  input logic counts_valid_i,
  input column_counts_t counts_i,
  output logic rest_valid_o,
  input logic rest_ready_i,
  output rest_read_t rest_o,
  input logic rest_wants_line_i,
  input logic rest_done_i,
  input logic rest_less_i,
  input logic rest_equal_i
);

  logic [1:0] child;
  logic pass_number;

  assign {done_o, child, read_o, column_read_o, pass_o, pass_number} = 20'(head_i);
  assign child_o = lid_t'(child);
  assign {head_o, element_o, key_valid_o, rest_valid_o, rest_o} = '0;
  assign key_o = {14'd0, accepted_i, read_waits_i, failed_i, has_samples_i};

  always_comb begin
    column_pass_o = '0;
    {column_pass_o.number, column_pass_o.count} = {pass_number, group_lines_t'(1)};
  end

endmodule

`default_nettype wire
