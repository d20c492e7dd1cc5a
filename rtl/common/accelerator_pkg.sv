// What the units of the accelerator say to each other. Every port of these types has valid and ready: a
// transfer happens in a cycle in which both are high; valid does not wait for ready, and what is offered
// stays.

`default_nettype none

package accelerator_pkg;

  import layout_pkg::*;

  // No design uses every name.
  // verilator lint_off UNUSEDPARAM

  // Memory is read by the line: 64 bytes, as a bus moves them. Byte i of a line is bits 8i+7:8i.
  localparam int unsigned LineBytes = 64;
  localparam int unsigned LineBits = 8 * LineBytes;
  localparam int unsigned LineIndexBits = $clog2(LineBytes);

  // An offset in a node, or the end of one.
  localparam int unsigned OffsetBits = $clog2(NodeBytesMax) + 1;
  // A number of lines of a node.
  localparam int unsigned LineCountBits = OffsetBits - LineIndexBits;
  // The length of a key.
  localparam int unsigned KeyLengthBits = $clog2(KeyBytesMax + 1);
  // Lines that a key fits in.
  localparam int unsigned KeyLines = (KeyBytesMax + LineBytes - 1) / LineBytes;
  localparam int unsigned KeyLineBits = $clog2(KeyLines);
  // Keys are compared by the chunk: so many bytes a cycle.
  localparam int unsigned ChunkBytes = LineBytes / 2;
  localparam int unsigned ChunkBits = 8 * ChunkBytes;
  localparam int unsigned ChunkCountBits = $clog2(ChunkBytes + 1);

  typedef logic [LineBits-1:0] line_t;
  typedef logic [LidBits-1:0] lid_t;
  typedef logic [BusAddressBits-1:0] bus_address_t;
  typedef logic [63:0] version_t;
  typedef logic [63:0] head_t;
  typedef logic [OffsetBits-1:0] offset_t;
  typedef logic [LineCountBits-1:0] line_count_t;
  typedef logic [KeyLengthBits-1:0] key_length_t;
  typedef logic [KeyLineBits-1:0] key_line_t;
  typedef logic [ChunkBits-1:0] chunk_t;
  typedef logic [ChunkCountBits-1:0] chunk_count_t;
  // Names a request in flight: where its key buffers and its metadata are.
  typedef logic [7:0] slot_t;

  // Where the blocks of a node begin; the same for all nodes of a store.
  //
  // 0        64                64 + 8 c            64 + 10 c   sorted_start
  // | header | c heads, 8 bytes | c offsets, 2 bytes | padding | fences, items ...
  typedef struct packed {
    offset_t sorted_start;
    logic [7:0] shortcut_capacity;
  } geometry_t;

  // Which leaf a descent goes to.
  typedef enum logic [1:0] {
    // the leaf that a key is routed to
    TowardKey,
    // the leaf of the keys right before a key, which is a fence
    TowardBefore,
    TowardFirst,
    TowardLast
  } toward_e;

  // A read of adjacent lines of a buffer. Its beats come in order, those of the next read of the same port
  // after them. A read is taken when the one before has ended, unless it follows that.
  typedef struct packed {
    // lid names the node, whose current buffer is wanted; else address names the buffer
    logic by_lid;
    // a node that does not change until it is replaced, and that is worth keeping: an interior node
    logic cacheable;
    // By address, of the same buffer as the read before: it may be taken before that one has ended. An error
    // of that one ends it, too.
    logic follows;
    lid_t lid;
    bus_address_t address;
    // the first line, counted from the start of the buffer
    line_count_t first;
    // how many, at least 1
    line_count_t count;
  } line_read_t;

  typedef struct packed {
    // the read could not be done: no such LID, or host memory refused; data means nothing, and the beat is
    // the last, however many lines were asked for
    logic error;
    logic last;
    // where the buffer is, for further reads of the same buffer
    bus_address_t address;
    line_t data;
  } line_beat_t;

  // A request on its way from unit to unit.
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

  // What a key search unit is asked for: a leaf, from the root down.
  typedef struct packed {
    toward_e toward;
    // the key is the request's upper bound, not its lower one
    logic by_upper;
    // it is of a scan that is under way, whose unit waits for the leaf
    logic again;
    task_t request;
  } descent_t;

  // What a descent comes to. A tree that is younger than the read version leads to its topmost node, of which
  // a buffer is named that is too new and has no previous version.
  typedef struct packed {
    // memory could not be read: LID and address mean nothing
    logic failed;
    // that of the descent
    logic again;
    lid_t lid;
    // of the buffer to be read; 0: the current one of the LID
    bus_address_t address;
    task_t request;
  } leaf_t;

  // What a search engine has done since reset.
  typedef struct packed {
    // cycles of its units in which they search a node, and of descents
    logic [63:0] busy;
    logic [63:0] descents;
    logic [63:0] nodes;
    logic [63:0] lines;
    logic [63:0] version_steps;
  } search_counts_t;

  // What a scan engine has done since reset.
  typedef struct packed {
    // cycles of its units in which they work on a request, and of requests that they have
    logic [63:0] busy;
    logic [63:0] requests;
  } scan_counts_t;

  // Reads and writes of the key buffers: a line of one of the two keys of a request.
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

  // A completion, or a part of one, on its way to the stream of completions: a beat of its body. All but data
  // and last mean the same on every beat of a completion. The last beat is filled up with zeros.
  typedef struct packed {
    slot_t slot;
    logic [7:0] status;
    logic continued;
    logic more;
    logic [21:0] pairs;
    version_t pair_version;
    // bytes of the body; 0: one beat whose data means nothing
    logic [31:0] bytes;
    logic last;
    line_t data;
  } answer_beat_t;

  // A request as it came, and status_found or why it is refused.
  typedef struct packed {
    slot_t slot;
    logic [7:0] status;
    request_t request;
  } parsed_request_t;

  // Of segments from the first to the last the one to look at next; if there are two, the last.
  function automatic logic [7:0] segment_between(logic [7:0] low, logic [7:0] high);
    return high - ((high - low) >> 1);
  endfunction

  // What happened to a request in a cycle, for a simulation to collect; layout_pkg has the kinds and what
  // detail and argument mean. 0: nothing did. The slot is that of the unit's request all the time.
  typedef struct packed {
    logic [15:0] kind;
    logic [15:0] slot;
    logic [31:0] detail;
    logic [63:0] argument;
  } event_t;

  // Of a kind only the low bits.
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
