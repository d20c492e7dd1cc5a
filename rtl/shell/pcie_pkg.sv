// The streams between a shell and the integrated block for PCIe of UltraScale+ devices (PG213), 512 bits wide
// and without straddling: each packet starts in a beat of its own with a descriptor.

`default_nettype none

package pcie_pkg;

  import accelerator_pkg::*;

  // A design may use only some of the names.
  // verilator lint_off UNUSEDPARAM

  localparam int unsigned LineDwords = LineBytes / 4;

  localparam logic [3:0] PcieMemoryRead = 4'b0000;
  localparam logic [3:0] PcieMemoryWrite = 4'b0001;
  // Messages, which start here, have no completion.
  localparam logic [3:0] PcieMessages = 4'b1100;

  localparam logic [2:0] PcieSuccessful = 3'b000;
  localparam logic [2:0] PcieUnsupported = 3'b001;

  // Errors of a completion. One with other fields, another address or another tag than those of a request in
  // flight belongs to none; all others end the request, except for poisoned data.
  localparam logic [3:0] PcieErrorNone = 4'b0000;
  localparam logic [3:0] PcieErrorPoisoned = 4'b0001;
  localparam logic [3:0] PcieErrorFields = 4'b0100;
  localparam logic [3:0] PcieErrorAddress = 4'b0101;
  localparam logic [3:0] PcieErrorTag = 4'b0110;

  // Room for the longest request, of 17 beats, and for the next ones meanwhile.
  localparam int unsigned PciePacketBeats = 32;

  // The bit of s_axis_rc_tuser and of s_axis_cq_tuser that is set in the last beat of a packet if the block
  // has failed to read its payload.
  localparam int unsigned PcieDiscontinue = 96;

  // In the first beat of a request, m_axis_rq_tuser contains a number, from this bit on. The block returns it
  // (pcie_rq_seq_num) when no completion that it receives later can pass the request: this number for the
  // last request of a burst of writes, and 0 for all others.
  localparam int unsigned PcieSequence = 61;
  localparam logic [5:0] PcieBurstEnd = 6'd1;

  // Byte enables of the first and the last dword, for requests of whole lines.
  localparam logic [136:0] PcieWholeLines = 137'h0f0f;

  typedef logic [7:0] pcie_tag_t;
  // A number of requests of the host, modulo. A completion must not stay in a queue while the host writes
  // half as many registers.
  typedef logic [15:0] pcie_count_t;
  // lines of a burst, which is within a page
  typedef logic [6:0] pcie_lines_t;
  typedef logic [63-LineIndexBits:0] pcie_line_address_t;

  // a burst of reads: its id, and its number of lines
  typedef struct packed {
    logic [axi_pkg::AxiIdBits-1:0] id;
    pcie_lines_t lines;
  } pcie_burst_t;

  // a beat of a stream
  typedef struct packed {
    line_t data;
    // dwords that are valid
    logic [LineDwords-1:0] keep;
    logic last;
  } pcie_beat_t;

  // descriptor of a request to host memory
  typedef struct packed {
    logic force_ecrc;
    logic [2:0] attributes;
    logic [2:0] traffic_class;
    logic requester_id_enable;
    logic [15:0] completer_id;
    pcie_tag_t tag;
    logic [15:0] requester_id;
    logic poisoned;
    logic [3:0] kind;
    logic [10:0] dwords;
    logic [61:0] address_dwords;
    logic [1:0] address_type;
  } pcie_request_t;

  // descriptor of a completion from host memory
  typedef struct packed {
    logic reserved_95;
    logic [2:0] attributes;
    logic [2:0] traffic_class;
    logic reserved_88;
    logic [15:0] completer_id;
    pcie_tag_t tag;
    logic [15:0] requester_id;
    logic reserved_47;
    logic poisoned;
    logic [2:0] status;
    logic [10:0] dwords;
    logic reserved_31;
    // no other completion of the request follows
    logic request_completed;
    logic locked;
    logic [12:0] byte_count;
    logic [3:0] error_code;
    logic [11:0] lower_address;
  } pcie_answer_t;

  // descriptor of a request from the host
  typedef struct packed {
    logic reserved_127;
    logic [2:0] attributes;
    logic [2:0] traffic_class;
    logic [5:0] bar_aperture;
    logic [2:0] bar_id;
    logic [7:0] target_function;
    pcie_tag_t tag;
    logic [15:0] requester_id;
    logic reserved_79;
    logic [3:0] kind;
    logic [10:0] dwords;
    logic [61:0] address_dwords;
    logic [1:0] address_type;
  } pcie_host_request_t;

  // descriptor of a completion to the host
  typedef struct packed {
    logic force_ecrc;
    logic [2:0] attributes;
    logic [2:0] traffic_class;
    logic completer_id_enable;
    logic [7:0] bus;
    logic [7:0] target_function;
    pcie_tag_t tag;
    logic [15:0] requester_id;
    logic reserved_47;
    logic poisoned;
    logic [2:0] status;
    logic [10:0] dwords;
    logic [1:0] reserved_31_30;
    logic locked;
    logic [12:0] byte_count;
    logic [5:0] reserved_15_10;
    logic [1:0] address_type;
    logic reserved_7;
    logic [6:0] lower_address;
  } pcie_host_answer_t;

  // verilator lint_on UNUSEDPARAM

endpackage

`default_nettype wire
