// Fetches a key from the key buffers, line by line, and writes it to a search_key with the write_* ports.

`default_nettype none

`include "assertions.svh"

module key_loader
  import accelerator_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  // allowed when the previous key is loaded
  input logic start_i,
  input slot_t slot_i,
  input logic upper_i,
  input key_length_t length_i,

  // The key buffers return a line some cycles after its read was accepted. One read is in flight.
  output logic key_valid_o,
  input  logic key_ready_i,
  output key_read_t key_o,
  input  logic key_line_valid_i,

  output logic write_o,
  output key_line_t write_line_o,

  // all lines of the key were written
  output logic loaded_o
);

  typedef logic [KeyLineBits:0] key_lines_t;

  slot_t slot_q;
  logic upper_q;
  // Number of lines of the key, and number of lines that have arrived.
  key_lines_t lines_q, line_q;
  // A register, because all descents of a unit wait for it.
  logic loaded_q;
  logic is_requested_q;

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      slot_q <= slot_i;
      upper_q <= upper_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      lines_q <= '0;
      line_q <= '0;
      {is_requested_q, loaded_q} <= 2'b01;
    end else if (start_i) begin
      loaded_q <= length_i == '0;
      lines_q <= key_lines_t'(({1'b0, length_i} + (KeyLengthBits+1)'(LineBytes - 1)) >> LineIndexBits);
      line_q <= '0;
    end else if (key_valid_o && key_ready_i) begin
      is_requested_q <= 1'b1;
    end else if (write_o) begin
      is_requested_q <= 1'b0;
      line_q <= line_q + 1'b1;
      loaded_q <= line_q + 1'b1 == lines_q;
    end
  end

  assign key_valid_o = !loaded_q && !is_requested_q;
  assign key_o = '{slot: slot_q, upper: upper_q, line: key_line_t'(line_q)};
  assign write_o = key_line_valid_i;
  assign write_line_o = key_line_t'(line_q);
  assign loaded_o = loaded_q;

  `ASSERT(StartsWhenLoaded, !start_i || loaded_o)
  `ASSERT(LoadedWithAllLines, loaded_q == (line_q == lines_q))
  `ASSERT(LineWasRequested, !key_line_valid_i || is_requested_q)
  `ASSERT(KeyLengthIsValid, !start_i || length_i <= key_length_t'(layout_pkg::KeyBytesMax))
  `ASSERT_OFFER_STAYS(KeyStays, key_valid_o, key_ready_i, key_o)

endmodule

`default_nettype wire
