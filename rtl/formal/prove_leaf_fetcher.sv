// Proves for two slots with arbitrary leaves, fetches and memory: the reads of a leaf are that of its first
// lines, and then those of the queued fetches, each within a page, in order and once, with a number that is
// free; after an error, or when the leaf was left, at most the read that was about to be offered. Each line
// has its number in the leaf. A slot is woken when an awaited read and all before it have ended, and settled
// when nothing of the leaf follows. A fetch is read in bounded time. Summaries of keys, which also wake, and
// failures of other parts are left out.

`default_nettype none

module prove_leaf_fetcher
  import accelerator_pkg::*;
  import search_pkg::*;
  import scan_pkg::*;
  import memory_pkg::PageLines;
(
  input logic clk_i,
  input logic start_valid_i,
  input logic start_place_i,
  input logic start_lid_i,
  input logic start_has_address_i,
  input logic fetch_i,
  input logic fetch_place_i,
  input logic fetch_second_i,
  input logic fetch_is_long_i,
  input logic fetch_wakes_i,
  input logic leaves_i,
  input logic wakes_i,
  input logic line_valid_i,
  input logic line_place_i,
  input logic line_number_i,
  input logic line_error_i,
  input logic read_ready_i
);

  // Fetches are of lines around the end of a page, which are counted from two lines before it on. A fetch is
  // of one line or two, of which one may be in the next page; columns are in that page.
  localparam int unsigned First = PageLines - 2;
  localparam int unsigned Delay = 8;

  typedef logic [2:0] place_t;

  // A fetch: the lines that are left, and whether some were read.
  typedef struct packed {
    logic wakes;
    logic columns;
    place_t begins;
    place_t next;
    place_t limit;
  } wanted_t;

  logic rst, start_ready, read_valid, starts, reads, at;
  place_t fetch_first, fetch_limit;
  logic [1:0] leaves, wakes_now;
  logic [1:0] woken, settled, failed;
  line_count_t line_number;
  open_t start;
  fetch_t fetch;
  place_line_t line;
  // The other fields are constant here.
  // verilator lint_off UNUSEDSIGNAL
  place_read_t read;
  // verilator lint_on UNUSEDSIGNAL

  neighbours #(.Count(1)) u_starts (
    .clk_i, .rst_o(rst), .in_valid_i(start_valid_i), .in_ready_i(start_ready)
  );

  leaf_fetcher #(
    .Slots(2)
  ) u_fetcher (
    .clk_i,
    .rst_i(rst),
    .begin_i(1'b0), .begin_place_i(1'b0),
    .start_valid_i, .start_ready_o(start_ready), .start_place_i, .start_i(start),
    .fetch_i, .fetch_place_i, .fetch_lines_i(fetch),
    .line_valid_i, .line_i(line), .line_o(line_number),
    .fails_i('0), .leaves_i(leaves), .wake_i('0), .wakes_i(wakes_now),
    .woken_o(woken), .settled_o(settled), .failed_o(failed), .copied_o(),
    .read_valid_o(read_valid), .read_ready_i, .read_o(read)
  );

  // ---- for each slot: its leaf, and its fetches, the first one in front

  // The leaf was entered and not left; its first read, and whether that has not been accepted; a read failed.
  logic [1:0] open_q, begins_q, lid_q, has_address_q, failed_q;
  logic [1:0][1:0] queued_q;
  wanted_t [1:0][1:0] wanted_q;
  // The fetch that was first when the leaf was left, or failed, and may be about to be offered.
  logic [1:0] has_late_q;
  wanted_t [1:0] late_q;
  // Reads in flight: the next line, the lines that are left, and whether the slot awaits it; the number of
  // the last read.
  logic [1:0][1:0] flies_q, awaited_q;
  line_count_t [1:0][1:0] line_q;
  logic [1:0][1:0][1:0] left_q;
  logic [1:0] last_q;
  // Awaited reads that were accepted, and not answered by wakes_i; with those that are queued.
  logic [1:0][1:0] accepted_q, await_q;
  // Cycles in which nothing held up the first fetch of a slot, or the end of its work.
  logic [1:0][3:0] delayed_q;
  logic [1:0] was_settled_q;

  // Each has fields that are not used.
  // verilator lint_off UNUSEDSIGNAL
  wanted_t head, late;
  // verilator lint_on UNUSEDSIGNAL
  logic is_late, takes, ends_fetch, wakes, errs;
  logic [1:0] count, late_count, may_read;

  // Returns the lines of a read: those before the end of the page.
  function automatic logic [1:0] lines_of(place_t next, place_t limit);
    return 2'(next < 3'd2 && limit > 3'd2 ? 3'd2 - next : limit - next);
  endfunction

  always_comb begin
    start = '0;
    {start.lid, start.address} = {lid_t'(start_lid_i), start_has_address_i ? bus_address_t'(64) : '0};
    fetch = '{wakes: fetch_wakes_i, columns: fetch_second_i, default: '0};
    fetch.first = line_count_t'(First) + line_count_t'(fetch_first);
    fetch.limit = line_count_t'(First) + line_count_t'(fetch_limit);
    line = '0;
    {line.place, line.number, line.error} = {port_place_t'(line_place_i), line_number_i, line_error_i};
    line.last = line_error_i || left_q[line_place_i][line_number_i] == 2'd1;
  end

  assign fetch_first = fetch_second_i ? 3'd2 : 3'd1;
  assign fetch_limit = fetch_first + (fetch_is_long_i ? 3'd2 : 3'd1);
  // The slots are alike: one is left and woken, and the reads of the other one may fail.
  assign {leaves, wakes_now} = {1'b0, leaves_i, 1'b0, wakes_i};
  assign starts = start_valid_i && start_ready;
  assign reads = read_valid && read_ready_i;
  assign at = read.place[0];
  assign {head, late, is_late} = {wanted_q[at][0], late_q[at], has_late_q[at]};
  assign count = lines_of(head.next, head.limit);
  // The fetch may begin once more.
  assign late_count = read.first == line_count_t'(First) + line_count_t'(late.next)
      ? lines_of(late.next, late.limit) : lines_of(late.begins, late.limit);
  assign takes = reads && !begins_q[at] && !is_late;
  assign ends_fetch = takes && head.next + 3'(count) == head.limit;
  assign wakes = begins_q[at] || (ends_fetch && head.wakes);
  assign errs = line_valid_i && line_error_i;

  for (genvar slot = 0; slot < 2; slot++) begin : gen_slots
    logic is_start, is_read, is_line, queues, drops, pops;
    logic [1:0] popped;

    assign is_start = starts && start_place_i == slot;
    assign is_read = reads && at == slot;
    assign is_line = line_valid_i && line_place_i == slot;
    assign queues = fetch_i && fetch_place_i == slot && !failed_q[slot];
    assign drops = leaves[slot] || (errs && is_line);
    assign pops = is_read && ends_fetch;
    assign popped = queued_q[slot] - 2'(pops);

    always_ff @(posedge clk_i) begin
      if (pops) wanted_q[slot][0] <= wanted_q[slot][1];
      else if (is_read && takes) wanted_q[slot][0].next <= head.next + 3'(count);
      if (queues) wanted_q[slot][popped[0]] <= '{
        wakes: fetch_wakes_i, columns: fetch_second_i,
        begins: fetch_first, next: fetch_first, limit: fetch_limit
      };
      if (drops) late_q[slot] <= wanted_q[slot][0];
      if (is_line) begin
        line_q[slot][line_number_i] <= line_q[slot][line_number_i] + 1'b1;
        left_q[slot][line_number_i] <= left_q[slot][line_number_i] - 1'b1;
        if (line.last) flies_q[slot][line_number_i] <= 1'b0;
      end
      if (is_read) begin
        {flies_q[slot][read.number], last_q[slot], begins_q[slot]} <= {1'b1, read.number, 1'b0};
        {line_q[slot][read.number], left_q[slot][read.number]} <= {read.first, read.count[1:0]};
        awaited_q[slot][read.number] <= wakes;
      end
      queued_q[slot] <= drops ? '0 : popped + 2'(queues);
      has_late_q[slot] <= !is_read && !settled[slot] && (has_late_q[slot] || (drops && queued_q[slot] != '0));
      accepted_q[slot] <= accepted_q[slot] + 2'(is_read && wakes) - 2'(wakes_now[slot]);
      await_q[slot] <= await_q[slot] + 2'(queues && fetch_wakes_i) - 2'(wakes_now[slot]);
      if (leaves[slot]) open_q[slot] <= 1'b0;
      if (errs && is_line) failed_q[slot] <= 1'b1;
      if (is_start) begin
        {open_q[slot], begins_q[slot], failed_q[slot], accepted_q[slot], await_q[slot]} <= {3'b110, 4'd1};
        {lid_q[slot], has_address_q[slot]} <= {start_lid_i, start_has_address_i};
      end
      if (!may_read[slot] || (reads && at == slot)) delayed_q[slot] <= '0;
      else delayed_q[slot] <= delayed_q[slot] + 4'(!start_valid_i && (!read_valid || read_ready_i));
      was_settled_q[slot] <= settled[slot] && !is_start && !queues;
      if (rst) begin
        {open_q[slot], begins_q[slot], failed_q[slot], flies_q[slot], queued_q[slot]} <= '0;
        {has_late_q[slot], accepted_q[slot], await_q[slot], delayed_q[slot], was_settled_q[slot]} <= '0;
      end
    end

    // A fetch can be read, or nothing is left.
    assign may_read[slot] = queued_q[slot] != '0 ? !flies_q[slot][!last_q[slot]]
        : flies_q[slot] == '0 && !settled[slot];

    // Awaited reads that have ended, like those before them.
    logic [1:0] due;
    always_comb begin
      due = accepted_q[slot];
      if (flies_q[slot][!last_q[slot]])
        due -= 2'(awaited_q[slot][0]) + 2'(awaited_q[slot][1]);
      else if (flies_q[slot][last_q[slot]]) due -= 2'(awaited_q[slot][last_q[slot]]);
    end

    always @(posedge clk_i) begin
      if (!rst) begin
        // As the parts that open leaves do, and the grant.
        LeavesOpenLeaves : assume (!leaves[slot] || open_q[slot]);
        LeavesAwaitNothing : assume (!leaves[slot] || failed_q[slot] || await_q[slot] == '0);
        WakesIfWoken : assume (!wakes_now[slot] || (woken[slot] && open_q[slot] && !failed_q[slot]));

        FailsWithALine : assert (failed[slot] == failed_q[slot]);
        SettledIsIdle : assert (!settled[slot]
            || (queued_q[slot] == '0 && flies_q[slot] == '0 && !begins_q[slot]));
        SettledIsFinal : assert (!was_settled_q[slot] || !read_valid || at != slot);
        IsWokenInOrder : assert (!open_q[slot] || failed_q[slot] || woken[slot] == (due != '0));
        ReadsInTime : assert (delayed_q[slot] < 4'(Delay));
      end
    end
  end

  // A read that waits, and the start that waits.
  logic waits_q, start_waits_q, start_place_q;
  place_read_t read_q;

  always_ff @(posedge clk_i) begin
    {waits_q, start_waits_q} <= rst ? '0 : {read_valid && !read_ready_i, start_valid_i && !start_ready};
    {read_q, start_place_q} <= {read, start_place_i};
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      // As the parts that open leaves do: a leaf begins when nothing of the one before is left.
      StartStays : assume (!start_waits_q || start_place_i == start_place_q);
      StartsWhenSettled : assume (!start_valid_i || (settled[start_place_i] && !leaves[start_place_i]));
      FetchesOfOpenLeaves : assume (!fetch_i || (open_q[fetch_place_i] && !leaves[fetch_place_i]
          && !(start_valid_i && start_place_i == fetch_place_i)));
      QueueHasRoom : assume (!fetch_i || queued_q[fetch_place_i] < 2'd2);
      FewAreAwaited : assume (!fetch_i || !fetch_wakes_i || await_q[fetch_place_i] < 2'd2);
      // As memory does.
      SlotWithErrors : assume (!line_error_i || line_place_i);
      LineIsOfARead : assume (!line_valid_i || flies_q[line_place_i][line_number_i]);

      ReadIsWanted : assert (!read_valid || begins_q[at] || is_late || queued_q[at] != '0);
      FirstReadIsThatOfTheLeaf : assert (!read_valid || !begins_q[at] || (!read.follows && read.columns
          && read.by_lid == !has_address_q[at] && read.lid == lid_t'(lid_q[at])
          && (read.by_lid || read.address == bus_address_t'(64))
          && read.first == '0 && read.count == line_count_t'(HeadsLine)));
      ReadIsThatOfTheFetch : assert (!read_valid || begins_q[at] || is_late || (read.follows && !read.by_lid
          && read.first == line_count_t'(First) + line_count_t'(head.next)
          && read.count == line_count_t'(count) && read.columns == head.columns));
      LateReadIsThatOfItsFetch : assert (!read_valid || begins_q[at] || !is_late || (read.follows
          && (read.first == line_count_t'(First) + line_count_t'(late.next)
          || read.first == line_count_t'(First) + line_count_t'(late.begins))
          && read.count == line_count_t'(late_count) && read.columns == late.columns));
      NumberIsFree : assert (!read_valid || !flies_q[at][read.number]);
      ReadStays : assert (!waits_q || (read_valid && read == read_q));
      LineHasItsNumber : assert (!line_valid_i || line_number == line_q[line_place_i][line_number_i]);
    end
  end

endmodule

`default_nettype wire
