// Proves for descents one after the other, through arbitrary nodes and with an arbitrary memory: each node is
// read by its LID, or by the address of its previous version if it is too new: first its header, and with it
// the samples of a node below the root. Other reads have exactly the lines that the search requests, split
// where a page ends, and no read begins while one with its number is in flight. Lines are passed when their
// read has ended. The descent ends with the LID, the buffer and the failure that follow from the headers and
// children, when nothing is in flight. A child whose level is not lower is a failure, and so is a previous
// version that is not older, or has a higher level. Reads, passes and the end are offered without a pause.
//
// Columns are left out: in place of column_search there is a search that reads and passes arbitrary lines, as
// far as prove_column_search allows it.

`default_nettype none

module prove_memory_access_generator
  import layout_pkg::*;
  import accelerator_pkg::*;
  import search_pkg::*;
(
  input logic clk_i,
  input logic start_i,
  input logic [1:0] read_version_i,
  input logic key_loaded_i,
  input logic read_ready_i,
  // a line arrives; the header in it
  input logic line_valid_i,
  input logic line_number_i,
  input logic line_error_i,
  input logic [1:0] version_i,
  input logic [1:0] previous_i,
  input logic [1:0] level_i,
  // the search ends, begins a read, or passes lines
  input logic search_ends_i,
  input logic [1:0] child_i,
  input logic search_reads_i,
  input logic search_number_i,
  input logic [2:0] search_first_i,
  input logic [1:0] search_lines_i,
  input logic search_passes_i,
  input logic pass_number_i,
  input logic pass_ready_i,
  input logic leaf_ready_i
);

  // The node that is read or searched.
  typedef struct packed {
    logic [1:0] lid;
    // the address of its buffer, or 0 if it is read by its LID
    logic [1:0] address;
    depth_e depth;
  } node_t;

  logic rst, busy, read_valid, pass_valid, leaf_valid, begins_search;
  node_read_t read;
  column_pass_t pass;
  descent_end_t leaf;
  descent_task_t search;
  place_line_t line;
  node_header_t header;
  head_t choices;
  head_read_t known;
  // verilator lint_off UNUSEDSIGNAL
  event_t occurrence;
  // verilator lint_on UNUSEDSIGNAL

  // A descent runs; it awaits a header; the header has arrived; the node is searched; a read has failed; the
  // key was loaded.
  logic descends_q, awaits_q, has_header_q, searches_q, failed_q, is_loaded_q;
  // the header that has arrived has not the order of child or previous version
  logic breaks_order_q;
  logic [1:0] read_version_q, version_q, previous_q, level_q;
  node_t node_q;
  // The read of which not all lines were accepted, and those that are left. Lines in flight of each number.
  logic reads_q, follows_q, number_q;
  line_count_t first_q;
  group_lines_t lines_q;
  logic [1:0][3:0] flies_q;
  // the pass that waits
  logic passes_q, pass_number_q;

  logic takes, accepts, passes, reads, ends, is_first, is_too_new, steps_back, goes_down, is_end;
  logic breaks_order;
  line_count_t first, left_in_page;

  neighbours u_neighbours (.clk_i, .rst_o(rst), .in_valid_i(1'b0), .in_ready_i(1'b0));

  // ---- the search

  assign accepts = takes && group_lines_t'(read.count) == lines_q;
  assign reads = search_reads_i && searches_q && (!reads_q || accepts)
      && !(passes_q && pass_number_q == search_number_i);
  assign passes = search_passes_i && searches_q && !passes_q;
  assign ends = search_ends_i && searches_q && !reads_q && !passes_q && !search_reads_i && !search_passes_i;
  // Around the end of the first page.
  assign first = line_count_t'(60) + line_count_t'(search_first_i);
  assign choices = 64'({ends, child_i, reads, search_number_i, first, group_lines_t'(search_lines_i), passes,
      pass_number_i});

  always_comb begin
    search = '0;
    {search.root, search.read_version} = {lid_t'(1), version_t'(read_version_i)};
    header = '0;
    {header.node_version, header.previous_version} = {64'(version_i), 64'(previous_i)};
    {header.level, header.sorted_count} = {8'(level_i), 16'd1};
    line = '0;
    {line.number, line.error, line.data} = {line_number_i, line_error_i, header};
    line.last = line_error_i || flies_q[line_number_i] == 4'd1;
  end

  memory_access_generator u_generator (
    .clk_i, .rst_i(rst),
    .start_i, .search_i(search), .busy_o(busy), .key_loaded_i,
    .read_valid_o(read_valid), .read_ready_i, .read_o(read),
    .line_valid_i, .line_i(line),
    .key_valid_o(), .key_ready_i(1'b0), .key_o(known), .head_valid_i(1'b0), .head_i(choices),
    .pass_valid_o(pass_valid), .pass_ready_i, .pass_o(pass),
    .counts_valid_i(1'b0), .counts_i('0),
    .rest_valid_o(), .rest_ready_i(1'b0), .rest_o(), .rest_wants_line_i(1'b0), .rest_done_i(1'b0),
    .rest_less_i(1'b0), .rest_equal_i(1'b0),
    .leaf_valid_o(leaf_valid), .leaf_ready_i, .leaf_o(leaf),
    .node_o(begins_search), .version_step_o(), .event_o(occurrence)
  );

  // ---- what follows from the headers and children

  assign takes = read_valid && read_ready_i;
  assign is_first = line_valid_i && awaits_q && !reads_q;
  assign is_too_new = version_q > read_version_q;
  assign steps_back = has_header_q && is_too_new && previous_q != '0;
  assign goes_down = ends && !failed_q && level_q != 2'd1;
  assign breaks_order = node_q.address != '0
      ? version_i >= version_q || (node_q.depth != DepthRoot && level_i > level_q)
      : node_q.depth != DepthRoot && level_i >= level_q;
  assign is_end = descends_q && !awaits_q && !has_header_q && !searches_q;
  assign left_in_page = 9'd64 - 9'(first_q[5:0]);

  always_ff @(posedge clk_i) begin
    if (takes) begin
      {first_q, lines_q} <= {first_q + line_count_t'(read.count), lines_q - group_lines_t'(read.count)};
      reads_q <= !accepts;
    end
    for (int unsigned at = 0; at < 2; at++)
      flies_q[at] <= flies_q[at] + (takes && read.number == at[0] ? 4'(read.count) : 4'd0)
          - (line_valid_i && line_number_i == at[0] ? (line.last ? flies_q[at] : 4'd1) : 4'd0);
    failed_q <= failed_q || breaks_order_q || (line_valid_i && line_error_i);
    breaks_order_q <= is_first && breaks_order;
    if (is_first) begin
      {awaits_q, has_header_q} <= {1'b0, !line_error_i && !failed_q};
      {version_q, previous_q, level_q} <= {version_i, previous_i, level_i};
    end
    if (has_header_q && (is_too_new || level_q == '0)) has_header_q <= 1'b0;
    if (has_header_q && !is_too_new && level_q != '0 && key_loaded_i) {has_header_q, searches_q} <= 2'b01;
    if (reads) {reads_q, follows_q, number_q, first_q, lines_q} <=
        {2'b11, search_number_i, first, group_lines_t'(search_lines_i)};
    if (pass_valid && pass_ready_i) passes_q <= 1'b0;
    if (passes) {passes_q, pass_number_q} <= {1'b1, pass_number_i};
    if (ends) searches_q <= 1'b0;
    if (ends && !failed_q)
      node_q <= '{lid: child_i, address: 2'd0, depth: node_q.depth == DepthRoot ? DepthSecond : DepthBelow};
    if (steps_back) node_q.address <= previous_q;
    if (start_i) begin
      {descends_q, failed_q, read_version_q} <= {2'b10, read_version_i};
      node_q <= '{lid: 2'd1, address: 2'd0, depth: DepthRoot};
    end
    if (start_i || steps_back || goes_down) begin
      {awaits_q, reads_q, follows_q, number_q, first_q} <= {4'b1100, 9'd0};
      lines_q <= start_i || (steps_back && node_q.depth == DepthRoot) ? 4'd1 : 4'(HeadsLine);
    end
    if (leaf_valid && leaf_ready_i) descends_q <= 1'b0;
    is_loaded_q <= descends_q && key_loaded_i;
    if (rst) {descends_q, awaits_q, has_header_q, searches_q, reads_q, passes_q, flies_q} <= '0;
    if (rst) breaks_order_q <= 1'b0;
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      StartsWhenIdle : assume (!start_i || !descends_q);
      KeyStaysLoaded : assume (!is_loaded_q || key_loaded_i);
      LineIsOfARead : assume (!line_valid_i || flies_q[line_number_i] != '0);
      ReadHasLines : assume (search_lines_i != '0);
      PassesWhatIsRead : assume (!(passes && reads) || search_number_i == pass_number_i);

      BusyUntilTheEnd : assert (busy == descends_q);
      ReadsAtOnce : assert (read_valid == (reads_q && (follows_q ? flies_q[number_q] == '0 : flies_q == '0)));
      ReadIsOfTheNode : assert (!read_valid || (read.depth == node_q.depth
          && read.follows == follows_q && read.by_lid == (!follows_q && node_q.address == '0)
          && read.cacheable == (node_q.address == '0)));
      ReadHasItsNode : assert (!read_valid || read.node == lid_t'(follows_q || node_q.address == '0
          ? node_q.lid : node_q.address));
      ReadHasItsLines : assert (!read_valid || (read.number == number_q && read.first == first_q
          && line_count_t'(read.count) == (line_count_t'(lines_q) < left_in_page
          ? line_count_t'(lines_q) : left_in_page)));
      SearchesTheNode : assert (begins_search
          == (has_header_q && !is_too_new && level_q != '0 && key_loaded_i));
      SearchIsNotified : assert (!searches_q
          || known == {14'd0, accepts, reads_q, failed_q, node_q.depth != DepthRoot});
      PassesAtOnce : assert (pass_valid == (passes_q && flies_q[pass_number_q] == '0
          && !(reads_q && number_q == pass_number_q)));
      PassIsThatOfTheSearch : assert (!pass_valid || pass.number == pass_number_q);
      LeafIsTheEnd : assert (!leaf_valid || (is_end && !reads_q && flies_q == '0 && key_loaded_i));
      EndsAtOnce : assert (leaf_valid || !is_end || reads_q || flies_q != '0 || !key_loaded_i);
      LeafIsThatOfTheDescent : assert (!leaf_valid
          || leaf == descent_end_t'{failed: failed_q, repeated: 1'b0, lid: lid_t'(node_q.lid),
          address: bus_address_t'(node_q.address)});
    end
  end

  // Invariants of the induction: the state of the generator follows from the headers and children.
  always @(posedge clk_i) begin
    if (!rst) begin
      StateAsKnown : assert (u_generator.state_q == (awaits_q ? 3'd1 : has_header_q ? 3'd2 : searches_q ? 3'd3
          : is_end ? 3'd4 : 3'd0));
      OneStateAtATime : assert (3'(awaits_q) + 3'(has_header_q) + 3'(searches_q) + 3'(is_end)
          == 3'(descends_q));
      ReadsAsKnown : assert (u_generator.reads_q == reads_q && (!reads_q || (descends_q && lines_q != '0
          && u_generator.follows_q == follows_q && (follows_q || awaits_q) && !has_header_q
          && lines_q <= 4'd3 && u_generator.column_read_q == {number_q, first_q, lines_q})));
      HeaderIsReadFirst : assert (!awaits_q || (reads_q ? !follows_q && number_q == '0 && first_q == '0
          : flies_q[0] != '0 && flies_q[1] == '0));
      PassesAsKnown : assert (u_generator.passes_q == passes_q
          && (!passes_q || (searches_q && u_generator.pass_q.number == pass_number_q)));
      FliesAsKnown : assert (u_generator.flies_q == {flies_q[1] != '0, flies_q[0] != '0}
          && flies_q[0] <= 4'd3 && flies_q[1] <= 4'd3 && (descends_q || flies_q == '0));
      NodeAsKnown : assert (!descends_q || {u_generator.lid_q, u_generator.address_q, u_generator.depth_q}
          == {lid_t'(node_q.lid), bus_address_t'(node_q.address), node_q.depth});
      PastAsKnown : assert (!descends_q || u_generator.is_past_q == (node_q.address != '0));
      HeaderAsKnown : assert (!(has_header_q || searches_q
          || (awaits_q && (node_q.address != '0 || node_q.depth != DepthRoot)))
          || ({u_generator.header_q.node_version, u_generator.header_q.previous_version,
          u_generator.header_q.level} == {64'(version_q), 64'(previous_q), 8'(level_q)}));
      OrderAsKnown : assert (u_generator.breaks_order_q == breaks_order_q
          && (!breaks_order_q || has_header_q || failed_q));
      TaskAsKnown : assert (!descends_q || (u_generator.failed_q == failed_q
          && {u_generator.search_q.read_version, u_generator.search_q.repeated}
          == {64'(read_version_q), 1'b0}));
    end
  end

endmodule

`default_nettype wire
