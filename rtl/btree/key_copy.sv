// The keys of a request, copied from the key buffers once, so that every compare has them at hand.

`include "assertions.svh"

module key_copy
  import accelerator_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  // Copies the keys of a request, whose lengths are 0 where there is none.
  input logic begin_i,
  input slot_t slot_i,
  input key_length_t lower_length_i,
  input key_length_t upper_length_i,
  // they are there
  output logic ready_o,

  input logic window_read_i,
  input logic window_upper_i,
  input key_length_t window_byte_i,
  output line_t window_o,

  output logic key_valid_o,
  input logic key_ready_i,
  output key_read_t key_o,
  input logic key_line_valid_i,
  input line_t key_line_i
);

  slot_t slot_q;
  key_length_t upper_length_q;
  // The key that is loaded, and whether the upper one is still to be.
  logic upper_q, is_upper_left_q, starts_upper, is_loaded, write;
  key_line_t write_line;

  assign starts_upper = is_upper_left_q && is_loaded;
  assign ready_o = !is_upper_left_q && is_loaded;

  always_ff @(posedge clk_i) begin
    if (begin_i) begin
      slot_q <= slot_i;
      upper_length_q <= upper_length_i;
    end
    upper_q <= begin_i ? 1'b0 : upper_q || starts_upper;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) is_upper_left_q <= 1'b0;
    else is_upper_left_q <= begin_i || (is_upper_left_q && !starts_upper);
  end

  key_loader u_loader (
    .clk_i,
    .rst_i,
    .start_i(begin_i || starts_upper),
    .slot_i(begin_i ? slot_i : slot_q),
    .upper_i(!begin_i),
    .length_i(begin_i ? lower_length_i : upper_length_q),
    .key_valid_o,
    .key_ready_i,
    .key_o,
    .key_line_valid_i,
    .write_o(write),
    .write_line_o(write_line),
    .loaded_o(is_loaded)
  );

  window_ram #(
    .Lines(2 * KeyLines)
  ) u_lines (
    .clk_i,
    .rst_i,
    .write_i(write),
    .write_line_i({upper_q, write_line}),
    .write_data_i(key_line_i),
    .read_i(window_read_i),
    .read_byte_i({window_upper_i, window_byte_i}),
    .window_fresh_o(),
    .window_o
  );

  `ASSERT(BeginsWhenReady, !begin_i || ready_o)
  `ASSERT(WindowsOfKeysThatAreThere, !window_read_i || ready_o)

endmodule
