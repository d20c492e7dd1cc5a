// Requests the lines of a leaf that a get or scan is likely to read, in the steps of leaf_search:
//
//   SlotSamples: heads and offsets of the groups | log words | log entries of a get
//   SlotHeads:   items | fence keys | more heads and offsets
//
// If nothing is searched, step SlotSamples requests what SlotHeads does as well. A get reads the log only
// if a fingerprint matches, and then no item. log_prefetcher requests the entries of a scan when their words
// have arrived. If the header is that of a copy, the current one is requested with the heads, and the log and
// the rest after it has arrived: only the current header tells which log entries there are.
//
//   SlotSamples: heads and offsets of the groups | header
//   SlotHeads:   items
//   SlotCurrent: log words | log entries of a get | fence keys | more heads and offsets
//   SlotLog:     nothing

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

  // Begins the requests of a step. The inputs are constant from then on until done_o.
  input logic start_i,
  input slot_state_e step_i,
  // verilator lint_off UNUSEDSIGNAL
  input open_t open_i,
  input node_header_t header_i,
  input leaf_columns_t columns_i,
  // the result of leaf_search; from_copy: the header was that of a copy in step SlotSamples
  input search_t search_i,
  // verilator lint_on UNUSEDSIGNAL
  input logic log_may_have_i,
  // for one cycle, after the last request
  output logic done_o,
  // then, unless heads are to be searched: the first item that a scan may read, and the one after the last
  output indexes_t pairs_o,

  output logic fetch_valid_o,
  output fetch_t fetch_o
);

  // Parts of a leaf, in the order of their requests.
  typedef enum logic [3:0] {
    PartHeads,
    PartOffsets,
    PartHeader,
    PartWords,
    PartLogEntries,
    PartItems,
    PartFences,
    PartMoreHeads,
    PartMoreOffsets
  } leaf_part_e;
  localparam int unsigned Parts = 9;

  typedef enum logic [2:0] {
    Idle,
    // the range of the pairs that are likely to be read, and of their bytes
    Pairs,
    Range,
    Choose,
    Request
  } state_e;

  state_e state_q, state_d;
  logic [Parts-1:0] wants, left_q, part;
  indexes_t groups, equal, pairs_q, more_q;
  logic has_stride, has_equal, reaches_end_q, searches, needs_prefix;
  logic wants_log, awaits_words, wants_items, wants_rest;
  key_length_t prefix_length;
  number_t count, position;
  offset_t item_offset, offset_d, limit_d, bytes_q, item_bytes_q, sorted_end, log_bytes, size;
  // the end of the offsets of the groups
  offset_t offsets_end_q;
  // The bytes of items before and after that of the position, and the end of the first line of fence keys.
  offset_t bytes_before_q, bytes_after_q, fences_limit_q;
  // Bytes of the pairs of a scan: at most 257 pairs.
  logic [18:0] product_q;
  // The bytes that are requested.
  offset_t offset_q, limit_q;
  logic offers_q, wakes, wakes_q, searched_q;
  // verilator lint_off UNUSEDSIGNAL
  lock_and_size_t state;
  // verilator lint_on UNUSEDSIGNAL

  assign state = header_i.lock_and_size;
  assign size = offset_t'(state.size);
  assign sorted_end = offset_t'(header_i.sorted_end);
  assign log_bytes = offset_t'(state.log_count) << 3;
  assign count = number_t'(header_i.sorted_count);
  assign {groups, equal, item_offset} = {search_i.groups, search_i.equal, search_i.item_offset};
  assign position = equal.first;
  assign has_stride = columns_i.stride != '0;
  assign has_equal = equal.first != equal.last;

  // ---- the parts that are wanted

  assign prefix_length = key_length_t'(header_i.prefix_length);
  assign needs_prefix = prefix_length != '0 &&
      !key_tells_prefix(open_i.key_length, open_i.is_bounded, prefix_length);

  assign searches = step_i == SlotSamples && search_i.has_groups;
  assign wants_log = state.log_count != '0 && (!open_i.is_get || log_may_have_i) &&
      (step_i == SlotCurrent || (step_i == SlotSamples && !search_i.from_copy));
  // The step after this one needs the words.
  assign awaits_words = wants_log && !open_i.is_get;
  assign wants_items = !searches && step_i inside {SlotSamples, SlotHeads} &&
      (!open_i.is_get || (has_equal && !log_may_have_i));
  assign wants_rest = !searches && !open_i.is_get && step_i != SlotLog &&
      (step_i == SlotCurrent || !search_i.from_copy);

  always_comb begin
    wants = '0;
    wants[PartHeads] = searches;
    wants[PartOffsets] = searches && !has_stride;
    wants[PartHeader] = step_i == SlotSamples && search_i.from_copy;
    wants[PartWords] = wants_log;
    wants[PartLogEntries] = wants_log && open_i.is_get;
    wants[PartItems] = wants_items;
    wants[PartFences] = wants_rest && (needs_prefix || open_i.seeks_floor || reaches_end_q);
    wants[PartMoreHeads] = wants_rest && more_q.first < more_q.last;
    wants[PartMoreOffsets] = wants[PartMoreHeads] && !has_stride;
  end

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle: if (start_i) state_d = searches ? Choose : Pairs;
      Pairs: state_d = Range;
      Range: state_d = Choose;
      Choose: state_d = Request;
      default: if (done_o) state_d = Idle;
    endcase
  end

  assign part = left_q & (~left_q + 1'b1);
  // The last of the heads, their offsets and the words that the next step needs.
  assign wakes = part[PartHeader] || (part[PartWords] && awaits_words) ||
      ((part[PartOffsets] || (part[PartHeads] && has_stride)) && !awaits_words);
  assign done_o = state_q == Request && left_q == '0;

  always_ff @(posedge clk_i) begin
    if (rst_i) {state_q, offers_q} <= {Idle, 1'b0};
    else {state_q, offers_q} <= {state_d, state_q == Request && left_q != '0};
    left_q <= state_q == Choose ? wants : left_q & ~part;
    {offset_q, limit_q} <= {offset_d, limit_d};
    {wakes_q, searched_q} <= {wakes, part[PartHeads] || part[PartOffsets]};
  end

  // ---- their bytes

  always_comb begin
    {offset_d, limit_d} = '0;
    unique case (1'b1)
      part[PartHeads]: {offset_d, limit_d} = {head_offset(groups.first), head_offset(groups.last)};
      part[PartOffsets]: begin
        offset_d = columns_i.offsets_start + (offset_t'(groups.first) << 1);
        limit_d = offsets_end_q;
      end
      part[PartHeader]: limit_d = offset_t'(LineBytes);
      part[PartWords]: {offset_d, limit_d} = {geometry_i.node_bytes - log_bytes, geometry_i.node_bytes};
      part[PartLogEntries]: {offset_d, limit_d} = {sorted_end, size};
      part[PartItems]: begin
        {offset_d, limit_d} = {item_offset, sorted_end};
        if (open_i.backward && !open_i.is_get) begin
          offset_d = bytes_before_q > bytes_q ? item_offset - bytes_q : columns_i.items_start;
          // The item at the position is compared with the search key.
          limit_d = has_equal && bytes_after_q > item_bytes_q ? item_offset + item_bytes_q
              : has_equal ? sorted_end : item_offset;
        end else if (bytes_after_q > bytes_q) begin
          limit_d = item_offset + bytes_q;
        end
        // The floor is before the position.
        if (open_i.seeks_floor && position != '0) offset_d = item_offset - item_bytes_q;
      end
      part[PartFences]: {offset_d, limit_d} = {columns_i.fences_start, fences_limit_q};
      part[PartMoreHeads]: {offset_d, limit_d} = {head_offset(more_q.first), head_offset(more_q.last)};
      part[PartMoreOffsets]: begin
        offset_d = columns_i.offsets_start + (offset_t'(more_q.first) << 1);
        // part_reader reads the offsets of 16 items together.
        limit_d = columns_i.offsets_start + ((offset_t'(more_q.last) + offset_t'(15)) >> 4 << 5);
      end
      default: ;
    endcase
  end

  // The floor is before the position.
  assign pairs_o.first = pairs_q.first - number_t'(open_i.seeks_floor && pairs_q.first != '0);
  assign pairs_o.last = pairs_q.last;

  // ---- ranges. Without a stride, they assume one line for each pair.

  always_ff @(posedge clk_i) begin
    item_bytes_q <= has_stride ? offset_t'(columns_i.stride) : offset_t'(LineBytes);
    bytes_before_q <= item_offset - columns_i.items_start;
    bytes_after_q <= sorted_end - item_offset;
    fences_limit_q <= columns_i.items_start;
    if (columns_i.items_start - columns_i.fences_start > offset_t'(LineBytes))
      fences_limit_q <= columns_i.fences_start + offset_t'(LineBytes);
    offsets_end_q <= offsets_limit(columns_i, groups.last, count);
    product_q <= open_i.is_get ? 19'(item_bytes_q) : 19'(open_i.pairs[8:0]) * 19'(item_bytes_q[9:0]);
    if (state_q == Pairs) begin
      pairs_q.first <= open_i.backward && position > open_i.pairs ? position - open_i.pairs : '0;
      if (!open_i.backward) pairs_q.first <= position;
      pairs_q.last <= position;
      if (!open_i.backward) pairs_q.last <= count - position > open_i.pairs ? position + open_i.pairs : count;
    end
    if (state_q == Range) begin
      bytes_q <= 32'(product_q) > NodeBytesMax ? offset_t'(NodeBytesMax) : offset_t'(product_q);
      more_q <= pairs_q;
      if (search_i.has_groups && !open_i.backward && pairs_q.first < groups.last) more_q.first <= groups.last;
      if (search_i.has_groups && open_i.backward && pairs_q.last > groups.first) more_q.last <= groups.first;
      if (open_i.is_get) more_q.last <= '0;
      reaches_end_q <= open_i.backward ? pairs_q.first == '0 : pairs_q.last == count;
    end
  end

  // Empty parts are not requested.
  assign fetch_valid_o = offers_q && offset_q < limit_q;

  always_comb begin
    fetch_o.wakes = wakes_q;
    fetch_o.first = line_count_t'(offset_q >> LineIndexBits);
    fetch_o.limit = limit_line(limit_q);
    // Log entries may begin in the last line of the sorted items.
    fetch_o.columns = searched_q && limit_q <= {sorted_end[OffsetBits-1:LineIndexBits], LineIndexBits'(0)};
  end

  `ASSERT(StartsWhenIdle, !start_i || state_q == Idle)
  `ASSERT(ProductFits, state_q != Range || (32'(open_i.pairs) < 512 && 32'(item_bytes_q) < 1024))
  `COVER(MoreHeads, left_q[PartMoreHeads])
  `COVER(MoreOffsets, left_q[PartMoreOffsets])

endmodule

`default_nettype wire
