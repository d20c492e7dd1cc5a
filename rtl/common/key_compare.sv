// Compares two byte strings of up to 64 bytes, as memcmp does for their common length; a proper prefix is
// less. The order follows the strings after one cycle, which compares four bytes each; then the first
// difference decides.

`default_nettype none

module key_compare
  import accelerator_pkg::*;
(
  input logic clk_i,

  // bytes after the count are ignored
  input line_t a_i,
  input logic [LineIndexBits:0] a_count_i,
  input line_t b_i,
  input logic [LineIndexBits:0] b_count_i,

  output logic less_o,
  output logic equal_o
);

  localparam int unsigned WordBytes = 4;
  localparam int unsigned Words = LineBytes / WordBytes;

  logic [Words-1:0] less, equal, less_q, equal_q;
  logic shorter_q, same_length_q;

  // The bytes that both strings have, by shifts, because a comparison for each byte would be an adder. If
  // these are equal, the lengths decide.
  logic [LineBytes-1:0] in_both;
  assign in_both = ~('1 << a_count_i | '1 << b_count_i);

  for (genvar word = 0; word < Words; word++) begin : gen_words
    logic [WordBytes-1:0] less_bytes, equal_bytes;
    for (genvar at = 0; at < WordBytes; at++) begin : gen_bytes
      localparam int unsigned Index = WordBytes * word + at;
      logic [7:0] a, b;
      assign a = a_i[8*Index+:8];
      assign b = b_i[8*Index+:8];
      assign less_bytes[at] = a < b;
      assign equal_bytes[at] = a == b || !in_both[Index];
    end
    always_comb begin
      less[word] = 1'b0;
      for (int unsigned after = 1; after <= WordBytes; after++) begin
        if (!equal_bytes[WordBytes-after]) less[word] = less_bytes[WordBytes-after];
      end
    end
    assign equal[word] = &equal_bytes;
  end

  // The first difference of each four words, and then of all, because a chain of all words is too long.
  logic [Words/4-1:0] less_words, equal_words;

  for (genvar group = 0; group < Words / 4; group++) begin : gen_groups
    assign equal_words[group] = &equal_q[4*group+:4];
    always_comb begin
      less_words[group] = 1'b0;
      for (int unsigned after = 1; after <= 4; after++) begin
        if (!equal_q[4*group+4-after]) less_words[group] = less_q[4*group+4-after];
      end
    end
  end

  always_comb begin
    less_o = &equal_words && shorter_q;
    for (int unsigned after = 1; after <= Words / 4; after++) begin
      if (!equal_words[Words/4-after]) less_o = less_words[Words/4-after];
    end
  end

  always_ff @(posedge clk_i) begin
    {less_q, equal_q} <= {less, equal};
    shorter_q <= a_count_i < b_count_i;
    same_length_q <= a_count_i == b_count_i;
  end

  assign equal_o = &equal_words && same_length_q;

endmodule

`default_nettype wire
