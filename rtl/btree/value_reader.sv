// Reads overflow values for the request that has the grant, one at a time, and passes their lines on. After a
// read of the request has failed, requests and lines are accepted and returned, but undefined, so that no
// part waits forever.

`default_nettype none

`include "assertions.svh"

module value_reader
  import accelerator_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  // a read of the request has failed
  input logic failed_i,
  input logic value_valid_i,
  output logic value_ready_o,
  input bus_address_t address_i,
  input line_count_t count_i,
  output logic line_valid_o,
  input logic line_ready_i,
  output line_t line_o,
  // the read of the value fails
  output logic fails_o,

  output logic read_valid_o,
  input logic read_ready_i,
  output line_read_t read_o,
  input logic beat_valid_i,
  output logic beat_ready_o,
  // verilator lint_off UNUSEDSIGNAL
  input line_beat_t beat_i
  // verilator lint_on UNUSEDSIGNAL
);

  typedef enum logic [1:0] {
    Idle,
    Offer,
    Reads,
    // the request has failed: the lines that are left are discarded
    Drains
  } state_e;

  state_e state_q, state_d;
  // the request failed while the read was offered, which must stay
  logic void_q;
  bus_address_t address_q;
  line_count_t count_q;
  logic takes, ends;

  assign value_ready_o = failed_i || state_q == Idle;
  assign takes = value_valid_i && state_q == Idle && !failed_i;
  assign ends = beat_valid_i && beat_ready_o && beat_i.last;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle: if (takes) state_d = Offer;
      Offer: if (read_ready_i) state_d = void_q || failed_i ? Drains : Reads;
      default: if (ends) state_d = Idle; else if (failed_i) state_d = Drains;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= Idle;
    else state_q <= state_d;
    void_q <= state_q == Offer && (void_q || failed_i);
    if (takes) {address_q, count_q} <= {address_i, count_i};
  end

  always_comb begin
    read_o = '0;
    {read_o.address, read_o.count} = {address_q, count_q};
  end

  assign read_valid_o = state_q == Offer;
  assign beat_ready_o = state_q == Drains || failed_i || beat_i.error || line_ready_i;
  assign line_valid_o = failed_i || (state_q == Reads && beat_valid_i && !beat_i.error);
  assign line_o = beat_i.data;
  assign fails_o = state_q == Reads && beat_valid_i && beat_i.error;

  `ASSERT(BeatsWereRequested, !beat_valid_i || state_q inside {Reads, Drains})
  `ASSERT_OFFER_STAYS(ReadStays, read_valid_o, read_ready_i, read_o)
  `COVER(RequestEndsBeforeItsRead, void_q && !failed_i)

endmodule

`default_nettype wire
