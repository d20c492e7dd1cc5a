// Keeps the top levels of the tree on chip: whole nodes, of a root and of children of roots. A burst of such
// a node that is on chip is read from there. Others go to the cache, and if an entry is free, the first of
// them lets a filler copy the node.
//
// As in the cache, a buffer is named by LID and bus address together, the position of a line is its bus
// address modulo the capacity of an entry, and a mapping drops the node of its LID, also one that is being
// copied. The filler reads host memory outside of the window, so it may read a buffer that is being
// reclaimed. No burst reads its copy: a burst that names this buffer protects it, or comes after a further
// mapping, which drops the copy.
//
// A burst is compared with all entries in one cycle, and goes to the chip or elsewhere in the next one. If
// its entry is freed between, it goes elsewhere. Bursts of the filler wait for it, so no entry is filled anew
// meanwhile.

`default_nettype none

`include "assertions.svh"

module top_nodes
  import accelerator_pkg::*;
  import memory_pkg::*;
#(
  parameter int unsigned TagBits = 3,
  // the tag of the filler; no burst has it
  parameter logic [TagBits-1:0] FillTag = '1,
  // number of nodes, a power of two; 1: only a root
  parameter int unsigned Nodes = 16,
  // capacity of an entry in lines: a power of two; larger nodes are not kept
  parameter int unsigned EntryLines = 128,
  parameter int unsigned LidCount = 65536,
  // see top_entries
  parameter int unsigned AgeBits = 20,
  localparam int unsigned Streams = 2
) (
  input logic clk_i,
  input logic rst_i,
  // 0: nothing is read from the chip; 1: roots; 2: roots and their children
  input logic [1:0] levels_i,
  // lines of a node
  input line_count_t node_lines_i,

  input logic drop_valid_i,
  input lid_t drop_lid_i,

  input  logic               burst_valid_i,
  output logic               burst_ready_o,
  input  bus_address_t       burst_address_i,
  input  burst_lines_t       burst_lines_i,
  input  logic [TagBits-1:0] burst_tag_i,
  // the node of the burst
  input  node_name_t         name_i,

  // Bursts that are not on chip, and those of the filler. Those that end beyond the size of an entry lose the
  // flag cacheable.
  output logic               other_valid_o,
  input  logic               other_ready_i,
  output bus_address_t       other_address_o,
  output burst_lines_t       other_lines_o,
  output logic [TagBits-1:0] other_tag_o,
  output buffer_name_t       other_name_o,

  // all lines from host memory
  input logic               line_valid_i,
  input logic [TagBits-1:0] line_tag_i,
  input burst_line_t        line_i,

  // lines that are on chip
  output logic        [Streams-1:0]              beat_valid_o,
  input  logic        [Streams-1:0]              beat_ready_i,
  output logic        [Streams-1:0][TagBits-1:0] beat_tag_o,
  output burst_line_t [Streams-1:0]              beat_o
);

  localparam int unsigned IndexBits = $clog2(EntryLines);
  localparam int unsigned EntryBits = Nodes > 1 ? $clog2(Nodes) : 1;
  localparam int unsigned PlaceBits = IndexBits + $clog2(Nodes);
  localparam int unsigned CountBits = $clog2(2 ** TagBits + 1);

  if (2 ** IndexBits != EntryLines || EntryLines < PageLines)
    $fatal(1, "EntryLines must be a power of two, at least a page");
  if (Nodes != 1 && 2 ** EntryBits != Nodes) $fatal(1, "Nodes must be a power of two");

  // The burst that was compared.
  bus_address_t burst_address_q;
  burst_lines_t burst_lines_q;
  logic [TagBits-1:0] burst_tag_q;
  node_name_t name_q;
  // It has lines of a node that may be kept: within the size of an entry, and near enough to the root. Nodes
  // fit into entries.
  logic compared_q, is_inside_q, is_near_q, fits_q;

  logic accepts, takes, is_top, is_here, is_known, uses, fills, entry_is_free, other_ready, fill_ready;
  logic [EntryBits-1:0] entry, free_entry;
  line_address_t from_start;

  assign from_start = line_address_t'((burst_address_i - name_i.buffer.address) >> LineIndexBits);
  assign accepts = burst_valid_i && burst_ready_o;
  assign burst_ready_o = !compared_q || other_ready;

  always_ff @(posedge clk_i) begin
    if (rst_i) compared_q <= 1'b0;
    else compared_q <= accepts || (compared_q && !other_ready);
    fits_q <= node_lines_i <= line_count_t'(EntryLines);
    if (accepts) begin
      burst_address_q <= burst_address_i;
      burst_lines_q <= burst_lines_i;
      burst_tag_q <= burst_tag_i;
      name_q <= name_i;
      is_near_q <= (name_i.depth == DepthRoot && levels_i != '0)
          || (name_i.depth == DepthSecond && levels_i[1] && Nodes > 1);
      is_inside_q <= from_start + line_address_t'(burst_lines_i) <= line_address_t'(EntryLines);
    end
  end

  assign takes = compared_q && other_ready;
  assign is_top = name_q.buffer.cacheable && is_inside_q && is_near_q;
  assign uses = takes && is_top && is_here;
  assign fills = takes && is_top && fits_q && !is_known && entry_is_free && fill_ready;

  logic [Streams-1:0] reads, ends;
  logic [CountBits-1:0] hits;
  logic hit_leaves, filled, failed, write, fill_valid;
  logic [EntryBits-1:0] filled_entry;
  logic [EntryBits+IndexBits-1:0] write_place;
  line_t write_data;
  bus_address_t fill_address;
  burst_lines_t fill_lines;

  top_entries #(
    .Nodes(Nodes),
    .LidCount(LidCount),
    .AgeBits(AgeBits)
  ) u_entries (
    .compares_i(accepts), .compared_i(name_q),
    .is_here_o(is_here),
    .entry_o(entry),
    .is_known_o(is_known),
    .uses_i(uses),
    .passes_i(takes && is_top),
    .makes_i(fills),
    .is_free_o(entry_is_free), .free_entry_o(free_entry),
    .filled_i(filled),
    .failed_i(failed),
    .filled_entry_i(filled_entry),
    .*
  );

  top_filler #(
    .EntryBits(EntryBits),
    .IndexBits(IndexBits),
    .CountBits(CountBits),
    .Streams(Streams)
  ) u_filler (
    .clk_i,
    .rst_i,
    .start_i(fills),
    .ready_o(fill_ready),
    .entry_i(free_entry),
    .first_i(line_address_t'(name_q.buffer.address >> LineIndexBits)),
    .lines_i(node_lines_i),
    .hits_i(hits), .hit_leaves_i(hit_leaves),
    .reads_i(reads), .ends_i(ends),
    .burst_valid_o(fill_valid), .burst_ready_i(other_ready && !compared_q),
    .burst_address_o(fill_address), .burst_lines_o(fill_lines),
    .line_valid_i(line_valid_i && line_tag_i == FillTag),
    .line_i,
    .write_o(write), .write_place_o(write_place), .write_data_o(write_data),
    .filled_o(filled), .failed_o(failed),
    .entry_o(filled_entry)
  );

  top_lines #(
    .TagBits(TagBits),
    .PlaceBits(PlaceBits),
    .IndexBits(IndexBits)
  ) u_lines (
    .clk_i,
    .rst_i,
    .hit_i(uses),
    .hit_tag_i(burst_tag_q),
    .hit_place_i(PlaceBits'({entry, burst_address_q[LineIndexBits+:IndexBits]})),
    .hit_lines_i(burst_lines_q),
    .write_i(write), .write_place_i(PlaceBits'(write_place)), .write_data_i(write_data),
    .beat_valid_o, .beat_ready_i, .beat_tag_o, .beat_o,
    .hits_o(hits), .hit_leaves_o(hit_leaves),
    .reads_o(reads), .ends_o(ends)
  );

  // ---- what is not on chip; bursts of the filler when no other one was compared

  logic other_valid_q;
  bus_address_t other_address_q;
  burst_lines_t other_lines_q;
  logic [TagBits-1:0] other_tag_q;
  buffer_name_t other_name_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) other_valid_q <= 1'b0;
    else other_valid_q <= (other_ready && (compared_q ? !uses : fill_valid))
        || (other_valid_q && !other_ready_i);
    if (other_ready) begin
      other_address_q <= compared_q ? burst_address_q : fill_address;
      other_lines_q <= compared_q ? burst_lines_q : fill_lines;
      other_tag_q <= compared_q ? burst_tag_q : FillTag;
      other_name_q <= name_q.buffer;
      other_name_q.cacheable <= compared_q && name_q.buffer.cacheable && is_inside_q;
    end
  end

  assign other_ready = !other_valid_q || other_ready_i;
  assign other_valid_o = other_valid_q;
  assign other_address_o = other_address_q;
  assign other_lines_o = other_lines_q;
  assign other_tag_o = other_tag_q;
  assign other_name_o = other_name_q;

  `ASSERT(NoBurstOfTheFiller, !burst_valid_i || burst_tag_i != FillTag)
  `ASSERT(NoHitWhileFilling, !(uses && !fill_ready && entry == filled_entry))
  `ASSERT_OFFER_STAYS(BurstStays, burst_valid_i, burst_ready_o, {burst_address_i, burst_lines_i, burst_tag_i})
  `ASSERT_OFFER_STAYS(OtherStays, other_valid_o, other_ready_i,
                      {other_address_o, other_lines_o, other_tag_o, other_name_o})
  `COVER(IsOnChip, uses)
  `COVER(NoEntryIsFree, takes && is_top && !is_known && !entry_is_free && fill_ready)
  `COVER(FillerIsBusy, takes && is_top && !is_known && entry_is_free && !fill_ready)

endmodule

`default_nettype wire
