// The lines of the leaves of a range scan unit: leaf_fetcher reads them, leaf_windows stores and returns
// them. Lines of overflow values pass through.

`default_nettype none

`include "assertions.svh"

module slot_lines
  import layout_pkg::*;
  import accelerator_pkg::*;
  import scan_pkg::*;
#(
  parameter int unsigned Slots = 4,
  // size of the largest node
  parameter int unsigned NodeBytes = NodeBytesDefault,
  localparam int unsigned PlaceBits = Slots > 1 ? $clog2(Slots) : 1
) (
  input logic clk_i,
  input logic rst_i,

  // see leaf_fetcher, and stored_lines for the slots that may start or wait for that
  input logic begin_i,
  input logic [PlaceBits-1:0] begin_place_i,
  input logic start_valid_i,
  output logic start_ready_o,
  input logic [PlaceBits-1:0] start_place_i,
  input open_t start_i,
  output logic [Slots-1:0] may_start_o,
  input logic [Slots-1:0] waits_i,
  input logic fetch_i,
  input logic [PlaceBits-1:0] fetch_place_i,
  input fetch_t fetch_lines_i,

  // for each slot: see slot_reads
  input logic [Slots-1:0] fails_i,
  input logic [Slots-1:0] leaves_i,
  input logic [Slots-1:0] wake_i,
  input logic [Slots-1:0] wakes_i,
  output logic [Slots-1:0] woken_o,
  output logic [Slots-1:0] settled_o,
  output logic [Slots-1:0] failed_o,
  output logic [Slots-1:0] copied_o,

  // Of the request that has the grant: windows, and lines of an overflow value. After a read that failed,
  // lines are returned but undefined.
  input logic [PlaceBits-1:0] holder_i,
  input logic window_valid_i,
  output logic window_ready_o,
  input window_read_t window_i,
  output line_t window_o,
  input logic value_valid_i,
  output logic value_ready_o,
  input bus_address_t value_address_i,
  input line_count_t value_count_i,
  output logic value_line_valid_o,
  input logic value_line_ready_i,
  output line_t value_line_o,

  // see leaf_windows
  input logic [PlaceBits-1:0] next_i,
  input logic log_valid_i,
  output logic log_ready_o,
  input offset_t log_offset_i,
  input logic [1:0] line_valid_i,
  output logic [1:0] line_ready_o,
  input logic [1:0][PlaceBits-1:0] line_place_i,
  input line_count_t [1:0] line_number_i,
  output line_t line_o,

  // for each slot
  output logic [Slots-1:0] read_valid_o,
  input logic [Slots-1:0] read_ready_i,
  output line_read_t [Slots-1:0] read_o,
  input logic [Slots-1:0] beat_valid_i,
  output logic [Slots-1:0] beat_ready_o,
  input line_beat_t [Slots-1:0] beat_i
);

  logic [Slots-1:0] settled, flies;
  flight_t [Slots-1:0] oldest;
  logic stored, lacks_valid, value_ready, value_valid;
  logic [PlaceBits-1:0] stored_place, lacks_place;
  bus_address_t stored_address;
  fetch_t lacks;
  line_read_t read;

  // A line that a window lacks waits for the fetches of the opener.
  leaf_fetcher #(
    .Slots(Slots)
  ) u_fetcher (
    .clk_i,
    .rst_i,
    .begin_i, .begin_place_i,
    .start_valid_i, .start_ready_o,
    .start_place_i, .start_i,
    .fetch_i(fetch_i || lacks_valid),
    .fetch_place_i(fetch_i ? fetch_place_i : lacks_place),
    .fetch_lines_i(fetch_i ? fetch_lines_i : lacks),
    .value_valid_i(value_valid_i && !failed_o[holder_i]), .value_ready_o(value_ready),
    .value_place_i(holder_i),
    .value_address_i, .value_count_i,
    .stored_i(stored), .stored_place_i(stored_place), .stored_address_i(stored_address),
    .fails_i, .leaves_i,
    .wake_i, .wakes_i,
    .takes_i(beat_valid_i & beat_ready_o),
    .flies_o(flies), .oldest_o(oldest),
    .woken_o,
    .settled_o(settled),
    .failed_o, .copied_o,
    .read_valid_o, .read_ready_i,
    .read_o(read),
    .beat_i
  );

  for (genvar slot = 0; slot < Slots; slot++) begin : gen_slots
    assign read_o[slot] = read;
    assign settled_o[slot] = settled[slot] && !(lacks_valid && lacks_place == PlaceBits'(slot));
  end

  leaf_windows #(
    .Slots(Slots),
    .NodeBytes(NodeBytes)
  ) u_windows (
    .clk_i,
    .rst_i,
    .starts_i(start_valid_i && start_ready_o), .start_place_i,
    .may_start_o, .waits_i,
    .settled_i(settled_o), .failed_i(failed_o),
    .fetch_valid_o(lacks_valid), .fetch_ready_i(!fetch_i),
    .fetch_place_o(lacks_place), .fetch_o(lacks),
    .holder_i,
    .window_valid_i, .window_ready_o,
    .window_i, .window_o,
    .next_i,
    .log_valid_i, .log_ready_o,
    .log_offset_i,
    .line_valid_i, .line_ready_o,
    .line_place_i, .line_number_i,
    .line_o,
    .beat_valid_i(beat_valid_i & flies), .beat_ready_o,
    .flight_i(oldest), .beat_i,
    .stored_o(stored), .stored_place_o(stored_place), .stored_address_o(stored_address),
    .value_valid_o(value_valid), .value_ready_i(value_line_ready_i),
    .value_o(value_line_o)
  );

  assign value_ready_o = value_ready || failed_o[holder_i];
  assign value_line_valid_o = value_valid || failed_o[holder_i];

  `ASSERT(BeatsWereRequested, (beat_valid_i & ~flies) == '0)
  `COVER(OpenerBeforeAWindow, fetch_i && lacks_valid)

endmodule

`default_nettype wire
