// Proves for arbitrary reads: the bursts of a read are adjacent, lie within pages, contain each line once,
// and the last one is marked.

`default_nettype none

module prove_read_splitter
  import accelerator_pkg::*;
  import memory_pkg::*;
(
  input logic clk_i,
  input logic start_i,
  input line_address_t first_i,
  input line_count_t count_i,
  input logic burst_ready_i
);

  logic started_q = 1'b0;
  logic burst_valid;
  burst_t burst;
  // The lines of the read that no burst contains yet.
  line_address_t next_q;
  line_count_t left_q;
  line_address_t line;

  read_splitter u_read_splitter (
    .clk_i,
    .rst_i(!started_q),
    .start_i,
    .first_i,
    .count_i,
    .burst_valid_o(burst_valid),
    .burst_ready_i,
    .burst_o(burst)
  );

  assign line = line_address_t'(burst.address >> LineIndexBits);

  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    if (!started_q) left_q <= '0;
    else if (start_i) {next_q, left_q} <= {first_i, count_i};
    else if (burst_valid && burst_ready_i) begin
      next_q <= next_q + line_address_t'(burst.lines);
      left_q <= left_q - line_count_t'(burst.lines);
    end
  end

  always @(posedge clk_i) begin
    if (started_q) begin
      OneAtATime : assume (!start_i || (left_q == '0 && count_i != '0));
      AllLinesAreLeft : assert (u_read_splitter.left_q == left_q
          && (left_q == '0 || u_read_splitter.line_q == next_q));
      HasBurst : assert (burst_valid == (left_q != '0));
      IsNext : assert (!burst_valid || line == next_q);
      IsWithinRead : assert (!burst_valid || (burst.lines != '0 && line_count_t'(burst.lines) <= left_q));
      LastIsMarked : assert (!burst_valid || burst.last == (line_count_t'(burst.lines) == left_q));
      StaysWithinPage : assert (!burst_valid || (line_address_t'(burst.lines) - 1'b1 + line) >> PageLineBits
          == line >> PageLineBits);
    end
  end

endmodule

`default_nettype wire
