// Reserves room for the bursts of a client before they are requested, so that memory never waits for a
// client. Lines of different bursts arrive in any order, the lines of one burst in order. All lines leave
// in the order of the bursts. A read ends with the last line of its last burst, or with an error.

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

  // reserves bank_o for the lines of a burst that is requested in this cycle
  output logic                reserve_ready_o,
  input  logic                reserve_i,
  input  burst_lines_t        reserve_lines_i,
  input  logic                reserve_last_i,
  // the client will request further bursts of the same read
  input  logic                more_i,
  output logic [BankBits-1:0] bank_o,

  input logic                line_valid_i,
  input logic [BankBits-1:0] line_bank_i,
  input burst_line_t         line_i,

  // the lines in order; out_last_o marks the last line of a read
  output logic  out_valid_o,
  input  logic  out_ready_i,
  output line_t out_o,
  output logic  out_last_o,
  output logic  out_error_o,
  // A read has ended with an error, and lines of its bursts are still in flight. They are discarded.
  output logic  drains_o
);

  if (Banks < 2 || (Banks & (Banks - 1)) != 0) $fatal(1, "Banks must be a power of two, at least 2");

  typedef struct packed {
    // from the reservation until all lines have left
    logic busy;
    // all lines have arrived
    logic done;
    // a line with an error has arrived
    logic error;
    // the last burst of its read
    logic last;
    burst_lines_t lines;
    burst_lines_t came;
  } bank_t;

  bank_t [Banks-1:0] banks_q;
  // The bank for the next burst; the bank of the next line that leaves, and the index of that line.
  logic [BankBits-1:0] next_q, out_q;
  burst_lines_t index_q;
  logic drains_q;

  // The state of the line at the output of the memory.
  logic offers_q, offers_last_q, offers_error_q;

  bank_t bank;
  logic puts, takes, available, ends_bank, ends_read, releases;

  assign bank = banks_q[out_q];
  assign puts = line_valid_i && !line_i.error;
  assign available = bank.busy && !drains_q && (bank.error || bank.came > index_q);
  assign takes = available && (!offers_q || out_ready_i);
  assign ends_bank = index_q + 1'b1 == bank.lines;
  assign ends_read = bank.error || (bank.last && ends_bank);
  // After an error, completed banks are released in order.
  assign releases = drains_q ? bank.busy && bank.done : takes && ends_bank && !bank.error;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      banks_q <= '0;
    end else begin
      if (line_valid_i) begin
        banks_q[line_bank_i].came <= banks_q[line_bank_i].came + burst_lines_t'(!line_i.error);
        banks_q[line_bank_i].done <= line_i.last;
        banks_q[line_bank_i].error <= banks_q[line_bank_i].error || line_i.error;
      end
      if (releases) banks_q[out_q].busy <= 1'b0;
      if (reserve_i) begin
        banks_q[next_q] <= '{
          busy: 1'b1,
          done: 1'b0,
          error: 1'b0,
          last: reserve_last_i,
          lines: reserve_lines_i,
          came: '0
        };
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      next_q <= '0;
      out_q <= '0;
      index_q <= '0;
      drains_q <= 1'b0;
    end else begin
      next_q <= next_q + BankBits'(reserve_i);
      out_q <= out_q + BankBits'(releases);
      if (releases || (takes && ends_read)) index_q <= '0;
      else if (takes) index_q <= index_q + 1'b1;
      if (takes && bank.error) drains_q <= 1'b1;
      else if (!bank.busy && !more_i) drains_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) offers_q <= 1'b0;
    else offers_q <= takes || (offers_q && !out_ready_i);
    if (takes) begin
      offers_last_q <= ends_read;
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
    .read_address_i({out_q, index_q[PageLineBits-1:0]}),
    .read_data_o(out_o)
  );

  assign reserve_ready_o = !banks_q[next_q].busy;
  assign bank_o = next_q;
  assign out_valid_o = offers_q;
  assign out_last_o = offers_last_q;
  assign out_error_o = offers_error_q;
  assign drains_o = drains_q;

  `ASSERT(ReservesWhenReady, !reserve_i || (reserve_ready_o && reserve_lines_i != '0))
  `ASSERT(LinesWereRequested, !line_valid_i || (banks_q[line_bank_i].busy && !banks_q[line_bank_i].done))
  `ASSERT(LinesHaveRoom, !puts || banks_q[line_bank_i].came < banks_q[line_bank_i].lines)
  `ASSERT(LastLineEndsBurst, !puts || banks_q[line_bank_i].error || line_i.last
          == (banks_q[line_bank_i].came + 1'b1 == banks_q[line_bank_i].lines))
  `ASSERT_OFFER_STAYS(OutStays, out_valid_o, out_ready_i, {out_o, out_last_o, out_error_o})

endmodule

`default_nettype wire
