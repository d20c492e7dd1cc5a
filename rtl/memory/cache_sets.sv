// The entries of the cache in sets. A set is read in one cycle and compared in the next; it may be written
// two cycles after it was compared. A read returns what was written before its cycle.

`default_nettype none

`include "assertions.svh"

module cache_sets
  import accelerator_pkg::*;
  import memory_pkg::*;
#(
  // powers of two
  parameter int unsigned Sets = 1024,
  parameter int unsigned Ways = 4,
  parameter int unsigned EntryLines = 128,
  localparam int unsigned SetBits = $clog2(Sets),
  localparam int unsigned WayBits = $clog2(Ways),
  localparam int unsigned IndexBits = $clog2(EntryLines)
) (
  input logic clk_i,
  input logic rst_i,

  // Empty sets are written after reset; nothing is read meanwhile.
  output logic clears_o,

  // reads a set, to look for these lines
  input logic                 read_i,
  input logic [SetBits-1:0]   set_i,
  input logic [IndexBits-1:0] index_i,
  input page_line_t           lines_i,

  // one cycle later: the node and its buffer
  input lid_t         lid_i,
  input bus_address_t buffer_i,

  // one cycle later: the ways that have the node, its buffer, all lines; the lines that a fill has written
  output logic [Ways-1:0]      is_lid_o,
  output logic [Ways-1:0]      is_buffer_o,
  output logic [Ways-1:0]      has_lines_o,
  input  logic [IndexBits-1:0] filled_index_i,
  input  page_line_t           filled_lines_i,
  // removes the entries of the node, in the next cycle
  input  logic                 drops_i,

  // one cycle later: writes the set with another entry, or with more lines of an entry
  // a burst is read from the cache, or fills it, because of what was found
  input logic               uses_i,
  input logic               makes_i,
  input logic               fills_i,
  input logic [SetBits-1:0] written_set_i,
  input logic [WayBits-1:0] way_i,
  input lid_t               written_lid_i,
  input bus_address_t       written_buffer_i
);

  typedef logic [EntryLines-1:0] lines_t;

  typedef struct packed {
    logic used;
    lid_t lid;
    bus_address_t address;
    lines_t lines;
  } entry_t;
  typedef entry_t [Ways-1:0] set_t;

  logic clears_q;
  logic [SetBits-1:0] clear_q;
  // The set that was read, when its ways have been compared, and when it may be written.
  set_t found, compared_q, old_q, written;
  lines_t wanted_q, filled_q;
  logic [Ways-1:0] drops_q;
  logic writes;

  function automatic lines_t lines_of(logic [IndexBits-1:0] first, page_line_t lines);
    lines_t page;
    page = lines_t'(lines_of_page(page_line_t'(first), lines));
    return page << {first >> PageLineBits, PageLineBits'(0)};
  endfunction

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      clears_q <= 1'b1;
      clear_q <= '0;
    end else begin
      if (&clear_q) clears_q <= 1'b0;
      clear_q <= clear_q + 1'b1;
    end
  end

  ram #(
    .Width($bits(set_t)),
    .Depth(Sets)
  ) u_ram (
    .clk_i,
    .rst_i,
    .write_i(clears_q || writes),
    .write_address_i(clears_q ? clear_q : written_set_i),
    .write_data_i(clears_q ? '0 : written),
    .read_i,
    .read_address_i(set_i),
    .read_data_o(found)
  );

  always_ff @(posedge clk_i) begin
    compared_q <= found;
    old_q <= compared_q;
    drops_q <= drops_i && !rst_i ? is_lid_o : '0;
    wanted_q <= lines_of(index_i, lines_i);
    filled_q <= lines_of(filled_index_i, filled_lines_i);
    for (int unsigned at = 0; at < Ways; at++) begin
      is_lid_o[at] <= found[at].used && found[at].lid == lid_i;
      is_buffer_o[at] <= found[at].address == buffer_i;
      has_lines_o[at] <= (~found[at].lines & wanted_q) == '0;
    end
  end

  always_comb begin
    written = old_q;
    for (int unsigned at = 0; at < Ways; at++) begin
      if (drops_q[at]) written[at].used = 1'b0;
    end
    if (fills_i) written[way_i].lines |= filled_q;
    if (makes_i) begin
      written[way_i] = '{used: 1'b1, lid: written_lid_i, address: written_buffer_i, lines: '0};
    end
  end

  assign writes = makes_i || fills_i || drops_q != '0;
  assign clears_o = clears_q;

  // The sets that were written one, two and three cycles ago.
  logic [3:1] wrote_q;
  logic [3:1][SetBits-1:0] wrote_set_q;
  always_ff @(posedge clk_i) begin
    wrote_q <= rst_i ? '0 : {wrote_q[2:1], writes};
    wrote_set_q <= {wrote_set_q[2:1], written_set_i};
  end
  for (genvar ago = 1; ago <= 3; ago++) begin : gen_assertions
    `ASSERT(SetIsCurrent, !((writes || uses_i) && wrote_q[ago] && wrote_set_q[ago] == written_set_i))
  end
  `ASSERT(OneChange, $onehot0({makes_i, fills_i, drops_q != '0}))
  `ASSERT(NothingIsReadWhileSetsAreCleared, !clears_q || !read_i)
  `COVER(Evicts, makes_i && old_q[way_i].used)
  `COVER(Drops, drops_q != '0)

endmodule

`default_nettype wire
