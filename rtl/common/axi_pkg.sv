// AXI4 ports of memory as structs, so that a port is two wires in a port list instead of thirty. Each struct
// contains the signals of one direction under their AXI names; reads and writes are separate, because host
// memory is only read. Ids and addresses have one width for all ports: bits that a port does not need are
// zero. A line of data is the last field, so that simulations copy its words without shifts.

`default_nettype none

package axi_pkg;

  import accelerator_pkg::*;

  // A design may use only some of the names.
  // verilator lint_off UNUSEDPARAM

  localparam int unsigned AxiIdBits = 16;
  localparam int unsigned AxiAddressBits = 64;

  // arsize and awsize of a beat that is a line
  localparam logic [2:0] AxiSizeLine = 3'(LineIndexBits);
  localparam logic [1:0] AxiBurstIncr = 2'b01;
  localparam logic [1:0] AxiRespOkay = 2'b00;
  localparam logic [1:0] AxiRespSlaveError = 2'b10;

  // The attributes of every transaction. No transaction is exclusive.
  localparam logic AxiLockNormal = 1'b0;
  // Normal memory, non-cacheable, bufferable: an interconnect may split and merge bursts, but must not keep
  // copies, which would become stale, because the CPU writes host memory past it. A write may have its
  // response before it is in memory, if reads that follow the response return it.
  localparam logic [3:0] AxiCacheBufferable = 4'b0011;
  // Data, non-secure, unprivileged: the accelerator reads memory of an ordinary process.
  localparam logic [2:0] AxiProtData = 3'b010;
  // No bus has transactions of several priorities, or more than one region.
  localparam logic [3:0] AxiQosNone = 4'd0;
  localparam logic [3:0] AxiRegionOnly = 4'd0;

  // from the manager to memory
  typedef struct packed {
    logic arvalid;
    logic [AxiIdBits-1:0] arid;
    logic [AxiAddressBits-1:0] araddr;
    // beats of the burst, less one
    logic [7:0] arlen;
    logic [2:0] arsize;
    logic [1:0] arburst;
    logic rready;
  } axi_read_request_t;

  // from memory to the manager
  typedef struct packed {
    logic arready;
    logic rvalid;
    logic [AxiIdBits-1:0] rid;
    logic [1:0] rresp;
    logic rlast;
    line_t rdata;
  } axi_read_response_t;

  // from the manager to memory
  typedef struct packed {
    logic awvalid;
    logic [AxiIdBits-1:0] awid;
    logic [AxiAddressBits-1:0] awaddr;
    // beats of the burst, less one
    logic [7:0] awlen;
    logic [2:0] awsize;
    logic [1:0] awburst;
    logic wvalid;
    logic [LineBytes-1:0] wstrb;
    logic wlast;
    logic bready;
    line_t wdata;
  } axi_write_request_t;

  // from memory to the manager
  typedef struct packed {
    logic awready;
    logic wready;
    logic bvalid;
    logic [AxiIdBits-1:0] bid;
    logic [1:0] bresp;
  } axi_write_response_t;

  // verilator lint_on UNUSEDPARAM

endpackage

`default_nettype wire
