// Writes the page table: zeros after reset, so that no LID is mapped, then one word for each mapping. A
// mapping is accepted when memory has acknowledged its write, so every read that begins later sees it.
// Before the write, the LID is dropped from all caches: a read that finds the new buffer in the table
// never finds older cached lines.

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

  // The table is cleared and can be read.
  output logic is_clear_o,

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
  output logic done_ready_o
);

  localparam int unsigned Pages = LidCount / (PageBytes / 8);
  localparam int unsigned PageBits = Pages > 1 ? $clog2(Pages) : 1;
  localparam int unsigned WordIndexBits = LineIndexBits - 3;

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
  logic is_clear_q;
  logic [PageBits-1:0] page_q;
  logic [PageLineBits-1:0] word_q;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle:
      if (!is_clear_q) state_d = Address;
      else if (map_valid_i) state_d = map_lid_i < lid_t'(LidCount) ? Drops : Taken;
      Drops: if (drop_ready_i) state_d = Address;
      Address: if (burst_ready_i) state_d = Words;
      Words: if (word_ready_i && word_last_o) state_d = Response;
      Response: if (done_valid_i) state_d = is_clear_q ? Taken : Idle;
      Taken: state_d = Idle;
      default: state_d = Idle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= Idle;
      is_clear_q <= 1'b0;
      page_q <= '0;
      word_q <= '0;
    end else begin
      state_q <= state_d;
      if (word_valid_o && word_ready_i) word_q <= word_last_o ? '0 : word_q + 1'b1;
      if (state_q == Response && done_valid_i && !is_clear_q) begin
        page_q <= page_q + 1'b1;
        is_clear_q <= page_q == PageBits'(Pages - 1);
      end
    end
  end

  logic [AddressBits-1:0] page_offset, line_offset;
  assign page_offset = AddressBits'({page_q, {$clog2(PageBytes) {1'b0}}});
  assign line_offset = AddressBits'({map_lid_i[$bits(lid_t)-1:WordIndexBits], LineIndexBits'(0)});

  assign map_ready_o = state_q == Taken;
  assign drop_valid_o = state_q == Drops;
  assign is_clear_o = is_clear_q;
  assign burst_valid_o = state_q == Address;
  assign burst_address_o = (AddressBits'(BasePage) << $clog2(PageBytes))
      + (is_clear_q ? line_offset : page_offset);
  assign burst_len_o = is_clear_q ? '0 : 8'(PageLines - 1);
  assign word_valid_o = state_q == Words;
  assign word_o = is_clear_q ? {LineBytes / 8{64'(map_address_i)}} : '0;
  assign word_strobe_o = is_clear_q ? LineBytes'(8'hff) << {map_lid_i[WordIndexBits-1:0], 3'b0} : '1;
  assign word_last_o = is_clear_q || word_q == PageLineBits'(PageLines - 1);
  assign done_ready_o = state_q == Response;

  `ASSERT(AcknowledgedOnlyIfWritten, !done_valid_i || state_q == Response)
  `ASSERT_OFFER_STAYS(MapStays, map_valid_i, map_ready_o, {map_lid_i, map_address_i})
  `ASSERT_OFFER_STAYS(BurstStays, burst_valid_o, burst_ready_i, {burst_address_o, burst_len_o})
  `ASSERT_OFFER_STAYS(WordStays, word_valid_o, word_ready_i, {word_o, word_strobe_o, word_last_o})

endmodule

`default_nettype wire
