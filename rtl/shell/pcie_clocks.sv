// The streams of the integrated block for PCIe between its clock and the clock of the accelerator, each
// through a queue. A queue forgets what another one has transferred before, so each beat of completions (rc)
// has the number of requests of the host (cq) before it. Requests (rq) have no gaps within a packet, because
// the block would discard it. The reset comes from the block and should last for a cycle of both clocks; that
// of the accelerator begins with it and ends later, when on-board memory has completed all transactions.

`default_nettype none

module pcie_clocks
  import accelerator_pkg::*;
  import pcie_pkg::*;
#(
  // capacity of each queue in beats: see fifo_async
  parameter int unsigned Depth = 16
) (
  // Of the integrated block. The reset is one of its clock, and begins the other one without a clock.
  input logic pcie_clk_i,
  // verilator lint_off SYNCASYNCNET
  input logic pcie_rst_i,
  // verilator lint_on SYNCASYNCNET
  // of the accelerator; see drained_reset
  input  logic clk_i,
  input  logic dram_rst_i,
  output logic drains_o,
  input  logic idle_i,
  output logic rst_o,

  // the limits that the host has set, which change before the device may read or write host memory
  input  logic [2:0] cfg_max_read_req_i,
  input  logic [1:0] cfg_max_payload_i,
  output logic [2:0] cfg_max_read_req_o,
  output logic [1:0] cfg_max_payload_o,

  // requests to host memory, their completions, requests of the host, their completions
  input  logic          rq_valid_i,
  output logic          rq_ready_o,
  input  pcie_beat_t    rq_i,
  input  logic [136:0]  rq_user_i,
  output logic          rq_valid_o,
  input  logic          rq_ready_i,
  output pcie_beat_t    rq_o,
  output logic [136:0]  rq_user_o,
  // the block has sent a request that ends a burst of writes: one at a time
  input  logic          sent_i,
  output logic          sent_o,

  input  logic          rc_valid_i,
  output logic          rc_ready_o,
  input  pcie_beat_t    rc_i,
  input  logic [160:0]  rc_user_i,
  output logic          rc_valid_o,
  input  logic          rc_ready_i,
  output pcie_beat_t    rc_o,
  output logic [160:0]  rc_user_o,
  output pcie_count_t   rc_cq_count_o,

  input  logic          cq_valid_i,
  output logic          cq_ready_o,
  input  pcie_beat_t    cq_i,
  input  logic [182:0]  cq_user_i,
  output logic          cq_valid_o,
  input  logic          cq_ready_i,
  output pcie_beat_t    cq_o,
  output logic [182:0]  cq_user_o,

  input  logic          cc_valid_i,
  output logic          cc_ready_o,
  input  pcie_beat_t    cc_i,
  input  logic [80:0]   cc_user_i,
  output logic          cc_valid_o,
  input  logic          cc_ready_i,
  output pcie_beat_t    cc_o,
  output logic [80:0]   cc_user_o
);

  logic rst;

  reset_sync u_reset (
    .clk_i,
    .async_rst_i(pcie_rst_i),
    .rst_o(rst)
  );

  drained_reset u_drained_reset (
    .clk_i,
    .drain_rst_i(dram_rst_i),
    .unit_rst_i(rst),
    .drains_o,
    .idle_i,
    .rst_o
  );

  synchronizer #(
    .Bits(5)
  ) u_limits (
    .clk_i,
    .rst_i(rst_o),
    .bits_i({cfg_max_read_req_i, cfg_max_payload_i}),
    .bits_o({cfg_max_read_req_o, cfg_max_payload_o})
  );

  // ---- to the block

  pcie_beat_t rq;
  logic [136:0] rq_user;
  logic rq_valid, rq_ready;

  fifo_async #(
    .T(logic [$bits(pcie_beat_t)+136:0]),
    .Depth(Depth)
  ) u_rq (
    .in_clk_i(clk_i), .in_rst_i(rst_o), .in_valid_i(rq_valid_i), .in_ready_o(rq_ready_o),
    .in_i({rq_user_i, rq_i}),
    .out_clk_i(pcie_clk_i), .out_rst_i(pcie_rst_i), .out_valid_o(rq_valid), .out_ready_i(rq_ready),
    .out_o({rq_user, rq})
  );

  packet_fifo #(
    .T(logic [$bits(pcie_beat_t)+136:0]),
    .Depth(PciePacketBeats)
  ) u_rq_packets (
    .clk_i(pcie_clk_i), .rst_i(pcie_rst_i),
    .in_valid_i(rq_valid), .in_ready_o(rq_ready), .in_i({rq_user, rq}), .in_last_i(rq.last),
    .out_valid_o(rq_valid_o), .out_ready_i(rq_ready_i), .out_o({rq_user_o, rq_o}), .out_last_o()
  );

  fifo_async #(
    .T(logic [$bits(pcie_beat_t)+80:0]),
    .Depth(Depth)
  ) u_cc (
    .in_clk_i(clk_i), .in_rst_i(rst_o), .in_valid_i(cc_valid_i), .in_ready_o(cc_ready_o),
    .in_i({cc_user_i, cc_i}),
    .out_clk_i(pcie_clk_i), .out_rst_i(pcie_rst_i), .out_valid_o(cc_valid_o), .out_ready_i(cc_ready_i),
    .out_o({cc_user_o, cc_o})
  );

  // A bit that changes with each burst which the block has sent.
  logic sent_q, sent_seen, sent_before_q;
  always_ff @(posedge pcie_clk_i) sent_q <= !pcie_rst_i && (sent_q ^ sent_i);
  always_ff @(posedge clk_i) sent_before_q <= !rst_o && sent_seen;
  assign sent_o = sent_seen ^ sent_before_q;

  synchronizer #(
    .Bits(1)
  ) u_sent (
    .clk_i,
    .rst_i(rst_o),
    .bits_i(sent_q),
    .bits_o(sent_seen)
  );

  // ---- from the block

  // Packets of cq that were transferred, with the one of this cycle.
  pcie_count_t cq_count_d, cq_count_q;
  assign cq_count_d = cq_count_q + pcie_count_t'(cq_valid_i && cq_ready_o && cq_i.last);
  always_ff @(posedge pcie_clk_i) cq_count_q <= pcie_rst_i ? '0 : cq_count_d;

  fifo_async #(
    .T(logic [$bits(pcie_count_t)+$bits(pcie_beat_t)+160:0]),
    .Depth(Depth)
  ) u_rc (
    .in_clk_i(pcie_clk_i), .in_rst_i(pcie_rst_i), .in_valid_i(rc_valid_i), .in_ready_o(rc_ready_o),
    .in_i({cq_count_d, rc_user_i, rc_i}),
    .out_clk_i(clk_i), .out_rst_i(rst_o), .out_valid_o(rc_valid_o), .out_ready_i(rc_ready_i),
    .out_o({rc_cq_count_o, rc_user_o, rc_o})
  );

  fifo_async #(
    .T(logic [$bits(pcie_beat_t)+182:0]),
    .Depth(Depth)
  ) u_cq (
    .in_clk_i(pcie_clk_i), .in_rst_i(pcie_rst_i), .in_valid_i(cq_valid_i), .in_ready_o(cq_ready_o),
    .in_i({cq_user_i, cq_i}),
    .out_clk_i(clk_i), .out_rst_i(rst_o), .out_valid_o(cq_valid_o), .out_ready_i(cq_ready_i),
    .out_o({cq_user_o, cq_o})
  );

endmodule

`default_nettype wire
