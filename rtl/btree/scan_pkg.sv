// Types that the parts of a range scan unit exchange.

`default_nettype none

package scan_pkg;

  import layout_pkg::*;
  import accelerator_pkg::*;
  import search_pkg::*;

  // A design may use only some of the names.
  // verilator lint_off UNUSEDPARAM

  // Bytes of an item of the longest key and value.
  localparam int unsigned StrideBits = $clog2(KeyBytesMax + InlineValueBytesMax);
  typedef logic [StrideBits-1:0] stride_t;

  // The columns of a leaf: the place of its items, and their stride and lengths if it has a stride; the
  // offsets of the column of offsets, which follows the heads, and of the fence keys.
  typedef struct packed {
    offset_t items_start;
    // 0: there is no stride
    stride_t stride;
    logic [ItemWordSuffixLengthBits-1:0] suffix_length;
    logic [ItemWordValueLengthBits-1:0] value_length;
    offset_t offsets_start;
    offset_t fences_start;
  } leaf_columns_t;

  // Leaves of which a scan has emitted no pair, since its last pair.
  localparam int unsigned EmptyLeafBits = 25;
  typedef logic [EmptyLeafBits-1:0] empty_leaves_t;

  // Indexes of sorted items, from first up to, but not including, last.
  typedef struct packed {
    number_t first;
    number_t last;
  } indexes_t;

  // A log entry as part of the sorted log.
  typedef struct packed {
    // index of the first sorted item whose key is not smaller
    number_t back_pointer;
    // offset of the entry
    offset_t entry;
    // an older entry has the same key
    logic repeats;
  } sorted_entry_t;

  typedef enum logic [1:0] {
    // bytes from an offset on
    PartBytes,
    // the sorted item with an index
    PartItem,
    // the log entry at an offset
    PartEntry
  } part_e;

  // A part of a leaf to read. Its bytes, or its key suffix, can be compared with the bytes of a key of the
  // request from key_first up to, but not including, key_last.
  typedef struct packed {
    part_e part;
    number_t index;
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

  // The result of a read.
  typedef struct packed {
    // of an item: its lengths and flags, the head of its key, and the offset of the bytes after the head
    item_word_t word;
    head_t head;
    offset_t rest;
    // the order of the part's bytes relative to the key's
    logic less;
    logic equal;
    // The first bytes. Of an item those of its head, of which the key may have fewer; then the bytes of its
    // key after the head, and those of its value. has_all: these are all.
    logic has_all;
    line_t bytes;
  } part_t;

  // A window of the open leaf to read: its offset, and the offset at and beyond which no byte is needed.
  typedef struct packed {
    // no lines are fetched
    logic ahead;
    offset_t offset;
    offset_t limit;
    // the window needs bytes of the line at the offset, and of the line after it
    logic needs_first;
    logic needs_second;
  } window_read_t;

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
    // the read steps back from the position that it finds; seeks_floor: by one pair, and then goes forward
    logic backward;
    logic seeks_floor;
    // number of pairs that a scan is likely to read
    number_t pairs;
    // a bound ends the scan
    logic is_bounded;
    // The leaf is a sibling of the one before: if it is too new, its descent is repeated.
    logic is_sibling;
    // the buffer is a previous version of one that leaf_starter has read
    logic is_previous;
  } open_t;

  // A slot: idle, or the step that its request is in. The lines that a step needs are awaited before it. The
  // steps from Begin to Header are those of leaf_starter, the next ones those of leaf_opener.
  typedef enum logic [3:0] {
    SlotIdle,
    SlotBegin,
    SlotHeader,
    SlotSamples,
    SlotHeads,
    SlotCurrent,
    SlotLog,
    // the leaf is open, and awaits the lines that were requested last
    SlotFetch,
    SlotReady,
    SlotGranted,
    // another descent; its leaf
    SlotRepeat,
    SlotAwait
  } slot_state_e;

  // Lines of a leaf to fetch. wakes: the next step of the slot needs them. columns: they are columns.
  typedef struct packed {
    logic wakes;
    logic columns;
    line_count_t first;
    line_count_t limit;
  } fetch_t;

  // A read in flight: lines of the leaf from this one on.
  typedef struct packed {
    logic wakes;
    line_count_t line;
  } flight_t;

  // A scan continues with a sibling of its leaf: the sibling, the limits that are left, the leaves since the
  // last pair, and whether the floor is still to be found, which is in a sibling to the left then.
  typedef struct packed {
    logic left;
    lid_t sibling;
    logic seeks_floor;
    logic [31:0] pairs_left;
    logic [31:0] bytes_left;
    empty_leaves_t empty_leaves;
  } go_t;

  // The bytes of a key of the request, from first up to, but not including, last, whose head and
  // fingerprint are requested.
  typedef struct packed {
    logic by_upper;
    key_length_t first;
    key_length_t last;
  } suffix_t;

  // The request of a slot, and the leaf that it has reached.
  typedef struct packed {
    // with the limits that are left
    task_t request;
    // the leaf is the first one of the request
    logic is_first;
    // the side on which the scan left the leaf before, and the length of the fence key there
    logic went_left;
    key_length_t fence_length;
    empty_leaves_t empty_leaves;
  } slot_request_t;

  // The search of a leaf between two steps: the groups of heads that may have the head, if they were
  // requested; the header was that of a copy then.
  typedef struct packed {
    logic has_groups;
    logic from_copy;
    indexes_t groups;
    indexes_t equal;
    offset_t item_offset;
  } search_t;

  // Head and fingerprint of a key suffix.
  typedef struct packed {
    head_t head;
    logic [7:0] fingerprint;
  } summary_t;

  // The result of a step of leaf_searches: the leaf to open, its parts, and its search. log_may_have: a log
  // entry may have the key. is_too_long: the leaf exceeds the size of nodes.
  typedef struct packed {
    slot_state_e step;
    open_t open;
    node_header_t header;
    leaf_columns_t columns;
    search_t search;
    logic [7:0] fingerprint;
    logic log_may_have;
    logic is_too_long;
  } searched_t;

  // An open leaf, as its search has found it: see open_leaf_t.
  typedef struct packed {
    logic [7:0] fingerprint;
    logic log_may_have;
    leaf_columns_t columns;
    indexes_t equal;
    offset_t item_offset;
  } opened_t;

  // The state of a slot: its request, and its open leaf. It is constant during a grant until the scan goes
  // on.
  typedef struct packed {
    // with the limits that are left
    task_t request;
    // the descent, or the one that was repeated, failed
    logic descent_failed;
    // the leaf of the descent does not exist at the read version
    logic none;
    // a read of the leaf has failed, or the leaf is too large
    logic failed;
    // the leaf is the first one of the request
    logic is_first;
    empty_leaves_t empty_leaves;
    node_header_t header;
    logic [7:0] fingerprint;
    // some log entry may have the key of a get
    logic log_may_have;
    leaf_columns_t columns;
    // The sorted items whose heads equal that of the search key. If there are none, the range is empty and
    // begins at the first item with a greater head. The offset of the first of them, or of that item.
    indexes_t equal;
    offset_t item_offset;
  } open_leaf_t;

  // The item that a part has found, and the version of its pair. The bytes of the item are those of the
  // read that found it, until the next read.
  typedef struct packed {
    item_word_t word;
    head_t head;
    offset_t rest;
    version_t version;
    logic has_all;
  } item_result_t;

  // The sizes of a pair to emit.
  typedef struct packed {
    // the bytes of key and value
    key_length_t key;
    logic [31:0] value;
    // The bytes of the first chunk after the header and the prefix: those in the head, mostly with those
    // after it. is_whole: the bytes after the head are in the part that was read, so none is moved.
    logic [LineIndexBits:0] first;
    logic is_whole;
    // The bytes after the head to move, or in the part; of a get those of the value. has_more: there are
    // some, and the first chunk does not have them.
    logic [31:0] moved;
    logic has_more;
  } pair_sizes_t;

  // A chunk of an answer: bytes of a line, from the first one on.
  typedef struct packed {
    logic [LineIndexBits-1:0] first;
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

  // A move of bytes of the leaf from an offset on.
  typedef struct packed {
    offset_t offset;
    // at least 1
    logic [31:0] bytes;
  } move_t;

  // An overflow value to read, for a request.
  typedef struct packed {
    slot_t slot;
    bus_address_t address;
    // at least 1
    logic [31:0] bytes;
  } value_t;

  // Maximum number of lines of a read of an overflow value.
  localparam int unsigned ValueReadLines = 64;

  // Returns the number of lines of an overflow value less one, which needs no sum.
  // verilator lint_off UNUSEDSIGNAL
  function automatic logic [31-LineIndexBits:0] value_lines_more(logic [31:0] bytes);
    logic [31:0] more = bytes - 1'b1;
    return more[31:LineIndexBits];
  endfunction
  // verilator lint_on UNUSEDSIGNAL

  localparam int unsigned HeadBytes = 8;
  localparam int unsigned OffsetBytes = 2;
  // Bytes after the head that the first read of an item returns: those that follow head and word of an entry.
  localparam int unsigned RestBytes = LineBytes - HeadBytes - ItemWordBits / 8;
  // Maximum number of pairs that a scan prefetches.
  localparam int unsigned PairsAhead = 255;
  // Pairs that a scan prefetches in addition: it looks for one beyond its last one.
  localparam int unsigned PairsMore = 1;

  // Returns the size of a node.
  // verilator lint_off UNUSEDSIGNAL
  function automatic logic [15:0] size_of(node_header_t header);
    lock_and_size_t state = header.lock_and_size;
    // verilator lint_on UNUSEDSIGNAL
    return state.size;
  endfunction

  // Whether a header has a size beyond that of nodes.
  function automatic logic exceeds_node(node_header_t header, geometry_t geometry);
    return size_of(header) > 16'(geometry.node_bytes);
  endfunction

  // Return the lengths of the keys at which the range of a request starts and ends.
  // verilator lint_off UNUSEDSIGNAL
  function automatic key_length_t start_length(task_t request);
    return request.backward ? request.upper_length : request.lower_length;
  endfunction

  function automatic key_length_t bound_length(task_t request);
    return request.backward ? request.lower_length : request.upper_length;
  endfunction
  // verilator lint_on UNUSEDSIGNAL

  // Returns how a request opens a leaf, which is the first one of a request, or a sibling that the scan
  // enters from one side. The floor of a scan and the following pairs are usually in the first leaf.
  // verilator lint_off UNUSEDSIGNAL
  function automatic open_t opening(task_t request, logic is_first, lid_t lid, bus_address_t address);
  // verilator lint_on UNUSEDSIGNAL
    open_t way = '0;
    way.lid = lid;
    way.address = address;
    way.read_version = request.read_version;
    way.is_get = !request.is_scan;
    way.by_upper = request.backward;
    if (is_first) way.key_length = start_length(request);
    way.seeks_floor = seeks_floor(request) && !request.backward;
    way.at_end = request.backward || way.seeks_floor;
    way.backward = request.backward;
    way.is_bounded = bound_length(request) != '0;
    way.pairs = number_t'(PairsAhead + PairsMore);
    if (request.pairs_max < 32'(PairsAhead))
      way.pairs = number_t'(request.pairs_max[7:0]) + number_t'(PairsMore);
    return way;
  endfunction

  // Returns whether a scan needs no more of the prefix of a leaf than its search key has, whose length is 0
  // unless the leaf is the first one: the search key is between the fence keys, which have the prefix.
  function automatic logic key_tells_prefix(key_length_t key_length, logic is_bounded, key_length_t prefix);
    return key_length != '0 && !is_bounded && 32'(prefix) <= PrefixBytes;
  endfunction

  // Returns whether the scan steps back to the floor before it begins.
  // verilator lint_off UNUSEDSIGNAL
  function automatic logic seeks_floor(task_t request);
  // verilator lint_on UNUSEDSIGNAL
    return request.floor_start && request.lower_length != '0;
  endfunction

  // Returns the bytes of the key of an item after its head.
  // verilator lint_off UNUSEDSIGNAL
  function automatic offset_t rest_bytes(item_word_t word);
  // verilator lint_on UNUSEDSIGNAL
    return 32'(word.suffix_length) > HeadBytes ? offset_t'(word.suffix_length) - offset_t'(HeadBytes) : '0;
  endfunction

  // Returns whether the first read of an item returns all its bytes: those after its head are at most
  // RestBytes. If the head is not full, these are the value.
  // verilator lint_off UNUSEDSIGNAL
  function automatic logic has_all(item_word_t word);
  // verilator lint_on UNUSEDSIGNAL
    return 32'(word.value_length) <= RestBytes &&
        32'(word.suffix_length) + 32'(word.value_length) <= HeadBytes + RestBytes;
  endfunction

  // Returns the bytes of the key of an item in its head.
  // verilator lint_off UNUSEDSIGNAL
  function automatic logic [3:0] head_length(item_word_t word);
  // verilator lint_on UNUSEDSIGNAL
    return 32'(word.suffix_length) > HeadBytes ? 4'(HeadBytes) : 4'(word.suffix_length);
  endfunction

  // Returns the first bytes of a key, of which the head is the number.
  function automatic head_t head_bytes(head_t head);
    for (int unsigned at = 0; at < HeadBytes; at++) head_bytes[8*at+:8] = head[8*(HeadBytes-1-at)+:8];
  endfunction

  // Returns the offset of the head of an item.
  function automatic offset_t head_offset(number_t index);
    return offset_t'(layout_pkg::ColumnHeadsOffset) + (offset_t'(index) << 3);
  endfunction

  // Returns the offset at which the offsets of items end that are needed for items up to, but not including,
  // last: with that of the next item.
  // verilator lint_off UNUSEDSIGNAL
  function automatic offset_t offsets_limit(leaf_columns_t columns, number_t last, number_t count);
  // verilator lint_on UNUSEDSIGNAL
    return columns.offsets_start + ((offset_t'(last) + offset_t'(last != count)) << 1);
  endfunction

  // Returns the limit of the lines that contain the bytes before an offset.
  function automatic line_count_t limit_line(offset_t limit);
    return line_count_t'((limit + offset_t'(LineBytes - 1)) >> LineIndexBits);
  endfunction

  // Returns the request of a window.
  function automatic window_read_t window_read(logic ahead, offset_t offset, offset_t limit);
    offset_t last = limit - 1'b1;
    return '{ahead: ahead, offset: offset, limit: limit, needs_first: offset < limit,
             needs_second: offset >> LineIndexBits < last >> LineIndexBits};
  endfunction

  // Returns the request of a whole line.
  function automatic window_read_t line_window(offset_t offset);
    return '{ahead: 1'b0, offset: offset, limit: offset + offset_t'(LineBytes), needs_first: 1'b1,
             needs_second: 1'b0};
  endfunction

  // Returns the item that a read has found.
  // verilator lint_off UNUSEDSIGNAL
  function automatic item_result_t found_item(part_t part, version_t version);
  // verilator lint_on UNUSEDSIGNAL
    return '{word: part.word, head: part.head, rest: part.rest, version: version, has_all: part.has_all};
  endfunction

  // verilator lint_on UNUSEDPARAM

endpackage

`default_nettype wire
