// Connects AXI4 and AXI4-Lite with the integrated block for PCIe of UltraScale+ devices: reads and writes of
// host memory (s_axi_), and accesses of the host to registers (m_axil_). The streams of the block are 512
// bits wide (PG213): requester requests (m_axis_rq_) and completions (s_axis_rc_), completer requests
// (s_axis_cq_) and completions (m_axis_cc_), without straddling, with tags of the client, and without parity.
//
// A line arrives only when all writes of the host that the block has transferred before it are in force: an
// answer to a read does not overtake them. No access to a register may wait for a read of host memory.

`default_nettype none

`include "assertions.svh"

module pcie_adapter
  import accelerator_pkg::*;
  import axi_pkg::*;
  import pcie_pkg::*;
#(
  // tags of reads: a power of two up to 256; 32 if the host has not enabled extended tags
  parameter int unsigned Tags = 256,
  // the most lines of reads in flight: the block has room for as many completions
  parameter int unsigned Lines = 256,
  parameter int unsigned IdBits = AxiIdBits,
  // bits of an address in the base address register
  parameter int unsigned RegisterBits = 12
) (
  input logic clk_i,
  input logic rst_i,

  // the limits that the host has set
  input logic [2:0] cfg_max_read_req,
  input logic [1:0] cfg_max_payload,

  // host memory: bursts of whole lines within a page, at most one read in flight for each id; all other
  // attributes are ignored
  // verilator lint_off UNUSEDSIGNAL
  input  logic                 s_axi_arvalid,
  output logic                 s_axi_arready,
  input  logic [IdBits-1:0]    s_axi_arid,
  input  logic [63:0]          s_axi_araddr,
  input  logic [7:0]           s_axi_arlen,
  input  logic [2:0]           s_axi_arsize,
  input  logic [1:0]           s_axi_arburst,
  input  logic                 s_axi_arlock,
  input  logic [3:0]           s_axi_arcache,
  input  logic [2:0]           s_axi_arprot,
  input  logic [3:0]           s_axi_arqos,
  input  logic [3:0]           s_axi_arregion,
  output logic                 s_axi_rvalid,
  input  logic                 s_axi_rready,
  output logic [IdBits-1:0]    s_axi_rid,
  output line_t                s_axi_rdata,
  output logic [1:0]           s_axi_rresp,
  output logic                 s_axi_rlast,
  input  logic                 s_axi_awvalid,
  output logic                 s_axi_awready,
  input  logic [IdBits-1:0]    s_axi_awid,
  input  logic [63:0]          s_axi_awaddr,
  input  logic [7:0]           s_axi_awlen,
  input  logic [2:0]           s_axi_awsize,
  input  logic [1:0]           s_axi_awburst,
  input  logic                 s_axi_awlock,
  input  logic [3:0]           s_axi_awcache,
  input  logic [2:0]           s_axi_awprot,
  input  logic [3:0]           s_axi_awqos,
  input  logic [3:0]           s_axi_awregion,
  input  logic                 s_axi_wvalid,
  output logic                 s_axi_wready,
  input  line_t                s_axi_wdata,
  input  logic [LineBytes-1:0] s_axi_wstrb,
  input  logic                 s_axi_wlast,
  output logic                 s_axi_bvalid,
  input  logic                 s_axi_bready,
  output logic [IdBits-1:0]    s_axi_bid,
  output logic [1:0]           s_axi_bresp,

  // registers
  output logic                    m_axil_awvalid,
  input  logic                    m_axil_awready,
  output logic [RegisterBits-1:0] m_axil_awaddr,
  output logic [2:0]              m_axil_awprot,
  output logic                    m_axil_wvalid,
  input  logic                    m_axil_wready,
  output logic [31:0]             m_axil_wdata,
  output logic [3:0]              m_axil_wstrb,
  input  logic                    m_axil_bvalid,
  output logic                    m_axil_bready,
  input  logic [1:0]              m_axil_bresp,
  output logic                    m_axil_arvalid,
  input  logic                    m_axil_arready,
  output logic [RegisterBits-1:0] m_axil_araddr,
  output logic [2:0]              m_axil_arprot,
  input  logic                    m_axil_rvalid,
  output logic                    m_axil_rready,
  input  logic [31:0]             m_axil_rdata,
  input  logic [1:0]              m_axil_rresp,

  // the integrated block
  output logic                  m_axis_rq_tvalid,
  input  logic                  m_axis_rq_tready,
  output line_t                 m_axis_rq_tdata,
  output logic [LineDwords-1:0] m_axis_rq_tkeep,
  output logic                  m_axis_rq_tlast,
  output logic [136:0]          m_axis_rq_tuser,
  input  logic                  s_axis_rc_tvalid,
  output logic                  s_axis_rc_tready,
  input  line_t                 s_axis_rc_tdata,
  input  logic [LineDwords-1:0] s_axis_rc_tkeep,
  input  logic                  s_axis_rc_tlast,
  input  logic [160:0]          s_axis_rc_tuser,
  // packets of s_axis_cq that the block had transferred when it transferred this beat of s_axis_rc
  input  pcie_count_t           rc_cq_count_i,
  input  logic                  s_axis_cq_tvalid,
  output logic                  s_axis_cq_tready,
  input  line_t                 s_axis_cq_tdata,
  input  logic [LineDwords-1:0] s_axis_cq_tkeep,
  input  logic                  s_axis_cq_tlast,
  input  logic [182:0]          s_axis_cq_tuser,
  // verilator lint_on UNUSEDSIGNAL
  // numbers of requests that the block has sent: see pcie_pkg
  input  logic [5:0]            pcie_rq_seq_num0,
  input  logic                  pcie_rq_seq_num_vld0,
  input  logic [5:0]            pcie_rq_seq_num1,
  input  logic                  pcie_rq_seq_num_vld1,
  output logic                  m_axis_cc_tvalid,
  input  logic                  m_axis_cc_tready,
  output line_t                 m_axis_cc_tdata,
  output logic [LineDwords-1:0] m_axis_cc_tkeep,
  output logic                  m_axis_cc_tlast,
  output logic [80:0]           m_axis_cc_tuser
);

  // From the least significant bit of s_axis_cq_tuser on: byte enables of the first and of the last dword,
  // each of two requests, of which only straddling uses the second.
  localparam int unsigned LastEnables = 8;

  axi_read_request_t read;
  axi_read_response_t lines;
  axi_write_request_t write;
  axi_write_response_t written;
  pcie_beat_t read_request, write_request, request, answer;
  localparam pcie_count_t HalfOfCounts = pcie_count_t'(1) << ($bits(pcie_count_t) - 1);

  // Packets of s_axis_cq that were executed.
  pcie_count_t executed_q;
  logic executed, is_behind, rc_ready;
  logic write_ends, ends, sent;
  logic read_request_valid, read_request_ready, write_request_valid, write_request_ready;

  always_comb begin
    read = '{
      arvalid: s_axi_arvalid,
      arid: AxiIdBits'(s_axi_arid),
      araddr: s_axi_araddr,
      arlen: s_axi_arlen,
      arsize: s_axi_arsize,
      arburst: s_axi_arburst,
      rready: s_axi_rready
    };
    write = '{
      awvalid: s_axi_awvalid,
      awid: AxiIdBits'(s_axi_awid),
      awaddr: s_axi_awaddr,
      awlen: s_axi_awlen,
      awsize: s_axi_awsize,
      awburst: s_axi_awburst,
      wvalid: s_axi_wvalid,
      wdata: s_axi_wdata,
      wstrb: s_axi_wstrb,
      wlast: s_axi_wlast,
      bready: s_axi_bready
    };
  end

  assign {s_axi_arready, s_axi_rvalid, s_axi_rdata} = {lines.arready, lines.rvalid, lines.rdata};
  assign {s_axi_rid, s_axi_rresp, s_axi_rlast} = {lines.rid[IdBits-1:0], lines.rresp, lines.rlast};
  assign {s_axi_awready, s_axi_wready, s_axi_bvalid} = {written.awready, written.wready, written.bvalid};
  assign {s_axi_bid, s_axi_bresp} = {written.bid[IdBits-1:0], written.bresp};

  // Counts wrap, so a negative difference is in the upper half.
  assign is_behind = executed_q - rc_cq_count_i < HalfOfCounts;
  assign s_axis_rc_tready = rc_ready && is_behind;
  always_ff @(posedge clk_i) executed_q <= rst_i ? '0 : executed_q + pcie_count_t'(executed);

  pcie_reads #(
    .Tags(Tags),
    .Lines(Lines)
  ) u_reads (
    .clk_i,
    .rst_i,
    .max_read_i(cfg_max_read_req),
    .read_i(read),
    .read_o(lines),
    .request_valid_o(read_request_valid),
    .request_ready_i(read_request_ready),
    .request_o(read_request),
    .answer_valid_i(s_axis_rc_tvalid && is_behind),
    .answer_ready_o(rc_ready),
    .answer_i({s_axis_rc_tdata, s_axis_rc_tkeep, s_axis_rc_tlast}),
    .answer_damaged_i(s_axis_rc_tuser[PcieDiscontinue])
  );

  pcie_writes u_writes (
    .clk_i,
    .rst_i,
    .max_payload_i(cfg_max_payload),
    .write_i(write),
    .write_o(written),
    .request_valid_o(write_request_valid),
    .request_ready_i(write_request_ready),
    .request_o(write_request),
    .request_ends_o(write_ends),
    .sent_i(sent)
  );

  arbiter #(
    .T(logic [$bits(pcie_beat_t):0]),
    .Count(2)
  ) u_requests (
    .clk_i,
    .rst_i,
    .in_valid_i({write_request_valid, read_request_valid}),
    .in_ready_o({write_request_ready, read_request_ready}),
    .in_i({write_ends, write_request, 1'b0, read_request}),
    .in_last_i({write_request.last, read_request.last}),
    .out_valid_o(m_axis_rq_tvalid),
    .out_ready_i(m_axis_rq_tready),
    .out_o({ends, request}),
    .out_last_o(),
    .out_index_o()
  );

  assign {m_axis_rq_tdata, m_axis_rq_tkeep, m_axis_rq_tlast} = request;
  assign m_axis_rq_tuser = PcieWholeLines | (ends ? 137'(PcieBurstEnd) << PcieSequence : '0);
  assign sent = (pcie_rq_seq_num_vld0 && pcie_rq_seq_num0 == PcieBurstEnd)
      || (pcie_rq_seq_num_vld1 && pcie_rq_seq_num1 == PcieBurstEnd);

  pcie_registers #(
    .AddressBits(RegisterBits)
  ) u_registers (
    .clk_i,
    .rst_i,
    .request_valid_i(s_axis_cq_tvalid),
    .request_ready_o(s_axis_cq_tready),
    .request_i({s_axis_cq_tdata, s_axis_cq_tkeep, s_axis_cq_tlast}),
    .request_damaged_i(s_axis_cq_tuser[PcieDiscontinue]),
    .request_first_i(s_axis_cq_tuser[3:0]),
    .request_last_i(s_axis_cq_tuser[LastEnables+:4]),
    .answer_valid_o(m_axis_cc_tvalid),
    .answer_ready_i(m_axis_cc_tready),
    .answer_o(answer),
    .executed_o(executed),
    .m_axil_awvalid,
    .m_axil_awready,
    .m_axil_awaddr,
    .m_axil_awprot,
    .m_axil_wvalid,
    .m_axil_wready,
    .m_axil_wdata,
    .m_axil_wstrb,
    .m_axil_bvalid,
    .m_axil_bready,
    .m_axil_bresp,
    .m_axil_arvalid,
    .m_axil_arready,
    .m_axil_araddr,
    .m_axil_arprot,
    .m_axil_rvalid,
    .m_axil_rready,
    .m_axil_rdata,
    .m_axil_rresp
  );

  assign {m_axis_cc_tdata, m_axis_cc_tkeep, m_axis_cc_tlast} = answer;
  assign m_axis_cc_tuser = '0;

  `ASSERT(ReadIsOfLines, !s_axi_arvalid || (s_axi_arsize == AxiSizeLine && s_axi_arburst == AxiBurstIncr))
  `COVER(CompletionWaitsForARegister, s_axis_rc_tvalid && !is_behind)
  `ASSERT(WriteIsOfLines, !s_axi_awvalid || (s_axi_awsize == AxiSizeLine && s_axi_awburst == AxiBurstIncr))
  `ASSERT_OFFER_STAYS(RequestStays, m_axis_rq_tvalid, m_axis_rq_tready, request)
  `ASSERT_OFFER_STAYS(AnswerStays, m_axis_cc_tvalid, m_axis_cc_tready, answer)

endmodule

`default_nettype wire
