// Counts the heads of lines that are less or not greater than a head, a line of eight in each cycle, or
// returns one of the eight elements of a line.
//
// The lines of one count are adjacent. The result follows the last one after two cycles. Heads that equal the
// greatest number, as missing samples do, count only if they are not greater; the user limits this.

`default_nettype none

`include "assertions.svh"

module head_counter
  import accelerator_pkg::*;
  import search_pkg::*;
#(
  // bits of the tag of a count
  parameter int unsigned TagBits = 1
) (
  input logic clk_i,
  input logic rst_i,

  input logic line_valid_i,
  // The rest_comparer uses the other fields.
  // verilator lint_off UNUSEDSIGNAL
  input column_line_t line_i,
  // verilator lint_on UNUSEDSIGNAL
  input logic line_last_i,
  input logic [TagBits-1:0] line_tag_i,

  output logic counts_valid_o,
  output column_counts_t counts_o,
  output logic [TagBits-1:0] counts_tag_o
);

  // ---- cycle 1: comparisons

  logic [Elements-1:0] less, not_greater, less_q, not_greater_q;
  logic [63:0] element_q;
  logic valid_q, last_q;
  logic [TagBits-1:0] tag_q;

  for (genvar i = 0; i < Elements; i++) begin : gen_heads
    logic is_head;
    head_t head;
    assign head = line_i.data[64*i+:64];
    assign is_head = (ElementBits+1)'(i) < line_i.use_as.heads && (i > 0 || !line_i.use_as.skips_first);
    assign less[i] = is_head && head < line_i.use_as.head;
    assign not_greater[i] = is_head && head <= line_i.use_as.head;
  end

  always_ff @(posedge clk_i) begin
    less_q <= less;
    not_greater_q <= not_greater;
    element_q <= line_i.data[64*line_i.use_as.element+:64];
    {last_q, tag_q} <= {line_last_i, line_tag_i};
  end

  // ---- cycle 2: sums. The first line of a count follows the last line of another one.

  column_counts_t sum_d, sum_q;
  head_count_t less_before, not_greater_before;
  logic is_first_q, counted_q;
  logic [TagBits-1:0] counted_tag_q;

  always_comb begin
    {less_before, not_greater_before} = is_first_q ? '0 : {sum_q.less, sum_q.not_greater};
    sum_d.less = less_before + head_count_t'($countones(less_q));
    sum_d.not_greater = not_greater_before + head_count_t'($countones(not_greater_q));
    sum_d.element = element_q;
  end

  always_ff @(posedge clk_i) begin
    if (valid_q) sum_q <= sum_d;
    if (valid_q) counted_tag_q <= tag_q;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      valid_q <= 1'b0;
      is_first_q <= 1'b1;
      counted_q <= 1'b0;
    end else begin
      valid_q <= line_valid_i;
      if (valid_q) is_first_q <= last_q;
      counted_q <= valid_q && last_q;
    end
  end

  assign counts_valid_o = counted_q;
  assign counts_o = sum_q;
  assign counts_tag_o = counted_tag_q;

  `ASSERT(HeadsFit, !line_valid_i || line_i.use_as.heads <= (ElementBits+1)'(Elements))
  `ASSERT(SumFits, !valid_q || 32'(not_greater_before) + $countones(not_greater_q) <= GroupHeads)
  `ASSERT(LessIsNotGreater, !counted_q || sum_q.less <= sum_q.not_greater)
  `ASSERT(CountStays, !valid_q || is_first_q || tag_q == counted_tag_q)
  `COVER(HeadsAreEqual, counted_q && sum_q.less != sum_q.not_greater)

endmodule

`default_nettype wire
