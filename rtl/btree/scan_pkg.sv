// What the parts of a range scan unit say to each other.

`default_nettype none

package scan_pkg;

  import layout_pkg::*;
  import accelerator_pkg::*;

  // No design uses every name.
  // verilator lint_off UNUSEDPARAM

  // A log entry that lies over the sorted block, by its place in the node.
  typedef struct packed {
    // of the first sorted item whose key is not smaller
    offset_t back_pointer;
    // of the entry's item
    offset_t item;
    // an older entry has the same key
    logic repeats;
    // the sorted item at back_pointer has the same key
    logic replaces;
    logic tombstone;
  } laid_t;

  // What stands at an offset of a node, and so where its key suffix begins.
  typedef enum logic [1:0] {
    // bytes without a header
    PartBytes,
    PartItem,
    PartLogEntry
  } part_e;

  // A part of a node that is to be looked at, and what its bytes, or its key suffix, are to be compared with:
  // those bytes of one of the request's keys from first to last, last not included.
  typedef struct packed {
    part_e part;
    offset_t offset;
    // no byte from here on is needed
    offset_t limit;
    // of PartBytes: how many are compared
    offset_t length;
    logic compares;
    logic by_upper;
    key_length_t key_first;
    key_length_t key_last;
  } part_read_t;

  // What was seen there. The headers mean something if the part has them.
  typedef struct packed {
    log_entry_header_t entry;
    item_header_t header;
    // the part's bytes compared with the key's
    logic less;
    logic equal;
    // by its first window alone
    logic in_window;
  } part_t;

  // A leaf to be opened.
  typedef struct packed {
    lid_t lid;
    // of its buffer; 0: the current one of the LID
    bus_address_t address;
    version_t read_version;
    // for a get; else for a scan, which reads all of the log, and the fences
    logic is_get;
    // The key whose place will be looked for: its length, 0 if there is none: then the leaf is looked at from
    // its first key on, or from its last.
    logic by_upper;
    key_length_t key_length;
    logic at_end;
    // a scan is likely to read so many lines
    line_count_t ahead;
  } open_t;

  // Those bytes of one of the request's keys of which head and tag are wanted, last not included.
  typedef struct packed {
    logic by_upper;
    key_length_t first;
    key_length_t last;
  } suffix_t;

  // What a slot shows of its request, and of the leaf that is open. None of it changes from one cycle to the
  // next but by what was asked for.
  typedef struct packed {
    task_t request;
    // the descent came to no leaf
    logic descent_failed;
    // a read of the leaf could not be done, or it is too long
    logic failed;
    // it is the leaf that the descent came to
    logic is_first;
    node_header_t header;
    logic [7:0] tag;
    // some log entry may have the key of a get
    logic log_may_have;
    // the segment that it was opened at, the last before it whose head is less than the wanted one; bounds of
    // the former or of another that was asked for
    logic [7:0] segment_index;
    logic [7:0] segment_less;
    logic bounds_valid;
    offset_t segment_begin;
    offset_t segment_end;
  } open_leaf_t;

  // An item that was found, and the version of its pair.
  typedef struct packed {
    offset_t offset;
    item_header_t header;
    version_t version;
    // it begins the window that was looked at last
    logic in_window;
  } found_t;

  // Some bytes of an answer: the first ones of a line.
  typedef struct packed {
    logic [LineIndexBits:0] count;
    line_t bytes;
  } piece_t;

  // All of an answer but its bytes.
  typedef struct packed {
    slot_t slot;
    logic [7:0] status;
    logic continued;
    logic more;
    logic [21:0] pairs;
    version_t pair_version;
    logic [31:0] bytes;
  } outcome_t;

  // The first bytes of a prefix: as many as fit in a line with the header of a pair.
  localparam int unsigned PrefixBytes = LineBytes - CompletionPairSize;
  typedef logic [8*PrefixBytes-1:0] prefix_t;

  // A move of bytes: of a value out of line, from an address on, or of the leaf, from an offset on.
  typedef struct packed {
    logic is_value;
    bus_address_t address;
    offset_t offset;
    // at least 1
    logic [31:0] bytes;
  } move_t;

  // Lines that are read beyond what is asked for: what a segment has behind the place, and an item's rest.
  localparam int unsigned LinesAhead = 3;
  localparam int unsigned LinesOfNode = NodeBytesMax / LineBytes;

  // How a request opens a leaf, of which LID and address are not known here: the leaf that its descent came
  // to, or a sibling, which it comes to from one side. The floor of a scan is mostly in the first leaf, and
  // what it reads from there on, too.
  // verilator lint_off UNUSEDSIGNAL
  function automatic open_t opening(task_t request, logic is_first, logic goes_left, logic [31:0] pairs_left);
  // verilator lint_on UNUSEDSIGNAL
    open_t open = '0;
    open.read_version = request.read_version;
    open.is_get = !request.is_scan;
    open.by_upper = request.backward;
    if (is_first) open.key_length = request.backward ? request.upper_length : request.lower_length;
    open.at_end = goes_left;
    // Pairs are taken to have a line each.
    open.ahead = line_count_t'(LinesAhead);
    if (request.is_scan && !request.backward && (is_first || !goes_left)) begin
      open.ahead = line_count_t'(LinesOfNode);
      if (pairs_left < LinesOfNode - LinesAhead) open.ahead = line_count_t'(pairs_left + LinesAhead);
    end
    return open;
  endfunction

  // A scan from the floor looks for it on the left.
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
