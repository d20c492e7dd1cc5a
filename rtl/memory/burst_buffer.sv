// Reserves room for bursts before they are requested, so that memory never waits for a client. Lines of
// different bursts arrive in any order, the lines of one burst in order. All lines leave in the order of the
// bursts. A read ends with the last line of its last burst, or with an error. Then the other lines of its
// bursts are discarded, also of those that are requested later.

`default_nettype none

`include "assertions.svh"

module burst_buffer
  import accelerator_pkg::*;
  import memory_pkg::*;
#(
  // maximum number of bursts in flight
  parameter int unsigned Banks = 2,
  localparam int unsigned BankBits = Banks > 1 ? $clog2(Banks) : 1
) (
  input logic clk_i,
  input logic rst_i,

  // reserves bank_o for the lines of a burst; it is the last one of its read
  output logic                reserve_ready_o,
  input  logic                reserve_i,
  input  logic                reserve_last_i,
  output logic [BankBits-1:0] bank_o,

  // an error is in the last line of its burst
  input logic                line_valid_i,
  input logic [BankBits-1:0] line_bank_i,
  input burst_line_t         line_i,

  // the lines in order; out_last_o marks the last line of a read
  output logic  out_valid_o,
  input  logic  out_ready_i,
  output line_t out_o,
  output logic  out_last_o,
  output logic  out_error_o
);

  if (Banks < 2 || (Banks & (Banks - 1)) != 0) $fatal(1, "Banks must be a power of two, at least 2");

  typedef struct packed {
    // all lines have arrived; the last one has an error
    logic done;
    logic error;
    // lines without an error that have arrived
    burst_lines_t came;
  } bank_t;

  // A bank without a burst is zero.
  bank_t [Banks-1:0] banks_q;
  // for each bank: its burst is the last one of its read
  logic [Banks-1:0] last_q;
  // The bank for the next burst, and that of the next line that leaves, each below a bit that tells no burst
  // from bursts in all banks; the index of that line.
  logic [BankBits:0] next_q, out_q;
  page_line_t index_q;
  // The read of the next line has ended with an error in an earlier burst.
  logic drains_q;

  // The state of the line at the output of the memory.
  logic offers_q, offers_last_q, offers_error_q;

  logic [BankBits-1:0] next, out;
  bank_t bank;
  logic is_last, puts, takes, available, ends_bank, discards, releases;

  assign {next, out} = {next_q[BankBits-1:0], out_q[BankBits-1:0]};
  assign {bank, is_last} = {banks_q[out], last_q[out]};
  assign puts = line_valid_i && !line_i.error;
  // No more lines leave than have come, and a bank is released with its last line.
  assign available = !drains_q && (bank.error || bank.came != burst_lines_t'(index_q));
  assign takes = available && (!offers_q || out_ready_i);
  assign ends_bank = bank.error || (bank.done && burst_lines_t'(index_q) + 1'b1 == bank.came);
  assign discards = drains_q && bank.done;
  assign releases = (takes && ends_bank) || discards;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      banks_q <= '0;
    end else begin
      if (line_valid_i) begin
        banks_q[line_bank_i].came <= banks_q[line_bank_i].came + burst_lines_t'(puts);
        banks_q[line_bank_i].done <= line_i.last;
        banks_q[line_bank_i].error <= line_i.error;
      end
      if (releases) banks_q[out] <= '0;
    end
    if (reserve_i) last_q[next] <= reserve_last_i;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      next_q <= '0;
      out_q <= '0;
      index_q <= '0;
      drains_q <= 1'b0;
    end else begin
      next_q <= next_q + (BankBits + 1)'(reserve_i);
      out_q <= out_q + (BankBits + 1)'(releases);
      index_q <= releases ? '0 : index_q + page_line_t'(takes);
      if (releases) drains_q <= !is_last && (drains_q || bank.error);
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) offers_q <= 1'b0;
    else offers_q <= takes || (offers_q && !out_ready_i);
    if (takes) begin
      offers_last_q <= bank.error || (is_last && ends_bank);
      offers_error_q <= bank.error;
    end
  end

  ram #(
    .Width(LineBits),
    .Depth(Banks * PageLines)
  ) u_ram (
    .clk_i,
    .rst_i,
    .write_i(puts),
    .write_address_i({line_bank_i, banks_q[line_bank_i].came[PageLineBits-1:0]}),
    .write_data_i(line_i.data),
    .read_i(takes),
    .read_address_i({out, index_q}),
    .read_data_o(out_o)
  );

  assign reserve_ready_o = next_q != {!out_q[BankBits], out};
  assign bank_o = next;
  assign out_valid_o = offers_q;
  assign out_last_o = offers_last_q;
  assign out_error_o = offers_error_q;

  `ASSERT(ReservesWhenReady, !reserve_i || reserve_ready_o)
  `ASSERT(LinesWereRequested, !line_valid_i || ({1'b0, line_bank_i - out} < next_q - out_q
      && !banks_q[line_bank_i].done))
  `ASSERT(LinesHaveRoom, !puts || banks_q[line_bank_i].came < burst_lines_t'(PageLines))
  `ASSERT(ErrorEndsItsBurst, !line_valid_i || !line_i.error || line_i.last)
  `ASSERT_OFFER_STAYS(OutStays, out_valid_o, out_ready_i, {out_o, out_last_o, out_error_o})
  `COVER(IsFull, !reserve_ready_o)
  `COVER(ErrorBeforeOtherReads, takes && bank.error && is_last && next != out + 1'b1)
  `COVER(ErrorBeforeItsOtherBursts, takes && bank.error && !is_last)
  `COVER(DiscardsARequestedLater, drains_q && next_q == out_q)

endmodule

`default_nettype wire
