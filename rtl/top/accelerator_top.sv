// The pins of the accelerator: requests in, completions out, registers, and memory. Every bus has standard
// signal names and its own prefix (s_axil_, s_axis_, m_axis_, m_axi_host_, m_axi_dram0_, m_axi_dram1_),
// so that IP packagers find the interfaces by name. docs/design/pipeline.md describes
// requests and completions.

`default_nettype none

`include "assertions.svh"
`include "axi_pins.svh"

module accelerator_top
  import accelerator_pkg::*;
  import axi_pkg::*;
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
  // whether events_o reports events, for simulations
  parameter bit ReportsEvents = 1'b0,
  // channels of on-board memory; each has its own prefix
  localparam int unsigned Channels = 2,
  localparam int unsigned Places = SearchUnits * SearchDescents + ScanUnits * ScanSlots,
  // tags: see memory_pkg; on-board memory needs one bit more
  localparam int unsigned HostIdBits = memory_pkg::tag_bits(ScanUnits, Places),
  localparam int unsigned DramIdBits = HostIdBits + 1,
  localparam int unsigned RegisterAddressBits = 12,
  localparam int unsigned Events = 4 + Places + 2 * SearchUnits + 5 * ScanUnits + 2 + 2 * Channels
) (
  input logic clk_i,
  input logic rst_i,

  // the registers: AXI4-Lite; accesses with all protection attributes are equal
  input  logic                           s_axil_awvalid,
  output logic                           s_axil_awready,
  input  logic [RegisterAddressBits-1:0] s_axil_awaddr,
  // verilator lint_off UNUSEDSIGNAL
  input  logic [2:0]                     s_axil_awprot,
  // verilator lint_on UNUSEDSIGNAL
  input  logic                           s_axil_wvalid,
  output logic                           s_axil_wready,
  input  logic [31:0]                    s_axil_wdata,
  input  logic [3:0]                     s_axil_wstrb,
  output logic                           s_axil_bvalid,
  input  logic                           s_axil_bready,
  output logic [1:0]                     s_axil_bresp,
  input  logic                           s_axil_arvalid,
  output logic                           s_axil_arready,
  input  logic [RegisterAddressBits-1:0] s_axil_araddr,
  // verilator lint_off UNUSEDSIGNAL
  input  logic [2:0]                     s_axil_arprot,
  // verilator lint_on UNUSEDSIGNAL
  output logic                           s_axil_rvalid,
  input  logic                           s_axil_rready,
  output logic [31:0]                    s_axil_rdata,
  output logic [1:0]                     s_axil_rresp,

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

  // host memory: AXI4, read only
  output logic                  m_axi_host_arvalid,
  input  logic                  m_axi_host_arready,
  output logic [HostIdBits-1:0] m_axi_host_arid,
  output logic [63:0]           m_axi_host_araddr,
  output logic [7:0]            m_axi_host_arlen,
  output logic [2:0]            m_axi_host_arsize,
  output logic [1:0]            m_axi_host_arburst,
  output logic                  m_axi_host_arlock,
  output logic [3:0]            m_axi_host_arcache,
  output logic [2:0]            m_axi_host_arprot,
  output logic [3:0]            m_axi_host_arqos,
  output logic [3:0]            m_axi_host_arregion,
  input  logic                  m_axi_host_rvalid,
  output logic                  m_axi_host_rready,
  input  logic [HostIdBits-1:0] m_axi_host_rid,
  input  line_t                 m_axi_host_rdata,
  input  logic [1:0]            m_axi_host_rresp,
  input  logic                  m_axi_host_rlast,

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

  // the numbers of the oldest request in flight and of the newest request that has begun
  output logic [63:0] window_oldest_o,
  output logic [63:0] window_newest_o,

  // the events of a cycle: see event_t
  output event_t [Events-1:0] events_o
);

  // The pins do not have all bits of ids and addresses.
  // verilator lint_off UNUSEDSIGNAL
  axi_read_request_t host_request, dram_read_request[Channels];
  axi_write_request_t dram_write_request[Channels];
  // verilator lint_on UNUSEDSIGNAL
  axi_read_response_t host_response, dram_read_response[Channels];
  axi_write_response_t dram_write_response[Channels];

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
    .ReportsEvents(ReportsEvents),
    .Channels(Channels)
  ) u_accelerator (
    .clk_i,
    .rst_i,
    .control_awvalid_i(s_axil_awvalid),
    .control_awready_o(s_axil_awready),
    .control_awaddr_i(s_axil_awaddr),
    .control_wvalid_i(s_axil_wvalid),
    .control_wready_o(s_axil_wready),
    .control_wdata_i(s_axil_wdata),
    .control_wstrb_i(s_axil_wstrb),
    .control_bvalid_o(s_axil_bvalid),
    .control_bready_i(s_axil_bready),
    .control_bresp_o(s_axil_bresp),
    .control_arvalid_i(s_axil_arvalid),
    .control_arready_o(s_axil_arready),
    .control_araddr_i(s_axil_araddr),
    .control_rvalid_o(s_axil_rvalid),
    .control_rready_i(s_axil_rready),
    .control_rdata_o(s_axil_rdata),
    .control_rresp_o(s_axil_rresp),
    .request_valid_i(s_axis_tvalid),
    .request_ready_o(s_axis_tready),
    .request_data_i(s_axis_tdata),
    .request_keep_i(s_axis_tkeep),
    .request_last_i(s_axis_tlast),
    .completion_valid_o(m_axis_tvalid),
    .completion_ready_i(m_axis_tready),
    .completion_data_o(m_axis_tdata), .completion_keep_o(m_axis_tkeep), .completion_last_o(m_axis_tlast),
    .host_o(host_request),
    .host_i(host_response),
    .dram_read_o(dram_read_request),
    .dram_read_i(dram_read_response),
    .dram_write_o(dram_write_request),
    .dram_write_i(dram_write_response),
    .window_oldest_o,
    .window_newest_o,
    .events_o
  );

  `AXI_READ_PINS(m_axi_host, host_request, host_response)
  `AXI_READ_PINS(m_axi_dram0, dram_read_request[0], dram_read_response[0])
  `AXI_READ_PINS(m_axi_dram1, dram_read_request[1], dram_read_response[1])
  `AXI_WRITE_PINS(m_axi_dram0, dram_write_request[0], dram_write_response[0])
  `AXI_WRITE_PINS(m_axi_dram1, dram_write_request[1], dram_write_response[1])

  `ASSERT(HostIdsAreWhole, host_request.arid == AxiIdBits'(m_axi_host_arid) || !m_axi_host_arvalid)
  `ASSERT(DramIdsAreWhole, dram_write_request[0].awid == AxiIdBits'(m_axi_dram0_awid) || !m_axi_dram0_awvalid)

endmodule

`default_nettype wire
