// Divides bursts into requests of PCIe. The first request of a burst takes a free tag. The next one has the
// same tag, after the answers of the one before it. A device promises the host room for all completions of
// its requests. So the lines in flight are limited: each may arrive in a completion of its own.

`default_nettype none

`include "assertions.svh"

module pcie_read_requests
  import accelerator_pkg::*;
  import axi_pkg::*;
  import pcie_pkg::*;
#(
  parameter int unsigned Tags = 256,
  // the most lines in flight, at least those of a page
  parameter int unsigned Lines = 256,
  localparam int unsigned TagBits = $clog2(Tags)
) (
  input logic clk_i,
  input logic rst_i,

  // the most bytes of a request: 128 << max_read_i
  input logic [2:0] max_read_i,

  input  logic                      read_valid_i,
  output logic                      read_ready_o,
  input  logic [AxiIdBits-1:0]      read_id_i,
  // verilator lint_off UNUSEDSIGNAL
  input  logic [AxiAddressBits-1:0] read_address_i,
  // verilator lint_on UNUSEDSIGNAL
  // lines of the burst, less one
  input  logic [7:0]                read_length_i,

  input  logic               free_valid_i,
  output logic               free_ready_o,
  input  logic [TagBits-1:0] free_tag_i,

  // bursts with lines that no request has covered; all requests of them were answered
  input  logic               again_valid_i,
  output logic               again_ready_o,
  input  logic [TagBits-1:0] again_tag_i,

  output logic       request_valid_o,
  input  logic       request_ready_i,
  output pcie_beat_t request_o,

  // one of the lines in flight has arrived, or will not arrive
  input logic arrived_i,

  // the burst of a tag, and its lines that no request has covered
  input  logic [TagBits-1:0] tag_i,
  output pcie_burst_t        burst_o,
  output pcie_lines_t        uncovered_o
);

  if (Lines < 64) $fatal(1, "Lines must be at least 64");

  typedef struct packed {
    pcie_line_address_t line;
    pcie_lines_t lines;
  } rest_t;

  typedef struct packed {
    logic [TagBits-1:0] tag;
    rest_t rest;
  } chosen_t;

  pcie_burst_t bursts_q[Tags];
  rest_t rests_q[Tags];

  localparam int unsigned CountBits = $clog2(Lines + 1);

  chosen_t chosen_q;
  logic [CountBits-1:0] in_flight_q;
  logic chosen_valid_q, chooses, accepts, fits, sends, request_ready;
  pcie_lines_t most, lines;
  rest_t read, rest;
  pcie_request_t request;
  pcie_beat_t beat;

  assign chooses = !chosen_valid_q || sends;
  assign accepts = chooses && !again_valid_i && read_valid_i && free_valid_i;
  assign again_ready_o = chooses;
  assign read_ready_o = chooses && !again_valid_i && free_valid_i;
  assign free_ready_o = chooses && !again_valid_i && read_valid_i;
  assign read.line = read_address_i[AxiAddressBits-1:LineIndexBits];
  assign read.lines = pcie_lines_t'(read_length_i) + 1'b1;

  always_ff @(posedge clk_i) begin
    if (accepts) bursts_q[free_tag_i] <= '{id: read_id_i, lines: read.lines};
    if (chooses) begin
      chosen_q <= again_valid_i ? {again_tag_i, rests_q[again_tag_i]} : {free_tag_i, read};
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) chosen_valid_q <= 1'b0;
    else if (chooses) chosen_valid_q <= again_valid_i || accepts;
  end

  // A request of 4 KiB covers each burst.
  assign most = max_read_i >= 3'd5 ? pcie_lines_t'(64) : pcie_lines_t'(2) << max_read_i;
  assign lines = chosen_q.rest.lines < most ? chosen_q.rest.lines : most;
  assign rest.line = chosen_q.rest.line + pcie_line_address_t'(lines);
  assign rest.lines = chosen_q.rest.lines - lines;

  assign fits = in_flight_q <= CountBits'(Lines) - CountBits'(lines);
  assign sends = chosen_valid_q && fits && request_ready;

  always_ff @(posedge clk_i) begin
    if (rst_i) in_flight_q <= '0;
    else in_flight_q <= in_flight_q + (sends ? CountBits'(lines) : '0) - CountBits'(arrived_i);
  end

  always_ff @(posedge clk_i) begin
    if (sends) rests_q[chosen_q.tag] <= rest;
  end

  always_comb begin
    request = '0;
    request.kind = PcieMemoryRead;
    request.tag = pcie_tag_t'(chosen_q.tag);
    request.address_dwords = {chosen_q.rest.line, 4'd0};
    request.dwords = 11'(lines) * 11'(LineDwords);
    beat = '{data: line_t'(request), keep: LineDwords'('hf), last: 1'b1};
  end

  skid_buffer #(
    .T(pcie_beat_t)
  ) u_requests (
    .clk_i,
    .rst_i,
    .in_valid_i(chosen_valid_q && fits),
    .in_ready_o(request_ready),
    .in_i(beat),
    .out_valid_o(request_valid_o),
    .out_ready_i(request_ready_i),
    .out_o(request_o)
  );

  assign burst_o = bursts_q[tag_i];
  assign uncovered_o = rests_q[tag_i].lines;

  `ASSERT(BurstIsWithinAPage,
          !read_valid_i || 32'(read_address_i[11:LineIndexBits]) + 32'(read_length_i) < 64)
  `ASSERT(BurstIsOfLines, !read_valid_i || read_address_i[LineIndexBits-1:0] == '0)
  `ASSERT(SomeLinesAreUncovered, !chosen_valid_q || chosen_q.rest.lines != '0)
  `ASSERT(LinesAreInFlight, !arrived_i || in_flight_q != '0)
  `COVER(RequestDoesNotFit, chosen_valid_q && !fits)
  `COVER(BurstContinues, again_valid_i && again_ready_o)
  `COVER(BurstWaitsForATag, read_valid_i && !free_valid_i)

endmodule

`default_nettype wire
