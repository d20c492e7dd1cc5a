// Proves for two slots with arbitrary requests, whose leaves have logs of at most one entry: requests get the
// grant one at a time, once each and in the order in which they were accepted, with their own request, leaf,
// header and failures; the entry of a scan is sorted before its grant if the request sees it; the next
// request is ready after some cycles in which it awaits no line; a grant ends for the slot that has it. The
// order in which slots that ask are accepted is left out, since the arbiter has its own proof.

`default_nettype none

module prove_scan_grants
  import layout_pkg::*;
  import accelerator_pkg::*;
  import search_pkg::*;
  import scan_pkg::*;
(
  input logic clk_i,
  // for each slot: it begins to ask for the grant; a read of its leaf fails
  input logic [1:0] asks_i,
  input logic [1:0] fails_i,
  // the request of a slot that begins to ask
  input logic [6:0] leaf_i,
  // another leaf, in lines that are undefined
  input logic [6:0] other_i,
  input logic line_ready_i,
  input logic grant_ends_i,
  input logic grant_continues_i
);

  localparam int unsigned Slots = 2;
  localparam int unsigned NodeBytes = 1024;
  typedef logic place_t;

  // The request of a slot, and the log of its leaf. sees_entry: the version of the entry is not newer.
  typedef struct packed {
    logic number;
    logic is_scan;
    logic is_first;
    logic none;
    logic descent_failed;
    logic has_entry;
    logic sees_entry;
  } request_t;

  logic rst, read, walked, line_valid, entry_valid, take, granted, left_continues;
  logic [Slots-1:0] grant_ready, is_next, has_grant, left, none, descent_failed;
  place_t read_place, next, holder;
  offset_t line_offset;
  line_t line;
  // The other fields are not examined.
  // verilator lint_off UNUSEDSIGNAL
  sorted_entry_t entry;
  open_leaf_t leaf;
  // verilator lint_on UNUSEDSIGNAL
  slot_request_t slot_request;
  opened_t opened;

  // For each slot: it asks; it was accepted, and its grant has not ended; its request, and its reads failed,
  // now, and in the two cycles before.
  logic [Slots-1:0] waits_q, inside_q, failed_q, failed_before_q, failed_long_q;
  request_t [Slots-1:0] request_q;
  // The slots that were accepted and had no grant, in their order, and the one that has it.
  place_t [1:0] queue_q;
  logic [1:0] queued_q;
  logic granted_q;
  place_t holder_q;
  // The request that was read; the line that was offered and not accepted, if one was; the line that arrives.
  place_t read_q, line_place_q;
  offset_t line_offset_q;
  logic offered_q, arrives_q;
  line_t line_q;
  // the entries of the next request
  logic [1:0] entries_q;
  // Cycles in which the next request awaited no line.
  logic [3:0] prepares_q;
  // a grant has ended
  logic [Slots-1:0] left_q;
  logic continues_q;

  // Returns the line at an offset of the leaf of a request: its header, or its only log word.
  // verilator lint_off UNUSEDSIGNAL
  function automatic line_t content(request_t request, offset_t offset);
  // verilator lint_on UNUSEDSIGNAL
    node_header_t header = '0;
    log_word_t word = '0;
    header.right = 64'(request.number);
    header.lock_and_size[LockAndSizeLogCountShift] = request.has_entry;
    word.back_pointer = 12'(request.number);
    word.version_delta = 31'(!request.sees_entry);
    return offset == '0 ? line_t'(header) : {word, 448'd0};
  endfunction

  neighbours #(.Count(Slots)) u_slots (
    .clk_i, .rst_o(rst), .in_valid_i(waits_q), .in_ready_i(grant_ready)
  );

  always_comb begin
    for (int unsigned slot = 0; slot < Slots; slot++)
      {none[slot], descent_failed[slot]} = {request_q[slot].none, request_q[slot].descent_failed};
    slot_request = '0;
    slot_request.request.slot = slot_t'(request_q[read_q].number);
    slot_request.request.is_scan = request_q[read_q].is_scan;
    slot_request.is_first = request_q[read_q].is_first;
    opened = '0;
    opened.fingerprint = 8'(request_q[read_q].number);
    line = arrives_q ? line_q : content(other_i, '0);
  end

  scan_grants #(
    .Slots(Slots)
  ) u_scan_grants (
    .clk_i,
    .rst_i(rst),
    .geometry_i('{node_bytes: offset_t'(NodeBytes)}),
    .grant_valid_i(waits_q), .grant_ready_o(grant_ready),
    .none_i(none), .descent_failed_i(descent_failed), .failed_i(failed_q),
    .read_o(read), .read_place_o(read_place),
    .request_i(slot_request), .opened_i(opened),
    .is_next_o(is_next), .next_o(next), .walked_o(walked),
    .line_valid_o(line_valid), .line_ready_i, .line_offset_o(line_offset), .line_i(line),
    .entry_valid_o(entry_valid), .entry_o(entry), .rank_o(), .take_o(take),
    .granted_o(granted), .has_grant_o(has_grant), .holder_o(holder), .leaf_o(leaf),
    .grant_ends_i, .grant_continues_i, .left_o(left), .left_continues_o(left_continues)
  );

  // ---- the slots

  logic accepts, ends, line_accepted;
  place_t accepted;
  logic [Slots-1:0] accepted_slots;

  assign accepted_slots = waits_q & grant_ready;
  assign accepts = accepted_slots != '0;
  assign accepted = accepted_slots[1];
  assign ends = grant_ends_i && granted;
  assign line_accepted = line_valid && line_ready_i;

  always_ff @(posedge clk_i) begin
    for (int unsigned slot = 0; slot < Slots; slot++) begin
      if (waits_q[slot] || inside_q[slot]) begin
        failed_q[slot] <= failed_q[slot] || fails_i[slot];
        if (grant_ready[slot] && waits_q[slot]) {waits_q[slot], inside_q[slot]} <= 2'b01;
        if (left[slot]) inside_q[slot] <= 1'b0;
      end else begin
        {waits_q[slot], failed_q[slot], request_q[slot]} <= {asks_i[slot], fails_i[slot], leaf_i};
      end
    end
    {failed_before_q, failed_long_q} <= {failed_q, failed_before_q};
    if (rst) {waits_q, inside_q} <= '0;
  end

  always_ff @(posedge clk_i) begin
    queued_q <= queued_q + 2'(accepts) - 2'(take);
    if (take) queue_q[0] <= queue_q[1];
    if (accepts) queue_q[1'(queued_q - 2'(take))] <= accepted;
    if (take) {granted_q, holder_q} <= {1'b1, queue_q[0]};
    if (ends) granted_q <= 1'b0;
    {left_q, continues_q} <= {(Slots'(1) << holder_q) & {Slots{ends}}, grant_continues_i};
    if (rst) {queued_q, granted_q, left_q} <= '0;
  end

  // ---- the memories of requests and lines

  always_ff @(posedge clk_i) begin
    if (read) read_q <= read_place;
    offered_q <= line_valid && !line_ready_i && !rst;
    {line_place_q, line_offset_q} <= {next, line_offset};
    arrives_q <= line_accepted;
    // After a read that failed, lines are undefined.
    line_q <= content(failed_q[next] ? other_i : request_q[next], line_offset);
  end

  always_ff @(posedge clk_i) begin
    entries_q <= rst || take ? '0 : entries_q + 2'(entry_valid);
    if (rst || take || queued_q == '0) prepares_q <= '0;
    else if (prepares_q != '1) prepares_q <= prepares_q + 4'(!line_valid || line_ready_i);
  end

  // ---- the request that is next, and the one with the grant

  // verilator lint_off UNUSEDSIGNAL
  request_t next_request, holder_request;
  // verilator lint_on UNUSEDSIGNAL
  logic has_leaf, is_sorted;

  assign next_request = request_q[queue_q[0]];
  assign holder_request = request_q[holder_q];
  assign has_leaf = !(next_request.none || next_request.descent_failed);
  assign is_sorted = has_leaf && next_request.is_scan && next_request.has_entry && next_request.sees_entry;

  always @(posedge clk_i) begin
    if (!rst) begin
      // As scan_control does.
      OnlyGrantsEnd : assume (!grant_ends_i || granted);

      AcceptsOne : assert ($onehot0(accepted_slots) && queued_q + 2'(accepts) - 2'(take) <= 2'd2);
      NextIsTheFirst : assert (is_next == '0
          || (queued_q != '0 && is_next == Slots'(1) << queue_q[0] && next == queue_q[0]));
      WorksForTheNext : assert (is_next != '0 || !(line_valid || entry_valid || walked || take));
      LineStays : assert (!offered_q
          || (line_valid && next == line_place_q && line_offset == line_offset_q));
      LinesOfALeaf : assert (!line_valid || has_leaf);
      EntryIsOfTheNext : assert (!entry_valid || (entry.back_pointer == number_t'(next_request.number)
          && next_request.is_scan && next_request.has_entry && next_request.sees_entry));
      // The leaf has a later failure only after the grant has begun.
      EntryIsSorted : assert (!take || failed_before_q[queue_q[0]] || entries_q == 2'(is_sorted));
      GrantsOne : assert (!take || !granted);
      EntriesPrecedeTheGrant : assert (!take || !entry_valid);
      NextIsReady : assert (prepares_q < (next_request.is_scan ? 4'd11 : 4'd4) || granted || take);
      HolderHasTheGrant : assert (granted == granted_q
          && has_grant == (granted_q ? Slots'(1) << holder_q : '0));
      HolderIsANumber : assert (!granted_q || holder == holder_q);
      RequestIsOfTheHolder : assert (!granted_q || {leaf.request.slot, leaf.request.is_scan, leaf.is_first} ==
          {slot_t'(holder_request.number), holder_request.is_scan, holder_request.is_first});
      LeafIsOfTheHolder : assert (!granted_q || (leaf.fingerprint == 8'(holder_request.number)
          && leaf.none == holder_request.none && leaf.descent_failed == holder_request.descent_failed));
      HeaderIsOfTheHolder : assert (!granted_q || leaf.none || leaf.descent_failed || leaf.failed
          || leaf.header == node_header_t'(content(holder_request, '0)));
      FailureIsOfTheHolder : assert (!granted_q || !leaf.failed || failed_q[holder_q]);
      FailuresAreKnown : assert (!granted_q || leaf.failed || !failed_long_q[holder_q]);
      HolderLeaves : assert (left == left_q && (left == '0 || left_continues == continues_q));
    end
  end

endmodule

`default_nettype wire
