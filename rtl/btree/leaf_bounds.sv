// How a leaf lies to the bound that ends a scan, by its fence keys and its prefix.

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

  // At the begin of a leaf: reads its fences. Taken when that is done.
  input logic enter_valid_i,
  output logic enter_ready_o,
  // From then on. The bound begins with the prefix, so suffixes are to be compared with it.
  output logic is_here_o,
  // All keys that begin with the prefix are beyond the bound, and so are those of the leaves after this.
  output logic is_beyond_o,
  output fences_t fences_o,
  output prefix_t prefix_o,

  // At its end. Taken when it is known whether the range goes on behind the leaf.
  input logic leave_valid_i,
  output logic leave_ready_o,
  output logic leave_goes_on_o,

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
  logic backward, has_bound, is_here_q, is_beyond_q, compares_prefix;
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
  // Of the fence key at which the scan leaves, without the prefix.
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

  assign part_valid_o = enter_valid_i || (leave_valid_i && is_here_q);
  assign enter_ready_o = enter_valid_i && part_ready_i && (state_q == Prefix || !compares_prefix);
  // It does if the bound lies behind the fence, or, in a forward scan, is the fence, which may be a key.
  assign leave_goes_on_o = is_here_q ? (part_i.less || part_i.equal) != backward : !is_beyond_q;
  assign leave_ready_o = leave_valid_i && (part_ready_i || !is_here_q);

  always_ff @(posedge clk_i) begin
    if (enter_valid_i && part_ready_i) begin
      is_here_q <= has_bound && (state_q == Fences || part_i.equal);
      is_beyond_q <= state_q == Prefix && !part_i.equal && part_i.less == backward;
    end
    if (enter_valid_i && state_q == Fences) {prefix_q, fences_q} <= window_i[8*(FencesSize+PrefixBytes)-1:0];
  end

  always_ff @(posedge clk_i) begin
    if (rst_i || enter_ready_o) state_q <= Fences;
    else if (enter_valid_i && part_ready_i) state_q <= Prefix;
  end

  assign is_here_o = is_here_q;
  assign is_beyond_o = is_beyond_q;
  assign fences_o = fences_q;
  assign prefix_o = prefix_q;

  `ASSERT(EntersOrLeaves, !(enter_valid_i && leave_valid_i))
  `COVER(PrefixDecides, is_beyond_q)
  `COVER(LeavesAtFence, leave_valid_i && leave_ready_o && !leave_goes_on_o)
  `COVER(BoundIsBehind, leave_valid_i && leave_ready_o && leave_goes_on_o && has_bound)

endmodule

`default_nettype wire
