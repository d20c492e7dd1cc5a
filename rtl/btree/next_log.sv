// Walks over the log of the next scan while the range of another request is answered, so that it is sorted
// when the scan gets the grant. A get has no sorted log: it reads the entries of its key during the grant.

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

  // There is a next request, with a leaf that is constant until take_i. ready_o: it can have the grant.
  input logic valid_i,
  output logic ready_o,
  // verilator lint_off UNUSEDSIGNAL
  input open_leaf_t leaf_i,
  // verilator lint_on UNUSEDSIGNAL
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

  typedef enum logic [1:0] {
    Idle,
    Walk,
    Walked
  } state_e;

  state_e state_q, state_d;
  // verilator lint_off UNUSEDSIGNAL
  lock_and_size_t state;
  part_read_t line;
  // verilator lint_on UNUSEDSIGNAL
  part_t part;
  logic has_log, arrives_q, entry_valid, asks;

  assign state = leaf_i.header.lock_and_size;
  assign has_log = leaf_i.request.is_scan && state.log_count != '0 &&
      !(leaf_i.descent_failed || leaf_i.none || leaf_i.failed);

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle: if (valid_i && has_log) state_d = Walk;
      Walk: if (walked_o) state_d = Walked;
      default: if (take_i) state_d = Idle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) {state_q, arrives_q} <= {Idle, 1'b0};
    else {state_q, arrives_q} <= {state_d, line_valid_o && line_ready_i};
  end

  assign ready_o = valid_i && (state_q == Walked || (state_q == Idle && !has_log));

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
    .header_i(leaf_i.header),
    .read_version_i(leaf_i.request.read_version),
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
  assign entry_valid_o = entry_valid && !leaf_i.failed;
  assign line_valid_o = asks && !arrives_q;
  assign line_offset_o = line.offset;

  `ASSERT(TakesWhenReady, !take_i || ready_o)
  `ASSERT_OFFER_STAYS(LeafStays, valid_i, take_i, {leaf_i.request, leaf_i.header})
  `COVER(WaitsForTheGrant, state_q == Walked && !take_i)

endmodule

`default_nettype wire
