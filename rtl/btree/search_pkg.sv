// Types that the parts of a key search unit exchange.

`default_nettype none

package search_pkg;

  import accelerator_pkg::*;

  // A design may use only some of the names.
  // verilator lint_off UNUSEDPARAM

  // Heads, or children, in a line. The binary logarithm of it.
  localparam int unsigned ElementBits = 3;
  localparam int unsigned Elements = 1 << ElementBits;
  // The line of a node in columns with the first heads; the lines before it are header and samples.
  localparam int unsigned HeadsLine = layout_pkg::ColumnHeadsOffset / LineBytes;
  // A separator takes a head and a child, so this has the number of them, or an index.
  localparam int unsigned NumberBits = OffsetBits - 4;
  // Maximum number of heads in a group.
  localparam int unsigned GroupHeads = layout_pkg::NodeBytesMax / 16 / 16;

  typedef logic [NumberBits-1:0] number_t;
  typedef logic [ElementBits-1:0] element_t;
  typedef logic [$clog2(GroupHeads + 1)-1:0] head_count_t;
  // A number of lines of a group.
  typedef logic [$clog2(GroupHeads / Elements + 1)-1:0] group_lines_t;
  // Maximum number of lines in a read of a descent: a power of two. A line of it, as its place in the node
  // modulo this number.
  localparam int unsigned ReadLinesMax = GroupHeads / Elements;
  typedef logic [$clog2(ReadLinesMax)-1:0] read_line_t;
  // A group of heads.
  typedef logic [3:0] group_t;

  // A read of eight bytes of a search key.
  typedef struct packed {
    key_length_t offset;
    // of the whole key
    key_length_t length;
  } head_read_t;

  // The purpose of a line of a node: to count heads that are less or not greater than a head; to return an
  // element of eight bytes; or, with is_rest, for the rest_comparer.
  typedef struct packed {
    logic is_rest;
    head_t head;
    // number of elements of the line that are heads; skips_first: without the first one
    logic [ElementBits:0] heads;
    logic skips_first;
    element_t element;
  } column_use_t;

  typedef struct packed {
    column_use_t use_as;
    line_t data;
  } column_line_t;

  // A read of lines of the node of a descent. Two reads of a descent, with different numbers, may be in
  // flight.
  typedef struct packed {
    logic number;
    line_count_t first;
    group_lines_t count;
  } column_read_t;

  // The descent of a place, without the rest of its request.
  typedef struct packed {
    direction_e direction;
    logic repeated;
    slot_t slot;
    key_length_t key_length;
    version_t read_version;
    lid_t root;
  } descent_task_t;

  // A read of a descent; see place_read_t. node: the address of the buffer if the read has one, or the LID.
  typedef struct packed {
    logic number;
    logic by_lid;
    logic follows;
    logic cacheable;
    depth_e depth;
    lid_t node;
    line_count_t first;
    group_lines_t count;
  } node_read_t;

  // The result of a descent; see leaf_t.
  typedef struct packed {
    logic failed;
    logic repeated;
    lid_t lid;
    bus_address_t address;
  } descent_end_t;

  // Lines of a read go to the parts that compare, one after the other: `count` of them from the line `first`
  // of the read on. `heads` is the number of heads in all of them; see column_use_t for the other fields.
  typedef struct packed {
    logic number;
    read_line_t first;
    group_lines_t count;
    logic is_rest;
    head_t head;
    head_count_t heads;
    logic skips_first;
    element_t element;
  } column_pass_t;

  // The sums over the lines up to the last one, and the element of that line.
  typedef struct packed {
    head_count_t less;
    head_count_t not_greater;
    logic [63:0] element;
  } column_counts_t;

  // A comparison of the item of a separator with a search key that has the same head.
  typedef struct packed {
    // the length of the search key without the prefix of the node, and of that prefix
    key_length_t suffix_length;
    key_length_t prefix_length;
    // the place of the item in its first line, in units of four bytes
    logic [3:0] place;
  } rest_read_t;

  // Returns the line of a head or child, counted from the first line of its column.
  function automatic line_count_t line_of(number_t index);
    return line_count_t'(index >> ElementBits);
  endfunction

  // Returns the lines of a group; `heads` are those from its first one to the last one of the node.
  function automatic group_lines_t lines_of(number_t heads, logic [2:0] group_bits);
    lines_of = group_lines_t'(1) << (group_bits - 3'(ElementBits));
    if (heads <= number_t'(lines_of) << ElementBits)
      lines_of = group_lines_t'((heads + number_t'(Elements - 1)) >> ElementBits);
  endfunction

  // Returns the length of a separator without an item: that of its head without zeros at the end.
  function automatic key_length_t determined(head_t head);
    determined = '0;
    for (int unsigned i = 0; i < 8; i++) begin
      if (head[8*(7-i)+:8] != '0) determined = key_length_t'(i + 1);
    end
  endfunction

  // verilator lint_on UNUSEDPARAM

endpackage

`default_nettype wire
