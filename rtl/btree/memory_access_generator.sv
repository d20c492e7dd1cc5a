// Decides what a descent reads next, from the root to a leaf (the memory access generator of section 5 of
// the paper). It reads each node by its LID: header and samples. They have the bus address of the buffer, by
// which it reads the other lines that column_search requests. If a node is too new, it reads the previous
// version by address. It does not read the leaf, unless the root is a leaf.
//
//   header, samples | column_search: other lines, child | next node

`default_nettype none

`include "assertions.svh"

module memory_access_generator
  import accelerator_pkg::*;
  import layout_pkg::*;
  import search_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  // allowed while the generator is idle; the descent is constant until the next start
  input  logic start_i,
  input  descent_t descent_i,
  output logic busy_o,
  // the whole search key was loaded
  input  logic key_loaded_i,

  output logic read_valid_o,
  input  logic read_ready_i,
  output line_read_t read_o,
  input  logic beat_valid_i,
  output logic beat_ready_o,
  // The generator counts the beats of a read itself.
  // verilator lint_off UNUSEDSIGNAL
  input  line_beat_t beat_i,
  // verilator lint_on UNUSEDSIGNAL

  // a read of the head of the search key, and its result
  output logic key_valid_o,
  input  logic key_ready_i,
  output head_read_t key_o,
  input  logic head_valid_i,
  input  head_t head_i,

  // lines for the head_counter or the rest_comparer, and the result of the head_counter
  output logic line_valid_o,
  input  logic line_ready_i,
  output column_line_t line_o,
  output logic line_last_o,
  input  logic counts_valid_i,
  input  column_counts_t counts_i,

  // a comparison by the rest_comparer, which requests the lines of the item, and its result
  output logic rest_valid_o,
  input  logic rest_ready_i,
  output rest_read_t rest_o,
  input  logic rest_wants_line_i,
  input  logic rest_done_i,
  input  logic rest_less_i,
  input  logic rest_equal_i,

  output logic leaf_valid_o,
  input  logic leaf_ready_i,
  output leaf_t leaf_o,

  // for the counters: lines, interior nodes that are searched, and steps to a previous version
  output logic line_taken_o,
  output logic node_o,
  output logic version_step_o,
  output event_t event_o
);

  typedef enum logic [2:0] {
    StateIdle,
    // waits for the header and examines it
    StateHeader,
    StateNode,
    // searches the node
    StateSearch,
    StateLeaf
  } state_e;

  state_e state_d, state_q;
  descent_t descent_q;
  // The LID of the node, and the address of its buffer, which is unknown before the first line of a read
  // by LID.
  lid_t lid_d, lid_q;
  bus_address_t address_d, address_q;
  logic by_lid_d, by_lid_q;
  // The buffer was replaced, so caching it is useless.
  logic is_past_d, is_past_q;
  depth_e depth_d, depth_q;
  logic failed_d, failed_q;
  node_header_t header_q;
  logic is_too_new, goes_down, start_search, search_done;
  lid_t child;
  key_length_t key_length;

  // The search key of the first and the last leaf is empty.
  assign key_length = descent_q.by_upper ? descent_q.request.upper_length : descent_q.request.lower_length;
  assign is_too_new = header_q.node_version > descent_q.request.read_version;
  assign version_step_o = state_q == StateNode && is_too_new && header_q.previous_version != '0;
  assign start_search = state_q == StateNode && !is_too_new && header_q.level != '0 && key_loaded_i;

  // ---- the read that is offered, and its lines: first some to skip, then some to pass on

  logic reads_d, reads_q, holds, passes, skips, beat, error, passed, search_reads, search_passes;
  // Lines are to be skipped, or passed; the next line to pass is the last one.
  logic skips_d, skips_q, passes_d, passes_q, is_last_d, is_last_q;
  column_read_t column_read_d, column_read_q, search_read;
  group_lines_t skip_d, skip_q, pass_d, pass_q, search_skip, search_pass;
  column_use_t line_use;

  // Lines that the descent may still need wait. Others are discarded, before the next read is accepted.
  assign holds = !(reads_q && !column_read_q.follows) && !(state_q inside {StateIdle, StateLeaf});
  assign skips = holds && skips_q;
  assign passes = holds && !skips_q && passes_q;
  assign beat_ready_o = !holds || skips || (passes && line_ready_i) || state_q == StateHeader;
  assign beat = beat_valid_i && beat_ready_o;
  assign error = beat && beat_i.error && holds;

  // After a failure the descent passes zeros on, so that the shared parts end their work.
  assign line_valid_o = passes && (beat_valid_i || failed_q);
  assign line_last_o = is_last_q;
  assign line_o = '{use_as: line_use, data: failed_q || beat_i.error ? '0 : beat_i.data};
  assign passed = line_valid_o && line_ready_i;

  column_search u_column_search (
    .clk_i,
    .rst_i,
    .start_i(start_search),
    .is_on_chip_i(depth_q != DepthBelow),
    .direction_i(descent_q.direction),
    .key_length_i(key_length),
    .header_i(header_q),
    .done_o(search_done),
    .child_o(child),
    .read_o(search_reads),
    .column_read_o(search_read),
    .read_waits_i(reads_q),
    .accepted_i(reads_q && read_ready_i),
    .pass_o(search_passes),
    .pass_skip_o(search_skip),
    .pass_count_o(search_pass),
    .passed_i(passed),
    .last_i(line_last_o),
    .failed_i(failed_q),
    .use_o(line_use),
    .key_valid_o,
    .key_ready_i,
    .key_o,
    .head_valid_i,
    .head_i,
    .counts_valid_i,
    .counts_i,
    .rest_valid_o,
    .rest_ready_i,
    .rest_o,
    .rest_wants_line_i,
    .rest_done_i,
    .rest_less_i,
    .rest_equal_i
  );

  always_comb begin
    state_d = state_q;
    {lid_d, address_d, by_lid_d, is_past_d} = {lid_q, address_q, by_lid_q, is_past_q};
    depth_d = depth_q;
    {reads_d, column_read_d} = {reads_q && !read_ready_i, column_read_q};
    {skip_d, pass_d, failed_d} = {skip_q, pass_q, failed_q || error};
    goes_down = 1'b0;
    // A line that is skipped does not wait for the shared parts.
    if (beat_valid_i && skips) skip_d = beat_i.error ? '0 : skip_q - 1'b1;
    {passes_d, is_last_d} = {passes_q, is_last_q};
    if (passed) {pass_d, passes_d, is_last_d} = {pass_q - 1'b1, !is_last_q, pass_q == 2};
    if (search_reads) {reads_d, column_read_d} = {1'b1, search_read};
    if (search_passes) begin
      {skip_d, pass_d} = {search_skip, search_pass};
      {passes_d, is_last_d} = {1'b1, search_pass == 1};
    end
    case (state_q)
      StateIdle: begin
        {lid_d, by_lid_d, is_past_d, failed_d} = {descent_i.request.root, 3'b100};
        depth_d = DepthRoot;
        {skip_d, pass_d, passes_d, is_last_d} = '0;
        if (start_i) state_d = StateHeader;
      end
      StateHeader: if (beat && holds) begin
        {address_d, by_lid_d} = {beat_i.address, 1'b0};
        state_d = beat_i.error ? StateLeaf : StateNode;
      end
      StateNode: begin
        if (version_step_o) begin
          {address_d, is_past_d, state_d} = {bus_address_t'(header_q.previous_version), 1'b1, StateHeader};
        end else if (is_too_new || header_q.level == '0) begin
          state_d = StateLeaf;
        end else if (start_search) begin
          state_d = StateSearch;
        end
      end
      StateSearch: begin
        goes_down = search_done && !failed_q;
        if (goes_down) {lid_d, address_d, by_lid_d, is_past_d} = {child, bus_address_t'(0), 2'b10};
        if (goes_down) depth_d = depth_q == DepthRoot ? DepthSecond : DepthBelow;
        if (search_done) state_d = failed_q || header_q.level == 8'd1 ? StateLeaf : StateHeader;
      end
      StateLeaf: if (leaf_valid_o && leaf_ready_i) state_d = StateIdle;
      default: state_d = StateIdle;
    endcase
    skips_d = skip_d != '0;
    if (state_d == StateHeader && state_q != StateHeader) begin
      {reads_d, column_read_d} =
          {1'b1, column_read_t'{follows: 1'b0, first: '0, count: line_count_t'(HeadsLine)}};
    end
  end

  always_ff @(posedge clk_i) begin
    if (start_i) descent_q <= descent_i;
    {lid_q, address_q, by_lid_q, is_past_q, failed_q} <= {lid_d, address_d, by_lid_d, is_past_d, failed_d};
    {depth_q, column_read_q} <= {depth_d, column_read_d};
    if (state_q == StateHeader && beat) header_q <= beat_i.data;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= StateIdle;
      {reads_q, skip_q, pass_q, skips_q, passes_q, is_last_q} <= '0;
    end else begin
      state_q <= state_d;
      {reads_q, skip_q, pass_q} <= {reads_d, skip_d, pass_d};
      {skips_q, passes_q, is_last_q} <= {skips_d, passes_d, is_last_d};
    end
  end

  // ---- outputs

  assign read_valid_o = reads_q;
  assign read_o = '{
      by_lid: by_lid_q,
      cacheable: !is_past_q,
      depth: depth_q,
      follows: column_read_q.follows,
      lid: lid_q,
      address: by_lid_q ? '0 : address_q,
      first: column_read_q.first,
      count: column_read_q.count
  };
  // The unit requests no further line of the key after the leaf was accepted.
  assign leaf_valid_o = state_q == StateLeaf && key_loaded_i && !reads_q;
  assign leaf_o = '{
      failed: failed_q,
      repeated: descent_q.repeated,
      lid: lid_q,
      address: address_q,
      request: descent_q.request
  };
  assign busy_o = state_q != StateIdle;
  assign line_taken_o = beat;
  assign node_o = start_search;

  always_comb begin
    event_o = event_if(1'b0, 0, descent_q.request.slot, '0, '0);
    if (start_i) event_o = event_if(1'b1, EventDescent, descent_i.request.slot, '0, 64'(lid_d));
    if (version_step_o)
      event_o = event_if(1'b1, EventVersionStep, descent_q.request.slot, '0, 64'(address_d));
    if (node_o) begin
      event_o = event_if(1'b1, EventHeader, descent_q.request.slot, '0, 64'(lid_q));
      event_o.detail = 32'({header_q.sorted_count, header_q.level});
    end
    if (goes_down) event_o = event_if(1'b1, EventChild, descent_q.request.slot, '0, 64'(child));
    if (leaf_valid_o && leaf_ready_i)
      event_o = event_if(1'b1, EventLeaf, descent_q.request.slot, 32'(failed_q), 64'(lid_q));
  end

  `ASSERT(StartsWhenIdle, !start_i || !busy_o)
  `ASSERT(ReadHasLines, !read_valid_o || read_o.count != '0)
  `ASSERT(FlagsMatchCounts,
      {skips_q, passes_q, is_last_q} == {skip_q != '0, pass_q != '0, pass_q == group_lines_t'(1)})
  `ASSERT(ErrorsSkipNothing, !error || skips || skip_q == '0)
  `ASSERT(ReadsOneAtATime, !search_reads || !reads_q || read_ready_i)
  `ASSERT(SearchEndsInSearch, !search_done || state_q == StateSearch)
  `ASSERT_OFFER_STAYS(ReadStays, read_valid_o, read_ready_i, read_o)
  `ASSERT_OFFER_STAYS(LeafStays, leaf_valid_o, leaf_ready_i, leaf_o)
  `COVER(VersionStep, version_step_o)
  `COVER(TooNewWithoutPrevious, state_q == StateNode && is_too_new && !version_step_o)
  `COVER(RootIsLeaf, state_q == StateNode && !is_too_new && header_q.level == '0)
  `COVER(KeyArrivesLate, state_q == StateNode && header_q.level != '0 && !is_too_new && !key_loaded_i)
  `COVER(ReadFails, error)

endmodule

`default_nettype wire
