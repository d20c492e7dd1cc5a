// Finds the position of a key in a leaf: the first sorted item whose key is not smaller (with after_i:
// greater), and the first such entry of the sorted log.

`default_nettype none

`include "assertions.svh"

module position_finder
  import layout_pkg::*;
  import accelerator_pkg::*;
  import scan_pkg::*;
#(
  parameter int unsigned EntriesMax = 64,
  localparam int unsigned CountBits = $clog2(EntriesMax + 1)
) (
  input logic clk_i,
  input logic rst_i,

  // accepted when the position is found
  input logic find_valid_i,
  output logic find_ready_o,
  // verilator lint_off UNUSEDSIGNAL
  input node_header_t header_i,
  // verilator lint_on UNUSEDSIGNAL
  input logic by_upper_i,
  input key_length_t key_length_i,
  input logic after_i,

  // offset of the sorted item, index of the log entry, and the segment in which the search ended
  output offset_t sorted_o,
  output logic [CountBits-1:0] log_o,
  output logic [7:0] segment_o,
  // the sorted block has the key, in this item
  output logic found_o,
  output item_result_t found_item_o,

  // the segment at which the leaf was opened, the last one whose head is less, and the bounds of a
  // selected segment
  input logic [7:0] segment_index_i,
  input logic [7:0] segment_less_i,
  output logic seek_o,
  output logic [7:0] seek_index_o,
  input logic bounds_valid_i,
  input offset_t segment_begin_i,
  // where the search ends: the end of the sorted block, or for a get the end of the segment
  input offset_t end_i,

  input logic [CountBits-1:0] log_count_i,
  output logic [CountBits-1:0] log_index_o,
  // verilator lint_off UNUSEDSIGNAL
  input sorted_entry_t log_entry_i,
  // verilator lint_on UNUSEDSIGNAL
  // the number of entries with a smaller back pointer than sorted_o
  input logic [CountBits-1:0] log_before_i,

  output logic part_valid_o,
  input logic part_ready_i,
  output part_read_t part_read_o,
  // verilator lint_off UNUSEDSIGNAL
  input part_t part_i
  // verilator lint_on UNUSEDSIGNAL
);

  typedef enum logic [2:0] {
    Idle,
    Walk,
    // continues with another segment
    Settle,
    Rank,
    Log
  } state_e;

  state_e state_q, state_d;
  offset_t sorted_q, sorted_d;
  logic [CountBits-1:0] log_q, log_d;
  // The current segment, and the range of segments that may contain the position. Only the last
  // candidate is searched beyond its first item.
  logic [7:0] segment_q, segment_d, low_q, low_d, high_q, high_d;
  // the item is the first of its segment
  logic is_first_q, is_first_d, found_q, found_d;
  item_header_t found_header_q;
  // verilator lint_off UNUSEDSIGNAL
  lock_and_size_t state;
  // verilator lint_on UNUSEDSIGNAL
  logic has_item, has_entry, is_before;

  assign state = header_i.lock_and_size;
  assign has_item = sorted_q < end_i;
  // The part that was read precedes the position.
  assign is_before = part_i.less || (part_i.equal && after_i);
  // Entries with a smaller back pointer precede the position, entries with a greater one follow it.
  assign has_entry = log_q != log_count_i && log_entry_i.back_pointer == sorted_q;

  always_comb begin
    state_d = state_q;
    sorted_d = sorted_q;
    log_d = log_q;
    {segment_d, low_d, high_d} = {segment_q, low_q, high_q};
    is_first_d = is_first_q;
    found_d = found_q;
    seek_o = 1'b0;
    find_ready_o = 1'b0;

    unique case (state_q)
      Idle: begin
        sorted_d = segment_begin_i;
        {low_d, high_d} = {segment_less_i, segment_index_i};
        segment_d = segment_between(low_d, high_d);
        is_first_d = 1'b1;
        found_d = 1'b0;
        seek_o = find_valid_i && segment_d != segment_index_i;
        if (find_valid_i) state_d = seek_o ? Settle : Walk;
      end
      Walk: begin
        if (!has_item) begin
          state_d = Rank;
        end else if (part_ready_i) begin
          is_first_d = 1'b0;
          if (is_before && segment_q != high_q) begin
            low_d = segment_q;
            seek_o = 1'b1;
          end else if (is_before) begin
            sorted_d = sorted_q + item_bytes(part_i.header);
          end else if (!part_i.equal && is_first_q && segment_q != low_q) begin
            high_d = segment_q - 1'b1;
            seek_o = 1'b1;
          end else begin
            found_d = part_i.equal;
            state_d = Rank;
          end
        end
      end
      Settle: begin
        sorted_d = segment_begin_i;
        is_first_d = 1'b1;
        if (bounds_valid_i) state_d = Walk;
      end
      Rank: begin
        log_d = log_before_i;
        state_d = Log;
        if (log_count_i == '0) begin
          find_ready_o = 1'b1;
          state_d = Idle;
        end
      end
      default: begin
        if (has_entry && part_ready_i && is_before) begin
          log_d = log_q + 1'b1;
        end else if (!has_entry || part_ready_i) begin
          find_ready_o = 1'b1;
          state_d = Idle;
        end
      end
    endcase
    if (state_q == Walk && seek_o) begin
      segment_d = segment_between(low_d, high_d);
      state_d = Settle;
    end
  end

  always_ff @(posedge clk_i) begin
    sorted_q <= sorted_d;
    log_q <= log_d;
    {segment_q, low_q, high_q} <= {segment_d, low_d, high_d};
    is_first_q <= is_first_d;
    found_q <= found_d;
    if (state_q == Walk && part_ready_i) found_header_q <= part_i.header;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= Idle;
    else state_q <= state_d;
  end

  always_comb begin
    part_read_o = '0;
    part_read_o.part = PartItem;
    part_read_o.offset = state_q == Log ? log_entry_i.item : sorted_q;
    part_read_o.limit = state_q == Log ? offset_t'(state.size) : end_i;
    part_read_o.compares = 1'b1;
    part_read_o.by_upper = by_upper_i;
    part_read_o.key_first = key_length_t'(header_i.prefix_length);
    part_read_o.key_last = key_length_i;
  end

  assign part_valid_o = (state_q == Walk && has_item) || (state_q == Log && has_entry);
  assign seek_index_o = segment_d;
  assign log_index_o = log_q;
  assign sorted_o = sorted_q;
  assign log_o = log_q;
  assign segment_o = segment_q;
  assign found_o = found_q;
  assign found_item_o = '{
      offset: sorted_q,
      header: found_header_q,
      version: header_i.node_version,
      in_window: 1'b0
  };

  `ASSERT_OFFER_STAYS(FindStays, find_valid_i, find_ready_o, {by_upper_i, key_length_i, after_i})
  `ASSERT(SegmentIsBetween, state_q != Walk || (low_q <= segment_q && segment_q <= high_q))
  `COVER(SegmentBefore, seek_o && high_d != high_q)
  `COVER(BisectsEqualHeads, seek_o && high_q - low_q > 2)
  `COVER(AfterAnEntry, state_q == Log && log_d != log_q)
  `COVER(EndOfBlock, state_q == Walk && !has_item)

endmodule

`default_nettype wire
