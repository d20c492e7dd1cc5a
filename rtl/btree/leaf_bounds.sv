// Compares the bound at which a scan ends with the fence keys and the prefix of a leaf.

`default_nettype none

`include "assertions.svh"

module leaf_bounds
  import layout_pkg::*;
  import accelerator_pkg::*;
  import scan_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  // verilator lint_off UNUSEDSIGNAL
  input geometry_t geometry_i,
  input task_t request_i,
  input node_header_t header_i,
  // verilator lint_on UNUSEDSIGNAL

  // at the beginning of a leaf: reads its fence keys and compares the bound with its prefix; accepted
  // when done
  input logic enter_valid_i,
  output logic enter_ready_o,
  // valid from then on: the bound begins with the prefix of the leaf, so the suffixes decide
  output logic has_prefix_o,
  // every key with this prefix is beyond the bound, and so are all keys of later leaves
  output logic is_beyond_o,
  output fences_t fences_o,
  output prefix_t prefix_o,

  // at the end of a leaf: accepted when it is known whether the range continues beyond the leaf
  input logic leave_valid_i,
  output logic leave_ready_o,
  output logic leave_continues_o,

  output logic part_valid_o,
  input logic part_ready_i,
  output part_read_t part_read_o,
  // verilator lint_off UNUSEDSIGNAL
  input part_t part_i,
  input line_t window_i
  // verilator lint_on UNUSEDSIGNAL
);

  typedef enum logic {
    Fences,
    Prefix
  } state_e;

  state_e state_q;
  logic backward, has_bound, has_prefix_q, is_beyond_q, compares_prefix;
  key_length_t bound_length, prefix_length;
  offset_t low_offset, fence_length;
  fences_t fences_q;
  prefix_t prefix_q;

  assign backward = request_i.backward;
  assign bound_length = backward ? request_i.lower_length : request_i.upper_length;
  assign has_bound = bound_length != '0;
  assign prefix_length = key_length_t'(header_i.prefix_length);
  assign compares_prefix = has_bound && prefix_length != '0;

  assign low_offset = geometry_i.sorted_start + offset_t'(FencesSize);
  // Length of the fence key at which the scan leaves, without the prefix.
  assign fence_length = offset_t'(backward ? fences_q.low_length : fences_q.high_length) -
      offset_t'(prefix_length);

  always_comb begin
    part_read_o = '0;
    part_read_o.part = PartBytes;
    part_read_o.by_upper = !backward;
    part_read_o.compares = 1'b1;
    if (leave_valid_i) begin
      part_read_o.offset = low_offset;
      part_read_o.offset += backward ? offset_t'(prefix_length) : offset_t'(fences_q.low_length);
      part_read_o.length = fence_length;
      part_read_o.key_first = prefix_length;
      part_read_o.key_last = bound_length;
    end else if (state_q == Prefix) begin
      part_read_o.offset = low_offset;
      part_read_o.length = offset_t'(prefix_length);
      part_read_o.key_last = bound_length < prefix_length ? bound_length : prefix_length;
    end else begin
      part_read_o.compares = 1'b0;
      part_read_o.offset = geometry_i.sorted_start;
      part_read_o.length = offset_t'(FencesSize) + offset_t'(prefix_length);
    end
    part_read_o.limit = part_read_o.offset + part_read_o.length;
  end

  assign part_valid_o = enter_valid_i || (leave_valid_i && has_prefix_q);
  assign enter_ready_o = enter_valid_i && part_ready_i && (state_q == Prefix || !compares_prefix);
  // The range continues if the bound is beyond the fence key, or if a forward scan ends at the fence
  // key, which may be a key of the sibling.
  assign leave_continues_o = has_prefix_q ? (part_i.less || part_i.equal) != backward : !is_beyond_q;
  assign leave_ready_o = leave_valid_i && (part_ready_i || !has_prefix_q);

  always_ff @(posedge clk_i) begin
    if (enter_valid_i && part_ready_i) begin
      has_prefix_q <= has_bound && (state_q == Fences || part_i.equal);
      is_beyond_q <= state_q == Prefix && !part_i.equal && part_i.less == backward;
    end
    if (enter_valid_i && state_q == Fences) {prefix_q, fences_q} <= window_i[8*(FencesSize+PrefixBytes)-1:0];
  end

  always_ff @(posedge clk_i) begin
    if (rst_i || enter_ready_o) state_q <= Fences;
    else if (enter_valid_i && part_ready_i) state_q <= Prefix;
  end

  assign has_prefix_o = has_prefix_q;
  assign is_beyond_o = is_beyond_q;
  assign fences_o = fences_q;
  assign prefix_o = prefix_q;

  `ASSERT(EnterExcludesLeave, !(enter_valid_i && leave_valid_i))
  `COVER(PrefixDecides, is_beyond_q)
  `COVER(ScanEndsAtFence, leave_valid_i && leave_ready_o && !leave_continues_o)
  `COVER(BoundIsBeyondFence, leave_valid_i && leave_ready_o && leave_continues_o && has_bound)

endmodule

`default_nettype wire
