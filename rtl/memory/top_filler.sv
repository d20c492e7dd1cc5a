// Reads a whole node from host memory for its entry on chip, one burst after the other. Its bursts have a tag
// of their own. It begins when all hits have ended that were in flight when the entry was taken: they may
// read the former node of the entry.

`default_nettype none

`include "assertions.svh"

module top_filler
  import accelerator_pkg::*;
  import memory_pkg::*;
#(
  parameter int unsigned EntryBits = 4,
  parameter int unsigned IndexBits = 7,
  // bits of the number of hits that wait
  parameter int unsigned CountBits = 4,
  parameter int unsigned Streams = 2
) (
  input logic clk_i,
  input logic rst_i,

  // begins; allowed while ready_o is set
  input  logic                 start_i,
  output logic                 ready_o,
  input  logic [EntryBits-1:0] entry_i,
  // the first line of a node, and their number
  input  line_address_t        first_i,
  input  line_count_t          lines_i,

  // hits that wait; one of them leaves the queue; streams that read a hit, and that end it in this cycle
  input logic [CountBits-1:0] hits_i,
  input logic                 hit_leaves_i,
  input logic [Streams-1:0]   reads_i,
  input logic [Streams-1:0]   ends_i,

  output logic         burst_valid_o,
  input  logic         burst_ready_i,
  output bus_address_t burst_address_o,
  output burst_lines_t burst_lines_o,

  // lines of these bursts
  input logic        line_valid_i,
  input burst_line_t line_i,

  output logic                           write_o,
  output logic [EntryBits+IndexBits-1:0] write_place_o,
  output line_t                          write_data_o,

  // the entry has all lines, or a read has failed
  output logic                 filled_o,
  output logic                 failed_o,
  output logic [EntryBits-1:0] entry_o
);

  typedef enum logic [2:0] {
    Idle,
    // waits for earlier hits
    Await,
    Start,
    // offers a burst, and waits for its lines
    Request,
    Receive,
    Ends
  } state_e;

  state_e state_d, state_q;
  logic [EntryBits-1:0] entry_q;
  logic [IndexBits-1:0] index_q, write_index_q;
  line_address_t first_q;
  logic [CountBits-1:0] ahead_q;
  logic [Streams-1:0] awaited_q;
  logic failed_q, write_q, split_valid, burst_ends;
  line_t data_q;
  // verilator lint_off UNUSEDSIGNAL
  burst_t split;
  // verilator lint_on UNUSEDSIGNAL

  assign burst_ends = line_valid_i && line_i.last;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle: if (start_i) state_d = Await;
      Await: if (awaited_q == '0) state_d = Start;
      Start: state_d = Request;
      Request: if (burst_ready_i) state_d = Receive;
      Receive: if (burst_ends) state_d = split_valid ? Request : Ends;
      Ends: state_d = Idle;
      default: state_d = Idle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= Idle;
    else state_q <= state_d;
    if (state_q == Idle) begin
      {entry_q, first_q} <= {entry_i, first_i};
      index_q <= first_i[IndexBits-1:0];
      ahead_q <= hits_i - CountBits'(hit_leaves_i);
      awaited_q <= '1;
      failed_q <= 1'b0;
    end
    if (state_q == Await && ahead_q != '0) ahead_q <= ahead_q - CountBits'(hit_leaves_i);
    if (state_q == Await && ahead_q == '0) awaited_q <= awaited_q & reads_i & ~ends_i;
    if (line_valid_i) begin
      index_q <= index_q + 1'b1;
      if (line_i.error) failed_q <= 1'b1;
    end
  end

  read_splitter u_read_splitter (
    .clk_i,
    .rst_i,
    .start_i(state_q == Start),
    .first_i(first_q),
    .count_i(lines_i),
    .burst_valid_o(split_valid),
    .burst_ready_i(state_q == Request && burst_ready_i),
    .burst_o(split)
  );

  // Lines are registered once.
  always_ff @(posedge clk_i) begin
    write_q <= !rst_i && line_valid_i && !line_i.error;
    write_index_q <= index_q;
    data_q <= line_i.data;
  end

  assign ready_o = state_q == Idle;
  assign burst_valid_o = state_q == Request;
  assign burst_address_o = split.address;
  assign burst_lines_o = split.lines;
  assign write_o = write_q;
  assign write_place_o = {entry_q, write_index_q};
  assign write_data_o = data_q;
  assign filled_o = state_q == Ends;
  assign failed_o = failed_q;
  assign entry_o = entry_q;

  `ASSERT(StartsWhenIdle, !start_i || state_q == Idle)
  `ASSERT(LinesWereRequested, !line_valid_i || state_q == Receive)
  `ASSERT(BurstsAreLeft, state_q != Request || split_valid)
  `ASSERT_OFFER_STAYS(BurstStays, burst_valid_o, burst_ready_i, {burst_address_o, burst_lines_o})
  `COVER(AwaitsHits, state_q == Await && ahead_q != '0)
  `COVER(AwaitsStreams, state_q == Await && ahead_q == '0 && (awaited_q & reads_i & ~ends_i) != '0)
  `COVER(Fails, filled_o && failed_o)

endmodule

`default_nettype wire
