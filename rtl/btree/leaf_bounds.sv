// Compares the bound at which a scan ends with the fence keys and the prefix of a leaf. The search key of a
// scan without a bound begins with the prefix of the first leaf, so no fence key is read for it.

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
  input leaf_columns_t columns_i,
  input task_t request_i,
  input node_header_t header_i,
  // verilator lint_on UNUSEDSIGNAL

  // the leaf is the first one of the request
  input logic is_first_i,

  // at the beginning of a leaf: if it has a prefix, reads that of the search key; or reads its fence keys and
  // compares the bound with its prefix; accepted when done
  input logic enter_valid_i,
  output logic enter_ready_o,
  // valid from then on: the bound begins with the prefix of the leaf, so the suffixes decide
  output logic has_prefix_o,
  // every key with this prefix is beyond the bound, and so are all keys of later leaves
  output logic is_beyond_o,
  output prefix_t prefix_o,
  // The offset of the low fence key; a register, because the fence keys are read first.
  output offset_t low_offset_o,

  // at the end of a leaf: reads its fence keys; accepted when it is known whether the range continues beyond
  // the leaf
  input logic leave_valid_i,
  output logic leave_ready_o,
  output logic leave_continues_o,
  // valid then, and after the beginning of a scan with a floor start
  output fences_t fences_o,

  output logic part_valid_o,
  input logic part_ready_i,
  output part_read_t part_read_o,
  // verilator lint_off UNUSEDSIGNAL
  input part_t part_i,
  // verilator lint_on UNUSEDSIGNAL

  // the first bytes of the search key, two cycles after the read
  output logic key_read_o,
  output logic key_upper_o,
  // verilator lint_off UNUSEDSIGNAL
  input line_t key_window_i
  // verilator lint_on UNUSEDSIGNAL
);

  typedef enum logic [2:0] {
    StateIdle,
    // reads the search key, waits, and takes the prefix
    StateKey,
    StateWait,
    StateTake,
    StateFences,
    StatePrefix,
    // compares the bound with the fence key
    StateFence,
    StateDone
  } state_e;

  state_e state_q, state_d, enter_state;
  logic backward, has_bound, has_prefix_q, is_beyond_q, continues_q, knows_fences_q;
  key_length_t bound, start, prefix_length;
  offset_t low_offset_q, fence_length;
  fences_t fences_q;
  prefix_t prefix_q;

  assign backward = request_i.backward;
  assign bound = bound_length(request_i);
  assign start = is_first_i ? start_length(request_i) : '0;
  assign has_bound = bound != '0;
  assign prefix_length = key_length_t'(header_i.prefix_length);
  // Length of the fence key at which the scan leaves, without the prefix.
  assign fence_length = offset_t'(backward ? fences_q.low_length : fences_q.high_length) -
      offset_t'(prefix_length);

  always_comb begin
    enter_state = StateFences;
    if (!request_i.floor_start) begin
      if (prefix_length == '0) enter_state = StateDone;
      else if (key_tells_prefix(start, has_bound, prefix_length)) enter_state = StateKey;
    end
  end

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StateIdle: begin
        if (enter_valid_i) state_d = enter_state;
        if (leave_valid_i) state_d = !knows_fences_q ? StateFences : has_prefix_q ? StateFence : StateDone;
      end
      StateKey: state_d = StateWait;
      StateWait: state_d = StateTake;
      StateTake: state_d = StateDone;
      StateFences: if (part_ready_i) begin
        state_d = StateDone;
        if (enter_valid_i && has_bound && prefix_length != '0) state_d = StatePrefix;
        if (leave_valid_i && has_prefix_q) state_d = StateFence;
      end
      StatePrefix, StateFence: if (part_ready_i) state_d = StateDone;
      default: state_d = StateIdle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= StateIdle;
    else state_q <= state_d;
  end

  always_comb begin
    part_read_o = '0;
    part_read_o.part = PartBytes;
    part_read_o.by_upper = !backward;
    part_read_o.compares = state_q != StateFences;
    unique case (state_q)
      StateFence: begin
        part_read_o.offset = low_offset_q +
            (backward ? offset_t'(prefix_length) : offset_t'(fences_q.low_length));
        part_read_o.length = fence_length;
        part_read_o.key_first = prefix_length;
        part_read_o.key_last = bound;
      end
      StatePrefix: begin
        part_read_o.offset = low_offset_q;
        part_read_o.length = offset_t'(prefix_length);
        part_read_o.key_last = bound < prefix_length ? bound : prefix_length;
      end
      default: begin
        part_read_o.offset = columns_i.fences_start;
        part_read_o.length = offset_t'(FencesSize) + offset_t'(prefix_length);
      end
    endcase
    part_read_o.limit = part_read_o.offset + part_read_o.length;
  end

  assign part_valid_o = state_q inside {StateFences, StatePrefix, StateFence};
  assign key_read_o = state_q == StateKey;
  assign key_upper_o = backward;
  assign enter_ready_o = enter_valid_i && state_q == StateDone;
  assign leave_ready_o = leave_valid_i && state_q == StateDone;
  assign leave_continues_o = continues_q;

  always_ff @(posedge clk_i) begin
    low_offset_q <= columns_i.fences_start + offset_t'(FencesSize);
    if (state_q == StateIdle && enter_valid_i) begin
      has_prefix_q <= has_bound;
      is_beyond_q <= 1'b0;
      knows_fences_q <= 1'b0;
    end
    if (state_q == StateTake) prefix_q <= prefix_t'(key_window_i);
    if (state_q == StateFences && part_ready_i) begin
      {prefix_q, fences_q} <= part_i.bytes[8*(FencesSize+PrefixBytes)-1:0];
      knows_fences_q <= 1'b1;
    end
    if (state_q == StatePrefix && part_ready_i) begin
      has_prefix_q <= part_i.equal;
      is_beyond_q <= !part_i.equal && part_i.less == backward;
    end
    // The range continues if the bound is beyond the fence key, or if a forward scan ends at the fence
    // key, which may be a key of the sibling.
    if (state_q == StateIdle) continues_q <= !is_beyond_q;
    else if (state_q == StateFence && part_ready_i)
      continues_q <= (part_i.less || part_i.equal) != backward;
  end

  assign has_prefix_o = has_prefix_q;
  assign is_beyond_o = is_beyond_q;
  assign fences_o = fences_q;
  assign prefix_o = prefix_q;
  assign low_offset_o = low_offset_q;

  `ASSERT(EnterExcludesLeave, !(enter_valid_i && leave_valid_i))
  `ASSERT(KeyHasThePrefix, state_q != StateKey || start >= prefix_length)
  `COVER(PrefixDecides, is_beyond_q)
  `COVER(KeyTellsThePrefix, state_q == StateTake)
  `COVER(ScanEndsAtFence, leave_valid_i && leave_ready_o && !leave_continues_o)
  `COVER(BoundIsBeyondFence, leave_valid_i && leave_ready_o && leave_continues_o && has_bound)
  `COVER(BoundIsHighFence, state_q == StateFence && part_ready_i && part_i.equal && !backward)
  `COVER(BoundIsLowFence, state_q == StateFence && part_ready_i && part_i.equal && backward)
  `COVER(BoundIsPrefix, state_q == StatePrefix && part_ready_i && part_i.equal && bound == prefix_length)
  `COVER(BoundLacksAByteOfThePrefix, state_q == StatePrefix && part_ready_i && bound + 1'b1 == prefix_length)
  `COVER(BoundHasAByteMore, state_q == StatePrefix && part_ready_i && bound == prefix_length + 1'b1)
  `COVER(BoundLacksAByteOfTheFence, state_q == StateFence && part_ready_i &&
      offset_t'(bound) + 1'b1 == fence_length + offset_t'(prefix_length))
  `COVER(FenceLacksAByteOfTheBound, state_q == StateFence && part_ready_i &&
      offset_t'(bound) == fence_length + offset_t'(prefix_length) + 1'b1)
  `COVER(KeyLacksAByteOfThePrefix, state_q == StateFences && enter_valid_i && start + 1'b1 == prefix_length)
  `COVER(KeyIsThePrefix, state_q == StateKey && start == prefix_length)
  `COVER(KeyHasAByteMore, state_q == StateKey && start == prefix_length + 1'b1)

endmodule

`default_nettype wire
