// Counts down the pairs and the bytes that a scan may still emit. The first pair beyond a limit ends the
// scan. Counts up the leaves since the last pair.

`default_nettype none

module scan_limits
  import accelerator_pkg::*;
  import scan_pkg::*;
(
  input logic clk_i,

  // begins a grant
  input logic start_i,
  input logic [31:0] pairs_max_i,
  input logic [31:0] bytes_max_i,
  input empty_leaves_t empty_leaves_i,

  // a pair of bytes_i bytes was emitted
  input logic pair_i,
  input logic [31:0] bytes_i,

  output logic [31:0] pairs_left_o,
  output logic [31:0] bytes_left_o,
  output empty_leaves_t empty_leaves_o,
  // a limit is reached; valid two cycles after a pair
  output logic is_over_o
);

  logic [31:0] pairs_q, bytes_q;
  logic is_over_q;
  empty_leaves_t empty_leaves_q;

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      pairs_q <= pairs_max_i;
      bytes_q <= bytes_max_i;
    end else if (pair_i) begin
      pairs_q <= pairs_q - 1'b1;
      bytes_q <= bytes_q < bytes_i ? '0 : bytes_q - bytes_i;
    end
    if (start_i) empty_leaves_q <= empty_leaves_i + 1'b1;
    else if (pair_i) empty_leaves_q <= '0;
    is_over_q <= pairs_q == '0 || bytes_q == '0;
  end

  assign pairs_left_o = pairs_q;
  assign bytes_left_o = bytes_q;
  assign empty_leaves_o = empty_leaves_q;
  assign is_over_o = is_over_q;

endmodule

`default_nettype wire
