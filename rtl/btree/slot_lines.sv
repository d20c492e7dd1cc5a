// The lines of the leaves of a range scan unit: leaf_fetcher reads them, leaf_windows stores and returns
// them.

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

  // windows of the request that has the grant
  input logic [PlaceBits-1:0] holder_i,
  input logic window_valid_i,
  output logic window_ready_o,
  input window_read_t window_i,
  output line_t window_o,

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

  // memory: the reads of the slots and their lines
  output logic read_valid_o,
  input logic read_ready_i,
  output place_read_t read_o,
  input logic memory_valid_i,
  input place_line_t memory_i
);

  logic [Slots-1:0] settled;
  logic lacks_valid;
  logic [PlaceBits-1:0] lacks_place;
  line_count_t memory_line;
  fetch_t lacks;

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
    .line_valid_i(memory_valid_i), .line_i(memory_i),
    .line_o(memory_line),
    .fails_i, .leaves_i,
    .wake_i, .wakes_i,
    .woken_o,
    .settled_o(settled),
    .failed_o, .copied_o,
    .read_valid_o, .read_ready_i,
    .read_o
  );

  for (genvar slot = 0; slot < Slots; slot++) begin : gen_slots
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
    .memory_valid_i, .memory_i,
    .memory_line_i(memory_line)
  );

  `COVER(OpenerBeforeAWindow, fetch_i && lacks_valid)

endmodule

`default_nettype wire
