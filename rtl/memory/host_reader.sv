// Reads the bursts of all ports from host memory over AXI4. The id is the tag of a burst. A tag has at most
// one read in flight, and its port has room for the lines, so the reader always accepts them. A read that
// fails ends with an error when its last beat has arrived. After a read without an answer, all reads fail:
// see read_timeouts.

`default_nettype none

`include "assertions.svh"

module host_reader
  import accelerator_pkg::*;
  import axi_pkg::*;
  import memory_pkg::*;
#(
  parameter int unsigned TagBits = 3,
  // see read_timeouts; 2**22 cycles are 19 ms at 220 MHz, within the range that PCIe recommends
  parameter int unsigned TimeoutBits = 22
) (
  input logic clk_i,
  input logic rst_i,

  input  logic               burst_valid_i,
  output logic               burst_ready_o,
  input  bus_address_t       burst_address_i,
  input  burst_lines_t       burst_lines_i,
  input  logic [TagBits-1:0] burst_tag_i,

  output logic               line_valid_o,
  output logic [TagBits-1:0] line_tag_o,
  output burst_line_t        line_o,

  // a read has timed out: every read fails until reset
  output logic timed_out_o,

  output axi_read_request_t host_o,
  // verilator lint_off UNUSEDSIGNAL
  input axi_read_response_t host_i
  // verilator lint_on UNUSEDSIGNAL
);

  typedef struct packed {
    logic [TagBits-1:0] tag;
    bus_address_t address;
    logic [7:0] len;
  } read_t;

  read_t read;
  logic read_valid, reads_ready, flags_ready, timeouts_ready, is_ready, begins;
  skid_buffer #(
    .T(read_t)
  ) u_reads (
    .clk_i,
    .rst_i,
    .in_valid_i(begins && !timed_out_o),
    .in_ready_o(reads_ready),
    .in_i({burst_tag_i, burst_address_i, 8'(burst_lines_i) - 8'd1}),
    .out_valid_o(read_valid),
    .out_ready_i(host_i.arready),
    .out_o(read)
  );

  // After a timeout, host memory may also accept no read. A read is offered to the queue only in the cycle in
  // which it begins, because a timeout would withdraw it.
  assign is_ready = flags_ready && timeouts_ready;
  assign burst_ready_o = is_ready && (reads_ready || timed_out_o);
  assign begins = burst_valid_i && burst_ready_o;
  assign host_o = '{
    arvalid: read_valid,
    arid: AxiIdBits'(read.tag),
    araddr: AxiAddressBits'(read.address),
    arlen: read.len,
    arsize: AxiSizeLine,
    arburst: AxiBurstIncr,
    rready: 1'b1
  };

  logic answers, fails, discards, ends_late;
  logic [TagBits-1:0] tag, late_tag;
  assign answers = host_i.rvalid && !timed_out_o;
  assign tag = host_i.rid[TagBits-1:0];

  failed_bursts #(
    .TagBits(TagBits)
  ) u_failed_bursts (
    .clk_i,
    .rst_i,
    .ready_o(flags_ready),
    .beat_i(answers),
    .tag_i(tag),
    .last_i(host_i.rlast),
    .error_i(host_i.rresp != AxiRespOkay),
    .fails_o(fails),
    .discards_o(discards)
  );

  read_timeouts #(
    .TagBits(TagBits),
    .PeriodBits(TimeoutBits)
  ) u_read_timeouts (
    .clk_i,
    .rst_i,
    .ready_o(timeouts_ready),
    .begins_i(begins),
    .begins_tag_i(burst_tag_i),
    .ends_i(answers && host_i.rlast),
    .ends_tag_i(tag),
    .timed_out_o,
    .fails_o(ends_late),
    .fails_tag_o(late_tag)
  );

  // Lines are registered once.
  logic valid_q;
  logic [TagBits-1:0] tag_q;
  burst_line_t line_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) valid_q <= 1'b0;
    else valid_q <= ends_late || (answers && !discards);
    tag_q <= timed_out_o ? late_tag : tag;
    line_q <= '{
      data: host_i.rdata,
      last: host_i.rlast || timed_out_o,
      error: fails || timed_out_o
    };
  end

  assign line_valid_o = valid_q;
  assign line_tag_o = tag_q;
  assign line_o = line_q;

  `ASSERT(BeatHasTag, !answers || host_i.rid == AxiIdBits'(tag))
  `ASSERT(StaysWithinPage, !host_o.arvalid
          || 32'(host_o.araddr[11:0]) + ((32'(host_o.arlen) + 32'd1) << LineIndexBits) <= PageBytes)
  `ASSERT_OFFER_STAYS(ReadStays, host_o.arvalid, host_i.arready, {host_o.arid, host_o.araddr, host_o.arlen})

endmodule

`default_nettype wire
