// Writes the page table: zeros after reset, so that no LID is mapped, then one word for each mapping. A
// mapping is accepted when memory has acknowledged its write, so every read that begins later sees it.
// Before the write, the LID is dropped from all caches: a read that finds the new buffer in the table
// never finds older cached lines. A mapping also forgets the columns of the leaf in on-board memory; a mark
// writes that they are there, for a buffer that is still mapped.
//
// A write that memory rejects is repeated, since it may have changed its words or not. If memory rejects it
// at each attempt, the table has failed until reset: it may name buffers that are reused.

`default_nettype none

`include "assertions.svh"

module page_table_writer
  import accelerator_pkg::*;
  import memory_pkg::*;
#(
  // number of LIDs that can be mapped; they fill whole pages
  parameter int unsigned LidCount = 65536,
  // first page of the page table, in pages of 4 KiB
  parameter int unsigned BasePage = 0,
  parameter int unsigned AddressBits = 34
) (
  input logic clk_i,
  input logic rst_i,

  // A LID beyond the table remains unmapped.
  input  logic         map_valid_i,
  output logic         map_ready_o,
  input  lid_t         map_lid_i,
  input  bus_address_t map_address_i,
  // drops this LID from the caches
  output logic         drop_valid_o,
  input  logic         drop_ready_i,

  // The columns of this leaf in this buffer are in on-board memory. It is accepted when all mappings before
  // it are in the table; until then it may be withdrawn.
  input  logic         mark_valid_i,
  output logic         mark_ready_o,
  input  lid_t         mark_lid_i,
  input  bus_address_t mark_address_i,

  // The table is cleared and can be read, unless it has failed.
  output logic is_clear_o,
  output logic failed_o,

  // AXI4 bursts, one at a time
  output logic                   burst_valid_o,
  input  logic                   burst_ready_i,
  output logic [AddressBits-1:0] burst_address_o,
  output logic [7:0]             burst_len_o,

  output logic                 word_valid_o,
  input  logic                 word_ready_i,
  output line_t                word_o,
  output logic [LineBytes-1:0] word_strobe_o,
  output logic                 word_last_o,

  input  logic done_valid_i,
  output logic done_ready_o,
  // memory has rejected the burst
  input  logic done_error_i
);

  localparam int unsigned Pages = LidCount / (PageBytes / 8);
  localparam int unsigned PageBits = Pages > 1 ? $clog2(Pages) : 1;
  localparam int unsigned WordIndexBits = LineIndexBits - 3;
  // number of attempts to write a burst
  localparam int unsigned Attempts = 4;

  if (LidCount < PageBytes / 8 || LidCount % (PageBytes / 8) != 0) $fatal(1, "LidCount must be whole pages");

  typedef enum logic [2:0] {
    Idle,
    Drops,
    Address,
    Words,
    Response,
    Taken
  } state_e;

  state_e state_d, state_q;
  logic is_clear_q, is_mark_q, failed_q;
  // attempts that memory has rejected
  logic [$clog2(Attempts)-1:0] rejected_q;
  logic is_last_attempt, ends, repeats;
  // the mapping or mark that is written
  lid_t lid_q;
  bus_address_t address_q;
  table_word_t word;
  logic [PageBits-1:0] page_q;
  logic [PageLineBits-1:0] word_q;

  assign is_last_attempt = rejected_q == $clog2(Attempts)'(Attempts - 1);
  assign repeats = state_q == Response && done_valid_i && done_error_i && !is_last_attempt;
  assign ends = state_q == Response && done_valid_i && !repeats;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle:
      if (!is_clear_q) state_d = Address;
      else if (map_valid_i) state_d = map_lid_i < lid_t'(LidCount) ? Drops : Taken;
      else if (mark_valid_i) state_d = Address;
      Drops: if (drop_ready_i) state_d = Address;
      Address: if (burst_ready_i) state_d = Words;
      Words: if (word_ready_i && word_last_o) state_d = Response;
      Response:
      if (repeats) state_d = Address;
      else if (ends) state_d = is_clear_q && !is_mark_q ? Taken : Idle;
      Taken: state_d = Idle;
      default: state_d = Idle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= Idle;
      {is_clear_q, failed_q} <= '0;
      page_q <= '0;
      word_q <= '0;
    end else begin
      state_q <= state_d;
      if (word_valid_o && word_ready_i) word_q <= word_last_o ? '0 : word_q + 1'b1;
      if (ends && done_error_i) failed_q <= 1'b1;
      if (ends && !is_clear_q) begin
        page_q <= page_q + 1'b1;
        is_clear_q <= page_q == PageBits'(Pages - 1);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (repeats) rejected_q <= rejected_q + 1'b1;
    if (state_q == Idle) begin
      rejected_q <= '0;
      is_mark_q <= !map_valid_i;
      {lid_q, address_q} <= map_valid_i ? {map_lid_i, map_address_i} : {mark_lid_i, mark_address_i};
    end
  end

  logic [AddressBits-1:0] page_offset, line_offset;
  assign page_offset = AddressBits'({page_q, {$clog2(PageBytes) {1'b0}}});
  assign line_offset = AddressBits'({lid_q[$bits(lid_t)-1:WordIndexBits], LineIndexBits'(0)});

  always_comb begin
    word = '0;
    word.address = address_q;
    word.has_columns = is_mark_q;
  end

  assign map_ready_o = state_q == Taken;
  assign mark_ready_o = state_q == Idle && is_clear_q && !map_valid_i;
  assign drop_valid_o = state_q == Drops;
  assign is_clear_o = is_clear_q;
  assign failed_o = failed_q;
  assign burst_valid_o = state_q == Address;
  assign burst_address_o = (AddressBits'(BasePage) << $clog2(PageBytes))
      + (is_clear_q ? line_offset : page_offset);
  assign burst_len_o = is_clear_q ? '0 : 8'(PageLines - 1);
  assign word_valid_o = state_q == Words;
  assign word_o = is_clear_q ? {LineBytes / 8{word}} : '0;
  assign word_strobe_o = is_clear_q ? LineBytes'(8'hff) << {lid_q[WordIndexBits-1:0], 3'b0} : '1;
  assign word_last_o = is_clear_q || word_q == PageLineBits'(PageLines - 1);
  assign done_ready_o = state_q == Response;

  `ASSERT(AcknowledgedOnlyIfWritten, !done_valid_i || state_q == Response)
  `ASSERT_OFFER_STAYS(MapStays, map_valid_i, map_ready_o, {map_lid_i, map_address_i})
  `ASSERT(MarksAMappedLeaf, !mark_valid_i || (mark_lid_i < lid_t'(LidCount) && mark_address_i != '0))
  `ASSERT_STAYS(FailsUntilReset, failed_q, 1'b0, failed_q)
  `COVER(Repeats, repeats)
  `COVER(Fails, ends && done_error_i)
  `COVER(Marks, mark_valid_i && mark_ready_o)
  `COVER(MarkWaits, mark_valid_i && state_q == Idle && map_valid_i)
  `ASSERT_OFFER_STAYS(BurstStays, burst_valid_o, burst_ready_i, {burst_address_o, burst_len_o})
  `ASSERT_OFFER_STAYS(WordStays, word_valid_o, word_ready_i, {word_o, word_strobe_o, word_last_o})

endmodule

`default_nettype wire
