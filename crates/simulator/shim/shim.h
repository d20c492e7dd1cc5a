// The pins of accelerator_top, as Rust uses them. src/model.rs declares the same structs. Lines come first,
// and every number has 64 bits, so the structs have no padding.

#pragma once

#include <cstdint>

using Line = uint32_t[16];

// Ports of on-board memory.
constexpr int DramPorts = 2;

struct DramInputs {
  Line rdata;
  uint64_t arready;
  uint64_t rvalid;
  uint64_t rid;
  uint64_t rlast;
  uint64_t awready;
  uint64_t wready;
  uint64_t bvalid;
  uint64_t bid;
};

struct DramOutputs {
  Line wdata;
  uint64_t arvalid;
  uint64_t arid;
  uint64_t araddr;
  uint64_t arlen;
  uint64_t rready;
  uint64_t awvalid;
  uint64_t awid;
  uint64_t awaddr;
  uint64_t awlen;
  uint64_t wvalid;
  uint64_t wstrb;
  uint64_t bready;
};

struct Inputs {
  DramInputs dram[DramPorts];
  Line request_data;
  Line host_rdata;
  uint64_t reset;
  uint64_t control_awvalid;
  uint64_t control_awaddr;
  uint64_t control_wvalid;
  uint64_t control_wdata;
  uint64_t control_bready;
  uint64_t request_valid;
  uint64_t request_keep;
  uint64_t request_last;
  uint64_t completion_ready;
  uint64_t host_arready;
  uint64_t host_rvalid;
  uint64_t host_rid;
  uint64_t host_rlast;
  uint64_t host_rresp;
};

struct Outputs {
  DramOutputs dram[DramPorts];
  Line completion_data;
  uint64_t control_awready;
  uint64_t control_wready;
  uint64_t control_bvalid;
  uint64_t control_bresp;
  uint64_t request_ready;
  uint64_t completion_valid;
  uint64_t completion_keep;
  uint64_t completion_last;
  uint64_t host_arvalid;
  uint64_t host_araddr;
  uint64_t host_arlen;
  uint64_t host_arid;
  uint64_t host_rready;
  uint64_t window_oldest;
  uint64_t window_newest;
};
