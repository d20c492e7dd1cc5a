// Redirects cache hits to host memory while on-board memory has a backlog and host memory has none: while
// more lines than one bound are in flight from on-board memory, and at most another bound from host memory.
// It knows what happened until the cycle before the last one.

`default_nettype none

`include "assertions.svh"

module load_balancer
  import accelerator_pkg::*;
  import memory_pkg::*;
#(
  parameter int unsigned TagBits = 3,
  // channels of on-board memory
  parameter int unsigned Channels = 1
) (
  input logic clk_i,
  input logic rst_i,
  input balance_t balance_i,

  // the lines of a burst that begins in this cycle, or 0, and lines that arrive
  input burst_lines_t        host_begins_i,
  input logic                host_line_i,
  input burst_lines_t        dram_begins_i,
  input logic [Channels-1:0] dram_line_i,

  output logic redirects_o
);

  // Each tag has at most one burst in flight.
  typedef logic [TagBits+PageLineBits:0] count_t;
  // The events of the last cycle, the lines in flight before it, and the result of their comparison.
  burst_lines_t host_begins_q, dram_begins_q;
  logic host_line_q, has_backlog, redirects_q;
  logic [Channels-1:0] dram_line_q;
  count_t host_q, dram_q;

  assign has_backlog = 32'(dram_q) > 32'(balance_i.on_board_lines);

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {host_begins_q, host_line_q, dram_begins_q, dram_line_q, redirects_q} <= '0;
      {host_q, dram_q} <= '0;
    end else begin
      {host_begins_q, dram_begins_q} <= {host_begins_i, dram_begins_i};
      {host_line_q, dram_line_q} <= {host_line_i, dram_line_i};
      host_q <= host_q + count_t'(host_begins_q) - count_t'(host_line_q);
      dram_q <= dram_q + count_t'(dram_begins_q) - count_t'($countones(dram_line_q));
      redirects_q <= balance_i.enable && has_backlog && 32'(host_q) <= 32'(balance_i.host_lines);
    end
  end

  assign redirects_o = redirects_q;

  `ASSERT(HostLineWasRequested, !host_line_q || host_q != '0)
  `ASSERT(DramLinesWereRequested, $countones(dram_line_q) <= 32'(dram_q))
  `COVER(Redirects, redirects_o)
  `COVER(HostIsBusy, balance_i.enable && !redirects_o && has_backlog)
  `COVER(BacklogLacksALine, balance_i.enable && 32'(dram_q) + 1 == 32'(balance_i.on_board_lines))
  `COVER(BacklogIsItsBound, balance_i.enable && 32'(dram_q) == 32'(balance_i.on_board_lines))
  `COVER(BacklogHasALineMore, balance_i.enable && 32'(dram_q) == 32'(balance_i.on_board_lines) + 1)
  `COVER(HostLacksALine, balance_i.enable && has_backlog && 32'(host_q) + 1 == 32'(balance_i.host_lines))
  `COVER(HostIsAtItsBound, balance_i.enable && has_backlog && 32'(host_q) == 32'(balance_i.host_lines))
  `COVER(HostHasALineMore, balance_i.enable && has_backlog && 32'(host_q) == 32'(balance_i.host_lines) + 1)

endmodule

`default_nettype wire
