// Connects the pins of an AXI4 port, which have the standard names behind a prefix, with the structs of
// axi_pkg. The structs contain what differs from transaction to transaction; other attributes are constants.
// Ids and addresses of the structs are wider than those of the pins.

`ifndef AXI_PINS_SVH
`define AXI_PINS_SVH

`define AXI_ADDRESS_PINS(Channel, Prefix, Request) \
  assign Prefix``_``Channel``valid = Request.Channel``valid; \
  assign Prefix``_``Channel``id = Request.Channel``id[$bits(Prefix``_``Channel``id)-1:0]; \
  assign Prefix``_``Channel``addr = Request.Channel``addr[$bits(Prefix``_``Channel``addr)-1:0]; \
  assign Prefix``_``Channel``len = Request.Channel``len; \
  assign Prefix``_``Channel``size = Request.Channel``size; \
  assign Prefix``_``Channel``burst = Request.Channel``burst; \
  assign Prefix``_``Channel``lock = axi_pkg::AxiLockNormal; \
  assign Prefix``_``Channel``cache = axi_pkg::AxiCacheBufferable; \
  assign Prefix``_``Channel``prot = axi_pkg::AxiProtData; \
  assign Prefix``_``Channel``qos = axi_pkg::AxiQosNone; \
  assign Prefix``_``Channel``region = axi_pkg::AxiRegionOnly;

`define AXI_READ_PINS(Prefix, Request, Response) \
  `AXI_ADDRESS_PINS(ar, Prefix, Request) \
  assign Prefix``_rready = Request.rready; \
  assign Response = '{ \
    arready: Prefix``_arready, \
    rvalid: Prefix``_rvalid, \
    rid: axi_pkg::AxiIdBits'(Prefix``_rid), \
    rdata: Prefix``_rdata, \
    rresp: Prefix``_rresp, \
    rlast: Prefix``_rlast \
  };

`define AXI_WRITE_PINS(Prefix, Request, Response) \
  `AXI_ADDRESS_PINS(aw, Prefix, Request) \
  assign Prefix``_wvalid = Request.wvalid; \
  assign Prefix``_wdata = Request.wdata; \
  assign Prefix``_wstrb = Request.wstrb; \
  assign Prefix``_wlast = Request.wlast; \
  assign Prefix``_bready = Request.bready; \
  assign Response = '{ \
    awready: Prefix``_awready, \
    wready: Prefix``_wready, \
    bvalid: Prefix``_bvalid, \
    bid: axi_pkg::AxiIdBits'(Prefix``_bid), \
    bresp: Prefix``_bresp \
  };

`endif
