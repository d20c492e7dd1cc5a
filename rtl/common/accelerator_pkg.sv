// Types that the units of the accelerator exchange. Every port of these types has a valid and a ready signal:
// a transfer takes place in a cycle in which both are high. valid never waits for ready, and an offer stays
// unchanged until it is accepted.

`default_nettype none

package accelerator_pkg;

  import layout_pkg::*;

  // A design may use only some of the names.
  // verilator lint_off UNUSEDPARAM

  // Memory is accessed in lines. A line is one beat of a bus. Byte i of a line is bits 8i+7:8i.
  localparam int unsigned LineBytes = 64;
  localparam int unsigned LineBits = 8 * LineBytes;
  localparam int unsigned LineIndexBits = $clog2(LineBytes);

  // An offset in a node, up to and including its end.
  localparam int unsigned OffsetBits = $clog2(NodeBytesMax) + 1;
  // A number of lines in a node.
  localparam int unsigned LineCountBits = OffsetBits - LineIndexBits;
  // The length of a key.
  localparam int unsigned KeyLengthBits = $clog2(KeyBytesMax + 1);
  // Lines of the longest key.
  localparam int unsigned KeyLines = (KeyBytesMax + LineBytes - 1) / LineBytes;
  localparam int unsigned KeyLineBits = $clog2(KeyLines);

  typedef logic [LineBits-1:0] line_t;
  typedef logic [LidBits-1:0] lid_t;
  typedef logic [BusAddressBits-1:0] bus_address_t;
  typedef logic [63:0] version_t;
  typedef logic [63:0] head_t;
  typedef logic [OffsetBits-1:0] offset_t;
  typedef logic [LineCountBits-1:0] line_count_t;
  typedef logic [KeyLengthBits-1:0] key_length_t;
  typedef logic [KeyLineBits-1:0] key_line_t;
  // Identifies a request in flight, and addresses its key buffers and its metadata.
  typedef logic [7:0] slot_t;

  // The size of all nodes of the store, in bytes.
  typedef struct packed {
    offset_t node_bytes;
  } geometry_t;

  // Whether cache hits are redirected, and the most lines in flight from a memory without a backlog.
  typedef struct packed {
    logic [ControlSwitchesHostLinesBits-1:0] host_lines;
    logic [ControlSwitchesOnBoardLinesBits-1:0] on_board_lines;
    logic enable;
  } balance_t;

  // The leaf at which a descent ends.
  typedef enum logic [1:0] {
    // the leaf whose range contains the key
    DirectionKey,
    // the leaf to the left of the key, which is a fence key
    DirectionBefore,
    DirectionFirst,
    DirectionLast
  } direction_e;

  // The distance of a node from the root of its table, for parts of memory that keep the top levels.
  typedef enum logic [1:0] {
    // further away, or unknown
    DepthBelow,
    DepthRoot,
    // a child of the root
    DepthSecond
  } depth_e;

  // A read of adjacent lines of host memory, from the line of the address on. Many reads of a port may be in
  // flight. Their beats arrive in the order of the reads.
  typedef struct packed {
    bus_address_t address;
    // number of lines, at least 1
    line_count_t count;
  } line_read_t;

  typedef struct packed {
    // The read failed: host memory reported an error. data is undefined, and the beat is the last one of the
    // read. Other reads are not affected.
    logic error;
    // the last line of the read
    logic last;
    line_t data;
  } line_beat_t;

  // The place of a unit that executes many requests, for one of them.
  typedef logic [5:0] port_place_t;
  localparam int unsigned PlacesMax = 2 ** $bits(port_place_t);

  // A read of adjacent lines of a node for a place, within a page. Two reads of a place may be in flight.
  typedef struct packed {
    port_place_t place;
    // tells the reads of the place apart
    logic number;
    // 1: reads the current buffer of the node `lid`; 0: reads the buffer at `address`, unless it follows
    logic by_lid;
    // reads the buffer of the last read of the place that did not follow
    logic follows;
    // The node may be cached: it is an interior node, which does not change until it is replaced. A read that
    // follows one by address is not cacheable.
    logic cacheable;
    depth_e depth;
    // The lines are columns: they never change while the buffer is in use, so they may be read from a copy in
    // on-board memory. A read by LID may begin with the header: see place_line_t.
    logic columns;
    lid_t lid;
    bus_address_t address;
    // the first line, counted from the start of the buffer; number of lines, at least 1
    line_count_t first;
    line_count_t count;
  } place_read_t;

  // A line of a read of a place, which the unit takes at once. The lines of a read arrive in order, those of
  // different reads in any order.
  typedef struct packed {
    port_place_t place;
    logic number;
    // the last line of the read
    logic last;
    // The read has failed: data is undefined. A LID that is not mapped has one such line.
    logic error;
    // the line comes from a copy in on-board memory: of the header, only what never changes is current
    logic copied;
    line_t data;
  } place_line_t;

  // A request that the engines execute.
  typedef struct packed {
    slot_t slot;
    logic is_scan;
    logic keys_only;
    logic backward;
    logic floor_start;
    logic upper_excluded;
    logic lower_excluded;
    key_length_t lower_length;
    key_length_t upper_length;
    logic [31:0] pairs_max;
    logic [31:0] bytes_max;
    version_t read_version;
    lid_t root;
  } task_t;

  // A descent from the root of the request to a leaf.
  typedef struct packed {
    direction_e direction;
    // the search key is the upper bound of the request instead of the lower one
    logic by_upper;
    // a repeated descent: the scan has begun, and its range scan unit waits for the leaf
    logic repeated;
    task_t request;
  } descent_t;

  // The result of a descent. If the tree is younger than the read version, the descent ends at its root with
  // a buffer that is too new and has no previous version.
  typedef struct packed {
    // a read of memory failed: lid and address are undefined
    logic failed;
    // see descent_t
    logic repeated;
    lid_t lid;
    // address of the buffer to read; 0: the current buffer of the LID
    bus_address_t address;
    task_t request;
  } leaf_t;

  // Counters of a search engine since reset.
  typedef struct packed {
    // unit cycles in which a node was searched, and the sum over all cycles of the descents in flight
    logic [63:0] busy;
    logic [63:0] descents;
    logic [63:0] nodes;
    logic [63:0] lines;
    logic [63:0] version_steps;
  } search_counts_t;

  // Counters of a scan engine since reset.
  typedef struct packed {
    // unit cycles in which a request was executed, and the sum over all cycles of the requests in flight
    logic [63:0] busy;
    logic [63:0] requests;
  } scan_counts_t;

  // A read or write of the key buffers: one line of the lower or the upper key of a request.
  typedef struct packed {
    slot_t slot;
    logic upper;
    key_line_t line;
  } key_read_t;

  typedef struct packed {
    slot_t slot;
    logic upper;
    key_line_t line;
    line_t data;
  } key_write_t;

  // A beat of the body of a completion, or of a part of one. All beats of a completion have the same fields
  // except for data and last. Zeros fill the last beat.
  typedef struct packed {
    slot_t slot;
    logic [7:0] status;
    logic continued;
    logic more;
    logic [21:0] pairs;
    version_t pair_version;
    // bytes of the body; 0: one beat with undefined data
    logic [31:0] bytes;
    logic last;
    line_t data;
  } answer_beat_t;

  // A request as received, with StatusFound or the reason why it is rejected.
  typedef struct packed {
    slot_t slot;
    logic [7:0] status;
    request_t request;
  } parsed_request_t;

  // An event of a request, for simulations. layout_pkg defines the kinds, and the meaning of detail and
  // argument; kind 0 means that nothing happened. slot is always the slot of the unit's current request.
  typedef struct packed {
    logic [15:0] kind;
    logic [15:0] slot;
    logic [31:0] detail;
    logic [63:0] argument;
  } event_t;

  // Only the low bits of a kind are used.
  // verilator lint_off UNUSEDSIGNAL
  function automatic event_t event_if(
    logic happens, int unsigned kind, slot_t slot, logic [31:0] detail, logic [63:0] argument
  );
    return '{kind: happens ? 16'(kind) : '0, slot: 16'(slot), detail: detail, argument: argument};
  endfunction
  // verilator lint_on UNUSEDSIGNAL

  // verilator lint_on UNUSEDPARAM

endpackage

`default_nettype wire
