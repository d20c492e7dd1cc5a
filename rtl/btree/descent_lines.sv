// Stores the lines that memory returns for the descents of a key search unit, and passes them to the parts
// that compare: those of one pass after the other, a line in each cycle. A descent requests a pass when the
// read has ended; it begins no read of the same number before the pass has ended.
//
//   pass of a descent | line of the memory | its use

`default_nettype none

`include "assertions.svh"

module descent_lines
  import accelerator_pkg::*;
  import search_pkg::*;
#(
  parameter int unsigned Descents = 2,
  localparam int unsigned PlaceBits = Descents > 1 ? $clog2(Descents) : 1
) (
  input logic clk_i,
  input logic rst_i,

  // A read begins: its descent, its number, and its first line.
  input logic read_i,
  input logic [PlaceBits-1:0] read_place_i,
  input logic read_number_i,
  input read_line_t read_line_i,

  // a line from memory
  input logic memory_valid_i,
  // The descents use the other fields.
  // verilator lint_off UNUSEDSIGNAL
  input place_line_t memory_i,
  // verilator lint_on UNUSEDSIGNAL

  // for each descent: lines to pass
  input  logic [Descents-1:0] pass_valid_i,
  output logic [Descents-1:0] pass_ready_o,
  input  column_pass_t [Descents-1:0] pass_i,

  // a line, and its descent; the last line of a pass
  output logic line_valid_o,
  output column_line_t line_o,
  output logic line_last_o,
  output logic [PlaceBits-1:0] line_place_o
);

  if (HeadsLine > ReadLinesMax) $fatal(1, "header and samples must fit into the lines of a read");
  if (2 ** $clog2(ReadLinesMax) != ReadLinesMax) $fatal(1, "ReadLinesMax must be a power of two");

  typedef logic [PlaceBits-1:0] place_t;

  // ---- lines from memory: the next line of each read

  read_line_t [2**PlaceBits-1:0][1:0] next_q;
  read_line_t next;
  place_t place;

  assign place = place_t'(memory_i.place);
  assign next = next_q[place][memory_i.number];

  // Each one counts by itself: the selected one with one added would be behind all places, and before them.
  for (genvar at = 0; at < 2 ** PlaceBits; at++) begin : gen_next
    for (genvar number = 0; number < 2; number++) begin : gen_numbers
      always_ff @(posedge clk_i) begin
        if (memory_valid_i && place == place_t'(at) && memory_i.number == 1'(number))
          next_q[at][number] <= next_q[at][number] + 1'b1;
        if (read_i && read_place_i == place_t'(at) && read_number_i == 1'(number))
          next_q[at][number] <= read_line_i;
      end
    end
  end

  // ---- passes

  logic pass_valid, ends, valid_q;
  column_pass_t pass;
  place_t pass_place;
  group_lines_t at_q;
  column_use_t use_d, use_q;
  line_t data;
  head_count_t left;

  wide_arbiter #(
    .T(column_pass_t),
    .Count(Descents)
  ) u_passes (
    .clk_i,
    .rst_i,
    .in_valid_i(pass_valid_i),
    .in_ready_o(pass_ready_o),
    .in_i(pass_i),
    .out_valid_o(pass_valid),
    .out_ready_i(ends),
    .out_o(pass),
    .out_index_o(pass_place)
  );

  assign ends = at_q + 1'b1 == pass.count;
  // Heads in this line and in those after it.
  assign left = pass.heads - (head_count_t'(at_q) << ElementBits);

  always_comb begin
    use_d = '{
      is_rest: pass.is_rest,
      head: pass.head,
      heads: (ElementBits+1)'(left),
      skips_first: pass.skips_first && at_q == '0,
      element: pass.element
    };
    if (left > head_count_t'(Elements)) use_d.heads = (ElementBits+1)'(Elements);
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) {valid_q, at_q} <= '0;
    else begin
      valid_q <= pass_valid;
      if (pass_valid) at_q <= ends ? '0 : at_q + 1'b1;
    end
    {use_q, line_last_o, line_place_o} <= {use_d, ends, pass_place};
  end

  ram #(
    .Width(LineBits),
    .Depth(2 ** PlaceBits * 2 * ReadLinesMax)
  ) u_lines (
    .clk_i,
    .rst_i,
    .write_i(memory_valid_i),
    .write_address_i({place, memory_i.number, next}),
    .write_data_i(memory_i.data),
    .read_i(pass_valid),
    .read_address_i({pass_place, pass.number, read_line_t'(group_lines_t'(pass.first) + at_q)}),
    .read_data_o(data)
  );

  assign line_valid_o = valid_q;
  assign line_o = '{use_as: use_q, data: data};

  `ASSERT(ReadIsNew, !(read_i && memory_valid_i) ||
      {place, memory_i.number} != {read_place_i, read_number_i})
  `ASSERT(PassHasLines, !pass_valid || (pass.count != '0 && 32'(pass.count) <= ReadLinesMax))
  `ASSERT(HeadsAreInTheLines, !pass_valid || 32'(pass.heads) <= 32'(pass.count) * Elements)
  `ASSERT(EachLineHasHeads, !pass_valid || pass.heads == '0 || left > '0)
  `ASSERT(ReadHasEnded, !(pass_valid && memory_valid_i) ||
      {place, memory_i.number} != {pass_place, pass.number})
  `COVER(PassesFollow, pass_valid && valid_q && at_q == '0)

endmodule

`default_nettype wire
