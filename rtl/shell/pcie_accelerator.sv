// The accelerator with its shell for PCIe, all of one clock: its registers and host memory are behind the
// streams of the integrated block, and on-board memory is behind units that complete its transactions when
// the accelerator is in reset.

`default_nettype none

`include "axi_pins.svh"

module pcie_accelerator
  import accelerator_pkg::*;
  import axi_pkg::*;
  import pcie_pkg::*;
#(
  // see pcie_top
  parameter int unsigned SlotCount = 256,
  parameter int unsigned SearchUnits = 4,
  parameter int unsigned SearchDescents = 2,
  parameter int unsigned ScanUnits = 2,
  parameter int unsigned ScanSlots = 4,
  parameter int unsigned LidCount = 65536,
  parameter int unsigned KeptLids = 1024,
  parameter int unsigned DramAddressBits = 34,
  parameter int unsigned HostTimeoutBits = 22,
  parameter int unsigned Tags = 256,
  parameter int unsigned HostLines = 256,
  // channels of on-board memory
  localparam int unsigned Channels = 2,
  localparam int unsigned Places = SearchUnits * SearchDescents + ScanUnits * ScanSlots,
  localparam int unsigned HostIdBits = memory_pkg::tag_bits(ScanUnits, Places)
) (
  input logic clk_i,
  input logic rst_i,

  // see drained_reset and dram_drain
  input  logic dram_rst_i,
  input  logic drains_i,
  output logic idle_o,

  // the limits that the host has set
  input logic [2:0] max_read_req_i,
  input logic [1:0] max_payload_i,

  // requests and completions
  input  logic                 s_axis_tvalid,
  output logic                 s_axis_tready,
  input  line_t                s_axis_tdata,
  input  logic [LineBytes-1:0] s_axis_tkeep,
  input  logic                 s_axis_tlast,
  output logic                 m_axis_tvalid,
  input  logic                 m_axis_tready,
  output line_t                m_axis_tdata,
  output logic [LineBytes-1:0] m_axis_tkeep,
  output logic                 m_axis_tlast,

  // on-board memory
  output axi_read_request_t   dram_read_o[Channels],
  input  axi_read_response_t  dram_read_i[Channels],
  output axi_write_request_t  dram_write_o[Channels],
  input  axi_write_response_t dram_write_i[Channels],

  // the integrated block, behind pcie_clocks
  output logic         rq_valid_o,
  input  logic         rq_ready_i,
  output pcie_beat_t   rq_o,
  output logic [136:0] rq_user_o,
  input  logic         sent_i,
  input  logic         rc_valid_i,
  output logic         rc_ready_o,
  input  pcie_beat_t   rc_i,
  input  logic [160:0] rc_user_i,
  input  pcie_count_t  rc_cq_count_i,
  input  logic         cq_valid_i,
  output logic         cq_ready_o,
  input  pcie_beat_t   cq_i,
  input  logic [182:0] cq_user_i,
  output logic         cc_valid_o,
  input  logic         cc_ready_i,
  output pcie_beat_t   cc_o,
  output logic [80:0]  cc_user_o
);

  // the registers of the accelerator
  localparam int unsigned RegisterBits = $clog2(layout_pkg::ShellRegisters);
  logic s_axil_awvalid, s_axil_awready, s_axil_wvalid, s_axil_wready, s_axil_bvalid, s_axil_bready;
  logic s_axil_arvalid, s_axil_arready, s_axil_rvalid, s_axil_rready;
  logic [RegisterBits-1:0] s_axil_awaddr, s_axil_araddr;
  logic [31:0] s_axil_wdata, s_axil_rdata;
  logic [3:0] s_axil_wstrb;
  logic [1:0] s_axil_bresp, s_axil_rresp;

  // host memory
  logic m_axi_host_arvalid, m_axi_host_arready, m_axi_host_rvalid, m_axi_host_rready, m_axi_host_rlast;
  logic [HostIdBits-1:0] m_axi_host_arid, m_axi_host_rid;
  logic [63:0] m_axi_host_araddr;
  logic [7:0] m_axi_host_arlen;
  logic [2:0] m_axi_host_arsize, m_axi_host_arprot;
  logic [1:0] m_axi_host_arburst, m_axi_host_rresp;
  logic m_axi_host_arlock;
  logic [3:0] m_axi_host_arcache, m_axi_host_arqos, m_axi_host_arregion;
  line_t m_axi_host_rdata;

  logic [63:0] window_oldest, window_newest;

  // The pins of host memory do not have all bits of ids and addresses.
  // verilator lint_off UNUSEDSIGNAL
  axi_read_request_t host_request;
  // verilator lint_on UNUSEDSIGNAL
  axi_read_response_t host_response;
  axi_read_request_t read_requests[Channels];
  axi_read_response_t read_responses[Channels];
  axi_write_request_t write_requests[Channels];
  axi_write_response_t write_responses[Channels];
  logic [Channels-1:0] is_idle;

  accelerator #(
    .SlotCount(SlotCount),
    .SearchUnits(SearchUnits),
    .SearchDescents(SearchDescents),
    .ScanUnits(ScanUnits),
    .ScanSlots(ScanSlots),
    .LidCount(LidCount),
    .KeptLids(KeptLids),
    .DramAddressBits(DramAddressBits),
    .HostTimeoutBits(HostTimeoutBits),
    .Channels(Channels)
  ) u_accelerator (
    .clk_i,
    .rst_i,
    .control_awvalid_i(s_axil_awvalid), .control_awready_o(s_axil_awready),
    .control_awaddr_i(s_axil_awaddr),
    .control_wvalid_i(s_axil_wvalid), .control_wready_o(s_axil_wready),
    .control_wdata_i(s_axil_wdata), .control_wstrb_i(s_axil_wstrb),
    .control_bvalid_o(s_axil_bvalid), .control_bready_i(s_axil_bready), .control_bresp_o(s_axil_bresp),
    .control_arvalid_i(s_axil_arvalid), .control_arready_o(s_axil_arready),
    .control_araddr_i(s_axil_araddr),
    .control_rvalid_o(s_axil_rvalid), .control_rready_i(s_axil_rready),
    .control_rdata_o(s_axil_rdata), .control_rresp_o(s_axil_rresp),
    .request_valid_i(s_axis_tvalid), .request_ready_o(s_axis_tready),
    .request_data_i(s_axis_tdata), .request_keep_i(s_axis_tkeep), .request_last_i(s_axis_tlast),
    .completion_valid_o(m_axis_tvalid), .completion_ready_i(m_axis_tready),
    .completion_data_o(m_axis_tdata), .completion_keep_o(m_axis_tkeep), .completion_last_o(m_axis_tlast),
    .host_o(host_request),
    .host_i(host_response),
    .dram_read_o(read_requests),
    .dram_read_i(read_responses),
    .dram_write_o(write_requests),
    .dram_write_i(write_responses),
    .window_oldest_o(window_oldest),
    .window_newest_o(window_newest),
    .events_o()
  );

  for (genvar channel = 0; channel < Channels; channel++) begin : g_drains
    dram_drain u_drain (
      .clk_i,
      .rst_i(dram_rst_i),
      .drains_i,
      .idle_o(is_idle[channel]),
      .read_i(read_requests[channel]),
      .read_o(read_responses[channel]),
      .write_i(write_requests[channel]),
      .write_o(write_responses[channel]),
      .dram_read_o(dram_read_o[channel]),
      .dram_read_i(dram_read_i[channel]),
      .dram_write_o(dram_write_o[channel]),
      .dram_write_i(dram_write_i[channel])
    );
  end

  `AXI_READ_PINS(m_axi_host, host_request, host_response)

  assign idle_o = &is_idle;

  pcie_shell #(
    .Tags(Tags),
    .HostLines(HostLines),
    .IdBits(HostIdBits)
  ) u_shell (
    .clk_i,
    .rst_i,
    .m_axil_awvalid(s_axil_awvalid),
    .m_axil_awready(s_axil_awready),
    .m_axil_awaddr(s_axil_awaddr),
    .m_axil_awprot(),
    .m_axil_wvalid(s_axil_wvalid),
    .m_axil_wready(s_axil_wready),
    .m_axil_wdata(s_axil_wdata),
    .m_axil_wstrb(s_axil_wstrb),
    .m_axil_bvalid(s_axil_bvalid),
    .m_axil_bready(s_axil_bready),
    .m_axil_bresp(s_axil_bresp),
    .m_axil_arvalid(s_axil_arvalid),
    .m_axil_arready(s_axil_arready),
    .m_axil_araddr(s_axil_araddr),
    .m_axil_arprot(),
    .m_axil_rvalid(s_axil_rvalid),
    .m_axil_rready(s_axil_rready),
    .m_axil_rdata(s_axil_rdata),
    .m_axil_rresp(s_axil_rresp),
    .s_axi_arvalid(m_axi_host_arvalid),
    .s_axi_arready(m_axi_host_arready),
    .s_axi_arid(m_axi_host_arid),
    .s_axi_araddr(m_axi_host_araddr),
    .s_axi_arlen(m_axi_host_arlen),
    .s_axi_arsize(m_axi_host_arsize),
    .s_axi_arburst(m_axi_host_arburst),
    .s_axi_arlock(m_axi_host_arlock),
    .s_axi_arcache(m_axi_host_arcache),
    .s_axi_arprot(m_axi_host_arprot),
    .s_axi_arqos(m_axi_host_arqos),
    .s_axi_arregion(m_axi_host_arregion),
    .s_axi_rvalid(m_axi_host_rvalid),
    .s_axi_rready(m_axi_host_rready),
    .s_axi_rid(m_axi_host_rid),
    .s_axi_rdata(m_axi_host_rdata),
    .s_axi_rresp(m_axi_host_rresp),
    .s_axi_rlast(m_axi_host_rlast),
    .window_oldest_i(window_oldest),
    .window_newest_i(window_newest),
    .cfg_max_read_req(max_read_req_i),
    .cfg_max_payload(max_payload_i),
    .m_axis_rq_tvalid(rq_valid_o), .m_axis_rq_tready(rq_ready_i),
    .m_axis_rq_tdata(rq_o.data), .m_axis_rq_tkeep(rq_o.keep), .m_axis_rq_tlast(rq_o.last),
    .m_axis_rq_tuser(rq_user_o),
    .s_axis_rc_tvalid(rc_valid_i), .s_axis_rc_tready(rc_ready_o),
    .s_axis_rc_tdata(rc_i.data), .s_axis_rc_tkeep(rc_i.keep), .s_axis_rc_tlast(rc_i.last),
    .s_axis_rc_tuser(rc_user_i), .rc_cq_count_i,
    .s_axis_cq_tvalid(cq_valid_i), .s_axis_cq_tready(cq_ready_o),
    .s_axis_cq_tdata(cq_i.data), .s_axis_cq_tkeep(cq_i.keep), .s_axis_cq_tlast(cq_i.last),
    .s_axis_cq_tuser(cq_user_i),
    .pcie_rq_seq_num0(PcieBurstEnd), .pcie_rq_seq_num_vld0(sent_i),
    .pcie_rq_seq_num1('0), .pcie_rq_seq_num_vld1(1'b0),
    .m_axis_cc_tvalid(cc_valid_o), .m_axis_cc_tready(cc_ready_i),
    .m_axis_cc_tdata(cc_o.data), .m_axis_cc_tkeep(cc_o.keep), .m_axis_cc_tlast(cc_o.last),
    .m_axis_cc_tuser(cc_user_o)
  );

endmodule

`default_nettype wire
