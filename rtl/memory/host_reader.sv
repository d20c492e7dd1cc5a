// Reads the bursts of all ports from host memory over AXI4. The id is the tag of a burst. A tag has at most
// one read in flight, and its port has room for the lines, so the reader always accepts them. A read that
// fails ends with an error when its last beat has arrived.

`default_nettype none

`include "assertions.svh"

module host_reader
  import accelerator_pkg::*;
  import axi_pkg::*;
  import memory_pkg::*;
#(
  parameter int unsigned TagBits = 3
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

  output axi_read_request_t host_o,
  // verilator lint_off UNUSEDSIGNAL
  input axi_read_response_t host_i
  // verilator lint_on UNUSEDSIGNAL
);

  typedef struct packed {
    logic [TagBits-1:0] tag;
    bus_address_t address;
    burst_lines_t lines;
  } read_t;

  read_t read;
  logic read_valid, reads_ready, flags_ready;
  skid_buffer #(
    .T(read_t)
  ) u_reads (
    .clk_i,
    .rst_i,
    .in_valid_i(burst_valid_i && flags_ready),
    .in_ready_o(reads_ready),
    .in_i({burst_tag_i, burst_address_i, burst_lines_i}),
    .out_valid_o(read_valid),
    .out_ready_i(host_i.arready),
    .out_o(read)
  );

  assign burst_ready_o = reads_ready && flags_ready;
  assign host_o = '{
    arvalid: read_valid,
    arid: AxiIdBits'(read.tag),
    araddr: AxiAddressBits'(read.address),
    arlen: 8'(read.lines) - 8'd1,
    arsize: AxiSizeLine,
    arburst: AxiBurstIncr,
    rready: 1'b1
  };

  logic fails, discards;
  logic [TagBits-1:0] tag;
  assign tag = host_i.rid[TagBits-1:0];

  failed_bursts #(
    .TagBits(TagBits)
  ) u_failed_bursts (
    .clk_i,
    .rst_i,
    .ready_o(flags_ready),
    .beat_i(host_i.rvalid),
    .tag_i(tag),
    .last_i(host_i.rlast),
    .error_i(host_i.rresp != AxiRespOkay),
    .fails_o(fails),
    .discards_o(discards)
  );

  // Lines are registered once.
  logic valid_q;
  logic [TagBits-1:0] tag_q;
  burst_line_t line_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) valid_q <= 1'b0;
    else valid_q <= host_i.rvalid && !discards;
    tag_q <= tag;
    line_q <= '{data: host_i.rdata, last: host_i.rlast, error: fails};
  end

  assign line_valid_o = valid_q;
  assign line_tag_o = tag_q;
  assign line_o = line_q;
  // Tags in flight.
  logic [2**TagBits-1:0] flying_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      flying_q <= '0;
    end else begin
      if (burst_valid_i && burst_ready_o) flying_q[burst_tag_i] <= 1'b1;
      if (host_i.rvalid && host_i.rlast) flying_q[tag] <= 1'b0;
    end
  end

  `ASSERT(TagIsFree, !burst_valid_i || !flying_q[burst_tag_i])
  `ASSERT(BeatWasRequested, !host_i.rvalid || (flying_q[tag] && host_i.rid == AxiIdBits'(tag)))
  `ASSERT(StaysWithinPage, !host_o.arvalid
          || 32'(host_o.araddr[11:0]) + ((32'(host_o.arlen) + 32'd1) << LineIndexBits) <= PageBytes)
  `ASSERT_OFFER_STAYS(ReadStays, host_o.arvalid, host_i.arready, {host_o.arid, host_o.araddr, host_o.arlen})

endmodule

`default_nettype wire
