// Proves for arbitrary requests, one after the other, whose leaves have logs of up to nine entries in two
// lines: a request is ready with the header of its leaf, and the walk of a scan has returned by then all log
// entries that it sees, and only these, once each and in order of arrival, as their words have them. It
// reads only the lines of the header and of the log, once each, and nothing without a leaf. It stays ready
// until it is taken. With at most one log entry, it is ready after some cycles in which it awaits no line,
// also after a read of the leaf has failed; such a bound for longer logs is left out.

`default_nettype none

module prove_next_log
  import layout_pkg::*;
  import accelerator_pkg::*;
  import search_pkg::*;
  import scan_pkg::*;
(
  input logic clk_i,
  // A request begins: it has a leaf; it is a scan; its read version is newer than the leaf by this number;
  // the leaf has no log entry, one, or those of a line, or one more. A read of the leaf fails.
  input logic begins_i,
  input logic has_leaf_i,
  input logic is_scan_i,
  input logic [2:0] age_i,
  input logic [1:0] count_i,
  input logic fails_i,
  input logic take_i,
  input logic line_ready_i,
  // bytes of lines that are undefined
  input logic [7:0] other_i
);

  localparam int unsigned NodeBytes = 1024;
  localparam int unsigned WordsALine = 8;
  // The version of a leaf: newer ones have a carry into the next byte.
  localparam version_t Version = 64'hfe;
  typedef logic [3:0] index_t;

  logic rst, ready, walked, entry_valid, line_valid, walks;
  logic [LogWordOrderHintBits-1:0] rank;
  sorted_entry_t entry;
  offset_t line_offset;
  node_header_t header;
  task_t request;

  // The request, which is constant until it is taken.
  logic valid_q, has_leaf_q, is_scan_q, failed_q;
  index_t age_q, count_q;
  // The line that arrives, if one does; the number of entries that the walk has returned, and whether it has
  // ended; cycles in which the request awaited no line.
  logic arrives_q, was_ready_q, walked_q;
  offset_t line_q;
  index_t entries_q, works_q;
  // The lines that were requested, by the last bits of their numbers.
  logic [3:0] requested_q;

  neighbours u_neighbours (.clk_i, .rst_o(rst), .in_valid_i(1'b0), .in_ready_i(1'b0));

  // Returns the word of the log entry with an index. Two entries each have the same version.
  function automatic log_word_t word_of(index_t index);
    word_of = '0;
    word_of.back_pointer = 12'(index) << 1;
    word_of.order_hint = {4'd5, index};
    word_of.entry_offset = {~index, 8'd3};
    word_of.version_delta = 31'(index >> 1);
    word_of.repeats = index[1];
  endfunction

  // Returns the line at an offset. Words beyond the log would be visible.
  function automatic line_t content(offset_t offset);
    node_header_t first = '0;
    index_t line = offset == offset_t'(NodeBytes - LineBytes) ? '0 : index_t'(WordsALine);
    content = '0;
    for (int unsigned at = 0; at < WordsALine; at++) begin
      index_t index = line | index_t'(WordsALine - 1 - at);
      if (index < count_q) content[64*at+:64] = word_of(index);
    end
    first.lock_and_size[LockAndSizeLogCountShift+:LockAndSizeLogCountBits] = 8'(count_q);
    {first.node_version, first.right} = {Version, 64'(age_q)};
    if (offset == '0) content = first;
  endfunction

  always_comb begin
    request = '0;
    request.is_scan = is_scan_q;
    request.read_version = Version + version_t'(age_q);
  end

  next_log u_next_log (
    .clk_i,
    .rst_i(rst),
    .geometry_i('{node_bytes: offset_t'(NodeBytes)}),
    .valid_i(valid_q), .ready_o(ready),
    .header_o(header), .request_i(request),
    .has_leaf_i(has_leaf_q), .failed_i(failed_q),
    .take_i, .walked_o(walked),
    .entry_valid_o(entry_valid), .entry_o(entry), .rank_o(rank),
    .line_valid_o(line_valid), .line_ready_i, .line_offset_o(line_offset),
    // After a read that failed, lines are undefined.
    .line_i(arrives_q && !failed_q ? content(line_q) : {LineBytes{other_i}})
  );

  always_ff @(posedge clk_i) begin
    if (!valid_q || rst) begin
      {valid_q, has_leaf_q, is_scan_q, failed_q} <= {begins_i, has_leaf_i, is_scan_i, fails_i};
      age_q <= index_t'(age_i);
      count_q <= {count_i[1], 2'd0, count_i[0]};
    end else begin
      valid_q <= !take_i;
      failed_q <= failed_q || fails_i;
    end
    {arrives_q, line_q} <= {line_valid && line_ready_i, line_offset};
    if (line_valid && line_ready_i) requested_q[line_offset[7:6]] <= 1'b1;
    was_ready_q <= ready && !take_i;
    entries_q <= entries_q + index_t'(entry_valid);
    works_q <= works_q + index_t'(works_q != '1 && (!line_valid || line_ready_i));
    if (walked) walked_q <= 1'b1;
    if (!valid_q || rst) {entries_q, works_q, walked_q, requested_q} <= '0;
    if (rst) {arrives_q, was_ready_q} <= '0;
  end

  // ---- the next entry that the walk should return

  log_word_t word;
  logic sees_entry;

  assign word = word_of(entries_q);
  assign sees_entry = entries_q < count_q && 31'(age_q) >= word.version_delta;
  assign walks = valid_q && has_leaf_q && is_scan_q && !failed_q;

  always @(posedge clk_i) begin
    if (!rst) begin
      // As scan_grants does.
      TakesWhenReady : assume (!take_i || ready);

      EntryIsTheNext : assert (!entry_valid || (walks && sees_entry));
      EntryIsThatOfItsWord : assert (!entry_valid || (rank == word.order_hint
          && entry.back_pointer == number_t'(word.back_pointer)
          && entry.entry == 4 * offset_t'(word.entry_offset) && entry.repeats == word.repeats));
      AllWereReturned : assert (!ready || !walks || !sees_entry);
      WalksOnce : assert (!walked || (valid_q && !walked_q));
      ReadyIfValid : assert (!ready || valid_q);
      ReadyStays : assert (!was_ready_q || ready);
      HeaderIsOfTheLeaf : assert (!ready || !has_leaf_q || failed_q
          || header == node_header_t'(content('0)));
      ReadsALeaf : assert (!line_valid || (valid_q && has_leaf_q));
      ReadsTheLog : assert (!line_valid || failed_q || line_offset == '0
          || (is_scan_q && count_q != '0 && line_offset == offset_t'(NodeBytes - LineBytes))
          || (is_scan_q && count_q == 4'd9 && line_offset == offset_t'(NodeBytes - 2 * LineBytes)));
      ReadsOnce : assert (!line_valid || !requested_q[line_offset[7:6]]);
      IsReady : assert (!valid_q || ready || count_q[3]
          || works_q < (has_leaf_q && is_scan_q && count_q != '0 ? 4'd10 : 4'd3));
    end
  end

endmodule

`default_nettype wire
