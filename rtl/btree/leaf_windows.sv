// Reads the leaves of a range scan unit: windows of the leaf that has the grant, whole lines of the log
// that is next, and whole lines for the parts that open leaves, which are stored for certain. Missing lines
// of windows and of the log are fetched. Windows go before lines of the log, and these before the others.

`default_nettype none

`include "assertions.svh"

module leaf_windows
  import layout_pkg::*;
  import accelerator_pkg::*;
  import scan_pkg::*;
#(
  parameter int unsigned Slots = 4,
  // size of the largest node
  parameter int unsigned NodeBytes = NodeBytesDefault,
  localparam int unsigned PlaceBits = Slots > 1 ? $clog2(Slots) : 1,
  localparam int unsigned LineIndexWidth = $clog2(NodeBytes / LineBytes)
) (
  input logic clk_i,
  input logic rst_i,

  // see stored_lines
  input logic starts_i,
  input logic [PlaceBits-1:0] start_place_i,
  output logic [Slots-1:0] may_start_o,
  input logic [Slots-1:0] waits_i,

  // see leaf_fetcher
  input logic [Slots-1:0] settled_i,
  input logic [Slots-1:0] failed_i,
  output logic fetch_valid_o,
  input logic fetch_ready_i,
  output logic [PlaceBits-1:0] fetch_place_o,
  output fetch_t fetch_o,

  // A window, two cycles after its request was accepted. A request is accepted one cycle after it was offered
  // at the earliest, and is the one that was offered in the cycle before. After a read that failed it is
  // accepted but undefined, so that no unit waits forever.
  input logic [PlaceBits-1:0] holder_i,
  input logic window_valid_i,
  output logic window_ready_o,
  input window_read_t window_i,
  output line_t window_o,

  // A line of the log, one cycle after its request was accepted; as for windows.
  input logic [PlaceBits-1:0] next_i,
  input logic log_valid_i,
  output logic log_ready_o,
  input offset_t log_offset_i,

  // for the parts that open leaves: a line, one cycle after its request was accepted
  input logic [1:0] line_valid_i,
  output logic [1:0] line_ready_o,
  input logic [1:0][PlaceBits-1:0] line_place_i,
  input line_count_t [1:0] line_number_i,
  output line_t line_o,

  // see leaf_lines
  input logic memory_valid_i,
  input place_line_t memory_i,
  input line_count_t memory_line_i
);

  localparam int unsigned LinesAhead = 4;

  typedef logic [PlaceBits-1:0] place_t;

  // ---- the window or line of the log that was offered in the cycle before. If a line is not there, the next
  // cycle is for other reads.

  logic asks_q, looks_q, has_first, has_second, is_there, failed, is_free, lacks, part, stored;
  window_read_t requested, requested_q;
  place_t requested_place, requested_place_q, read_place, stored_place;
  offset_t read_offset;
  logic [LineIndexWidth-1:0] stored_line;

  assign requested = window_valid_i ? window_i : line_window(log_offset_i);
  assign requested_place = window_valid_i ? holder_i : next_i;

  always_ff @(posedge clk_i) begin
    if (rst_i) {asks_q, looks_q} <= '0;
    else begin
      asks_q <= window_valid_i && !window_ready_o && !lacks;
      looks_q <= log_valid_i && !log_ready_o && !window_valid_i && !lacks;
    end
    {requested_q, requested_place_q} <= {requested, requested_place};
  end

  stored_lines #(
    .Slots(Slots),
    .NodeBytes(NodeBytes)
  ) u_stored (
    .clk_i,
    .rst_i,
    .starts_i, .start_place_i,
    .may_start_o, .waits_i,
    .store_i(stored), .store_place_i(stored_place),
    .store_line_i(stored_line),
    .check_place_i(requested_place),
    .check_line_i(requested.offset[LineIndexBits+:LineIndexWidth]),
    .has_first_o(has_first),
    .has_second_o(has_second)
  );

  assign failed = failed_i[requested_place_q];
  assign is_there = failed ||
      ((has_first || !requested_q.needs_first) && (has_second || !requested_q.needs_second));
  assign window_ready_o = asks_q && is_there;
  assign log_ready_o = looks_q && is_there;

  // ---- reads

  // A line that is not there is read in vain.
  assign is_free = !asks_q && !looks_q;
  assign line_ready_o = {is_free && !line_valid_i[0], is_free};

  always_comb begin
    part = 1'b0;
    {read_place, read_offset} = {requested_place_q, requested_q.offset};
    if (is_free) begin
      part = !line_valid_i[0];
      {read_place, read_offset} = {line_place_i[part], offset_t'({line_number_i[part], LineIndexBits'(0)})};
    end
  end

  leaf_lines #(
    .Slots(Slots),
    .NodeBytes(NodeBytes)
  ) u_lines (
    .clk_i,
    .rst_i,
    .line_valid_i(memory_valid_i), .line_i(memory_i), .line_number_i(memory_line_i),
    .stored_o(stored), .stored_place_o(stored_place),
    .stored_line_o(stored_line),
    .window_i(window_ready_o),
    .read_place_i(read_place),
    .read_offset_i(read_offset),
    .window_o,
    .line_o
  );

  // ---- missing lines are fetched if nothing of the leaf is in flight

  logic fetches_q, lacks_before_q, is_missing, skips_first_q;
  // the lines of the request
  line_count_t first_q, last_q;
  place_t fetch_place_q;

  assign lacks = (asks_q || looks_q) && !is_there;
  assign is_missing = lacks && !requested_q.ahead && settled_i[requested_place_q] && !fetches_q;

  // The last line of a read is stored after the read has settled, but before the next look.
  always_ff @(posedge clk_i) begin
    if (rst_i) {lacks_before_q, fetches_q} <= '0;
    else begin
      if (!is_free) lacks_before_q <= is_missing;
      fetches_q <= (is_missing && lacks_before_q) || (fetches_q && !fetch_ready_i);
    end
    if (!fetches_q) begin
      fetch_place_q <= requested_place_q;
      first_q <= line_count_t'(requested_q.offset >> LineIndexBits);
      last_q <= line_count_t'((requested_q.limit - 1'b1) >> LineIndexBits);
      skips_first_q <= has_first || !requested_q.needs_first;
    end
  end

  assign fetch_valid_o = fetches_q;
  assign fetch_place_o = fetch_place_q;

  always_comb begin
    fetch_o = '0;
    fetch_o.first = first_q + line_count_t'(skips_first_q);
    fetch_o.limit = last_q - fetch_o.first < line_count_t'(LinesAhead) ? last_q + 1'b1
        : fetch_o.first + line_count_t'(LinesAhead);
  end

  `ASSERT(OneReads, !(asks_q && looks_q))
  `ASSERT(WindowsFit, !window_valid_i || failed_i[holder_i] || 32'(window_i.offset) < NodeBytes)
  `ASSERT_OFFER_STAYS(FetchStays, fetch_valid_o, fetch_ready_i, {fetch_place_o, fetch_o})
  `COVER(LogWaitsForAWindow, log_valid_i && window_valid_i)
  `COVER(LineWaitsForAWindow, line_valid_i != '0 && asks_q)
  `COVER(WindowLacksALine, fetches_q && asks_q)

endmodule

`default_nettype wire
