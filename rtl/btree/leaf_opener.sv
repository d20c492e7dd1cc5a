// Opens a leaf at the read version: reads header and samples, follows previous versions while the buffer is
// too new, finds the items at which a scan or get starts, and requests the lines that it is likely to need.
// The first header may be that of a copy in on-board memory. All that precedes the log needs only fields that
// never change; the leaf is open when its current header has arrived.

`default_nettype none

`include "assertions.svh"

module leaf_opener
  import layout_pkg::*;
  import accelerator_pkg::*;
  import search_pkg::*;
  import scan_pkg::*;
#(
  // size of the largest node
  parameter int unsigned NodeBytes = NodeBytesDefault
) (
  input logic clk_i,
  input logic rst_i,

  input geometry_t geometry_i,

  // accepted when the leaf is open or too new
  input logic open_valid_i,
  output logic open_ready_o,
  input open_t open_i,
  // valid then: this buffer and all its previous versions are newer than the read version
  output logic too_new_o,
  // a read of the leaf has failed; the leaf counts as open
  input logic failed_i,

  // of the open leaf
  output node_header_t header_o,
  output logic [7:0] fingerprint_o,
  // some log entry has the fingerprint of the key suffix, or has none: it may have the key
  output logic log_may_have_o,
  output leaf_columns_t columns_o,
  output indexes_t equal_o,
  output offset_t item_offset_o,
  // the line in which the log entries begin
  output line_count_t columns_end_o,

  // the node is larger than NodeBytes
  output logic too_long_o,

  output logic begin_valid_o,
  input logic begin_ready_i,
  output logic begin_by_lid_o,
  output lid_t begin_lid_o,
  output bus_address_t begin_address_o,
  output line_count_t begin_count_o,
  input logic watched_valid_i,
  output logic watched_ready_o,
  input line_t watched_i,
  input logic watched_copied_i,
  output logic fetch_valid_o,
  input logic fetch_ready_i,
  output logic fetch_watched_o,
  output offset_t fetch_offset_o,
  output offset_t fetch_limit_o,

  // see leaf_counter
  output logic count_valid_o,
  output column_use_t count_o,
  input logic counts_valid_i,
  input column_counts_t counts_i,

  // head and fingerprint of the suffix of a loaded key: see key_summaries
  input logic keys_ready_i,
  output logic suffix_valid_o,
  input logic suffix_ready_i,
  output suffix_t suffix_o,
  input logic summary_done_i,
  input head_t summary_head_i,
  input logic [7:0] summary_fingerprint_i
);

  typedef enum logic [1:0] {
    Begin,
    Header,
    // waits for the items of the search key and for all requests
    Find,
    Open
  } state_e;

  state_e state_q, state_d;
  bus_address_t address_q;
  // verilator lint_off UNUSEDSIGNAL
  lock_and_size_t state;
  // verilator lint_on UNUSEDSIGNAL
  logic is_previous_q, header_valid, header_copied, has_previous, start_summary, found;
  logic knows_key, has_fetched, starts, too_long_q, fails;
  // The header is compared with the read version and with the size of nodes.
  logic knows_header_q, is_newer_q, is_too_long_q;
  // The summary of the suffix: the request is offered, or was accepted.
  logic offers_suffix_q, awaits_summary_q;
  head_t head_q;
  logic [7:0] fingerprint_q;
  key_length_t prefix_length;

  assign state = header_o.lock_and_size;
  assign has_previous = header_o.previous_version != '0;
  assign prefix_length = key_length_t'(header_o.prefix_length);
  assign too_long_o = too_long_q;
  assign columns_end_o = line_count_t'(header_o.sorted_end >> LineIndexBits);
  assign fails = failed_i || too_long_q;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Begin: if (open_valid_i && begin_ready_i) state_d = Header;
      Header: begin
        if (knows_header_q && is_too_long_q) state_d = Open;
        else if (knows_header_q && is_newer_q) state_d = has_previous ? Begin : Open;
        else if (knows_header_q && keys_ready_i) state_d = Find;
      end
      Find: if (found && has_fetched) state_d = Open;
      default: if (open_ready_o) state_d = Begin;
    endcase
    if (fails && state_q != Begin) state_d = open_ready_o ? Begin : Open;
  end

  // The summary has arrived, or there is no key.
  assign knows_key = !awaits_summary_q;
  always_ff @(posedge clk_i) begin
    if (state_q == Header) address_q <= bus_address_t'(header_o.previous_version);
    is_newer_q <= header_o.node_version > open_i.read_version;
    is_too_long_q <= 32'(geometry_i.node_bytes) > NodeBytes || state.size > 16'(geometry_i.node_bytes);
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= Begin;
      is_previous_q <= 1'b0;
      too_long_q <= 1'b0;
      knows_header_q <= 1'b0;
    end else begin
      state_q <= state_d;
      knows_header_q <= header_valid && !starts;
      if (begin_valid_o && begin_ready_i) too_long_q <= 1'b0;
      else if (state_q inside {Header, Find} && knows_header_q && is_too_long_q) too_long_q <= 1'b1;
      if (state_q == Header) is_previous_q <= state_d == Begin;
      else if (open_ready_o) is_previous_q <= 1'b0;
    end
  end

  // ---- the first lines of the leaf

  logic groups_valid;
  indexes_t groups;

  assign begin_valid_o = open_valid_i && state_q == Begin;
  assign begin_by_lid_o = !is_previous_q && open_i.address == '0;
  assign begin_lid_o = open_i.lid;
  assign begin_address_o = is_previous_q ? address_q : open_i.address;
  assign begin_count_o = line_count_t'(HeadsLine);
  assign starts = begin_valid_o && begin_ready_i;

  leaf_search u_search (
    .clk_i,
    // After a failure, missing lines are not awaited.
    .rst_i(rst_i || (fails && !found)),
    .start_i(starts),
    .line_valid_i(watched_valid_i),
    .line_ready_o(watched_ready_o),
    .line_i(watched_i),
    .line_copied_i(watched_copied_i),
    .count_valid_o, .count_o, .counts_valid_i, .counts_i,
    .header_valid_o(header_valid),
    .header_o,
    .header_copied_o(header_copied),
    .columns_o,
    .key_valid_i(state_q == Find && knows_key),
    .has_key_i(open_i.key_length != '0),
    .at_end_i(open_i.at_end),
    .head_i(head_q),
    .groups_valid_o(groups_valid),
    .groups_o(groups),
    .found_o(found),
    .equal_o,
    .item_offset_o
  );

  assign start_summary = state_q == Header && state_d == Find;

  // ---- the key suffix: a requested summary arrives even if a read has failed in the meantime

  // A scan needs no fingerprint.
  always_comb begin
    suffix_o.by_upper = open_i.by_upper;
    suffix_o.first = prefix_length;
    suffix_o.last = prefix_length + 8;
    if (open_i.is_get || open_i.key_length < suffix_o.last) suffix_o.last = open_i.key_length;
  end

  assign suffix_valid_o = offers_suffix_q;
  assign fingerprint_o = fingerprint_q;

  always_ff @(posedge clk_i) begin
    if (summary_done_i) {head_q, fingerprint_q} <= {summary_head_i, summary_fingerprint_i};
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {offers_suffix_q, awaits_summary_q} <= '0;
    end else if (start_summary) begin
      {offers_suffix_q, awaits_summary_q} <= {2{open_i.key_length != '0}};
    end else begin
      if (suffix_ready_i) offers_suffix_q <= 1'b0;
      if (summary_done_i) awaits_summary_q <= 1'b0;
    end
  end

  // ---- prefetches

  logic log_may_have, log_may_have_q;

  always_comb begin
    log_may_have = state.log_count > 8'(NodeHeaderTagsCount);
    for (int unsigned i = 0; i < NodeHeaderTagsCount; i++) begin
      if (i < 32'(state.log_count) && header_o.tags[i] == fingerprint_o) log_may_have = 1'b1;
    end
  end

  // The samples are searched in between.
  always_ff @(posedge clk_i) log_may_have_q <= log_may_have;

  assign log_may_have_o = log_may_have_q;

  leaf_prefetcher u_prefetcher (
    .clk_i,
    .rst_i(rst_i || fails),
    .geometry_i,
    .start_i(starts),
    .open_i,
    .header_i(header_o),
    .columns_i(columns_o),
    .log_may_have_i(log_may_have_o),
    .header_copied_i(header_copied),
    .groups_valid_i(groups_valid),
    .groups_i(groups),
    .found_i(found),
    .equal_i(equal_o),
    .item_offset_i(item_offset_o),
    .done_o(has_fetched),
    .fetch_valid_o, .fetch_ready_i,
    .fetch_watched_o,
    .fetch_offset_o,
    .fetch_limit_o
  );

  assign open_ready_o = state_q == Open && !awaits_summary_q;
  assign too_new_o = is_newer_q;

  `ASSERT_OFFER_STAYS(OpenStays, open_valid_i, open_ready_o, open_i)
  `ASSERT(OpensTheCurrent, !(open_ready_o && !too_new_o && !fails) || !header_copied)
  `ASSERT(NoSummaryIsPending, state_q != Begin || !awaits_summary_q)
  `ASSERT(SummaryIsAwaited, !summary_done_i || awaits_summary_q)

endmodule

`default_nettype wire
