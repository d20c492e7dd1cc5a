// Redirects cache hits to host memory while more bursts are in flight from on-board memory than from host
// memory. It knows what happened until the cycle before the last one.

`default_nettype none

`include "assertions.svh"

module load_balancer #(
  parameter int unsigned TagBits = 3,
  // channels of on-board memory
  parameter int unsigned Channels = 1
) (
  input logic clk_i,
  input logic rst_i,
  input logic enable_i,

  // reads that began or ended in this cycle
  input logic host_begins_i,
  input logic host_ends_i,
  input logic dram_begins_i,
  input logic [Channels-1:0] dram_ends_i,

  output logic redirects_o
);

  typedef logic [TagBits:0] count_t;
  // What happened in the last cycle, the bursts in flight before it, and the result of their comparison.
  logic host_begins_q, host_ends_q, dram_begins_q, redirects_q;
  logic [Channels-1:0] dram_ends_q;
  count_t host_q, dram_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {host_begins_q, host_ends_q, dram_begins_q, dram_ends_q, redirects_q} <= '0;
      {host_q, dram_q} <= '0;
    end else begin
      {host_begins_q, host_ends_q, dram_begins_q} <= {host_begins_i, host_ends_i, dram_begins_i};
      dram_ends_q <= dram_ends_i;
      host_q <= host_q + count_t'(host_begins_q) - count_t'(host_ends_q);
      dram_q <= dram_q + count_t'(dram_begins_q) - count_t'($countones(dram_ends_q));
      redirects_q <= enable_i && dram_q > host_q;
    end
  end

  assign redirects_o = redirects_q;

  `ASSERT(HostReadEndsAfterBegin, !host_ends_q || host_q != '0)
  `ASSERT(DramReadEndsAfterBegin, $countones(dram_ends_q) <= 32'(dram_q))
  `COVER(Redirects, redirects_o)

endmodule

`default_nettype wire
