// Proves for a prefetcher with an arbitrary leaf, an arbitrary step, and an arbitrary search: every request
// is of lines of the node, and at the end of the step it has requested the groups of heads, the log words,
// the entries of a get and the first item, if the step has to request them and the read needs them. A scan
// awaits its log words. If the leaf was searched with the header of a copy, it requests the current one, and
// the log only in the step after that.

`default_nettype none

module prove_leaf_prefetcher
  import layout_pkg::*;
  import accelerator_pkg::*;
  import search_pkg::*;
  import scan_pkg::*;
(
  input logic clk_i,
  input logic start_i
);

  logic rst, done, valid;
  fetch_t fetch;

  neighbours u_neighbours (
    .clk_i,
    .rst_o(rst),
    .in_valid_i(1'b0),
    .in_ready_i(1'b0)
  );

  // ---- an arbitrary leaf of up to 31 items of 12 bytes or with offsets, and an arbitrary read

  localparam int unsigned NodeBytes = 8192;

  logic [4:0] count_q, groups_first_q, groups_last_q, equal_first_q, equal_last_q;
  logic [3:0] entries_q, pairs_q;
  logic [11:0] item_q, items_q, log_q;
  logic has_stride_q, is_get_q, backward_q, seeks_floor_q, may_have_q, has_groups_q, from_copy_q;
  logic [1:0] step_q;
  slot_state_e step;
  leaf_columns_t columns;
  node_header_t header;
  open_t open;
  lock_and_size_t state;

  always_ff @(posedge clk_i) begin
    {count_q, groups_first_q, groups_last_q, equal_first_q, equal_last_q, entries_q, pairs_q} <=
        {count_q, groups_first_q, groups_last_q, equal_first_q, equal_last_q, entries_q, pairs_q};
    {item_q, items_q, log_q, has_stride_q, is_get_q, backward_q, seeks_floor_q, may_have_q} <=
        {item_q, items_q, log_q, has_stride_q, is_get_q, backward_q, seeks_floor_q, may_have_q};
    {has_groups_q, from_copy_q, step_q} <= {has_groups_q, from_copy_q, step_q};
  end

  always_comb begin
    columns = '0;
    columns.stride = has_stride_q ? stride_t'(12) : '0;
    columns.offsets_start = head_offset(number_t'(count_q));
    columns.fences_start = columns.offsets_start;
    if (!has_stride_q) columns.fences_start += offset_t'(count_q) << 1;
    columns.items_start = columns.fences_start + offset_t'(8);
    state = '0;
    state.log_count = 8'(entries_q);
    state.size = 16'(header.sorted_end) + 16'(log_q);
    header = '0;
    header.sorted_count = 16'(count_q);
    header.sorted_end = 16'(columns.items_start) + 16'(items_q);
    header.lock_and_size = state;
    open = '0;
    open.is_get = is_get_q;
    open.backward = backward_q;
    open.seeks_floor = seeks_floor_q;
    open.pairs = number_t'(pairs_q);
  end

  always_comb begin
    unique case (step_q)
      2'd0: step = SlotSamples;
      2'd1: step = SlotHeads;
      2'd2: step = SlotCurrent;
      default: step = SlotLog;
    endcase
  end

  // ---- the steps of the search

  search_t search;
  logic works_q;

  always_comb begin
    search.has_groups = has_groups_q;
    search.from_copy = from_copy_q;
    search.groups = '{first: number_t'(groups_first_q), last: number_t'(groups_last_q)};
    search.equal = '{first: number_t'(equal_first_q), last: number_t'(equal_last_q)};
    search.item_offset = columns.items_start + offset_t'(item_q);
  end

  always_ff @(posedge clk_i) begin
    if (rst || done) works_q <= 1'b0;
    else if (start_i) works_q <= 1'b1;
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      StartsWhenIdle : assume (!start_i || !works_q);
      GroupsExist : assume (groups_first_q < groups_last_q && groups_last_q <= count_q);
      HeadsHaveGroups : assume (step != SlotHeads || has_groups_q);
      RangeExists : assume (equal_first_q <= equal_last_q && equal_last_q <= count_q);
      ItemExists : assume (item_q < items_q && (equal_first_q == '0) == (item_q == '0));
      ItemsFit : assume (items_q <= 12'd1024);
      LogFits : assume (log_q < 12'd2048 && (entries_q == '0) == (log_q == '0));
      ReadsAPair : assume (pairs_q >= 4'd2);
    end
  end

  leaf_prefetcher u_leaf_prefetcher (
    .clk_i,
    .rst_i(rst),
    .geometry_i('{node_bytes: offset_t'(NodeBytes), default: '0}),
    .start_i,
    .step_i(step),
    .open_i(open),
    .header_i(header),
    .columns_i(columns),
    .search_i(search),
    .log_may_have_i(may_have_q),
    .done_o(done),
    .pairs_o(),
    .fetch_valid_o(valid),
    .fetch_o(fetch)
  );

  // ---- the requests of this step

  logic has_heads_q, has_header_q, has_words_q, has_entries_q, has_item_q;
  logic searches, wants_header, wants_log, wants_item;
  offset_t sorted_end, words;

  assign sorted_end = offset_t'(header.sorted_end);
  assign words = offset_t'(NodeBytes) - (offset_t'(entries_q) << 3);
  assign searches = step == SlotSamples && has_groups_q;
  assign wants_header = step == SlotSamples && from_copy_q;
  assign wants_log = entries_q != '0 && (!is_get_q || may_have_q) &&
      (step == SlotCurrent || (step == SlotSamples && !from_copy_q));
  assign wants_item = (step == SlotHeads || (step == SlotSamples && !has_groups_q)) &&
      (is_get_q ? equal_first_q != equal_last_q && !may_have_q : !backward_q);

  // Returns whether the lines of the request contain these bytes.
  function automatic logic has(offset_t first, offset_t limit);
    return fetch.first <= line_count_t'(first >> LineIndexBits) &&
        fetch.limit >= line_count_t'((limit + offset_t'(LineBytes - 1)) >> LineIndexBits);
  endfunction

  // The last request comes with the end of the step.
  logic heads, head_line, has_words, entries, item;

  assign heads = has_heads_q ||
      (valid && has(head_offset(number_t'(groups_first_q)), head_offset(number_t'(groups_last_q))));
  assign head_line = has_header_q || (valid && fetch.wakes && fetch.first == '0);
  assign has_words = has_words_q || (valid && has(words, offset_t'(NodeBytes)) &&
      (is_get_q || fetch.wakes));
  assign entries = has_entries_q || (valid && has(sorted_end, sorted_end + offset_t'(log_q)));
  assign item = has_item_q || (valid && has(search.item_offset, search.item_offset + 1'b1));

  always_ff @(posedge clk_i) begin
    if (rst || start_i) {has_heads_q, has_header_q, has_words_q, has_entries_q, has_item_q} <= '0;
    else {has_heads_q, has_header_q, has_words_q, has_entries_q, has_item_q} <=
        {heads, head_line, has_words, entries, item};
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      IsInTheNode : assert (!valid || (fetch.first < fetch.limit &&
          fetch.limit <= line_count_t'(NodeBytes / LineBytes)));
      LogIsCurrent : assert (!valid || step == SlotCurrent || !from_copy_q ||
          fetch.limit <= line_count_t'((sorted_end + offset_t'(LineBytes - 1)) >> LineIndexBits));
      ColumnsHaveNoLog : assert (!valid || !fetch.columns ||
          fetch.limit <= line_count_t'(sorted_end >> LineIndexBits));
      HeadsAreRequested : assert (!done || !searches || heads);
      HeaderIsRequested : assert (!done || !wants_header || head_line);
      WordsAreRequested : assert (!done || !wants_log || has_words);
      EntriesAreRequested : assert (!done || !wants_log || !is_get_q || entries);
      OnlyWordsWake : assert (!valid || !fetch.wakes || !wants_log || is_get_q ||
          has(words, offset_t'(NodeBytes)));
      LastStepRequestsNothing : assert (!valid || step != SlotLog);
      ItemIsRequested : assert (!done || !wants_item || item);
    end
  end

endmodule

`default_nettype wire
