// The accelerator on a device with PCIe: the host writes its registers and those of the shell through a base
// address register of 8 KiB, and the accelerator reads the memory of the host. Requests and completions
// remain streams, for a network or a queue of the board. The names of the pins are those of accelerator_top
// and pcie_adapter. The integrated block has a clock of its own, and gives the reset; all other pins have the
// clock of the accelerator. On-board memory and its controllers have another reset, so their transactions in
// flight are completed when the host resets the device: see dram_drain.

`default_nettype none

`include "axi_pins.svh"

module pcie_top
  import accelerator_pkg::*;
  import axi_pkg::*;
  import pcie_pkg::*;
#(
  // maximum number of requests in flight: a power of two up to 256
  parameter int unsigned SlotCount = 256,
  // key search units, and descents of each at a time
  parameter int unsigned SearchUnits = 4,
  parameter int unsigned SearchDescents = 2,
  // range scan units, and requests of each at a time
  parameter int unsigned ScanUnits = 2,
  parameter int unsigned ScanSlots = 4,
  // LIDs that can be mapped: a multiple of 512; page-table words of interior nodes on chip: a power of two
  parameter int unsigned LidCount = 65536,
  parameter int unsigned KeptLids = 1024,
  // bytes of each channel of on-board memory, as a power of two
  parameter int unsigned DramAddressBits = 34,
  // A read of host memory times out after 2**HostTimeoutBits to twice as many cycles.
  parameter int unsigned HostTimeoutBits = 22,
  // tags of reads of host memory, and most lines in flight: see pcie_reads
  parameter int unsigned Tags = 256,
  parameter int unsigned HostLines = 256,
  // channels of on-board memory; each has its own prefix
  localparam int unsigned Channels = 2,
  localparam int unsigned Places = SearchUnits * SearchDescents + ScanUnits * ScanSlots,
  // tags: see memory_pkg; on-board memory needs one bit more
  localparam int unsigned HostIdBits = memory_pkg::tag_bits(ScanUnits, Places),
  localparam int unsigned DramIdBits = HostIdBits + 1
) (
  input logic clk_i,
  // The reset of on-board memory and its controllers, for at least one cycle. It begins only while pcie_rst_i
  // is set, and the accelerator stays in reset until it has ended.
  input logic dram_rst_i,
  // see pcie_clocks
  input logic pcie_clk_i,
  input logic pcie_rst_i,

  // the limits that the host has set
  input logic [2:0] cfg_max_read_req,
  input logic [1:0] cfg_max_payload,

  // requests: AXI-Stream, one or more in a packet
  input  logic                 s_axis_tvalid,
  output logic                 s_axis_tready,
  input  line_t                s_axis_tdata,
  input  logic [LineBytes-1:0] s_axis_tkeep,
  input  logic                 s_axis_tlast,

  // completions: AXI-Stream, one in a packet
  output logic                 m_axis_tvalid,
  input  logic                 m_axis_tready,
  output line_t                m_axis_tdata,
  output logic [LineBytes-1:0] m_axis_tkeep,
  output logic                 m_axis_tlast,

  // on-board memory, channel 0: AXI4
  output logic                       m_axi_dram0_arvalid,
  input  logic                       m_axi_dram0_arready,
  output logic [DramIdBits-1:0]      m_axi_dram0_arid,
  output logic [DramAddressBits-1:0] m_axi_dram0_araddr,
  output logic [7:0]                 m_axi_dram0_arlen,
  output logic [2:0]                 m_axi_dram0_arsize,
  output logic [1:0]                 m_axi_dram0_arburst,
  output logic                       m_axi_dram0_arlock,
  output logic [3:0]                 m_axi_dram0_arcache,
  output logic [2:0]                 m_axi_dram0_arprot,
  output logic [3:0]                 m_axi_dram0_arqos,
  output logic [3:0]                 m_axi_dram0_arregion,
  input  logic                       m_axi_dram0_rvalid,
  output logic                       m_axi_dram0_rready,
  input  logic [DramIdBits-1:0]      m_axi_dram0_rid,
  input  line_t                      m_axi_dram0_rdata,
  input  logic [1:0]                 m_axi_dram0_rresp,
  input  logic                       m_axi_dram0_rlast,
  output logic                       m_axi_dram0_awvalid,
  input  logic                       m_axi_dram0_awready,
  output logic [DramIdBits-1:0]      m_axi_dram0_awid,
  output logic [DramAddressBits-1:0] m_axi_dram0_awaddr,
  output logic [7:0]                 m_axi_dram0_awlen,
  output logic [2:0]                 m_axi_dram0_awsize,
  output logic [1:0]                 m_axi_dram0_awburst,
  output logic                       m_axi_dram0_awlock,
  output logic [3:0]                 m_axi_dram0_awcache,
  output logic [2:0]                 m_axi_dram0_awprot,
  output logic [3:0]                 m_axi_dram0_awqos,
  output logic [3:0]                 m_axi_dram0_awregion,
  output logic                       m_axi_dram0_wvalid,
  input  logic                       m_axi_dram0_wready,
  output line_t                      m_axi_dram0_wdata,
  output logic [LineBytes-1:0]       m_axi_dram0_wstrb,
  output logic                       m_axi_dram0_wlast,
  input  logic                       m_axi_dram0_bvalid,
  output logic                       m_axi_dram0_bready,
  input  logic [DramIdBits-1:0]      m_axi_dram0_bid,
  input  logic [1:0]                 m_axi_dram0_bresp,

  // on-board memory, channel 1: AXI4
  output logic                       m_axi_dram1_arvalid,
  input  logic                       m_axi_dram1_arready,
  output logic [DramIdBits-1:0]      m_axi_dram1_arid,
  output logic [DramAddressBits-1:0] m_axi_dram1_araddr,
  output logic [7:0]                 m_axi_dram1_arlen,
  output logic [2:0]                 m_axi_dram1_arsize,
  output logic [1:0]                 m_axi_dram1_arburst,
  output logic                       m_axi_dram1_arlock,
  output logic [3:0]                 m_axi_dram1_arcache,
  output logic [2:0]                 m_axi_dram1_arprot,
  output logic [3:0]                 m_axi_dram1_arqos,
  output logic [3:0]                 m_axi_dram1_arregion,
  input  logic                       m_axi_dram1_rvalid,
  output logic                       m_axi_dram1_rready,
  input  logic [DramIdBits-1:0]      m_axi_dram1_rid,
  input  line_t                      m_axi_dram1_rdata,
  input  logic [1:0]                 m_axi_dram1_rresp,
  input  logic                       m_axi_dram1_rlast,
  output logic                       m_axi_dram1_awvalid,
  input  logic                       m_axi_dram1_awready,
  output logic [DramIdBits-1:0]      m_axi_dram1_awid,
  output logic [DramAddressBits-1:0] m_axi_dram1_awaddr,
  output logic [7:0]                 m_axi_dram1_awlen,
  output logic [2:0]                 m_axi_dram1_awsize,
  output logic [1:0]                 m_axi_dram1_awburst,
  output logic                       m_axi_dram1_awlock,
  output logic [3:0]                 m_axi_dram1_awcache,
  output logic [2:0]                 m_axi_dram1_awprot,
  output logic [3:0]                 m_axi_dram1_awqos,
  output logic [3:0]                 m_axi_dram1_awregion,
  output logic                       m_axi_dram1_wvalid,
  input  logic                       m_axi_dram1_wready,
  output line_t                      m_axi_dram1_wdata,
  output logic [LineBytes-1:0]       m_axi_dram1_wstrb,
  output logic                       m_axi_dram1_wlast,
  input  logic                       m_axi_dram1_bvalid,
  output logic                       m_axi_dram1_bready,
  input  logic [DramIdBits-1:0]      m_axi_dram1_bid,
  input  logic [1:0]                 m_axi_dram1_bresp,

  // the integrated block, with its clock
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

  // the streams of the integrated block, with the clock of the accelerator
  logic rst, drains, idle;
  logic [2:0] max_read_req;
  logic [1:0] max_payload;
  logic rq_valid, rq_ready, rc_valid, rc_ready, cq_valid, cq_ready, cc_valid, cc_ready;
  pcie_beat_t rq, rc, cq, cc;
  logic [136:0] rq_user;
  logic [160:0] rc_user;
  pcie_count_t rc_cq_count;
  logic sent;
  logic [182:0] cq_user;
  logic [80:0] cc_user;

  pcie_clocks u_clocks (
    .pcie_clk_i, .pcie_rst_i, .clk_i, .dram_rst_i, .drains_o(drains), .idle_i(idle), .rst_o(rst),
    .cfg_max_read_req_i(cfg_max_read_req), .cfg_max_payload_i(cfg_max_payload),
    .cfg_max_read_req_o(max_read_req), .cfg_max_payload_o(max_payload),
    .rq_valid_i(rq_valid), .rq_ready_o(rq_ready), .rq_i(rq), .rq_user_i(rq_user),
    .rq_valid_o(m_axis_rq_tvalid), .rq_ready_i(m_axis_rq_tready),
    .rq_o({m_axis_rq_tdata, m_axis_rq_tkeep, m_axis_rq_tlast}), .rq_user_o(m_axis_rq_tuser),
    .sent_i((pcie_rq_seq_num_vld0 && pcie_rq_seq_num0 == PcieBurstEnd)
        || (pcie_rq_seq_num_vld1 && pcie_rq_seq_num1 == PcieBurstEnd)), .sent_o(sent),
    .rc_valid_i(s_axis_rc_tvalid), .rc_ready_o(s_axis_rc_tready),
    .rc_i({s_axis_rc_tdata, s_axis_rc_tkeep, s_axis_rc_tlast}), .rc_user_i(s_axis_rc_tuser),
    .rc_valid_o(rc_valid), .rc_ready_i(rc_ready), .rc_o(rc), .rc_user_o(rc_user),
    .rc_cq_count_o(rc_cq_count),
    .cq_valid_i(s_axis_cq_tvalid), .cq_ready_o(s_axis_cq_tready),
    .cq_i({s_axis_cq_tdata, s_axis_cq_tkeep, s_axis_cq_tlast}), .cq_user_i(s_axis_cq_tuser),
    .cq_valid_o(cq_valid), .cq_ready_i(cq_ready), .cq_o(cq), .cq_user_o(cq_user),
    .cc_valid_i(cc_valid), .cc_ready_o(cc_ready), .cc_i(cc), .cc_user_i(cc_user),
    .cc_valid_o(m_axis_cc_tvalid), .cc_ready_i(m_axis_cc_tready),
    .cc_o({m_axis_cc_tdata, m_axis_cc_tkeep, m_axis_cc_tlast}), .cc_user_o(m_axis_cc_tuser)
  );

  // The pins do not have all bits of ids and addresses.
  // verilator lint_off UNUSEDSIGNAL
  axi_read_request_t dram_read[Channels];
  axi_write_request_t dram_write[Channels];
  // verilator lint_on UNUSEDSIGNAL
  axi_read_response_t dram_lines[Channels];
  axi_write_response_t dram_written[Channels];

  pcie_accelerator #(
    .SlotCount(SlotCount),
    .SearchUnits(SearchUnits),
    .SearchDescents(SearchDescents),
    .ScanUnits(ScanUnits),
    .ScanSlots(ScanSlots),
    .LidCount(LidCount),
    .KeptLids(KeptLids),
    .DramAddressBits(DramAddressBits),
    .HostTimeoutBits(HostTimeoutBits),
    .Tags(Tags),
    .HostLines(HostLines)
  ) u_accelerator (
    .clk_i, .rst_i(rst), .dram_rst_i, .drains_i(drains), .idle_o(idle),
    .max_read_req_i(max_read_req), .max_payload_i(max_payload),
    .s_axis_tvalid, .s_axis_tready, .s_axis_tdata, .s_axis_tkeep, .s_axis_tlast,
    .m_axis_tvalid, .m_axis_tready, .m_axis_tdata, .m_axis_tkeep, .m_axis_tlast,
    .dram_read_o(dram_read), .dram_read_i(dram_lines),
    .dram_write_o(dram_write), .dram_write_i(dram_written),
    .rq_valid_o(rq_valid), .rq_ready_i(rq_ready), .rq_o(rq), .rq_user_o(rq_user), .sent_i(sent),
    .rc_valid_i(rc_valid), .rc_ready_o(rc_ready), .rc_i(rc), .rc_user_i(rc_user),
    .rc_cq_count_i(rc_cq_count),
    .cq_valid_i(cq_valid), .cq_ready_o(cq_ready), .cq_i(cq), .cq_user_i(cq_user),
    .cc_valid_o(cc_valid), .cc_ready_i(cc_ready), .cc_o(cc), .cc_user_o(cc_user)
  );

  `AXI_READ_PINS(m_axi_dram0, dram_read[0], dram_lines[0])
  `AXI_READ_PINS(m_axi_dram1, dram_read[1], dram_lines[1])
  `AXI_WRITE_PINS(m_axi_dram0, dram_write[0], dram_written[0])
  `AXI_WRITE_PINS(m_axi_dram1, dram_write[1], dram_written[1])

endmodule

`default_nettype wire
