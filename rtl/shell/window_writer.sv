// Copies the window of the accelerator to a line of host memory when it has changed, so that the host, which
// needs it to reclaim memory, reads its own memory instead of a register of the device. A copy is sent after
// the response of the one before it, so copies are never reordered; each is a window that the accelerator
// has had.

`default_nettype none

`include "assertions.svh"

module window_writer
  import accelerator_pkg::*;
  import axi_pkg::*;
  import layout_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  // bus address of the line; 0: none
  input  logic [63:0] address_i,
  // the one of the last copy: no copy to another one is in flight
  output logic [63:0] address_o,
  input  logic [63:0] oldest_i,
  input  logic [63:0] newest_i,

  output axi_write_request_t  write_o,
  // verilator lint_off UNUSEDSIGNAL
  input  axi_write_response_t write_i
  // verilator lint_on UNUSEDSIGNAL
);

  typedef enum logic [1:0] {
    Idle,
    Send,
    Respond
  } state_t;

  state_t state_q;
  logic [63:0] address_q, oldest_q, newest_q;
  logic address_sent_q, line_sent_q, address_done, line_done, has_changed_q, takes;
  window_copy_t copy;

  // A register, because the comparison is wide. The copy takes the window of the cycle after it.
  always_ff @(posedge clk_i) begin
    has_changed_q <= {address_i, oldest_i, newest_i} != {address_q, oldest_q, newest_q};
  end

  assign takes = state_q == Idle && has_changed_q;
  assign address_done = address_sent_q || write_i.awready;
  assign line_done = line_sent_q || write_i.wready;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= Idle;
      // The window is copied once an address is there.
      address_q <= '0;
    end else begin
      case (state_q)
        Idle: begin
          if (takes) address_q <= address_i;
          if (takes && address_i != '0) state_q <= Send;
        end
        Send: if (address_done && line_done) state_q <= Respond;
        default: if (write_i.bvalid) state_q <= Idle;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (takes) {oldest_q, newest_q} <= {oldest_i, newest_i};
    {address_sent_q, line_sent_q} <= state_q == Send ? {address_done, line_done} : '0;
  end

  assign address_o = address_q;
  assign copy = '{padding: '0, newest: newest_q, oldest: oldest_q};

  always_comb begin
    write_o = '0;
    write_o.awvalid = state_q == Send && !address_sent_q;
    write_o.awaddr = {address_q[63:LineIndexBits], LineIndexBits'(0)};
    write_o.awsize = AxiSizeLine;
    write_o.awburst = AxiBurstIncr;
    write_o.wvalid = state_q == Send && !line_sent_q;
    write_o.wdata = copy;
    write_o.wstrb = '1;
    write_o.wlast = 1'b1;
    write_o.bready = state_q == Respond;
  end

  `ASSERT(CopyIsALine, $bits(window_copy_t) == LineBits)
  `COVER(WindowChangesDuringACopy, state_q == Respond && has_changed_q)

endmodule

`default_nettype wire
