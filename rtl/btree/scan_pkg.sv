// Types that the parts of a range scan unit exchange.

`default_nettype none

package scan_pkg;

  import layout_pkg::*;
  import accelerator_pkg::*;

  // A design may use only some of the names.
  // verilator lint_off UNUSEDPARAM

  // A log entry as part of the sorted log.
  typedef struct packed {
    // offset of the first sorted item whose key is not smaller
    offset_t back_pointer;
    // offset of the entry's item
    offset_t item;
    // an older entry has the same key
    logic repeats;
    // the sorted item at back_pointer has the same key
    logic replaces;
    logic tombstone;
  } sorted_entry_t;

  // The kind of a part at an offset of a node, which determines where its key suffix begins.
  typedef enum logic [1:0] {
    // bytes without a header
    PartBytes,
    PartItem,
    PartLogEntry
  } part_e;

  // A part of a node to read. Its bytes or its key suffix can be compared with the bytes of a key of the
  // request from key_first up to, but not including, key_last.
  typedef struct packed {
    part_e part;
    offset_t offset;
    // no byte at or beyond this offset is needed
    offset_t limit;
    // of PartBytes: number of bytes to compare
    offset_t length;
    logic compares;
    logic by_upper;
    key_length_t key_first;
    key_length_t key_last;
  } part_read_t;

  // The result of a read. The headers are valid if the part has them.
  typedef struct packed {
    log_entry_header_t entry;
    item_header_t header;
    // order of the part's bytes relative to the key's
    logic less;
    logic equal;
    // the first window decided the order
    logic in_window;
  } part_t;

  // A leaf to open.
  typedef struct packed {
    lid_t lid;
    // address of its buffer; 0: the current buffer of the LID
    bus_address_t address;
    version_t read_version;
    // 1: for a get; 0: for a scan, which reads the whole log and the fence keys
    logic is_get;
    // The length of the search key. Without a key (0), the read begins at the first key of the leaf,
    // or at its end.
    logic by_upper;
    key_length_t key_length;
    logic at_end;
    // number of lines that a scan is likely to read
    line_count_t ahead;
  } open_t;

  // The bytes of a key of the request, from first up to, but not including, last, whose head and
  // fingerprint are requested.
  typedef struct packed {
    logic by_upper;
    key_length_t first;
    key_length_t last;
  } suffix_t;

  // The state of a slot: its request, and its open leaf. It changes only when the unit requests a change.
  typedef struct packed {
    task_t request;
    // the descent failed
    logic descent_failed;
    // a read of the leaf has failed, or the leaf is too large
    logic failed;
    // the leaf is the first one of the request
    logic is_first;
    node_header_t header;
    logic [7:0] fingerprint;
    // some log entry may have the key of a get
    logic log_may_have;
    // the segment at which the leaf was opened, and the last segment before it whose head is less than
    // the search key's; the bounds of the former, or of another segment that was selected
    logic [7:0] segment_index;
    logic [7:0] segment_less;
    logic bounds_valid;
    offset_t segment_begin;
    offset_t segment_end;
  } open_leaf_t;

  // The item that a part has found, and the version of its pair.
  typedef struct packed {
    offset_t offset;
    item_header_t header;
    version_t version;
    // it is at the beginning of the window that was read last
    logic in_window;
  } item_result_t;

  // A chunk of an answer: the first bytes of a line.
  typedef struct packed {
    logic [LineIndexBits:0] count;
    line_t bytes;
  } byte_chunk_t;

  // The outcome of an answer: everything except its bytes.
  typedef struct packed {
    slot_t slot;
    logic [7:0] status;
    logic continued;
    logic more;
    logic [21:0] pairs;
    version_t pair_version;
    logic [31:0] bytes;
  } outcome_t;

  // The first bytes of a prefix, which fit into a line together with the header of a pair.
  localparam int unsigned PrefixBytes = LineBytes - CompletionPairSize;
  typedef logic [8*PrefixBytes-1:0] prefix_t;

  // A move of bytes: of an overflow value from an address on, or of the leaf from an offset on.
  typedef struct packed {
    logic is_value;
    bus_address_t address;
    offset_t offset;
    // at least 1
    logic [31:0] bytes;
  } move_t;

  // Lines that a read prefetches in addition: the segment behind the position, and the end of an item.
  localparam int unsigned LinesAhead = 3;
  localparam int unsigned LinesOfNode = NodeBytesMax / LineBytes;

  // Returns how a request opens a leaf, without LID and address. The leaf is the one of its descent, or
  // a sibling that the scan enters from one side. The floor of a scan and the following pairs are
  // usually in the first leaf.
  // verilator lint_off UNUSEDSIGNAL
  function automatic open_t opening(task_t request, logic is_first, logic goes_left, logic [31:0] pairs_left);
  // verilator lint_on UNUSEDSIGNAL
    open_t open = '0;
    open.read_version = request.read_version;
    open.is_get = !request.is_scan;
    open.by_upper = request.backward;
    if (is_first) open.key_length = request.backward ? request.upper_length : request.lower_length;
    open.at_end = goes_left;
    // The function assumes one line for each pair.
    open.ahead = line_count_t'(LinesAhead);
    if (request.is_scan && !request.backward && (is_first || !goes_left)) begin
      open.ahead = line_count_t'(LinesOfNode);
      if (pairs_left < LinesOfNode - LinesAhead) open.ahead = line_count_t'(pairs_left + LinesAhead);
    end
    return open;
  endfunction

  // Returns whether the scan steps back to the floor before it begins.
  // verilator lint_off UNUSEDSIGNAL
  function automatic logic seeks_floor(task_t request);
  // verilator lint_on UNUSEDSIGNAL
    return request.floor_start && request.lower_length != '0;
  endfunction

  // verilator lint_off UNUSEDSIGNAL
  function automatic offset_t item_bytes(item_header_t header);
  // verilator lint_on UNUSEDSIGNAL
    return offset_t'(ItemHeaderBits / 8) + offset_t'(header.suffix_length) + offset_t'(header.value_length);
  endfunction

  // verilator lint_on UNUSEDPARAM

endpackage

`default_nettype wire
