// Sorts log entries without comparing keys. Entries are inserted in order of arrival: each moves to the
// position of its order hint and shifts the entries behind it (Honeycomb, section 3.1). It accepts one
// entry per cycle.

`default_nettype none

`include "assertions.svh"

module log_sorter
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

  // removes all entries
  input logic clear_i,

  // An entry beyond the capacity is lost; overflow_o then stays set until clear_i.
  input logic insert_i,
  input sorted_entry_t insert_entry_i,
  input logic [LogWordOrderHintBits-1:0] insert_rank_i,
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

  if (EntriesMax < 1 || EntriesMax > LogEntriesMax) $fatal(1, "EntriesMax must be from 1 to LogEntriesMax");

  sorted_entry_t entries_q[EntriesMax];
  logic [CountBits-1:0] count_q;
  logic overflow_q, is_full;

  assign is_full = count_q == CountBits'(EntriesMax);

  // Places from the rank on, and places with entries: by shifts, because a comparison for each place would be
  // an adder.
  logic [EntriesMax-1:0] from_rank, is_used;

  assign from_rank = '1 << insert_rank_i;
  assign is_used = ~('1 << count_q);

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < EntriesMax; i++) begin
      if (insert_i && !is_full && from_rank[i])
        entries_q[i] <= i > 0 && from_rank[(i+EntriesMax-1)%EntriesMax]
            ? entries_q[(i+EntriesMax-1)%EntriesMax] : insert_entry_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i || clear_i) begin
      count_q <= '0;
      overflow_q <= 1'b0;
    end else if (insert_i) begin
      if (is_full) overflow_q <= 1'b1;
      else count_q <= count_q + 1'b1;
    end
  end

  // Entries are sorted, so the ones before a position are the first ones.
  logic [EntriesMax:0] is_before_q;

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

  `ASSERT(RankIsAtMostCount, !insert_i || is_full || 32'(insert_rank_i) <= 32'(count_q))
  `COVER(InsertsInFront, insert_i && !is_full && 32'(insert_rank_i) < 32'(count_q))
  `COVER(IsFull, insert_i && is_full)
  `COVER(IsHidden, index_i < count_q && hidden_o)

endmodule

`default_nettype wire
