// The sorted log of the leaf whose range is answered. It is taken from the sorter, which sorts that of the
// next leaf meanwhile.

`default_nettype none

`include "assertions.svh"

module sorted_log
  import layout_pkg::*;
  import accelerator_pkg::*;
  import search_pkg::*;
  import scan_pkg::*;
#(
  // capacity in entries
  parameter int unsigned EntriesMax = 64,
  localparam int unsigned CountBits = $clog2(EntriesMax + 1),
  localparam int unsigned IndexBits = EntriesMax > 1 ? $clog2(EntriesMax) : 1
) (
  input logic clk_i,
  input logic rst_i,

  // takes the entries; they are read from the next cycle on
  input logic take_i,
  input sorted_entry_t [EntriesMax-1:0] entries_i,
  input logic [CountBits-1:0] taken_count_i,
  input logic taken_overflow_i,

  // there were more entries than the capacity
  output logic overflow_o,
  output logic [CountBits-1:0] count_o,
  // the entry at a position, and whether the entry before it is a newer one of the same key
  input logic [CountBits-1:0] index_i,
  output sorted_entry_t entry_o,
  output logic hidden_o,

  // the number of entries with a smaller back pointer, one cycle later
  input number_t position_i,
  output logic [CountBits-1:0] before_o
);

  sorted_entry_t [EntriesMax-1:0] entries_q;
  logic [CountBits-1:0] count_q;
  logic overflow_q;

  always_ff @(posedge clk_i) begin
    if (take_i) entries_q <= entries_i;
    if (rst_i) {count_q, overflow_q} <= '0;
    else if (take_i) {count_q, overflow_q} <= {taken_count_i, taken_overflow_i};
  end

  // Entries are sorted, so the ones before a position are the first ones. Places with entries: by a shift,
  // because a comparison for each place would be an adder.
  logic [EntriesMax-1:0] is_used;
  logic [EntriesMax:0] is_before_q;

  assign is_used = ~('1 << count_q);

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < EntriesMax; i++)
      is_before_q[i] <= is_used[i] && entries_q[i].back_pointer < position_i;
    is_before_q[EntriesMax] <= 1'b0;
  end

  always_comb begin
    before_o = '0;
    for (int unsigned i = 0; i < EntriesMax; i++)
      if (is_before_q[i] && !is_before_q[i+1]) before_o |= CountBits'(i + 1);
  end

  always_comb begin
    entry_o = entries_q[IndexBits'(index_i)];
    hidden_o = index_i != '0 && entries_q[IndexBits'(index_i - 1'b1)].repeats;
  end

  assign count_o = count_q;
  assign overflow_o = overflow_q;

  `ASSERT(CountFits, 32'(count_q) <= EntriesMax)
  `COVER(IsHidden, index_i < count_q && hidden_o)

endmodule

`default_nettype wire
