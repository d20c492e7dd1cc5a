// Sorts log entries without comparing keys. Entries are inserted in order of arrival: each moves to the
// position of its order hint and shifts the entries behind it (Honeycomb, section 3.1). It accepts one
// entry per cycle. The log that was sorted before is read meanwhile.

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
  localparam int unsigned CountBits = $clog2(EntriesMax + 1)
) (
  input logic clk_i,
  input logic rst_i,

  // The sorted entries become those that are read, and the next log begins without entries.
  input logic take_i,

  // an entry beyond the capacity is lost
  input logic insert_i,
  input sorted_entry_t insert_entry_i,
  input logic [LogWordOrderHintBits-1:0] insert_rank_i,

  // the entries that were taken: see sorted_log
  output logic overflow_o,
  output logic [CountBits-1:0] count_o,
  input logic [CountBits-1:0] index_i,
  output sorted_entry_t entry_o,
  output logic hidden_o,
  input number_t position_i,
  output logic [CountBits-1:0] before_o
);

  if (EntriesMax < 1 || EntriesMax > LogEntriesMax) $fatal(1, "EntriesMax must be from 1 to LogEntriesMax");

  sorted_entry_t entries_q[EntriesMax];
  sorted_entry_t [EntriesMax-1:0] entries;
  logic [CountBits-1:0] count_q;
  logic overflow_q, is_full;

  assign is_full = count_q == CountBits'(EntriesMax);

  // Places from the rank on: by a shift, because a comparison for each place would be an adder.
  logic [EntriesMax-1:0] from_rank;

  assign from_rank = '1 << insert_rank_i;

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < EntriesMax; i++) begin
      if (insert_i && !is_full && from_rank[i])
        entries_q[i] <= i > 0 && from_rank[(i+EntriesMax-1)%EntriesMax]
            ? entries_q[(i+EntriesMax-1)%EntriesMax] : insert_entry_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i || take_i) begin
      count_q <= '0;
      overflow_q <= 1'b0;
    end else if (insert_i) begin
      if (is_full) overflow_q <= 1'b1;
      else count_q <= count_q + 1'b1;
    end
  end

  for (genvar index = 0; index < EntriesMax; index++) begin : gen_entries
    assign entries[index] = entries_q[index];
  end

  sorted_log #(
    .EntriesMax(EntriesMax)
  ) u_sorted (
    .clk_i,
    .rst_i,
    .take_i,
    .entries_i(entries),
    .taken_count_i(count_q),
    .taken_overflow_i(overflow_q),
    .overflow_o,
    .count_o,
    .index_i,
    .entry_o,
    .hidden_o,
    .position_i,
    .before_o
  );

  `ASSERT(RankIsAtMostCount, !insert_i || is_full || 32'(insert_rank_i) <= 32'(count_q))
  `COVER(InsertsInFront, insert_i && !is_full && 32'(insert_rank_i) < 32'(count_q))
  `COVER(IsFull, insert_i && is_full)
  `ASSERT(TakesAllEntries, !take_i || !insert_i)
  `COVER(SortsTheNext, insert_i && count_o != '0)
  `COVER(LacksAnEntry, take_i && 32'(count_q) + 1 == EntriesMax)
  `COVER(IsExactlyFull, take_i && is_full && !overflow_q)

endmodule

`default_nettype wire
