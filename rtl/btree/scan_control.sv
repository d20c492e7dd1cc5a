// Sequences the parts of a range scan unit for a request and its open leaf. For a get it searches the log
// if a fingerprint matches, then the sorted block. For a scan, whose log is sorted, it finds the start of the
// range, and emits pairs until a bound or a limit ends the scan. At the end of the leaf it ends the grant; a
// scan that continues gets another grant when the sibling has arrived.

`default_nettype none

`include "assertions.svh"

module scan_control
  import layout_pkg::*;
  import accelerator_pkg::*;
  import scan_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  // A request has the grant. A grant begins with the first request after reset, or when the previous one
  // has ended. grant_continues_o: valid then, the request goes on with a sibling.
  input logic granted_i,
  output logic grant_begins_o,
  output logic grant_ends_o,
  output logic grant_continues_o,
  // constant during a grant
  // verilator lint_off UNUSEDSIGNAL
  input task_t request_i,
  // verilator lint_on UNUSEDSIGNAL
  // its last descent failed, or its leaf does not exist at the read version; otherwise that leaf is open
  input logic descent_failed_i,
  input logic none_i,

  // see leaf_navigator
  input logic is_first_i,
  input empty_leaves_t empty_leaves_i,
  output logic go_valid_o,
  input logic go_ready_i,
  output go_t go_o,
  input logic log_may_have_i,
  // verilator lint_off UNUSEDSIGNAL
  input node_header_t header_i,
  // verilator lint_on UNUSEDSIGNAL
  // a read of the leaf has failed, the leaf or its log is too large, or too many leaves before had no pair
  input logic failed_i,

  output logic walk_valid_o,
  input logic walk_ready_i,
  input logic walk_found_i,
  input item_result_t walk_item_i,

  output logic find_valid_o,
  input logic find_ready_i,
  output logic find_after_o,
  input logic find_found_i,
  input item_result_t find_item_i,

  // moves the cursor to the position that was found, or to an end of the leaf
  output logic set_o,
  output logic set_to_end_o,
  output logic set_to_position_o,
  output logic step_valid_o,
  input logic step_ready_i,
  output logic step_back_o,
  output logic step_compares_o,
  input logic step_found_i,
  input item_result_t step_item_i,

  // see leaf_bounds
  output logic enter_valid_o,
  input logic enter_ready_i,
  input logic bound_has_prefix_i,
  input logic leaf_is_beyond_i,
  output logic leave_valid_o,
  input logic leave_ready_i,
  input logic leave_continues_i,
  // verilator lint_off UNUSEDSIGNAL
  input part_t part_i,
  // verilator lint_on UNUSEDSIGNAL
  // the part that was read last is being emitted
  output logic part_hold_o,
  // the open leaf is not read
  output logic forget_o,

  output logic emit_valid_o,
  input logic emit_ready_i,
  output item_result_t emit_o,
  // the item to measure, known before it is offered; measured_o: the offered item was measured
  output item_result_t measure_o,
  output logic measured_o,
  // bytes of key and value
  input logic [31:0] emit_bytes_i,
  // finish_continues_o: another part follows, in another grant
  output logic finish_valid_o,
  input logic finish_ready_i,
  output logic finish_continues_o,
  output logic [7:0] finish_status_o,
  output logic finish_more_o
);

  typedef enum logic [4:0] {
    Idle,
    Walk,
    FindKey,
    EnterLeaf,
    FindStart,
    StepToFloor,
    // emits the previous pair meanwhile
    Step,
    LeaveLeaf,
    // sends the pairs of the leaf, because pairs of another request may follow
    EndPart,
    GoOn,
    // emits the value of a get first
    Finish
  } state_e;

  state_e state_q, state_d;
  // A scan with a floor start has not yet found the floor.
  logic seeks_floor_q, seeks_floor_d;
  item_result_t found_q, found_d;
  // A pair or the value of a get is emitted. The pair is also short, so no other part of the leaf is read for
  // it. A state of its own would have the end of the emission before all other states.
  logic emits_q, emits_d, emits_short_q, emits_short_d, begins_value, begins_pair, is_short;
  logic [7:0] status_q, status_d;
  logic more_q, more_d;
  state_e first_state, first_step, next;
  logic done, fails;

  // ---- request

  logic is_get, backward, has_start, start_after, goes_left, has_left_q, has_right_q, has_sibling;
  lid_t sibling;

  assign is_get = !request_i.is_scan;
  assign backward = request_i.backward;
  assign has_start = is_first_i && start_length(request_i) != '0;
  assign start_after = backward ? !request_i.upper_excluded :
      request_i.lower_excluded || request_i.floor_start;
  assign goes_left = backward || seeks_floor_q;
  assign sibling = goes_left ? lid_t'(header_i.left) : lid_t'(header_i.right);
  assign has_sibling = goes_left ? has_left_q : has_right_q;
  assign first_state = !is_get ? EnterLeaf : log_may_have_i ? Walk : FindKey;

  // ---- results of the parts

  logic is_beyond, is_limited, is_equal_in;
  scan_limits u_limits (
    .clk_i,
    .start_i(state_q == Idle),
    .pairs_max_i(request_i.pairs_max),
    .bytes_max_i(request_i.bytes_max),
    .empty_leaves_i,
    .pair_i(emits_q && emit_ready_i),
    .bytes_i(emit_bytes_i),
    .pairs_left_o(go_o.pairs_left),
    .bytes_left_o(go_o.bytes_left),
    .empty_leaves_o(go_o.empty_leaves),
    .is_over_o(is_limited)
  );

  // The item of a step is compared with the bound.
  assign is_equal_in = part_i.equal && !(backward ? request_i.lower_excluded : request_i.upper_excluded);
  assign is_beyond = leaf_is_beyond_i ||
      (bound_has_prefix_i && !is_equal_in && !(backward ? !part_i.less && !part_i.equal : part_i.less));
  assign is_short = step_item_i.has_all && !step_item_i.word.overflow &&
      32'(header_i.prefix_length) <= PrefixBytes;

  // The work of a state is done; then another state follows, or after a failure the end, because the results
  // since the beginning of the leaf are undefined.
  always_comb begin
    unique case (state_q)
      Idle: done = granted_i;
      Walk: done = walk_ready_i;
      FindKey, FindStart: done = find_ready_i;
      EnterLeaf: done = enter_ready_i;
      StepToFloor, Step: done = step_ready_i;
      LeaveLeaf: done = leave_ready_i || !has_sibling;
      GoOn: done = go_ready_i;
      default: done = finish_ready_i;
    endcase
  end

  always_comb begin
    unique case (state_q)
      Idle: next = descent_failed_i || none_i ? Finish : first_state;
      Walk: next = walk_found_i ? Finish : FindKey;
      FindKey: next = Finish;
      EnterLeaf: next = has_start ? FindStart : first_step;
      FindStart: next = first_step;
      StepToFloor: next = step_found_i || !has_sibling ? Step : GoOn;
      Step: next = !step_found_i ? LeaveLeaf : is_beyond || is_limited ? Finish : Step;
      LeaveLeaf: next = has_sibling && leave_continues_i ? EndPart : Finish;
      EndPart: next = GoOn;
      default: next = Idle;
    endcase
  end

  assign first_step = seeks_floor_q ? StepToFloor : Step;
  assign fails = failed_i && (state_q != Finish || emits_q);
  assign state_d = !done ? state_q : fails ? Finish : next;
  assign begins_value = !fails && ((state_q == FindKey && find_ready_i && find_found_i) ||
      (state_q == Walk && walk_ready_i && walk_found_i && !walk_item_i.word.tombstone));
  assign begins_pair = state_q == Step && step_ready_i && next == Step && !fails;
  assign emits_d = (emits_q && !emit_ready_i) || begins_pair || begins_value;
  assign emits_short_d = (emits_short_q && !emit_ready_i) || (begins_pair && is_short);

  always_comb begin
    seeks_floor_d = seeks_floor_q;
    found_d = found_q;
    status_d = status_q;
    more_d = more_q;
    unique case (state_q)
      Idle: begin
        seeks_floor_d = seeks_floor(request_i);
        status_d = request_i.is_scan ? 8'(StatusFound) : 8'(StatusAbsent);
        more_d = 1'b0;
        if (descent_failed_i) status_d = 8'(StatusFault);
      end
      Walk: found_d = walk_item_i;
      FindKey: found_d = find_item_i;
      // Not done, which other parts decide in other states.
      StepToFloor: if (step_ready_i && next == Step) seeks_floor_d = 1'b0;
      Step: if (step_ready_i) begin
        found_d = step_item_i;
        more_d = step_found_i && !is_beyond && is_limited;
      end
      default: ;
    endcase
    if (begins_value) status_d = 8'(StatusFound);
    if (fails && (done || state_q == Finish)) {status_d, more_d} = {8'(StatusFault), 1'b0};
  end

  always_ff @(posedge clk_i) begin
    // The leaf was opened long before a scan leaves it.
    {has_left_q, has_right_q} <= {header_i.left != '0, header_i.right != '0};
    seeks_floor_q <= seeks_floor_d;
    found_q <= found_d;
    status_q <= status_d;
    more_q <= more_d;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) {state_q, emits_q, emits_short_q} <= {Idle, 2'b00};
    else {state_q, emits_q, emits_short_q} <= {state_d, emits_d, emits_short_d};
  end

  // ---- requests to the parts

  assign grant_begins_o = state_q == Idle && granted_i;
  assign grant_ends_o = (state_q == Finish && finish_ready_i) ||
      (state_q == GoOn && go_ready_i && !failed_i);
  assign grant_continues_o = state_q == GoOn;

  assign walk_valid_o = state_q == Walk;
  assign find_valid_o = state_q == FindKey || state_q == FindStart;
  assign find_after_o = state_q == FindStart && start_after;

  assign set_o = (state_q == EnterLeaf && enter_ready_i && !has_start) ||
      (state_q == FindStart && find_ready_i);
  assign set_to_position_o = has_start;
  assign set_to_end_o = goes_left;
  assign step_valid_o = state_q == StepToFloor || (state_q == Step && !(emits_q && !emits_short_q));
  assign step_back_o = state_q == StepToFloor || backward;
  assign step_compares_o = state_q == Step && bound_has_prefix_i;

  assign emit_valid_o = emits_q;
  assign part_hold_o = emits_short_q;
  assign forget_o = state_q == Idle || (state_q == Finish && !emits_q);
  assign emit_o = found_q;
  assign measure_o = emits_q ? found_q : step_item_i;
  // Otherwise its value is found first, or it is not that of a step.
  assign measured_o = part_hold_o;
  assign finish_valid_o = state_q == EndPart || (state_q == Finish && !emits_q);
  assign finish_continues_o = state_q == EndPart;
  assign finish_status_o = status_q;
  assign finish_more_o = more_q;

  assign go_valid_o = state_q == GoOn;
  assign go_o.left = goes_left;
  assign go_o.sibling = sibling;
  assign go_o.seeks_floor = seeks_floor_q;
  assign enter_valid_o = state_q == EnterLeaf;
  assign leave_valid_o = state_q == LeaveLeaf && has_sibling;

  `ASSERT(OnlyGetsWalk, state_q != Walk || is_get)
  `ASSERT(OnePairIsEmitted, !emits_q || state_q == (is_get ? Finish : Step))
  `ASSERT(StepsAfterThePair, !(emits_q && step_valid_o && step_ready_i))
  `ASSERT(GrantEndsWithTheRequest, grant_ends_o == (state_q != Idle && state_d == Idle))
  `COVER(GetSkipsLog, grant_begins_o && state_d == FindKey &&
      header_i.lock_and_size[LockAndSizeLogCountShift+:LockAndSizeLogCountBits] != '0)
  `COVER(FingerprintCollides, state_q == Walk && walk_ready_i && !walk_found_i)
  `COVER(GetFindsTombstone, state_q == Walk && walk_ready_i && walk_found_i && !failed_i && !begins_value)
  `COVER(FloorIsInLeftSibling, state_q == StepToFloor && state_d == GoOn)
  `COVER(NoFloorExists, state_q == StepToFloor && step_ready_i && !step_found_i && !has_sibling)
  `COVER(ContinuesLeft, state_q == EndPart && state_d == GoOn && backward)
  `COVER(ContinuesRight, state_q == EndPart && state_d == GoOn && !backward)
  // scan_limits has no reset, so its edges are here: a pair follows when these pairs and bytes are left.
  `COVER(NoPairIsLeft, state_q == Step && step_ready_i && step_found_i && !is_beyond && go_o.pairs_left == '0)
  `COVER(OnePairIsLeft, state_q == Step && step_ready_i && step_found_i && !is_beyond && go_o.pairs_left == 1)
  `COVER(NoByteIsLeft, state_q == Step && step_ready_i && step_found_i && !is_beyond &&
      go_o.pairs_left != '0 && go_o.bytes_left == '0)
  `COVER(OneByteIsLeft, state_q == Step && step_ready_i && step_found_i && !is_beyond && go_o.bytes_left == 1)
  `COVER(PairLeavesAByte, !is_get && emits_q && emit_ready_i && go_o.bytes_left == emit_bytes_i + 1)
  `COVER(PairTakesTheLastByte, !is_get && emits_q && emit_ready_i && go_o.bytes_left == emit_bytes_i)
  `COVER(PairTakesAByteMore, !is_get && emits_q && emit_ready_i && go_o.bytes_left + 1 == emit_bytes_i)

endmodule

`default_nettype wire
