// Proves for the reads of a slot, with a queue of three fetches and arbitrary leaves, fetches, lines and
// failures: the queue returns each fetch once and in order, a fetch of two pages twice, unless an error or
// the end of the leaf dropped it; a read waits only for the one before the last; each line has its number in
// the leaf; the slot wakes as often as it has awaited reads that ended with all reads before them, and does
// not settle before the last line has arrived; failures and copied headers are those of the leaf.

`default_nettype none

module prove_slot_reads
  import accelerator_pkg::*;
  import scan_pkg::*;
(
  input logic clk_i,
  // a request begins; the reads of a leaf begin; it fails; it is left
  input logic begin_i,
  input logic starts_i,
  input logic fails_i,
  input logic leaves_i,
  // a fetch is queued; the fetcher chooses the slot; memory accepts a read
  input logic push_i,
  input logic push_wakes_i,
  input logic push_is_long_i,
  input logic [1:0] push_line_i,
  input logic pick_i,
  input logic accept_i,
  input logic line_i,
  input logic line_number_i,
  input logic line_last_i,
  input logic line_error_i,
  input logic line_copied_i,
  // the slot wakes without a read; a step begins
  input logic wake_i,
  input logic wakes_i
);

  // A fetch, numbered by its place in the order of all. is_long: of lines in two pages.
  typedef struct packed {
    logic [2:0] number;
    logic wakes;
    logic is_long;
    logic [1:0] line;
  } fetched_t;

  // A read that has not ended, or one that has ended before an earlier one; its next line.
  typedef struct packed {
    logic valid;
    logic ended;
    logic number;
    logic wakes;
    line_count_t line;
  } read_t;

  typedef enum logic [1:0] {
    Choose,
    Load,
    Offer
  } state_e;

  logic rst, fetches, is_half, number, woken, settled, failed, copied;
  logic [1:0] first, last;
  line_count_t line;

  // The fetcher, and the memory of its queue.
  state_e state_q;
  fetched_t [3:0] memory_q;
  fetched_t fetch_q;
  flight_t flight_q;
  logic halves, reads;

  // The first fetch in the queue, and the one after the last; the first page of the first one was read. The
  // queue was dropped in the cycle before.
  logic [2:0] head_q, tail_q, pushed_tail;
  logic half_q, drops, dropped_q;
  // Reads in the order in which they began. A line is of the older one; the awaited reads that end with all
  // reads before them.
  read_t older_q, newer_q;
  logic is_older, ends, errs;
  logic [1:0] awaited;
  // The slot has a leaf, or has had one; a read of it has failed; how often it is woken, and will be.
  logic has_leaf_q, had_leaf_q, failed_q;
  logic [1:0] awaits_q, woken_q;
  // headers of the leaf that have arrived, and whether the first one was a copy
  logic [1:0] headers_q;
  logic copied_q;

  neighbours u_neighbours (.clk_i, .rst_o(rst), .in_valid_i(1'b0), .in_ready_i(1'b0));

  slot_reads #(
    .Fetches(4)
  ) u_slot_reads (
    .clk_i,
    .rst_i(rst),
    .begin_i, .starts_i, .fails_i, .leaves_i,
    .push_i, .pop_i(state_q == Load), .halves_i(halves),
    .first_o(first), .end_o(last), .fetches_o(fetches), .is_half_o(is_half),
    .read_i(reads), .flight_i(flight_q), .number_o(number),
    .line_i, .line_number_i, .line_last_i, .line_error_i, .line_copied_i, .line_o(line),
    .wake_i, .wakes_i, .woken_o(woken), .settled_o(settled), .failed_o(failed), .copied_o(copied)
  );

  // ---- the fetcher

  assign halves = fetch_q.is_long && !is_half;
  assign reads = state_q == Offer && accept_i;

  always_ff @(posedge clk_i) begin
    if (push_i)
      memory_q[last] <= '{number: tail_q, wakes: push_wakes_i, is_long: push_is_long_i, line: push_line_i};
    unique case (state_q)
      Choose: begin
        fetch_q <= memory_q[first];
        flight_q <= '{wakes: 1'b1, line: '0};
        if (starts_i) state_q <= Offer;
        else if (pick_i && fetches) state_q <= Load;
      end
      Load: begin
        flight_q.wakes <= fetch_q.wakes && !halves;
        flight_q.line <= line_count_t'({is_half, fetch_q.line});
        state_q <= Offer;
      end
      default: if (accept_i) state_q <= Choose;
    endcase
    if (rst) state_q <= Choose;
  end

  // ---- the queue

  assign ends = line_i && line_last_i;
  assign errs = line_i && line_error_i;
  assign drops = errs || leaves_i;
  assign pushed_tail = tail_q + 3'(push_i && !failed_q);

  always_ff @(posedge clk_i) begin
    tail_q <= pushed_tail;
    dropped_q <= drops;
    if (state_q == Load && !dropped_q) {head_q, half_q} <= {head_q + 3'(!halves), halves};
    if (drops) {head_q, half_q} <= {pushed_tail, 1'b0};
    if (rst) {head_q, tail_q, half_q, dropped_q} <= '0;
  end

  // ---- the reads

  assign is_older = older_q.valid && older_q.number == line_number_i;
  assign awaited = ends && is_older ? 2'(older_q.wakes) + 2'(newer_q.ended && newer_q.wakes) : '0;

  always_ff @(posedge clk_i) begin
    if (line_i && is_older) older_q.line <= older_q.line + 1'b1;
    if (line_i && !is_older) {newer_q.ended, newer_q.line} <= {ends, newer_q.line + 1'b1};
    if (ends && is_older) begin
      older_q <= newer_q.ended ? '0 : newer_q;
      newer_q <= '0;
    end
    if (reads) begin
      if (older_q.valid && !(ends && is_older))
        newer_q <= '{valid: 1'b1, ended: 1'b0, number: number, wakes: flight_q.wakes, line: flight_q.line};
      else
        older_q <= '{valid: 1'b1, ended: 1'b0, number: number, wakes: flight_q.wakes, line: flight_q.line};
    end
    if (rst) {older_q, newer_q} <= '0;
  end

  // ---- the leaf

  always_ff @(posedge clk_i) begin
    if (errs || fails_i) failed_q <= 1'b1;
    if (begin_i || starts_i) failed_q <= 1'b0;
    if (leaves_i) has_leaf_q <= 1'b0;
    awaits_q <= awaits_q + 2'(push_i && push_wakes_i && !failed_q) + 2'(wake_i) - 2'(wakes_i);
    woken_q <= woken_q + (failed_q || errs ? '0 : awaited) + 2'(wake_i) - 2'(wakes_i);
    if (line_i && line == '0) begin
      if (headers_q == '0) copied_q <= line_copied_i;
      if (headers_q != '1) headers_q <= headers_q + 1'b1;
    end
    // The header is awaited.
    if (starts_i) {has_leaf_q, had_leaf_q, awaits_q, woken_q, headers_q} <= {2'b11, 2'd1, 2'd0, 2'd0};
    if (rst) {has_leaf_q, had_leaf_q, failed_q, awaits_q, woken_q, headers_q} <= '0;
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      // As the starter of leaves does, and the states of slots.
      StartsSettled : assume (!starts_i || (settled && state_q == Choose));
      StartsAlone : assume (!starts_i || !(begin_i || fails_i || leaves_i || push_i || wake_i || wakes_i));
      BeginsWithoutALeaf : assume (!begin_i || !has_leaf_q);
      LeafFails : assume (!fails_i || has_leaf_q);
      // As the opener does: it has few fetches, and awaits two reads at the most.
      FetchesAreOfALeaf : assume (!push_i || had_leaf_q);
      FetchesHaveRoom : assume (!push_i || tail_q - head_q < 3'd3);
      AwaitsTwo : assume (!(push_i && push_wakes_i) || (has_leaf_q && awaits_q < 2'd2));
      WakesTwice : assume (!wake_i || (has_leaf_q && awaits_q + 2'(push_i && push_wakes_i) < 2'd2));
      BeginsIfWoken : assume (!wakes_i || (has_leaf_q && woken));
      // As the port of places does.
      LineIsOfARead : assume (!line_i || is_older
          || (newer_q.valid && !newer_q.ended && newer_q.number == line_number_i));
      ErrorIsLast : assume (!errs || ends);

      FetchesInOrder : assert (state_q != Load || dropped_q || fetch_q.number == head_q);
      HalfIsOfTheFirst : assert (state_q != Load || is_half == half_q);
      WaitsForTheOlder : assert (fetches == (head_q != tail_q && !newer_q.valid));
      NumbersDiffer : assert (!reads || !older_q.valid || (!newer_q.valid && older_q.number != number));
      LineHasItsNumber : assert (!line_i || line == (is_older ? older_q.line : newer_q.line));
      WokenByAllReads : assert (!has_leaf_q || failed_q || woken == (woken_q != '0));
      SettlesWithTheLastLine : assert (settled == (head_q == tail_q && !older_q.valid));
      FailsWithTheLeaf : assert (failed == failed_q);
      CopyIsTheFirstHeader : assert (headers_q == '0 || copied == (headers_q == 2'd1 && copied_q));
    end
  end

endmodule

`default_nettype wire
