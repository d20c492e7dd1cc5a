// Requests the lines of a leaf that a get or scan is likely to read, once each part of the leaf is known:
//
//   heads and offsets of the groups | log words | log entries | items | fence keys | more heads and offsets
//
// leaf_search waits for the first ones. A get reads the log only if a fingerprint matches, and then no item.
// If the header is that of a copy, the current one and the items are read together, and the log after them:
// only the current header tells which log entries there are.
//
//   heads and offsets of the groups | header | items | log words | log entries | fence keys | ...

`default_nettype none

`include "assertions.svh"

module leaf_prefetcher
  import layout_pkg::*;
  import accelerator_pkg::*;
  import search_pkg::*;
  import scan_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  input geometry_t geometry_i,

  // ends the work on the previous leaf
  input logic start_i,
  // constant from the first request on
  // verilator lint_off UNUSEDSIGNAL
  input open_t open_i,
  input node_header_t header_i,
  input leaf_columns_t columns_i,
  // verilator lint_on UNUSEDSIGNAL
  // one cycle after the header
  input logic log_may_have_i,

  // see leaf_search
  input logic header_copied_i,
  input logic groups_valid_i,
  input indexes_t groups_i,
  // valid from then on until start_i
  input logic found_i,
  // verilator lint_off UNUSEDSIGNAL
  input indexes_t equal_i,
  // verilator lint_on UNUSEDSIGNAL
  input offset_t item_offset_i,
  // all lines were requested
  output logic done_o,

  // bytes to fetch; watched: their lines are for leaf_search
  output logic fetch_valid_o,
  input logic fetch_ready_i,
  output logic fetch_watched_o,
  output offset_t fetch_offset_o,
  output offset_t fetch_limit_o
);

  typedef enum logic [3:0] {
    StateWait,
    StateHeads,
    StateOffsets,
    StateHeader,
    StateWords,
    StateEntries,
    // waits for the items, and computes their range
    StateFound,
    StateRange,
    StateItems,
    // waits for the current header
    StateCurrent,
    StateFences,
    StateMoreHeads,
    StateMoreOffsets,
    StateDone
  } state_e;

  state_e state_q, state_d;
  // the groups, and the pairs that are likely to be read
  indexes_t groups_q, pairs_q, more_q;
  // the header was that of a copy when the heads were requested
  logic from_copy_q;
  logic has_groups_q, has_stride, wants_log, wants_items, has_equal, is_wanted, reaches_end_q;
  number_t count, position;
  // The offset at which a fetch begins and ends; registered, so a fetch is offered one cycle later.
  offset_t offset_d, limit_d, offset_q, limit_q, bytes_q, item_bytes_q, sorted_end, log_bytes, size;
  // the end of the offsets of the groups
  offset_t offsets_end_q;
  // The bytes of items before and after that of the position, and the end of the first line of fence keys.
  offset_t bytes_before_q, bytes_after_q, fences_limit_q;
  // Bytes of the pairs of a scan: at most 257 pairs.
  logic [18:0] product_q;
  logic offers_q, watched_d, watched_q;
  // verilator lint_off UNUSEDSIGNAL
  lock_and_size_t state;
  // verilator lint_on UNUSEDSIGNAL

  assign state = header_i.lock_and_size;
  assign size = offset_t'(state.size);
  assign sorted_end = offset_t'(header_i.sorted_end);
  assign log_bytes = offset_t'(state.log_count) << 3;
  assign count = number_t'(header_i.sorted_count);
  assign position = equal_i.first;
  assign has_stride = columns_i.stride != '0;
  assign wants_log = state.log_count != '0 && (!open_i.is_get || log_may_have_i);
  assign has_equal = equal_i.first != equal_i.last;
  assign wants_items = open_i.is_get ? has_equal && !log_may_have_i : 1'b1;

  always_comb begin
    is_wanted = 1'b0;
    watched_d = 1'b0;
    {offset_d, limit_d} = '0;
    unique case (state_q)
      StateHeads: begin
        {is_wanted, watched_d} = 2'b11;
        offset_d = head_offset(groups_q.first);
        limit_d = head_offset(groups_q.last);
      end
      StateOffsets: begin
        {is_wanted, watched_d} = {!has_stride, 1'b1};
        offset_d = columns_i.offsets_start + (offset_t'(groups_q.first) << 1);
        limit_d = offsets_end_q;
      end
      StateHeader: begin
        {is_wanted, watched_d} = 2'b11;
        limit_d = offset_t'(LineBytes);
      end
      StateWords: begin
        is_wanted = wants_log;
        offset_d = geometry_i.node_bytes - log_bytes;
        limit_d = geometry_i.node_bytes;
      end
      StateEntries: begin
        is_wanted = wants_log;
        offset_d = sorted_end;
        limit_d = size;
      end
      StateItems: begin
        is_wanted = wants_items;
        {offset_d, limit_d} = {item_offset_i, sorted_end};
        if (open_i.backward && !open_i.is_get) begin
          offset_d = bytes_before_q > bytes_q ? item_offset_i - bytes_q : columns_i.items_start;
          // The item at the position is compared with the search key.
          limit_d = has_equal && bytes_after_q > item_bytes_q ? item_offset_i + item_bytes_q
              : has_equal ? sorted_end : item_offset_i;
        end else if (bytes_after_q > bytes_q) begin
          limit_d = item_offset_i + bytes_q;
        end
        // The floor is before the position.
        if (open_i.seeks_floor && position != '0)
          offset_d = item_offset_i - item_bytes_q;
      end
      StateFences: begin
        is_wanted = !open_i.is_get && (header_i.prefix_length != '0 || open_i.seeks_floor || reaches_end_q);
        offset_d = columns_i.fences_start;
        limit_d = fences_limit_q;
      end
      StateMoreHeads: begin
        is_wanted = more_q.first < more_q.last;
        offset_d = head_offset(more_q.first);
        limit_d = head_offset(more_q.last);
      end
      StateMoreOffsets: begin
        is_wanted = more_q.first < more_q.last && !has_stride;
        offset_d = columns_i.offsets_start + (offset_t'(more_q.first) << 1);
        // part_reader reads the offsets of 16 items together.
        limit_d = columns_i.offsets_start + ((offset_t'(more_q.last) + offset_t'(15)) >> 4 << 5);
      end
      default: ;
    endcase
  end

  // A state ends when its fetch is a register, or is not wanted.
  logic advances;
  assign advances = !fetch_valid_o || fetch_ready_i;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StateWait: begin
        if (groups_valid_i) state_d = StateHeads;
        else if (found_i) state_d = header_copied_i ? StateHeader : StateWords;
      end
      StateHeads: if (advances) state_d = StateOffsets;
      StateOffsets: if (advances) state_d = from_copy_q ? StateHeader : StateWords;
      StateHeader: if (advances) state_d = StateFound;
      StateWords: if (advances) state_d = StateEntries;
      StateEntries: if (advances) state_d = from_copy_q ? StateFences : StateFound;
      StateFound: if (found_i) state_d = StateRange;
      StateRange: state_d = StateItems;
      StateItems: if (advances) state_d = from_copy_q ? StateCurrent : StateFences;
      StateCurrent: if (!header_copied_i) state_d = StateWords;
      StateFences: if (advances) state_d = StateMoreHeads;
      StateMoreHeads: if (advances) state_d = StateMoreOffsets;
      StateMoreOffsets: if (advances) state_d = StateDone;
      default: ;
    endcase
    if (start_i) state_d = StateWait;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= StateWait;
    else state_q <= state_d;
    if (rst_i || start_i) offers_q <= 1'b0;
    else if (advances) offers_q <= is_wanted;
    if (advances) {watched_q, offset_q, limit_q} <= {watched_d, offset_d, limit_d};
  end

  // ---- ranges. Without a stride, they assume one line for each pair.

  always_ff @(posedge clk_i) begin
    if (state_q == StateWait) {has_groups_q, from_copy_q} <= {groups_valid_i, header_copied_i};
    if (groups_valid_i) groups_q <= groups_i;
    item_bytes_q <= has_stride ? offset_t'(columns_i.stride) : offset_t'(LineBytes);
    bytes_before_q <= item_offset_i - columns_i.items_start;
    bytes_after_q <= sorted_end - item_offset_i;
    fences_limit_q <= columns_i.items_start;
    if (columns_i.items_start - columns_i.fences_start > offset_t'(LineBytes))
      fences_limit_q <= columns_i.fences_start + offset_t'(LineBytes);
    offsets_end_q <= offsets_limit(columns_i, groups_q.last, count);
    product_q <= open_i.is_get ? 19'(item_bytes_q) : 19'(open_i.pairs[8:0]) * 19'(item_bytes_q[9:0]);
    if (state_q == StateFound) begin
      pairs_q.first <= open_i.backward && position > open_i.pairs ? position - open_i.pairs : '0;
      if (!open_i.backward) pairs_q.first <= position;
      pairs_q.last <= position;
      if (!open_i.backward) pairs_q.last <= count - position > open_i.pairs ? position + open_i.pairs : count;
    end
    if (state_q == StateRange) begin
      bytes_q <= 32'(product_q) > NodeBytesMax ? offset_t'(NodeBytesMax) : offset_t'(product_q);
      more_q <= pairs_q;
      if (has_groups_q && !open_i.backward && pairs_q.first < groups_q.last) more_q.first <= groups_q.last;
      if (has_groups_q && open_i.backward && pairs_q.last > groups_q.first) more_q.last <= groups_q.first;
      if (open_i.is_get) more_q.last <= '0;
      reaches_end_q <= open_i.backward ? pairs_q.first == '0 : pairs_q.last == count;
    end
  end

  assign done_o = state_q == StateDone && !fetch_valid_o;
  assign fetch_valid_o = offers_q && offset_q < limit_q;
  assign fetch_watched_o = watched_q;
  assign fetch_offset_o = offset_q;
  assign fetch_limit_o = limit_q;

  `ASSERT_STAYS(FetchStays, fetch_valid_o && !fetch_ready_i && !start_i, 1'b0,
      {fetch_valid_o, fetch_watched_o, fetch_offset_o, fetch_limit_o})
  `ASSERT(ProductFits, 32'(open_i.pairs) < 512 && 32'(item_bytes_q) < 1024)
  `ASSERT(GroupsAreAwaited, !groups_valid_i || state_q == StateWait)
  `ASSERT(LogIsCurrent, !(state_q inside {StateWords, StateEntries}) || !header_copied_i)
  `COVER(MoreHeads, state_q == StateMoreHeads && is_wanted && advances)
  `COVER(MoreOffsets, state_q == StateMoreOffsets && is_wanted && advances)

endmodule

`default_nettype wire
