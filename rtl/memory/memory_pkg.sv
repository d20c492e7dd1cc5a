// Types that the units of the memory system exchange.

`default_nettype none

package memory_pkg;

  import accelerator_pkg::*;

  // A design may use only some of the names.
  // verilator lint_off UNUSEDPARAM

  // No burst of host memory or on-board memory crosses a boundary of this size.
  localparam int unsigned PageBytes = 4096;
  localparam int unsigned PageLines = PageBytes / LineBytes;
  localparam int unsigned PageLineBits = $clog2(PageLines);

  // The address of a line, counted in lines.
  localparam int unsigned LineAddressBits = $bits(bus_address_t) - LineIndexBits;
  typedef logic [LineAddressBits-1:0] line_address_t;

  // A number of lines, at most those of a page.
  typedef logic [PageLineBits:0] burst_lines_t;

  typedef logic [PageLineBits-1:0] page_line_t;

  // The lines of a burst within its page, a bit for each line. All lines of a page count as 0.
  function automatic logic [PageLines-1:0] lines_of_page(page_line_t first, page_line_t lines);
    page_line_t last;
    last = first + lines - 1'b1;
    return ({PageLines{1'b1}} << first) & ({PageLines{1'b1}} >> ~last);
  endfunction

  // Lines at the start of a leaf that may be in on-board memory, at the same place for all buffers of a LID.
  localparam int unsigned ColumnLines = 32;
  localparam int unsigned ColumnLineBits = $clog2(ColumnLines);

  // Readers of bursts have numbers: first the filler of columns, the filler of nodes on chip, and the places
  // of all units: those that read nodes which may be kept, and then those that read leaves. So the readers of
  // kept nodes have the lowest numbers. The clients come last.
  localparam int unsigned ColumnFiller = 0;
  localparam int unsigned ChipFiller = 1;
  localparam int unsigned FirstPlace = 2;

  // The tag of a burst is the number of its reader, and below it a number that tells the bursts of the reader
  // apart.
  localparam int unsigned BurstNumberBits = 1;

  // The bursts that a client may have in flight. They are those of several readers. The first number of these
  // is a multiple of their count, so that the lowest bits of a tag are the bank of the client.
  localparam int unsigned ClientBanks = 8;
  localparam int unsigned ClientBankBits = $clog2(ClientBanks);
  localparam int unsigned ClientReaders = ClientBanks >> BurstNumberBits;

  function automatic int unsigned first_leaf_place(int unsigned node_places);
    return FirstPlace + node_places;
  endfunction

  function automatic int unsigned first_client(int unsigned places);
    return (FirstPlace + places + ClientReaders - 1) / ClientReaders * ClientReaders;
  endfunction

  // Bits of the number of a reader, and of a tag.
  function automatic int unsigned reader_bits(int unsigned clients, int unsigned places);
    return $clog2(first_client(places) + clients * ClientReaders);
  endfunction

  function automatic int unsigned tag_bits(int unsigned clients, int unsigned places);
    return reader_bits(clients, places) + BurstNumberBits;
  endfunction

  // Bits of the place of a line in on-board memory. Columns of all LIDs are behind the lines of the cache.
  function automatic int unsigned place_bits(int unsigned cache_lines, int unsigned lids);
    return $clog2(cache_lines + lids * ColumnLines);
  endfunction

  // The place of a line of columns, from its number among those of all LIDs.
  function automatic line_address_t place_of_columns(int unsigned cache_lines, line_address_t line);
    return line_address_t'(cache_lines) + line;
  endfunction

  // A burst: adjacent lines within a page. The address is that of its first line.
  typedef struct packed {
    // reads columns of leaves in on-board memory: the address counts from the start of all columns
    logic on_board;
    bus_address_t address;
    burst_lines_t lines;
    // the last burst of the read
    logic last;
  } burst_t;

  // A line of a burst that memory returns. The data is the last field, so that simulations copy it without
  // shifts.
  typedef struct packed {
    // the last line of the burst
    logic last;
    // the line cannot be read, so the burst has failed
    logic error;
    line_t data;
  } burst_line_t;

  // A lookup of the buffer of a LID.
  typedef struct packed {
    // the node may be cached
    logic kept;
    // the reader can read columns from on-board memory
    logic columns;
    lid_t lid;
  } lookup_t;

  // A line of the columns in on-board memory: a LID, and a line of its leaf.
  typedef struct packed {
    lid_t lid;
    logic [ColumnLineBits-1:0] line;
  } column_place_t;

  // A word of the page table.
  typedef struct packed {
    logic [63-$bits(bus_address_t)-1:0] unused;
    // The columns of the leaf in this buffer are in on-board memory.
    logic has_columns;
    bus_address_t address;
  } table_word_t;

  // The buffer of a node.
  typedef struct packed {
    // the node may be cached
    logic cacheable;
    lid_t lid;
    bus_address_t address;
  } buffer_name_t;

  // A node at a distance from the root, with its buffer.
  typedef struct packed {
    depth_e depth;
    buffer_name_t buffer;
  } node_name_t;

  // Activity of a cycle for the counters, except for host memory.
  typedef struct packed {
    // a burst of a cacheable node is in the cache, or is not
    logic hit;
    logic miss;
    // number of lines from on-board memory, at most one per channel; lines from nodes on chip
    logic [3:0] dram_lines;
    logic [1:0] chip_lines;
    // number of lines among those of the next burst that reads columns
    burst_lines_t column_lines;
  } cache_activity_t;

  // Counters since reset.
  typedef struct packed {
    // reads of clients
    logic [63:0] reads;
    // reads by LID
    logic [63:0] lookups;
    // bursts read from host memory, and their lines
    logic [63:0] host_reads;
    logic [63:0] host_lines;
    // cycles in which host memory stalled a burst
    logic [63:0] host_stalls;
    // bursts of cacheable nodes that were in the cache, and that were not
    logic [63:0] hits;
    logic [63:0] misses;
    // lines read from the cache and from columns of leaves
    logic [63:0] dram_lines;
    // lines of columns of leaves among them
    logic [63:0] column_lines;
    // lines read from nodes on chip
    logic [63:0] chip_lines;
    // lines read from the page table
    logic [63:0] table_lines;
    // responses of on-board memory with an error; a lookup that fails returns no mapping
    logic [63:0] dram_errors;
  } memory_counters_t;

  // verilator lint_on UNUSEDPARAM

endpackage

`default_nettype wire
