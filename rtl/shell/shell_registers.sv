// The registers of a shell. As in control, a write of the low half of a register waits for the high half,
// which makes both take effect if it is the next write. A read returns the address that the shell writes to,
// so a host that reads the address which it has written knows that the shell no longer writes to the former
// one. Neither waits for writes of the shell, because the host may block these until the device accepts its
// own.

`default_nettype none

`include "assertions.svh"

module shell_registers
  import axi_pkg::*;
  import layout_pkg::*;
#(
  parameter int unsigned AddressBits = 12
) (
  input logic clk_i,
  input logic rst_i,

  // The address and the data of a write are accepted together.
  input  logic                   s_axil_awvalid,
  output logic                   s_axil_awready,
  input  logic [AddressBits-1:0] s_axil_awaddr,
  input  logic                   s_axil_wvalid,
  output logic                   s_axil_wready,
  input  logic [31:0]            s_axil_wdata,
  input  logic [3:0]             s_axil_wstrb,
  output logic                   s_axil_bvalid,
  input  logic                   s_axil_bready,
  output logic [1:0]             s_axil_bresp,
  input  logic                   s_axil_arvalid,
  output logic                   s_axil_arready,
  input  logic [AddressBits-1:0] s_axil_araddr,
  output logic                   s_axil_rvalid,
  input  logic                   s_axil_rready,
  output logic [31:0]            s_axil_rdata,
  output logic [1:0]             s_axil_rresp,

  output logic [63:0] window_address_o,
  // the one that window_writer uses
  input  logic [63:0] window_address_i
);

  localparam logic [AddressBits-1:0] Low = AddressBits'(ShellWindowAddressOffset);
  localparam logic [AddressBits-1:0] High = AddressBits'(ShellWindowAddressOffset + 4);

  logic [31:0] low_q;
  logic [63:0] window_address_q;
  // The last write was that of the low half.
  logic has_low_q;
  logic b_valid_q, r_valid_q, writes, reads, is_written, is_read;
  logic [1:0] b_response_q, r_response_q;
  logic [31:0] r_data_q;

  assign writes = s_axil_awvalid && s_axil_wvalid && !b_valid_q;
  assign is_written = s_axil_wstrb == '1 && (s_axil_awaddr == Low || (s_axil_awaddr == High && has_low_q));
  assign reads = s_axil_arvalid && !r_valid_q;
  assign is_read = s_axil_araddr inside {Low, High};

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      window_address_q <= '0;
      has_low_q <= 1'b0;
      b_valid_q <= 1'b0;
      r_valid_q <= 1'b0;
    end else begin
      if (writes) has_low_q <= is_written && s_axil_awaddr == Low;
      if (writes && is_written && s_axil_awaddr == High) window_address_q <= {s_axil_wdata, low_q};
      b_valid_q <= writes || (b_valid_q && !s_axil_bready);
      r_valid_q <= reads || (r_valid_q && !s_axil_rready);
    end
  end

  always_ff @(posedge clk_i) begin
    if (writes && is_written && s_axil_awaddr == Low) low_q <= s_axil_wdata;
    if (writes) b_response_q <= is_written ? AxiRespOkay : AxiRespSlaveError;
    if (reads) begin
      r_data_q <= s_axil_araddr == High ? window_address_i[63:32] : window_address_i[31:0];
      r_response_q <= is_read ? AxiRespOkay : AxiRespSlaveError;
    end
  end

  assign s_axil_awready = writes;
  assign s_axil_wready = writes;
  assign s_axil_bvalid = b_valid_q;
  assign s_axil_bresp = b_response_q;
  assign s_axil_arready = reads;
  assign s_axil_rvalid = r_valid_q;
  assign s_axil_rdata = r_data_q;
  assign s_axil_rresp = r_response_q;
  assign window_address_o = window_address_q;

  `ASSERT_OFFER_STAYS(ReadStays, s_axil_rvalid, s_axil_rready, {s_axil_rdata, s_axil_rresp})
  `ASSERT_OFFER_STAYS(WriteStays, s_axil_bvalid, s_axil_bready, s_axil_bresp)
  `COVER(AddressIsNotInForce, reads && is_read && window_address_i != window_address_q)
  `COVER(WriteIsRejected, writes && !is_written)
  `COVER(ReadIsRejected, reads && !is_read)

endmodule

`default_nettype wire
