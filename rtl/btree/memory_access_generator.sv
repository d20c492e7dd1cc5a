// Decides what a descent reads next, from the root to a leaf (the memory access generator of section 5 of
// the paper). It reads header and samples of each node by its LID, and then the other lines of the buffer
// that column_search requests; lines in two pages are two reads. Of the root it reads only the header: all
// descents share the lines that come from the chip, and few roots need samples. If a node is too new, it
// reads the previous version by address. It does not read the leaf, unless the root is a leaf.
//
// Every descent ends, whatever bytes it reads: versions decrease along previous versions, and levels from a
// node to its child; below the root, no previous version has a higher level. Otherwise the descent fails.
//
//   header, samples | column_search: other lines, child | next node

`default_nettype none

`include "assertions.svh"

module memory_access_generator
  import accelerator_pkg::*;
  import layout_pkg::*;
  import memory_pkg::PageLines;
  import memory_pkg::PageLineBits;
  import search_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  // allowed while the generator is idle
  input  logic start_i,
  input  descent_task_t search_i,
  output logic busy_o,
  // the whole search key was loaded
  input  logic key_loaded_i,

  output logic read_valid_o,
  input  logic read_ready_i,
  output node_read_t read_o,
  // a line of a read of this descent, which descent_lines stores
  input  logic line_valid_i,
  // verilator lint_off UNUSEDSIGNAL
  input  place_line_t line_i,
  // verilator lint_on UNUSEDSIGNAL

  // a read of the head of the search key, and its result
  output logic key_valid_o,
  input  logic key_ready_i,
  output head_read_t key_o,
  input  logic head_valid_i,
  input  head_t head_i,

  // lines that descent_lines passes to the head_counter or the rest_comparer; the result of the head_counter
  output logic pass_valid_o,
  input  logic pass_ready_i,
  output column_pass_t pass_o,
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
  output descent_end_t leaf_o,

  // for the counters: interior nodes that are searched, and steps to a previous version
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
  // The root is used at the start.
  // verilator lint_off UNUSEDSIGNAL
  descent_task_t search_q;
  // verilator lint_on UNUSEDSIGNAL
  // The LID of the node, and the address of its buffer if it was replaced, or 0. Caching a buffer that was
  // replaced is useless.
  lid_t lid_d, lid_q;
  bus_address_t address_d, address_q;
  logic is_past_d, is_past_q;
  depth_e depth_d, depth_q;
  logic failed_d, failed_q;
  node_header_t header_q;
  logic is_header, is_too_new, goes_down, start_search;
  // The header that arrives has not the order of the nodes before, and so had the one that has arrived.
  node_header_t arriving;
  logic has_level_order, has_version_order, breaks_order_q;
  // The header of another buffer is read next, which is that of a root.
  logic enters_header, reads_root, search_done;
  lid_t child;

  assign is_too_new = header_q.node_version > search_q.read_version;
  assign reads_root = state_q == StateIdle || (state_q == StateNode && depth_q == DepthRoot);
  assign version_step_o = state_q == StateNode && is_too_new && header_q.previous_version != '0;
  assign start_search = state_q == StateNode && !is_too_new && header_q.level != '0 && key_loaded_i;

  // The next header, or the end of the search, ends a descent that breaks the order.
  assign arriving = node_header_t'(line_i.data);
  assign has_version_order = !is_past_q || arriving.node_version < header_q.node_version;
  assign has_level_order = depth_q == DepthRoot || arriving.level < header_q.level ||
      (is_past_q && arriving.level == header_q.level);

  // ---- the read that is offered or waits for its number, the reads in flight, and the pass that waits

  logic reads_d, reads_q, follows_d, follows_q, takes, splits, accepted;
  logic search_reads, search_passes, passes_d, passes_q;
  group_lines_t read_lines;
  column_read_t column_read_d, column_read_q, search_read;
  column_pass_t pass_q, search_pass;
  logic [1:0] ends, flies_d, flies_q;
  head_t head;
  element_t element;

  // A buffer is read when nothing of the one before is in flight, so its first line comes first after that.
  assign is_header = state_q == StateHeader && line_valid_i && !reads_q;
  assign read_valid_o = reads_q && (follows_q ? !flies_q[column_read_q.number] : flies_q == '0);
  assign takes = read_valid_o && read_ready_i;
  // Only the lines of the first page are read.
  assign splits = 32'(column_read_q.first[PageLineBits-1:0]) + 32'(column_read_q.count) > PageLines;
  assign read_lines = splits ? group_lines_t'(PageLines - 32'(column_read_q.first[PageLineBits-1:0]))
      : column_read_q.count;
  assign accepted = takes && !splits;
  // The read has ended, or failed: then the lines are undefined, but the parts end their work.
  assign pass_valid_o = passes_q && !flies_q[pass_q.number]
      && !(reads_q && column_read_q.number == pass_q.number);

  always_comb begin
    pass_o = pass_q;
    {pass_o.head, pass_o.element} = {head, element};
    flies_d = flies_q;
    for (int unsigned number = 0; number < 2; number++) begin
      ends[number] = line_valid_i && line_i.last && line_i.number == 1'(number);
    end
    flies_d &= ~ends;
    if (takes) flies_d[column_read_q.number] = 1'b1;
  end

  column_search u_column_search (
    .clk_i,
    .rst_i,
    .start_i(start_search),
    .direction_i(search_q.direction),
    .key_length_i(search_q.key_length),
    .header_i(header_q),
    .done_o(search_done),
    .child_o(child),
    .read_o(search_reads),
    .column_read_o(search_read),
    .read_waits_i(reads_q),
    .has_samples_i(depth_q != DepthRoot),
    .accepted_i(accepted),
    .failed_i(failed_q),
    .pass_o(search_passes),
    .column_pass_o(search_pass),
    .head_o(head),
    .element_o(element),
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
    {lid_d, address_d, is_past_d, depth_d} = {lid_q, address_q, is_past_q, depth_q};
    {reads_d, follows_d, column_read_d} = {reads_q && !accepted, follows_q, column_read_q};
    if (takes && splits) begin
      column_read_d.first = column_read_q.first + line_count_t'(read_lines);
      column_read_d.count = column_read_q.count - read_lines;
    end
    if (search_reads) {reads_d, follows_d, column_read_d} = {2'b11, search_read};
    passes_d = search_passes || (passes_q && !(pass_valid_o && pass_ready_i));
    failed_d = failed_q || breaks_order_q || (line_valid_i && line_i.error);
    {goes_down, enters_header} = '0;
    case (state_q)
      StateIdle: begin
        {lid_d, address_d, is_past_d, failed_d} = {search_i.root, bus_address_t'(0), 2'b00};
        depth_d = DepthRoot;
        enters_header = start_i;
      end
      StateHeader: if (is_header) state_d = line_i.error || failed_q ? StateLeaf : StateNode;
      StateNode: begin
        enters_header = version_step_o;
        if (version_step_o) begin
          {address_d, is_past_d} = {bus_address_t'(header_q.previous_version), 1'b1};
        end else if (is_too_new || header_q.level == '0) begin
          state_d = StateLeaf;
        end else if (start_search) begin
          state_d = StateSearch;
        end
      end
      StateSearch: begin
        goes_down = search_done && !failed_q;
        if (goes_down) {lid_d, address_d, is_past_d} = {child, bus_address_t'(0), 1'b0};
        if (goes_down) depth_d = depth_q == DepthRoot ? DepthSecond : DepthBelow;
        enters_header = goes_down && header_q.level != 8'd1;
        if (search_done) state_d = StateLeaf;
      end
      StateLeaf: if (leaf_valid_o && leaf_ready_i) state_d = StateIdle;
      default: state_d = StateIdle;
    endcase
    if (enters_header) begin
      state_d = StateHeader;
      {reads_d, follows_d} = 2'b10;
      column_read_d = '{number: 1'b0, first: '0, count: group_lines_t'(reads_root ? 1 : HeadsLine)};
    end
  end

  always_ff @(posedge clk_i) begin
    if (start_i) search_q <= search_i;
    {lid_q, address_q, is_past_q, failed_q} <= {lid_d, address_d, is_past_d, failed_d};
    {depth_q, follows_q, column_read_q} <= {depth_d, follows_d, column_read_d};
    if (search_passes) pass_q <= search_pass;
    if (is_header) header_q <= arriving;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= StateIdle;
      {reads_q, passes_q, flies_q, breaks_order_q} <= '0;
    end else begin
      state_q <= state_d;
      breaks_order_q <= is_header && !(has_version_order && has_level_order);
      {reads_q, passes_q, flies_q} <= {reads_d, passes_d, flies_d};
    end
  end

  // ---- outputs

  assign read_o = '{
      number: column_read_q.number,
      by_lid: !follows_q && !is_past_q,
      follows: follows_q,
      cacheable: !is_past_q,
      depth: depth_q,
      node: follows_q || !is_past_q ? lid_q : address_q,
      first: column_read_q.first,
      count: read_lines
  };
  // The unit requests no further line of the key after the leaf was accepted.
  assign leaf_valid_o = state_q == StateLeaf && key_loaded_i && !reads_q && flies_q == '0;
  assign leaf_o = '{failed: failed_q, repeated: search_q.repeated, lid: lid_q, address: address_q};
  assign busy_o = state_q != StateIdle;
  assign node_o = start_search;

  always_comb begin
    event_o = event_if(1'b0, 0, search_q.slot, '0, '0);
    if (start_i) event_o = event_if(1'b1, EventDescent, search_i.slot, '0, 64'(lid_d));
    if (version_step_o)
      event_o = event_if(1'b1, EventVersionStep, search_q.slot, '0, 64'(address_d));
    if (node_o) begin
      event_o = event_if(1'b1, EventHeader, search_q.slot, '0, 64'(lid_q));
      event_o.detail = 32'({header_q.sorted_count, header_q.level});
    end
    if (goes_down) event_o = event_if(1'b1, EventChild, search_q.slot, '0, 64'(child));
    if (leaf_valid_o && leaf_ready_i)
      event_o = event_if(1'b1, EventLeaf, search_q.slot, 32'(failed_q), 64'(lid_q));
  end

  `ASSERT(StartsWhenIdle, !start_i || !busy_o)
  `ASSERT(RootHasItsDepth, !enters_header || reads_root == (depth_d == DepthRoot))
  `ASSERT(ReadHasLines, !read_valid_o || read_o.count != '0)
  `ASSERT(LinesWereRequested, !line_valid_i || (busy_o && flies_q[line_i.number]))
  `ASSERT(ReadsOneAtATime, !search_reads || !reads_q || accepted)
  `ASSERT(PassesOneAtATime, !search_passes || !passes_q)
  `ASSERT(SearchEndsInSearch, !search_done || state_q == StateSearch)
  `ASSERT(NothingIsLeft, !(leaf_valid_o && leaf_ready_i) || !passes_q)
  `ASSERT_OFFER_STAYS(ReadStays, read_valid_o, read_ready_i, read_o)
  `ASSERT_OFFER_STAYS(PassStays, pass_valid_o, pass_ready_i, pass_o)
  `ASSERT_OFFER_STAYS(LeafStays, leaf_valid_o, leaf_ready_i, leaf_o)
  `COVER(VersionStep, version_step_o)
  `COVER(TooNewWithoutPrevious, state_q == StateNode && is_too_new && !version_step_o)
  `COVER(NodeHasReadVersion, state_q == StateNode && header_q.node_version == search_q.read_version)
  `COVER(NodeIsOneNewer, state_q == StateNode && header_q.node_version == search_q.read_version + 1'b1)
  `COVER(NodeIsOneOlder, state_q == StateNode && header_q.node_version + 1'b1 == search_q.read_version)
  // A comparison of the low 40 bits errs.
  `COVER(NodeIsNewerInHighBits, state_q == StateNode && is_too_new &&
      header_q.node_version[39:0] <= search_q.read_version[39:0])
  `COVER(NodeIsOlderInHighBits, state_q == StateNode && !is_too_new &&
      header_q.node_version[39:0] > search_q.read_version[39:0])
  `COVER(PreviousVersionIsNotOlder, is_header && !line_i.error && !has_version_order)
  `COVER(ChildHasAHigherLevel, is_header && !line_i.error && !is_past_q && !has_level_order)
  `COVER(PreviousVersionHasAHigherLevel, is_header && !line_i.error && is_past_q && !has_level_order)
  `COVER(RootIsLeaf, state_q == StateNode && !is_too_new && header_q.level == '0)
  `COVER(KeyArrivesLate, state_q == StateNode && header_q.level != '0 && !is_too_new && !key_loaded_i)
  `COVER(ReadFails, line_valid_i && line_i.error)
  `COVER(LinesAreInTwoPages, takes && splits)
  `COVER(ReadWaitsForItsNumber, reads_q && follows_q && flies_q[column_read_q.number])

endmodule

`default_nettype wire
