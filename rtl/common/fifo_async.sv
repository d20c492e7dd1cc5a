// A queue between two clocks of any frequencies and phases. Each side has a pointer with one bit more than an
// index, in Gray code: of a pointer that changes meanwhile, the other side sees the old or the new value,
// because only one bit differs. It sees the pointer late, so a queue may appear full or empty for some cycles
// more, but never has room or elements which it does not have.
//
// Both resets must overlap: neither ends before both clocks have had an edge in reset. Elements are stable
// when the other clock reads them. So the paths from `items_q`, and those between the pointers and their
// synchronizers, need no setup time, only a delay below a cycle of the faster clock.

`default_nettype none

`include "assertions.svh"

module fifo_async #(
  parameter type T = logic [31:0],
  // capacity in elements: a power of two, at least 2; 8 for a transfer in each cycle if the clocks are equal
  parameter int unsigned Depth = 8
) (
  input  logic in_clk_i,
  input  logic in_rst_i,
  input  logic in_valid_i,
  output logic in_ready_o,
  input  T     in_i,

  input  logic out_clk_i,
  input  logic out_rst_i,
  output logic out_valid_o,
  input  logic out_ready_i,
  output T     out_o
);

  localparam int unsigned IndexBits = $clog2(Depth);

  if (Depth < 2 || 2 ** IndexBits != Depth) $fatal(1, "Depth must be a power of two, at least 2");

  typedef logic [IndexBits:0] pointer_t;

  // In Gray code, a full queue has pointers that differ in their two highest bits only.
  localparam pointer_t FullMask = pointer_t'(3) << (IndexBits - 1);

  function automatic pointer_t gray(pointer_t number);
    return number ^ (number >> 1);
  endfunction

  T items_q[Depth];
  pointer_t tail_d, tail_q, tail_gray_q, tail_seen, head_d, head_q, head_gray_q, head_seen;

  // ---- the side that appends

  assign in_ready_o = tail_gray_q != (head_seen ^ FullMask);
  assign tail_d = tail_q + pointer_t'(in_valid_i && in_ready_o);

  always_ff @(posedge in_clk_i) begin
    {tail_q, tail_gray_q} <= in_rst_i ? '0 : {tail_d, gray(tail_d)};
    if (in_valid_i && in_ready_o) items_q[tail_q[IndexBits-1:0]] <= in_i;
  end

  synchronizer #(
    .Bits(IndexBits + 1)
  ) u_head (
    .clk_i(in_clk_i),
    .rst_i(in_rst_i),
    .bits_i(head_gray_q),
    .bits_o(head_seen)
  );

  // ---- the side that removes

  assign out_valid_o = head_gray_q != tail_seen;
  assign head_d = head_q + pointer_t'(out_valid_o && out_ready_i);
  assign out_o = items_q[head_q[IndexBits-1:0]];

  always_ff @(posedge out_clk_i) begin
    {head_q, head_gray_q} <= out_rst_i ? '0 : {head_d, gray(head_d)};
  end

  synchronizer #(
    .Bits(IndexBits + 1)
  ) u_tail (
    .clk_i(out_clk_i),
    .rst_i(out_rst_i),
    .bits_i(tail_gray_q),
    .bits_o(tail_seen)
  );

  // ---- assertions, each of its side

  pointer_t tail_before_q, head_before_q;
  logic in_runs_q, out_runs_q;
  always_ff @(posedge in_clk_i) {in_runs_q, tail_before_q} <= {!in_rst_i, tail_gray_q};
  always_ff @(posedge out_clk_i) {out_runs_q, head_before_q} <= {!out_rst_i, head_gray_q};

  always @(posedge in_clk_i) begin
    if (!in_rst_i && in_runs_q) begin
      `ASSERTION(TailChangesOneBit, $countones(tail_gray_q ^ tail_before_q) <= 1)
    end
  end

  always @(posedge out_clk_i) begin
    if (!out_rst_i && out_runs_q) begin
      `ASSERTION(HeadChangesOneBit, $countones(head_gray_q ^ head_before_q) <= 1)
    end
  end

endmodule

`default_nettype wire
