// Reads the header of the next leaf, and walks over its log for a scan, while the range of another request is
// answered, so that the log is sorted when the scan gets the grant. A get has no sorted log: it reads the
// entries of its key during the grant. The header comes from the lines of the unit, because a choice among
// those of all slots costs as many multiplexers as the rest of a leaf.

`default_nettype none

`include "assertions.svh"

module next_log
  import layout_pkg::*;
  import accelerator_pkg::*;
  import search_pkg::*;
  import scan_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  input geometry_t geometry_i,

  // There is a next request, which is constant until take_i; it has a leaf; a read of that has failed.
  // ready_o: the request can have the grant.
  input logic valid_i,
  output logic ready_o,
  // with ready_o, unless there is no leaf, or a read of it has failed
  output node_header_t header_o,
  // verilator lint_off UNUSEDSIGNAL
  input task_t request_i,
  // verilator lint_on UNUSEDSIGNAL
  input logic has_leaf_i,
  input logic failed_i,
  input logic take_i,
  // the walk ends
  output logic walked_o,

  // see log_walker
  output logic entry_valid_o,
  output sorted_entry_t entry_o,
  output logic [LogWordOrderHintBits-1:0] rank_o,

  // a line of the leaf, one cycle after its request was accepted
  output logic line_valid_o,
  input logic line_ready_i,
  output offset_t line_offset_o,
  input line_t line_i
);

  typedef enum logic [2:0] {
    Idle,
    Header,
    // the header is a register
    Known,
    Walk,
    Walked
  } state_e;

  state_e state_q, state_d;
  // verilator lint_off UNUSEDSIGNAL
  lock_and_size_t state;
  part_read_t line;
  // verilator lint_on UNUSEDSIGNAL
  part_t part;
  node_header_t header_q;
  logic has_log, arrives_q, entry_valid, asks;

  assign state = header_q.lock_and_size;
  assign has_log = request_i.is_scan && state.log_count != '0 && !failed_i;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle: if (valid_i) state_d = has_leaf_i ? Header : Walked;
      Header: if (arrives_q) state_d = Known;
      Known: if (has_log) state_d = Walk; else state_d = take_i ? Idle : Walked;
      Walk: if (walked_o) state_d = Walked;
      default: if (take_i) state_d = Idle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) {state_q, arrives_q} <= {Idle, 1'b0};
    else {state_q, arrives_q} <= {state_d, line_valid_o && line_ready_i};
    if (state_q == Header) header_q <= node_header_t'(line_i);
  end

  assign ready_o = valid_i && (state_q == Walked || (state_q == Known && !has_log));
  assign header_o = header_q;

  always_comb begin
    part = '0;
    part.bytes = line_i;
  end

  log_walker #(
    .Compares(1'b0)
  ) u_walker (
    .clk_i,
    .rst_i,
    .geometry_i,
    .walk_valid_i(state_q == Walk), .walk_ready_o(walked_o),
    .header_i(header_q),
    .read_version_i(request_i.read_version),
    .fingerprint_i('0),
    .key_length_i('0),
    .entry_valid_o(entry_valid),
    .entry_o,
    .rank_o,
    .found_o(),
    .found_item_o(),
    .part_valid_o(asks), .part_ready_i(arrives_q),
    .part_read_o(line),
    .part_i(part)
  );

  // After a read that failed the entries are undefined.
  assign entry_valid_o = entry_valid && !failed_i;
  assign line_valid_o = (asks || state_q == Header) && !arrives_q;
  assign line_offset_o = state_q == Header ? '0 : line.offset;

  `ASSERT(TakesWhenReady, !take_i || ready_o)
  `ASSERT_OFFER_STAYS(LeafStays, valid_i, take_i, {request_i, has_leaf_i})
  `COVER(WaitsForTheGrant, state_q == Walked && !take_i)

endmodule

`default_nettype wire
