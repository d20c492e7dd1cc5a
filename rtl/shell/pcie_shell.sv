// All that is between the accelerator and the integrated block for PCIe: the adapter, the registers of the
// shell behind those of the accelerator, and copies of the window in host memory.

`default_nettype none

`include "assertions.svh"

module pcie_shell
  import accelerator_pkg::*;
  import axi_pkg::*;
  import layout_pkg::*;
  import pcie_pkg::*;
#(
  // tags of reads of host memory, and most lines in flight: see pcie_reads
  parameter int unsigned Tags = 256,
  parameter int unsigned HostLines = 256,
  parameter int unsigned IdBits = AxiIdBits,
  localparam int unsigned RegisterBits = $clog2(ShellRegisters)
) (
  input logic clk_i,
  input logic rst_i,

  // the limits that the host has set
  input logic [2:0] cfg_max_read_req,
  input logic [1:0] cfg_max_payload,

  // reads of host memory: see pcie_adapter
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

  // the registers of the accelerator
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

  // the window of the accelerator
  input logic [63:0] window_oldest_i,
  input logic [63:0] window_newest_i,

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
  input  pcie_count_t           rc_cq_count_i,
  input  logic                  s_axis_cq_tvalid,
  output logic                  s_axis_cq_tready,
  input  line_t                 s_axis_cq_tdata,
  input  logic [LineDwords-1:0] s_axis_cq_tkeep,
  input  logic                  s_axis_cq_tlast,
  input  logic [182:0]          s_axis_cq_tuser,
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

  // The lower half of the base address register has the registers of the accelerator, the upper half those of
  // the shell. An access ends before the next one begins, so its address selects the half until then.
  localparam int unsigned Halves = 2;

  logic awvalid, wvalid, bready, arvalid, rready, written, read;
  logic [RegisterBits:0] awaddr, araddr;
  logic [Halves-1:0] awready, wready, bvalid, arready, rvalid;
  logic [Halves-1:0][1:0] bresp, rresp;
  logic [Halves-1:0][31:0] rdata;

  // verilator lint_off UNUSEDSIGNAL
  axi_write_request_t copy;
  // verilator lint_on UNUSEDSIGNAL
  axi_write_response_t copied;
  logic [IdBits-1:0] bid;
  logic [63:0] window_address, written_address;

  assign written = awaddr[RegisterBits];
  assign read = araddr[RegisterBits];

  assign m_axil_awvalid = awvalid && !written;
  assign m_axil_awaddr = awaddr[RegisterBits-1:0];
  assign m_axil_wvalid = wvalid && !written;
  assign m_axil_bready = bready && !written;
  assign m_axil_arvalid = arvalid && !read;
  assign m_axil_araddr = araddr[RegisterBits-1:0];
  assign m_axil_rready = rready && !read;
  assign {awready[0], wready[0], arready[0]} = {m_axil_awready, m_axil_wready, m_axil_arready};
  assign {bvalid[0], bresp[0]} = {m_axil_bvalid, m_axil_bresp};
  assign {rvalid[0], rresp[0], rdata[0]} = {m_axil_rvalid, m_axil_rresp, m_axil_rdata};

  shell_registers #(
    .AddressBits(RegisterBits)
  ) u_registers (
    .clk_i,
    .rst_i,
    .s_axil_awvalid(awvalid && written),
    .s_axil_awready(awready[1]),
    .s_axil_awaddr(awaddr[RegisterBits-1:0]),
    .s_axil_wvalid(wvalid && written),
    .s_axil_wready(wready[1]),
    .s_axil_wdata(m_axil_wdata),
    .s_axil_wstrb(m_axil_wstrb),
    .s_axil_bvalid(bvalid[1]),
    .s_axil_bready(bready && written),
    .s_axil_bresp(bresp[1]),
    .s_axil_arvalid(arvalid && read),
    .s_axil_arready(arready[1]),
    .s_axil_araddr(araddr[RegisterBits-1:0]),
    .s_axil_rvalid(rvalid[1]),
    .s_axil_rready(rready && read),
    .s_axil_rdata(rdata[1]),
    .s_axil_rresp(rresp[1]),
    .window_address_o(window_address),
    .window_address_i(written_address)
  );

  window_writer u_window_writer (
    .clk_i,
    .rst_i,
    .address_i(window_address),
    .address_o(written_address),
    .oldest_i(window_oldest_i),
    .newest_i(window_newest_i),
    .write_o(copy),
    .write_i(copied)
  );

  assign copied.bid = AxiIdBits'(bid);

  pcie_adapter #(
    .Tags(Tags),
    .Lines(HostLines),
    .IdBits(IdBits),
    .RegisterBits(RegisterBits + 1)
  ) u_adapter (
    .s_axi_awvalid(copy.awvalid),
    .s_axi_awready(copied.awready),
    .s_axi_awid(IdBits'(copy.awid)),
    .s_axi_awaddr(copy.awaddr),
    .s_axi_awlen(copy.awlen),
    .s_axi_awsize(copy.awsize),
    .s_axi_awburst(copy.awburst),
    .s_axi_awlock(AxiLockNormal),
    .s_axi_awcache(AxiCacheBufferable),
    .s_axi_awprot(AxiProtData),
    .s_axi_awqos(AxiQosNone),
    .s_axi_awregion(AxiRegionOnly),
    .s_axi_wvalid(copy.wvalid),
    .s_axi_wready(copied.wready),
    .s_axi_wdata(copy.wdata),
    .s_axi_wstrb(copy.wstrb),
    .s_axi_wlast(copy.wlast),
    .s_axi_bvalid(copied.bvalid),
    .s_axi_bready(copy.bready),
    .s_axi_bid(bid),
    .s_axi_bresp(copied.bresp),
    .m_axil_awvalid(awvalid),
    .m_axil_awready(awready[written]),
    .m_axil_awaddr(awaddr),
    .m_axil_wvalid(wvalid),
    .m_axil_wready(wready[written]),
    .m_axil_bvalid(bvalid[written]),
    .m_axil_bready(bready),
    .m_axil_bresp(bresp[written]),
    .m_axil_arvalid(arvalid),
    .m_axil_arready(arready[read]),
    .m_axil_araddr(araddr),
    .m_axil_rvalid(rvalid[read]),
    .m_axil_rready(rready),
    .m_axil_rdata(rdata[read]),
    .m_axil_rresp(rresp[read]),
    .*
  );

  `ASSERT(NoAnswerOfTheOtherHalf, !bvalid[!written] && !rvalid[!read])

endmodule

`default_nettype wire
