// Reads of host memory as requests of PCIe. Bursts have the ids of AXI and requests have tags, which are
// fewer: a burst waits for a free tag and keeps it to its end. It is one request, or several, one after the
// other, if the host limits requests to fewer bytes. So the lines of a burst are in order without a buffer.

`default_nettype none

`include "assertions.svh"

module pcie_reads
  import axi_pkg::*;
  import pcie_pkg::*;
#(
  // tags, which limit the bursts in flight: a power of two up to 256; 32 without extended tags
  parameter int unsigned Tags = 256,
  // the most lines in flight: the block has room for as many completions
  parameter int unsigned Lines = 256,
  localparam int unsigned TagBits = $clog2(Tags)
) (
  input logic clk_i,
  input logic rst_i,

  // the most bytes of a request: 128 << max_read_i
  input logic [2:0] max_read_i,

  // verilator lint_off UNUSEDSIGNAL
  input  axi_read_request_t  read_i,
  // verilator lint_on UNUSEDSIGNAL
  output axi_read_response_t read_o,

  // requests of one beat
  output logic       request_valid_o,
  input  logic       request_ready_i,
  output pcie_beat_t request_o,

  // completions: see pcie_read_answers
  input  logic       answer_valid_i,
  output logic       answer_ready_o,
  input  pcie_beat_t answer_i,
  input  logic       answer_damaged_i
);

  if (Tags < 2 || Tags > 256 || (Tags & (Tags - 1)) != 0) $fatal(1, "Tags must be a power of two up to 256");

  logic free_valid, free_ready, freed_valid, again_in_valid, again_valid, again_ready;
  logic freed_has_room, again_has_room, arrived;
  logic [TagBits-1:0] free_tag, freed_tag, again_in_tag, again_tag, tag;
  pcie_burst_t burst;
  pcie_lines_t uncovered;

  pcie_read_requests #(
    .Tags(Tags),
    .Lines(Lines)
  ) u_requests (
    .clk_i,
    .rst_i,
    .max_read_i,
    .read_valid_i(read_i.arvalid),
    .read_ready_o(read_o.arready),
    .read_id_i(read_i.arid),
    .read_address_i(read_i.araddr),
    .read_length_i(read_i.arlen),
    .free_valid_i(free_valid),
    .free_ready_o(free_ready),
    .free_tag_i(free_tag),
    .again_valid_i(again_valid),
    .again_ready_o(again_ready),
    .again_tag_i(again_tag),
    .request_valid_o,
    .request_ready_i,
    .request_o,
    .arrived_i(arrived),
    .tag_i(tag),
    .burst_o(burst),
    .uncovered_o(uncovered)
  );

  pcie_read_answers #(
    .Tags(Tags)
  ) u_answers (
    .clk_i,
    .rst_i,
    .answer_valid_i,
    .answer_ready_o,
    .answer_i,
    .answer_damaged_i,
    .tag_o(tag),
    .burst_i(burst),
    .uncovered_i(uncovered),
    .line_valid_o(read_o.rvalid),
    .line_ready_i(read_i.rready),
    .line_id_o(read_o.rid),
    .line_o(read_o.rdata),
    .line_response_o(read_o.rresp),
    .line_last_o(read_o.rlast),
    .arrived_o(arrived),
    .freed_valid_o(freed_valid),
    .freed_tag_o(freed_tag),
    .again_valid_o(again_in_valid),
    .again_tag_o(again_in_tag)
  );

  // Each tag is in one of the queues at most, so both always have room.
  fifo #(
    .T(logic [TagBits-1:0]),
    .Depth(Tags)
  ) u_free (
    .clk_i,
    .rst_i,
    .in_valid_i(freed_valid),
    .in_ready_o(freed_has_room),
    .in_i(freed_tag),
    .out_valid_o(free_valid),
    .out_ready_i(free_ready),
    .out_o(free_tag),
    .count_o()
  );

  fifo #(
    .T(logic [TagBits-1:0]),
    .Depth(Tags)
  ) u_again (
    .clk_i,
    .rst_i,
    .in_valid_i(again_in_valid),
    .in_ready_o(again_has_room),
    .in_i(again_in_tag),
    .out_valid_o(again_valid),
    .out_ready_i(again_ready),
    .out_o(again_tag),
    .count_o()
  );

  `ASSERT(FreedTagHasRoom, !freed_valid || freed_has_room)
  `ASSERT(ContinuedTagHasRoom, !again_in_valid || again_has_room)

endmodule

`default_nettype wire
