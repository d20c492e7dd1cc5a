// Proves for a prefetcher with an arbitrary leaf and arbitrary stalls: every request is a range of bytes of
// the node, it stays until it is accepted, and when the prefetcher is done it has requested the groups of
// heads, the log words, the entries and the first item, if the read needs them. If it starts with the
// header of a copy, it requests the current one, and the log only when that has arrived.

`default_nettype none

module prove_leaf_prefetcher
  import layout_pkg::*;
  import accelerator_pkg::*;
  import search_pkg::*;
  import scan_pkg::*;
(
  input logic clk_i,
  input logic start_i,
  input logic groups_valid_i,
  input logic found_i,
  input logic header_copied_i,
  input logic fetch_ready_i
);

  logic rst, done, valid, watched;
  offset_t first, limit;

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
  logic [11:0] item_q, log_q;
  logic has_stride_q, is_get_q, backward_q, seeks_floor_q, may_have_q;
  leaf_columns_t columns;
  node_header_t header;
  open_t open;
  lock_and_size_t state;

  always_ff @(posedge clk_i) begin
    {count_q, groups_first_q, groups_last_q, equal_first_q, equal_last_q, entries_q, pairs_q} <=
        {count_q, groups_first_q, groups_last_q, equal_first_q, equal_last_q, entries_q, pairs_q};
    {item_q, log_q, has_stride_q, is_get_q, backward_q, seeks_floor_q, may_have_q} <=
        {item_q, log_q, has_stride_q, is_get_q, backward_q, seeks_floor_q, may_have_q};
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
    header.sorted_end = 16'(columns.items_start) + 16'd1024;
    header.lock_and_size = state;
    open = '0;
    open.is_get = is_get_q;
    open.backward = backward_q;
    open.seeks_floor = seeks_floor_q;
    open.pairs = number_t'(pairs_q);
  end

  // ---- the search: groups once at most, then its result until the next leaf

  logic had_groups_q, found_q, works_q, copied_q, was_copied_q, has_header_q;
  offset_t item;

  assign item = columns.items_start + offset_t'(item_q);

  always_ff @(posedge clk_i) begin
    if (rst || start_i) begin
      had_groups_q <= 1'b0;
      found_q <= 1'b0;
      works_q <= start_i;
      // The header arrives before the search works.
      copied_q <= 1'b1;
      was_copied_q <= 1'b0;
    end else begin
      had_groups_q <= had_groups_q || groups_valid_i;
      found_q <= found_i;
      copied_q <= header_copied_i;
      was_copied_q <= was_copied_q || header_copied_i;
    end
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      GroupsOnce : assume (!groups_valid_i || (works_q && !had_groups_q && !found_i && !start_i));
      StaysFound : assume (!found_i || (works_q && !groups_valid_i));
      IsFoundUntilTheNextLeaf : assume (!found_q || found_i);
      GroupsExist : assume (groups_first_q < groups_last_q && groups_last_q <= count_q);
      CurrentHeaderStays : assume (copied_q || !header_copied_i);
      CurrentHeaderIsRead : assume (!was_copied_q || header_copied_i || has_header_q);
      RangeExists : assume (equal_first_q <= equal_last_q && equal_last_q <= count_q);
      ItemExists : assume (item_q < 12'd1024 && (equal_first_q == '0) == (item_q == '0));
      LogFits : assume (log_q < 12'd2048 && (entries_q == '0) == (log_q == '0));
      ReadsAPair : assume (pairs_q >= 4'd2);
    end
  end

  leaf_prefetcher u_leaf_prefetcher (
    .clk_i,
    .rst_i(rst),
    .geometry_i('{node_bytes: offset_t'(NodeBytes), default: '0}),
    .start_i,
    .open_i(open),
    .header_i(header),
    .columns_i(columns),
    .log_may_have_i(may_have_q),
    .header_copied_i,
    .groups_valid_i,
    .groups_i('{first: number_t'(groups_first_q), last: number_t'(groups_last_q)}),
    .found_i,
    .equal_i('{first: number_t'(equal_first_q), last: number_t'(equal_last_q)}),
    .item_offset_i(item),
    .done_o(done),
    .fetch_valid_o(valid),
    .fetch_ready_i,
    .fetch_watched_o(watched),
    .fetch_offset_o(first),
    .fetch_limit_o(limit)
  );

  // ---- the requests of this leaf

  logic accepts, has_heads_q, has_words_q, has_entries_q, has_item_q, wants_log, wants_item;
  offset_t sorted_end, words;

  assign accepts = valid && fetch_ready_i && !start_i;
  assign sorted_end = offset_t'(header.sorted_end);
  assign words = offset_t'(NodeBytes) - (offset_t'(entries_q) << 3);
  assign wants_log = entries_q != '0 && (!is_get_q || may_have_q);
  assign wants_item = is_get_q ? equal_first_q != equal_last_q && !may_have_q : !backward_q;

  always_ff @(posedge clk_i) begin
    if (rst || start_i) begin
      {has_header_q, has_heads_q, has_words_q, has_entries_q, has_item_q} <= '0;
    end else if (accepts) begin
      if (watched && first == head_offset(number_t'(groups_first_q)) &&
          limit == head_offset(number_t'(groups_last_q))) has_heads_q <= 1'b1;
      if (watched && first == '0 && limit == offset_t'(LineBytes)) has_header_q <= 1'b1;
      if (first == words && limit == offset_t'(NodeBytes)) has_words_q <= 1'b1;
      if (first == sorted_end && limit == sorted_end + offset_t'(log_q)) has_entries_q <= 1'b1;
      if (!watched && first <= item && item < limit) has_item_q <= 1'b1;
    end
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      IsInTheNode : assert (!valid || (first < limit && limit <= offset_t'(NodeBytes)));
      HeaderIsCurrent : assert (!done || !header_copied_i);
      LogIsCurrent : assert (!valid || !header_copied_i || limit <= sorted_end);
      HeadsAreRequested : assert (!done || !had_groups_q || has_heads_q);
      WordsAreRequested : assert (!done || !wants_log || has_words_q);
      EntriesAreRequested : assert (!done || !wants_log || has_entries_q);
      ItemIsRequested : assert (!done || !wants_item || has_item_q);
    end
  end

endmodule

`default_nettype wire
