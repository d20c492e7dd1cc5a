// A request of a range scan unit, and its leaf. The slot opens the leaf of the descent and waits for the
// lines that a get or scan is likely to read. Then it requests the grant of the unit. While it has the
// grant, scan_control requests missing lines. A scan that continues with a sibling gives the grant back, and
// requests it again when the lines of the sibling have arrived. A request to open goes through a register.
//
//   begin_i or go_i | first lines | heads, log, items | waits for the grant | grant: ... | grant_ends_i

`default_nettype none

`include "assertions.svh"

module scan_slot
  import layout_pkg::*;
  import accelerator_pkg::*;
  import search_pkg::*;
  import scan_pkg::*;
#(
  // size of the largest node
  parameter int unsigned NodeBytes = NodeBytesDefault,
  localparam int unsigned LineIndexWidth = $clog2(NodeBytes / LineBytes)
) (
  input logic clk_i,
  input logic rst_i,

  input geometry_t geometry_i,

  // begins a request at a leaf, while the slot is idle
  input logic begin_i,
  input leaf_t leaf_i,
  output logic busy_o,
  output open_leaf_t leaf_o,
  // the leaf was opened in this cycle
  output logic opened_o,

  // see leaf_opener
  input logic keys_ready_i,
  output logic suffix_valid_o,
  input logic suffix_ready_i,
  output suffix_t suffix_o,
  input logic summary_done_i,
  input head_t summary_head_i,
  input logic [7:0] summary_fingerprint_i,

  // see leaf_counter
  output logic count_valid_o,
  output column_use_t count_o,
  input logic counts_valid_i,
  input column_counts_t counts_i,

  output logic grant_valid_o,
  input logic grant_ready_i,
  input logic grant_ends_i,

  // see leaf_navigator
  output logic repeated_valid_o,
  input logic repeated_ready_i,
  output descent_t repeated_o,
  input logic repeated_leaf_valid_i,
  output logic repeated_leaf_ready_o,
  input leaf_t repeated_leaf_i,

  // ---- during the grant

  // The grant is about to end, but the request continues with a sibling.
  input logic go_i,
  input go_t go_to_i,
  // verilator lint_off UNUSEDSIGNAL
  input fences_t fences_i,
  // verilator lint_on UNUSEDSIGNAL
  // valid with grant_ends_i
  input logic grant_continues_i,
  // see leaf_buffer
  input logic window_valid_i,
  output logic window_ready_o,
  input window_read_t window_i,
  input logic value_valid_i,
  output logic value_ready_o,
  input bus_address_t value_address_i,
  input line_count_t value_count_i,
  output logic value_line_valid_o,
  input logic value_line_ready_i,
  output line_t value_line_o,
  output logic store_valid_o,
  input logic store_ready_i,
  output logic [LineIndexWidth-1:0] store_line_o,
  output line_t store_data_o,

  output logic read_valid_o,
  input logic read_ready_i,
  output line_read_t read_o,
  input logic beat_valid_i,
  output logic beat_ready_o,
  input line_beat_t beat_i
);

  typedef enum logic [2:0] {
    Idle,
    Open,
    // waits for the lines that the opener has requested
    Fetch,
    Ready,
    Granted
  } state_e;

  state_e state_q, state_d;
  task_t request_q;
  logic descent_failed_q, none_q;
  open_t open_q;

  logic way_valid_q, way_ready, way_none, way_failed, opens, is_open, too_new;
  logic has_failed, too_long, settled;
  open_t open;
  lid_t leaf_lid;
  bus_address_t leaf_address;
  logic begin_valid, begin_ready, begin_by_lid, watched_valid, watched_ready, watched_copied;
  logic fetch_valid, fetch_ready, fetch_watched;
  lid_t begin_lid;
  bus_address_t begin_address;
  line_count_t begin_count, columns_end;
  line_t watched_line;
  offset_t fetch_offset, fetch_limit;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle: if (begin_i) state_d = leaf_i.failed ? Ready : Open;
      // A leaf that does not exist at the read version may have lines in flight.
      Open: if (opened_o) state_d = way_none || way_failed ? Ready : Fetch;
      Fetch: if (settled) state_d = Ready;
      Ready: if (grant_ready_i) state_d = Granted;
      default: ;
    endcase
    if (grant_ends_i) state_d = grant_continues_i ? Open : Idle;
  end

  always_ff @(posedge clk_i) begin
    if (begin_i) begin
      request_q <= leaf_i.request;
      descent_failed_q <= leaf_i.failed;
    end
    if (go_i) begin
      request_q.floor_start <= go_to_i.seeks_floor;
      {request_q.pairs_max, request_q.bytes_max} <= {go_to_i.pairs_left, go_to_i.bytes_left};
    end
    if (state_q == Open) {none_q, descent_failed_q} <= {way_none, way_failed};
    if (!way_valid_q) open_q <= opening(request_q, leaf_o.is_first);
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) {state_q, way_valid_q} <= {Idle, 1'b0};
    else {state_q, way_valid_q} <= {state_d, state_q == Open && !opened_o};
  end

  assign busy_o = state_q != Idle;
  assign grant_valid_o = state_q == Ready;
  assign leaf_o.request = request_q;
  assign leaf_o.descent_failed = descent_failed_q;
  assign leaf_o.none = none_q;
  assign leaf_o.failed = has_failed || too_long;

  // ---- the leaf

  assign opened_o = way_valid_q && way_ready;

  leaf_navigator u_navigator (
    .clk_i,
    .rst_i,
    .begin_i,
    .leaf_i,
    .request_i(request_q),
    .go_i,
    .go_left_i(go_to_i.left),
    .sibling_i(go_to_i.sibling),
    .fences_i,
    .open_valid_i(way_valid_q), .open_ready_o(way_ready),
    .none_o(way_none),
    .failed_o(way_failed),
    .is_first_o(leaf_o.is_first),
    .leaf_valid_o(opens), .leaf_ready_i(is_open),
    .lid_o(leaf_lid),
    .address_o(leaf_address),
    .too_new_i(too_new),
    .repeated_valid_o, .repeated_ready_i,
    .repeated_o,
    .repeated_leaf_valid_i, .repeated_leaf_ready_o,
    .repeated_leaf_i
  );

  always_comb begin
    open = open_q;
    open.lid = leaf_lid;
    open.address = leaf_address;
  end

  leaf_opener #(
    .NodeBytes(NodeBytes)
  ) u_opener (
    .clk_i,
    .rst_i,
    .geometry_i,
    .open_valid_i(opens), .open_ready_o(is_open),
    .open_i(open),
    .too_new_o(too_new),
    .failed_i(has_failed),
    .header_o(leaf_o.header),
    .fingerprint_o(leaf_o.fingerprint),
    .log_may_have_o(leaf_o.log_may_have),
    .too_long_o(too_long),
    .columns_o(leaf_o.columns),
    .equal_o(leaf_o.equal), .item_offset_o(leaf_o.item_offset),
    .columns_end_o(columns_end),
    .begin_valid_o(begin_valid), .begin_ready_i(begin_ready),
    .begin_by_lid_o(begin_by_lid),
    .begin_lid_o(begin_lid),
    .begin_address_o(begin_address),
    .begin_count_o(begin_count),
    .watched_valid_i(watched_valid), .watched_ready_o(watched_ready),
    .watched_i(watched_line),
    .watched_copied_i(watched_copied),
    .fetch_valid_o(fetch_valid), .fetch_ready_i(fetch_ready),
    .fetch_watched_o(fetch_watched),
    .fetch_offset_o(fetch_offset),
    .fetch_limit_o(fetch_limit),
    .keys_ready_i,
    .suffix_valid_o, .suffix_ready_i,
    .suffix_o,
    .summary_done_i,
    .summary_head_i,
    .summary_fingerprint_i,
    .count_valid_o, .count_o, .counts_valid_i, .counts_i
  );

  // ---- its lines

  leaf_buffer #(
    .NodeBytes(NodeBytes)
  ) u_buffer (
    .clk_i,
    .rst_i,
    .begin_valid_i(begin_valid), .begin_ready_o(begin_ready),
    .begin_by_lid_i(begin_by_lid),
    .begin_lid_i(begin_lid),
    .begin_address_i(begin_address),
    .begin_count_i(begin_count),
    .watched_valid_o(watched_valid), .watched_ready_i(watched_ready),
    .watched_o(watched_line),
    .watched_copied_o(watched_copied),
    .store_valid_o, .store_ready_i,
    .store_line_o, .store_data_o,
    .failed_o(has_failed),
    .settled_o(settled),
    .fetch_valid_i(fetch_valid), .fetch_ready_o(fetch_ready),
    .fetch_watched_i(fetch_watched),
    .fetch_offset_i(fetch_offset),
    .fetch_limit_i(fetch_limit),
    .columns_end_i(columns_end),
    .window_valid_i, .window_ready_o,
    .window_i,
    .value_valid_i, .value_ready_o,
    .value_address_i,
    .value_count_i,
    .value_line_valid_o, .value_line_ready_i,
    .value_line_o,
    .read_valid_o, .read_ready_i,
    .read_o,
    .beat_valid_i, .beat_ready_o,
    .beat_i
  );

  // Returns how a request opens a leaf, without LID and address. The leaf is the one of its descent, or
  // a sibling that the scan enters from one side. The floor of a scan and the following pairs are
  // usually in the first leaf.
  // verilator lint_off UNUSEDSIGNAL
  function automatic open_t opening(task_t request, logic is_first);
  // verilator lint_on UNUSEDSIGNAL
    open_t way = '0;
    way.read_version = request.read_version;
    way.is_get = !request.is_scan;
    way.by_upper = request.backward;
    if (is_first) way.key_length = request.backward ? request.upper_length : request.lower_length;
    way.seeks_floor = seeks_floor(request) && !request.backward;
    way.at_end = request.backward || way.seeks_floor;
    way.backward = request.backward;
    way.pairs = number_t'(PairsAhead + PairsMore);
    if (request.pairs_max < 32'(PairsAhead))
      way.pairs = number_t'(request.pairs_max[7:0]) + number_t'(PairsMore);
    return way;
  endfunction

  `ASSERT(BeginsWhenIdle, !begin_i || !busy_o)
  `ASSERT(RequestedWithGrant, !(go_i || window_valid_i || value_valid_i) || state_q == Granted)
  `ASSERT(GrantEndsOnce, !grant_ends_i || state_q == Granted)
  `COVER(FailsBeforeGrant, state_q == Fetch && has_failed)

endmodule

`default_nettype wire
