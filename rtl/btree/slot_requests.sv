// The requests of the slots of a range scan unit, and the leaves that they open, in memories. A leaf is
// that of the descent; or a sibling, with which a scan continues; or that of a repeated descent; or a
// previous version.

`default_nettype none

`include "assertions.svh"

module slot_requests
  import layout_pkg::*;
  import accelerator_pkg::*;
  import scan_pkg::*;
#(
  parameter int unsigned Slots = 4,
  localparam int unsigned PlaceBits = Slots > 1 ? $clog2(Slots) : 1
) (
  input logic clk_i,
  input logic rst_i,

  // a request begins at the leaf of its descent
  input logic begin_i,
  input logic [PlaceBits-1:0] begin_place_i,
  // verilator lint_off UNUSEDSIGNAL
  input leaf_t leaf_i,
  // verilator lint_on UNUSEDSIGNAL

  // the request that has the grant continues with a sibling
  input logic go_i,
  input logic [PlaceBits-1:0] holder_i,
  input task_t request_i,
  input go_t go_to_i,
  // verilator lint_off UNUSEDSIGNAL
  input fences_t fences_i,
  // verilator lint_on UNUSEDSIGNAL

  // the leaf of a repeated descent
  input logic return_valid_i,
  output logic return_ready_o,
  input logic [PlaceBits-1:0] return_place_i,
  // verilator lint_off UNUSEDSIGNAL
  input leaf_t return_leaf_i,
  // verilator lint_on UNUSEDSIGNAL

  // the previous version of a leaf
  input logic previous_valid_i,
  output logic previous_ready_o,
  input logic [PlaceBits-1:0] previous_place_i,
  input open_t previous_i,

  // One cycle after a read, until the next one: of leaf_starter and leaf_opener, the leaf to open; of
  // scan_grants and repeated_descents, the request.
  input logic [1:0] open_read_i,
  input logic [1:0][PlaceBits-1:0] open_place_i,
  output open_t [1:0] open_o,
  input logic [1:0] request_read_i,
  input logic [1:0][PlaceBits-1:0] request_place_i,
  output slot_request_t [1:0] request_o
);

  typedef logic [PlaceBits-1:0] place_t;

  logic writes_open, writes_request;
  place_t open_place, request_place;
  open_t open;
  task_t left;
  slot_request_t request;
  key_length_t fence_length;

  // ---- requests

  // The limits that are left.
  always_comb begin
    left = request_i;
    left.floor_start = go_to_i.seeks_floor;
    {left.pairs_max, left.bytes_max} = {go_to_i.pairs_left, go_to_i.bytes_left};
  end

  assign fence_length = key_length_t'(go_to_i.left ? fences_i.low_length : fences_i.high_length);
  assign writes_request = go_i || begin_i;
  assign request_place = go_i ? holder_i : begin_place_i;

  always_comb begin
    request = '{request: left, is_first: 1'b0, went_left: go_to_i.left, fence_length: fence_length,
        empty_leaves: go_to_i.empty_leaves};
    if (!go_i) request = '{request: leaf_i.request, is_first: 1'b1, went_left: 1'b0, fence_length: '0,
        empty_leaves: '0};
  end

  // ---- leaves

  assign return_ready_o = !writes_request;
  assign previous_ready_o = !writes_request && !return_valid_i;
  assign writes_open = writes_request || return_valid_i || previous_valid_i;

  always_comb begin
    open_place = request_place;
    if (go_i) begin
      open = opening(left, 1'b0, go_to_i.sibling, '0);
      open.is_sibling = 1'b1;
    end else if (begin_i) begin
      open = opening(leaf_i.request, 1'b1, leaf_i.lid, leaf_i.address);
    end else if (return_valid_i) begin
      open_place = return_place_i;
      open = opening(return_leaf_i.request, 1'b0, return_leaf_i.lid, return_leaf_i.address);
    end else begin
      open_place = previous_place_i;
      open = previous_i;
    end
  end

  // Another memory for each reader.
  for (genvar reader = 0; reader < 2; reader++) begin : gen_readers
    ram #(
      .Width($bits(open_t)),
      .Depth(2 ** PlaceBits)
    ) u_opens (
      .clk_i,
      .rst_i,
      .write_i(writes_open),
      .write_address_i(open_place),
      .write_data_i(open),
      .read_i(open_read_i[reader]),
      .read_address_i(open_place_i[reader]),
      .read_data_o(open_o[reader])
    );

    ram #(
      .Width($bits(slot_request_t)),
      .Depth(2 ** PlaceBits)
    ) u_requests (
      .clk_i,
      .rst_i,
      .write_i(writes_request),
      .write_address_i(request_place),
      .write_data_i(request),
      .read_i(request_read_i[reader]),
      .read_address_i(request_place_i[reader]),
      .read_data_o(request_o[reader])
    );
  end

  `ASSERT(OneRequest, !(go_i && begin_i))
  `ASSERT(SiblingExists, !go_i || go_to_i.sibling != '0)

endmodule

`default_nettype wire
