// What the units of the memory system say to each other.

`default_nettype none

package memory_pkg;

  import accelerator_pkg::*;

  // No design uses every name.
  // verilator lint_off UNUSEDPARAM

  // No read of host memory and no burst of on-board memory crosses such a boundary.
  localparam int unsigned PageBytes = 4096;
  localparam int unsigned PageLines = PageBytes / LineBytes;
  localparam int unsigned PageLineBits = $clog2(PageLines);

  // The address of a line, counted in lines.
  localparam int unsigned LineAddressBits = $bits(bus_address_t) - LineIndexBits;
  typedef logic [LineAddressBits-1:0] line_address_t;

  // A number of lines, at most those of a page.
  typedef logic [PageLineBits:0] piece_lines_t;

  // A stretch of lines within a page: what is read at once. The address is that of its first line.
  typedef struct packed {
    bus_address_t address;
    piece_lines_t lines;
    // the read has no further one
    logic last;
  } piece_t;

  // A line of a piece, on its way from memory.
  typedef struct packed {
    line_t data;
    // the piece has no further one
    logic last;
    // the line cannot be read, and so neither can the piece
    logic error;
  } piece_line_t;

  // A LID whose buffer is wanted.
  typedef struct packed {
    // of a node worth keeping
    logic kept;
    lid_t lid;
  } lookup_t;

  // The buffer of a node, as the cache knows it.
  typedef struct packed {
    // it may be kept
    logic cacheable;
    lid_t lid;
    bus_address_t address;
  } node_name_t;

  // What happens in a cycle beside host memory, to be counted.
  typedef struct packed {
    // a piece of a cacheable node is in the cache, or is not
    logic hit;
    logic miss;
    // lines come from the cache, from each channel of on-board memory one, and from the root on chip
    logic [3:0] dram_lines;
    logic root_line;
  } cache_events_t;

  // Counts since reset.
  typedef struct packed {
    // reads that clients asked for
    logic [63:0] reads;
    // of those, reads by LID
    logic [63:0] lookups;
    // pieces and lines of them read from host memory
    logic [63:0] host_reads;
    logic [63:0] host_lines;
    // cycles in which host memory did not take a read that was offered
    logic [63:0] host_stalls;
    // pieces of cacheable nodes that were in the cache, and that were not
    logic [63:0] hits;
    logic [63:0] misses;
    // lines read from the cache
    logic [63:0] dram_lines;
    // lines read from the root on chip
    logic [63:0] root_lines;
    // lines read from the page table
    logic [63:0] table_lines;
    // answers of on-board memory that were errors: a LID is then not mapped
    logic [63:0] dram_errors;
  } memory_counters_t;

  // verilator lint_on UNUSEDPARAM

endpackage

`default_nettype wire
