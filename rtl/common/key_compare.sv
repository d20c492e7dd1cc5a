// Compares two strings of up to 64 bytes as memcmp does; a proper prefix is less than the longer string.
// Combinational.

`default_nettype none

module key_compare
  import accelerator_pkg::*;
(
  // byte i is bits 8i+7:8i; bytes beyond the counts are ignored; counts are 0 to 64
  input  line_t      a_i,
  input  logic [6:0] a_count_i,
  input  line_t      b_i,
  input  logic [6:0] b_count_i,
  output logic       less_o,
  output logic       equal_o
);

  // As numbers: the first byte is in the highest bits, and bytes beyond the count are zero. Numbers have the
  // order of the strings, except that zeros at the end of a string do not count.
  line_t a, b;
  for (genvar index = 0; index < LineBytes; index++) begin : gen_bytes
    localparam int unsigned To = 8 * (LineBytes - 1 - index);
    assign a[To+:8] = a_count_i > 7'(index) ? a_i[8*index+:8] : '0;
    assign b[To+:8] = b_count_i > 7'(index) ? b_i[8*index+:8] : '0;
  end

  assign less_o = a < b || (a == b && a_count_i < b_count_i);
  assign equal_o = a == b && a_count_i == b_count_i;

endmodule

`default_nettype wire
