// The port of a client that reads lines of host memory. It accepts reads one after the other, splits them
// into bursts, and returns the lines of all reads in their order. An error ends only its read. A burst has
// its bank when it is offered, so an offer waits for nothing but its acceptance.

`default_nettype none

`include "assertions.svh"

module client_port
  import accelerator_pkg::*;
  import memory_pkg::*;
#(
  // maximum number of bursts in flight, and of reads; another one waits for a bank
  parameter int unsigned Banks = ClientBanks,
  localparam int unsigned BankBits = $clog2(Banks)
) (
  input logic clk_i,
  input logic rst_i,

  input  logic       read_valid_i,
  output logic       read_ready_o,
  // A read begins with a line.
  // verilator lint_off UNUSEDSIGNAL
  input  line_read_t read_i,
  // verilator lint_on UNUSEDSIGNAL

  output logic       beat_valid_o,
  input  logic       beat_ready_i,
  output line_beat_t beat_o,

  output logic                burst_valid_o,
  input  logic                burst_ready_i,
  output burst_t              burst_o,
  output logic [BankBits-1:0] burst_bank_o,

  input logic                line_valid_i,
  input logic [BankBits-1:0] line_bank_i,
  input burst_line_t         line_i
);

  logic has_bank, split_valid, reserves;
  burst_t split;
  logic [BankBits-1:0] bank;
  // The burst that is offered.
  logic offers_q;
  burst_t burst_q;
  logic [BankBits-1:0] bank_q;

  read_splitter u_read_splitter (
    .clk_i,
    .rst_i,
    .start_i(read_valid_i && read_ready_o),
    .first_i(read_i.address[LineIndexBits+:LineAddressBits]),
    .count_i(read_i.count),
    .burst_valid_o(split_valid),
    .burst_ready_i(reserves),
    .burst_o(split)
  );

  assign reserves = split_valid && has_bank && !offers_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) offers_q <= 1'b0;
    else offers_q <= reserves || (offers_q && !burst_ready_i);
    if (reserves) {burst_q, bank_q} <= {split, bank};
  end

  burst_buffer #(
    .Banks(Banks)
  ) u_burst_buffer (
    .clk_i,
    .rst_i,
    .reserve_ready_o(has_bank),
    .reserve_i(reserves),
    .reserve_last_i(split.last),
    .bank_o(bank),
    .line_valid_i,
    .line_bank_i,
    .line_i,
    .out_valid_o(beat_valid_o),
    .out_ready_i(beat_ready_i),
    .out_o(beat_o.data),
    .out_last_o(beat_o.last),
    .out_error_o(beat_o.error)
  );

  // All bursts of the read before have banks.
  assign read_ready_o = !split_valid;
  assign burst_valid_o = offers_q;
  assign burst_o = burst_q;
  assign burst_bank_o = bank_q;

  `ASSERT_OFFER_STAYS(ReadStays, read_valid_i, read_ready_o, read_i)
  `ASSERT_OFFER_STAYS(BurstStays, burst_valid_o, burst_ready_i, {burst_o, burst_bank_o})
  `ASSERT_OFFER_STAYS(BeatStays, beat_valid_o, beat_ready_i, beat_o)
  `COVER(BurstWaitsForABank, split_valid && !has_bank)
  `COVER(ReadWaits, read_valid_i && !read_ready_o)

endmodule

`default_nettype wire
