// Writes of whole lines to host memory as requests of PCIe: one for each burst, or several if the host limits
// their payload to fewer bytes. A write is posted, so its response says only that it was sent: a completion
// of the device that begins later does not pass it. The host sees writes in their order. A request is offered
// when all of its lines are there, so it has no gaps.
//
//   | beat  | bits 511:128                   | bits 127:0                  |
//   |-------|--------------------------------|-----------------------------|
//   | first | line 0, bits 383:0             | descriptor                  |
//   | next  | line k, bits 383:0             | line k - 1, bits 511:384    |
//   | last  |                                | the last line, bits 511:384 |

`default_nettype none

`include "assertions.svh"

module pcie_writes
  import accelerator_pkg::*;
  import axi_pkg::*;
  import pcie_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  // the most bytes of the payload of a request: 128 << max_payload_i, up to 1024
  input logic [1:0] max_payload_i,

  // verilator lint_off UNUSEDSIGNAL
  input  axi_write_request_t  write_i,
  // verilator lint_on UNUSEDSIGNAL
  output axi_write_response_t write_o,

  output logic       request_valid_o,
  input  logic       request_ready_i,
  output pcie_beat_t request_o,
  // in the first beat of a request: it ends its burst
  output logic       request_ends_o,
  // the block has sent the request that ends the burst
  input  logic       sent_i
);

  localparam int unsigned RequestBits = $bits(pcie_request_t);

  typedef enum logic [2:0] {
    // Accepts a burst.
    Idle,
    // The next line is the first one of a request.
    First,
    // The next line is another one of the request.
    Line,
    // Sends the end of its last line.
    Last,
    // Waits until the block has sent the burst.
    Sent
  } state_t;

  state_t state_q;
  logic [AxiIdBits-1:0] id_q;
  pcie_line_address_t address_q;
  // Lines of the burst that were not accepted yet; of the request; the most lines of a request.
  pcie_lines_t left_q, request_left_q, most, lines;
  logic [RequestBits-1:0] carry_q;
  logic response_valid_q;
  logic accepts, takes, sends, sends_ready, is_last_line;
  pcie_request_t request;
  pcie_beat_t beat;

  // The response of a burst is accepted before the next burst begins.
  assign write_o.awready = state_q == Idle && !response_valid_q;
  assign accepts = write_i.awvalid && write_o.awready;
  assign write_o.wready = (state_q == First || state_q == Line) && sends_ready;
  assign takes = write_i.wvalid && write_o.wready;
  assign sends = state_q == Last || ((state_q == First || state_q == Line) && write_i.wvalid);
  assign write_o.bvalid = response_valid_q;
  assign write_o.bid = id_q;
  assign write_o.bresp = AxiRespOkay;

  assign most = pcie_lines_t'(2) << max_payload_i;
  assign lines = left_q < most ? left_q : most;
  assign is_last_line = state_q == First ? lines == 7'd1 : request_left_q == 7'd1;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= Idle;
      response_valid_q <= 1'b0;
    end else begin
      case (state_q)
        Idle: if (accepts) state_q <= First;
        Last: if (sends_ready) state_q <= left_q == '0 ? Sent : First;
        Sent: if (sent_i) state_q <= Idle;
        default: if (takes) state_q <= is_last_line ? Last : Line;
      endcase
      if (state_q == Sent && sent_i) response_valid_q <= 1'b1;
      else if (write_i.bready) response_valid_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (accepts) begin
      id_q <= write_i.awid;
      address_q <= write_i.awaddr[AxiAddressBits-1:LineIndexBits];
      left_q <= pcie_lines_t'(write_i.awlen) + 1'b1;
    end else if (takes) begin
      address_q <= address_q + 1'b1;
      left_q <= left_q - 1'b1;
    end
    if (takes) begin
      request_left_q <= (state_q == First ? lines : request_left_q) - 1'b1;
      carry_q <= write_i.wdata[LineBits-1-:RequestBits];
    end
  end

  always_comb begin
    request = '0;
    request.kind = PcieMemoryWrite;
    request.address_dwords = {address_q, 4'd0};
    request.dwords = 11'(lines) * 11'(LineDwords);
    beat.data = {write_i.wdata[LineBits-RequestBits-1:0], state_q == First ? request : carry_q};
    beat.keep = state_q == Last ? LineDwords'('hf) : '1;
    beat.last = state_q == Last;
    if (state_q == Last) beat.data = line_t'(carry_q);
  end

  packet_fifo #(
    .T(logic [$bits(pcie_beat_t):0]),
    .Depth(PciePacketBeats)
  ) u_requests (
    .clk_i,
    .rst_i,
    .in_valid_i(sends),
    .in_ready_o(sends_ready),
    .in_i({state_q == First && lines == left_q, beat}),
    .in_last_i(beat.last),
    .out_valid_o(request_valid_o),
    .out_ready_i(request_ready_i),
    .out_o({request_ends_o, request_o}),
    .out_last_o()
  );

  `ASSERT(BurstIsWithinAPage,
          !write_i.awvalid || 32'(write_i.awaddr[11:LineIndexBits]) + 32'(write_i.awlen) < 64)
  `ASSERT(BurstIsOfLines, !write_i.awvalid || write_i.awaddr[LineIndexBits-1:0] == '0)
  `ASSERT(LinesAreWhole, !write_i.wvalid || write_i.wstrb == '1)
  `ASSERT(LastLineIsMarked, !takes || write_i.wlast == (left_q == 7'd1))
  `ASSERT(OnlyBurstsAreSent, !sent_i || state_q == Sent)
  `COVER(BurstContinues, state_q == Last && sends_ready && left_q != '0)
  `COVER(ResponseStalls, response_valid_q && !write_i.bready)

endmodule

`default_nettype wire
