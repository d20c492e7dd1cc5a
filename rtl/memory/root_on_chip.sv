// Keeps lines of one node on chip: of the root that was named last. A line is stored when host memory
// returns it, and has its own valid bit. Reads of the root bypass the cache, so no line is stored twice.
// As in the cache, the buffer is named by LID and bus address together, the position of a line is its bus
// address modulo the capacity, and a mapping drops the lines of its LID. Another buffer replaces this one
// only when nothing of the old buffer is in flight, so a late line is never stored for the new buffer.
//
// A burst is compared with root and buffer in one cycle, and goes to the chip or elsewhere in the next one.
// If root or buffer change between, it counts as different.

`default_nettype none

`include "assertions.svh"

module root_on_chip
  import accelerator_pkg::*;
  import memory_pkg::*;
#(
  parameter int unsigned TagBits = 3,
  // capacity in lines: a power of two; larger nodes are not kept
  parameter int unsigned EntryLines = 128,
  localparam int unsigned IndexBits = $clog2(EntryLines)
) (
  input logic clk_i,
  input logic rst_i,
  input logic enable_i,

  // names the root; LID 0 changes nothing
  input logic root_valid_i,
  input lid_t root_i,
  input logic drop_valid_i,
  input lid_t drop_lid_i,

  input  logic               burst_valid_i,
  output logic               burst_ready_o,
  input  bus_address_t       burst_address_i,
  input  burst_lines_t       burst_lines_i,
  input  logic [TagBits-1:0] burst_tag_i,
  // the node of the burst
  input  node_name_t         name_i,

  // Bursts that are not on chip. Those of the root, and those that end beyond the size of an entry, lose the
  // flag cacheable.
  output logic               other_valid_o,
  input  logic               other_ready_i,
  output bus_address_t       other_address_o,
  output burst_lines_t       other_lines_o,
  output logic [TagBits-1:0] other_tag_o,
  output node_name_t         other_name_o,

  // all lines from host memory
  input logic               line_valid_i,
  input logic [TagBits-1:0] line_tag_i,
  input burst_line_t        line_i,

  // lines that are on chip
  output logic               beat_valid_o,
  input  logic               beat_ready_i,
  output logic [TagBits-1:0] beat_tag_o,
  output burst_line_t        beat_o
);

  localparam int unsigned Tags = 2 ** TagBits;

  if (2 ** IndexBits != EntryLines || EntryLines < PageLines)
    $fatal(1, "EntryLines must be a power of two, at least a page");

  // A hit, until its last line is read.
  typedef struct packed {
    logic [TagBits-1:0] tag;
    logic [IndexBits-1:0] index;
    burst_lines_t lines;
  } hit_t;

  // ---- contents ----

  lid_t root_q;
  logic used_q;
  bus_address_t address_q;
  logic [EntryLines-1:0] lines_q;
  // A fill is in flight for a tag, and the position of its next line.
  logic [Tags-1:0] comes_q;
  logic [Tags-1:0][IndexBits-1:0] index_q;

  // The burst that was compared, its lines, and the results.
  bus_address_t burst_address_q;
  burst_lines_t burst_lines_q;
  logic [TagBits-1:0] burst_tag_q;
  node_name_t name_q;
  logic compared_q, is_lid_q, is_same_q, is_inside_q;
  logic [EntryLines-1:0] wanted_q;

  logic accepts, takes, is_kept, is_here, is_idle, makes_entry, starts_fill, writes, hit_valid;
  logic changes_root, comes_late_q, other_ready, may_keep, is_root;
  logic [IndexBits-1:0] first, index, line_index_q;
  line_address_t from_start;

  assign from_start = line_address_t'((burst_address_i - name_i.address) >> LineIndexBits);
  assign first = burst_address_i[LineIndexBits+:IndexBits];
  assign changes_root = root_valid_i && root_i != '0 && root_i != root_q;
  assign accepts = burst_valid_i && burst_ready_o;
  assign burst_ready_o = !compared_q || other_ready;

  always_ff @(posedge clk_i) begin
    if (rst_i) compared_q <= 1'b0;
    else compared_q <= accepts || (compared_q && !other_ready);
    if (accepts) begin
      burst_address_q <= burst_address_i;
      burst_lines_q <= burst_lines_i;
      burst_tag_q <= burst_tag_i;
      name_q <= name_i;
      wanted_q <= EntryLines'(lines_of_page(page_line_t'(first), page_line_t'(burst_lines_i)))
          << {first >> PageLineBits, PageLineBits'(0)};
      is_same_q <= address_q == name_i.address && !makes_entry;
      is_lid_q <= enable_i && name_i.lid == root_q && root_q != '0;
      is_inside_q <= from_start + line_address_t'(burst_lines_i) <= line_address_t'(EntryLines);
    end
    if (changes_root) is_lid_q <= 1'b0;
  end

  assign may_keep = name_q.cacheable && is_inside_q;
  assign is_root = may_keep && is_lid_q;

  assign index = burst_address_q[LineIndexBits+:IndexBits];
  assign is_kept = used_q && is_same_q;
  assign is_here = is_root && is_kept && (lines_q & wanted_q) == wanted_q;

  assign takes = compared_q && other_ready;
  assign is_idle = comes_q == '0 && !comes_late_q && !hit_valid;
  assign makes_entry = takes && is_root && !is_kept && is_idle;
  assign starts_fill = takes && is_root && !is_here && (is_kept || makes_entry);

  // A line from host memory that is to be stored, one cycle later. A line that is already stored may be on
  // its way to a client, so it is not written again.
  line_t line_q;
  assign writes = comes_late_q && !lines_q[line_index_q];
  always_ff @(posedge clk_i) begin
    comes_late_q <= !rst_i && line_valid_i && comes_q[line_tag_i] && !line_i.error;
    line_index_q <= index_q[line_tag_i];
    line_q <= line_i.data;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      root_q <= '0;
      used_q <= 1'b0;
      comes_q <= '0;
    end else begin
      if (makes_entry) used_q <= 1'b1;
      if (drop_valid_i && drop_lid_i == root_q) used_q <= 1'b0;
      if (changes_root) begin
        root_q <= root_i;
        used_q <= 1'b0;
      end
      if (line_valid_i && line_i.last) comes_q[line_tag_i] <= 1'b0;
      if (starts_fill) comes_q[burst_tag_q] <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (comes_late_q) lines_q[line_index_q] <= 1'b1;
    if (line_valid_i) index_q[line_tag_i] <= index_q[line_tag_i] + 1'b1;
    if (starts_fill) index_q[burst_tag_q] <= index;
    if (makes_entry) begin
      address_q <= name_q.address;
      lines_q <= '0;
    end
  end

  // ---- misses ----

  logic other_valid_q;
  bus_address_t other_address_q;
  burst_lines_t other_lines_q;
  logic [TagBits-1:0] other_tag_q;
  node_name_t other_name_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) other_valid_q <= 1'b0;
    else other_valid_q <= (takes && !is_here) || (other_valid_q && !other_ready_i);
    if (takes) begin
      other_address_q <= burst_address_q;
      other_lines_q <= burst_lines_q;
      other_tag_q <= burst_tag_q;
      other_name_q <= '{cacheable: may_keep && !is_root, lid: name_q.lid, address: name_q.address};
    end
  end

  assign other_ready = !other_valid_q || other_ready_i;
  assign other_valid_o = other_valid_q;
  assign other_address_o = other_address_q;
  assign other_lines_o = other_lines_q;
  assign other_tag_o = other_tag_q;
  assign other_name_o = other_name_q;

  // ---- lines of hits, one per cycle ----

  hit_t hit_in, hit;
  logic hit_ready, reads, ends;
  burst_lines_t given_q;
  logic offers_q, last_q;
  logic [TagBits-1:0] tag_q;
  line_t data;

  assign hit_in = '{tag: burst_tag_q, index: index, lines: burst_lines_q};

  // Each tag has at most one hit in flight.
  fifo #(
    .T(hit_t),
    .Depth(Tags)
  ) u_hits (
    .clk_i,
    .rst_i,
    .in_valid_i(takes && is_here),
    .in_ready_o(hit_ready),
    .in_i(hit_in),
    .out_valid_o(hit_valid),
    .out_ready_i(reads && ends),
    .out_o(hit),
    .count_o()
  );

  assign reads = hit_valid && (!offers_q || beat_ready_i);
  assign ends = given_q + 1'b1 == hit.lines;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      offers_q <= 1'b0;
      given_q <= '0;
    end else begin
      offers_q <= reads || (offers_q && !beat_ready_i);
      if (reads) given_q <= ends ? '0 : given_q + 1'b1;
    end
    if (reads) begin
      tag_q <= hit.tag;
      last_q <= ends;
    end
  end

  ram #(
    .Width(LineBits),
    .Depth(EntryLines)
  ) u_lines (
    .clk_i,
    .rst_i,
    .write_i(writes),
    .write_address_i(line_index_q),
    .write_data_i(line_q),
    .read_i(reads),
    .read_address_i(hit.index + given_q[IndexBits-1:0]),
    .read_data_o(data)
  );

  assign beat_valid_o = offers_q;
  assign beat_tag_o = tag_q;
  assign beat_o = '{data: data, last: last_q, error: 1'b0};

  `ASSERT(HitsHaveRoom, !(takes && is_here) || hit_ready)
  `ASSERT(OneFillPerTag, !starts_fill || !comes_q[burst_tag_q])
  `ASSERT(NoLineOfPreviousRoot, !makes_entry || (comes_q == '0 && !comes_late_q && !hit_valid))
  `ASSERT_OFFER_STAYS(BurstStays, burst_valid_i, burst_ready_o, {burst_address_i, burst_lines_i, burst_tag_i})
  `ASSERT_OFFER_STAYS(OtherStays, other_valid_o, other_ready_i,
                      {other_address_o, other_lines_o, other_tag_o, other_name_o})
  `ASSERT_OFFER_STAYS(BeatStays, beat_valid_o, beat_ready_i, {beat_tag_o, beat_o})
  `COVER(IsOnChip, takes && is_here)
  `COVER(FillsFurtherLines, starts_fill && is_kept)
  `COVER(MakesEntry, makes_entry)
  `COVER(PreviousRootIsInUse, takes && is_root && !is_kept && !is_idle)
  `COVER(RootChangesMeanwhile, compared_q && is_root && changes_root)
  `COVER(IsDropped, drop_valid_i && drop_lid_i == root_q && used_q)
  `COVER(OtherRoot, changes_root && used_q)

endmodule

`default_nettype wire
