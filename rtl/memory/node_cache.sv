// Stores which lines of which nodes are in on-board memory. An entry belongs to one buffer of a node,
// named by LID and bus address together. The position of a line in its entry is its bus address modulo the
// size of an entry, so a burst never crosses a page in the cache either. The metadata are on chip; a word
// contains those of one set.
//
// - A burst of a cacheable node is a hit if all its lines are valid. Otherwise it is read from host memory
//   and fills an entry. A new entry replaces a random one that has no read or fill in flight.
// - A successful fill makes its lines valid, unless the entry was dropped.
// - A mapping drops all entries of its LID. So if a buffer is used again for another state of the same
//   node, no line of the earlier state is left.
//
// An operation reads its set, compares it in the next cycle, decides, and writes in the fourth cycle. One
// begins in each cycle and none of them waits after that, so a mapping by a writer never depends on reads in
// flight.
//
// - The end of a fill and a drop begin when no operation in flight has the same set, and no burst begins
//   before them.
// - A burst does not wait: if an operation ahead writes the set that the burst has read, the burst is read
//   from host memory and fills nothing.

`default_nettype none

`include "assertions.svh"

module node_cache
  import accelerator_pkg::*;
  import memory_pkg::*;
#(
  parameter int unsigned TagBits = 3,
  // channels of on-board memory
  parameter int unsigned Channels = 1,
  // number of sets: a power of two
  parameter int unsigned Sets = 1024,
  parameter int unsigned Ways = 4,
  // lines of an entry: a power of two; larger nodes are not cached
  parameter int unsigned EntryLines = 128,
  localparam int unsigned SetBits = $clog2(Sets),
  localparam int unsigned WayBits = $clog2(Ways),
  localparam int unsigned IndexBits = $clog2(EntryLines),
  // A position in the cache, counted in lines: set, way and line.
  localparam int unsigned PlaceBits = SetBits + WayBits + IndexBits
) (
  input logic clk_i,
  input logic rst_i,
  input logic enable_i,
  // redirects hits to host memory
  input logic redirects_i,
  // how often the number of sets is halved; constant while the cache is in use
  input logic [7:0] halvings_i,

  input  logic               burst_valid_i,
  output logic               burst_ready_o,
  input  bus_address_t       burst_address_i,
  input  burst_lines_t       burst_lines_i,
  input  logic [TagBits-1:0] burst_tag_i,
  // the node of the burst; it is not cacheable if the burst ends beyond the size of an entry
  input  buffer_name_t       name_i,

  // bursts that are read from host memory
  output logic               host_valid_o,
  input  logic               host_ready_i,
  output bus_address_t       host_address_o,
  output burst_lines_t       host_lines_o,
  output logic [TagBits-1:0] host_tag_o,

  // bursts that are read from the cache; hit_done_i follows their last line
  output logic                 hit_valid_o,
  input  logic                 hit_ready_i,
  output logic [PlaceBits-1:0] hit_place_o,
  output burst_lines_t         hit_lines_o,
  output logic [TagBits-1:0]   hit_tag_o,
  input  logic [Channels-1:0]              hit_done_i,
  input  logic [Channels-1:0][TagBits-1:0] hit_done_tag_i,

  // The lines that host memory returns for a tag fill the cache from a position on. This is announced
  // before the burst is requested from host memory.
  output logic                 fill_start_o,
  output logic [TagBits-1:0]   fill_tag_o,
  output logic [PlaceBits-1:0] fill_place_o,
  input  logic                 filled_valid_i,
  output logic                 filled_ready_o,
  input  logic [TagBits-1:0]   filled_tag_i,
  // some lines were not written
  input  logic                 filled_failed_i,

  input  logic drop_valid_i,
  output logic drop_ready_o,
  input  lid_t drop_lid_i,

  output logic counts_hit_o,
  output logic counts_miss_o
);

  if (2 ** SetBits != Sets || 2 ** WayBits != Ways || 2 ** IndexBits != EntryLines || EntryLines < PageLines)
    $fatal(1, "Sets, Ways and EntryLines must be powers of two; an entry must have a page");

  typedef logic [SetBits-1:0] set_index_t;

  // Bursts in flight here: each has room in the queue to host memory and in the one to on-board memory.
  localparam int unsigned BurstsMax = 8;

  // An operation: a burst of a node that may be kept, another burst, the end of a fill, or a drop.
  typedef struct packed {
    logic looks, passes, fills, drops;
    set_index_t set;
    logic [TagBits-1:0] tag;
    lid_t lid;
    // the start of the buffer, and of the burst
    bus_address_t buffer;
    bus_address_t address;
    burst_lines_t lines;
    logic failed;
    // for a burst: the operations one, two and three cycles ahead have the same set
    logic [3:1] same;
  } operation_t;

  // The operations that compare, decide and write. No stage uses all fields.
  // verilator lint_off UNUSEDSIGNAL
  operation_t operation, compared_q, decided_q, written_q;
  // verilator lint_on UNUSEDSIGNAL

  // ---- the next operation ----

  logic has_room_q, clears, takes, update_valid, enters_update, is_fill, update_failed, hit_pops, host_pops;
  set_index_t set_mask_q, burst_set, update_set, filled_set;
  logic [TagBits-1:0] update_tag;
  logic [3:1] same_as_update, active;
  logic [3:0] open_d, open_q;

  always_ff @(posedge clk_i) set_mask_q <= {SetBits{1'b1}} >> halvings_i;

  cache_updates #(
    .TagBits(TagBits),
    .SetBits(SetBits)
  ) u_updates (
    .waits_i(clears),
    .filled_set_i(filled_set),
    .drop_set_i(drop_lid_i[SetBits-1:0] & set_mask_q),
    .dropped_i(drop_ready_o),
    .update_valid_o(update_valid),
    .update_ready_i(enters_update),
    .is_fill_o(is_fill),
    .set_o(update_set),
    .tag_o(update_tag),
    .failed_o(update_failed),
    .*
  );

  assign burst_set = name_i.lid[SetBits-1:0] & set_mask_q;
  assign burst_ready_o = !update_valid && has_room_q;
  assign open_d = open_q + 4'(takes) - 4'(hit_pops) - 4'(host_pops);
  assign takes = burst_valid_i && burst_ready_o;

  // Operations in flight that use their sets, by their distances.
  assign active = {
    written_q.looks || written_q.fills || written_q.drops,
    decided_q.looks || decided_q.fills || decided_q.drops,
    compared_q.looks || compared_q.fills || compared_q.drops
  };
  assign same_as_update = active
      & {written_q.set == update_set, decided_q.set == update_set, compared_q.set == update_set};
  assign enters_update = update_valid && same_as_update == '0;

  assign operation = '{
    looks: takes && enable_i && name_i.cacheable,
    passes: takes && !(enable_i && name_i.cacheable),
    fills: enters_update && is_fill,
    drops: enters_update && !is_fill,
    set: update_valid ? update_set : burst_set,
    tag: update_valid ? update_tag : burst_tag_i,
    lid: update_valid ? drop_lid_i : name_i.lid,
    buffer: name_i.address,
    address: burst_address_i,
    lines: burst_lines_i,
    failed: update_failed,
    same: active & {written_q.set == burst_set, decided_q.set == burst_set, compared_q.set == burst_set}
  };

  always_ff @(posedge clk_i) begin
    {compared_q, decided_q, written_q} <= {operation, compared_q, decided_q};
    if (rst_i) begin
      {compared_q.looks, compared_q.passes, compared_q.fills, compared_q.drops} <= '0;
      {decided_q.looks, decided_q.passes, decided_q.fills, decided_q.drops} <= '0;
      {written_q.looks, written_q.passes, written_q.fills, written_q.drops} <= '0;
      {open_q, has_room_q} <= '0;
    end else begin
      {open_q, has_room_q} <= {open_d, !clears && open_d != 4'(BurstsMax)};
    end
  end

  // ---- a burst is decided, and a set is written ----

  logic makes_entry, starts_fill, starts_hit, starts_read, is_hit, is_tag_busy, host_ready, hit_ready;
  logic [WayBits-1:0] burst_way, flight_way, flight_way_q, way;
  logic [IndexBits-1:0] flight_index, written_index;
  page_line_t flight_lines;
  logic [Ways-1:0] is_lid, is_buffer, has_lines, is_busy;

  cache_decision #(
    .Ways(Ways)
  ) u_decision (
    .looks_i(decided_q.looks),
    .same_i(decided_q.same),
    .writes_i(makes_entry || written_q.fills || written_q.drops),
    .is_entry_i(is_lid & is_buffer),
    .has_lines_i(has_lines),
    .is_busy_i(is_busy),
    .is_tag_busy_i(is_tag_busy),
    .is_hit_o(is_hit),
    .starts_hit_o(starts_hit),
    .starts_fill_o(starts_fill),
    .makes_entry_o(makes_entry),
    .way_o(burst_way),
    .*
  );

  always_ff @(posedge clk_i) flight_way_q <= flight_way;
  assign way = written_q.fills ? flight_way_q : burst_way;

  cache_sets #(
    .Sets(Sets),
    .Ways(Ways),
    .EntryLines(EntryLines)
  ) u_sets (
    .clears_o(clears),
    .read_i(operation.looks || operation.fills || operation.drops),
    .set_i(operation.set),
    .lid_i(compared_q.lid),
    .buffer_i(compared_q.buffer),
    .index_i(burst_address_i[LineIndexBits+:IndexBits]),
    .lines_i(page_line_t'(burst_lines_i)),
    .is_lid_o(is_lid),
    .is_buffer_o(is_buffer),
    .has_lines_o(has_lines),
    .uses_i(starts_hit || starts_fill),
    .makes_i(makes_entry),
    .fills_i(written_q.fills && !written_q.failed),
    .drops_i(decided_q.drops),
    .written_set_i(written_q.set),
    .way_i(way),
    .written_lid_i(written_q.lid),
    .written_buffer_i(written_q.buffer),
    .filled_index_i(flight_index),
    .filled_lines_i(flight_lines),
    .*
  );

  node_flights #(
    .TagBits(TagBits),
    .Channels(Channels),
    .SetBits(SetBits),
    .WayBits(WayBits),
    .IndexBits(IndexBits)
  ) u_flights (
    .start_i(starts_fill || starts_hit),
    .start_tag_i(written_q.tag),
    .start_set_i(written_q.set),
    .start_way_i(way),
    .start_index_i(written_index),
    .start_lines_i(page_line_t'(written_q.lines)),
    .replaces_i(makes_entry),
    .filled_i(written_q.fills),
    .filled_tag_i(written_q.tag),
    .of_tag_i(filled_tag_i),
    .of_set_o(filled_set),
    .tag_i(compared_q.tag),
    .set_i(compared_q.set),
    .is_busy_o(is_tag_busy),
    .way_o(flight_way),
    .index_o(flight_index),
    .lines_o(flight_lines),
    .busy_ways_o(is_busy),
    .*
  );

  fifo #(
    .T(logic [$bits(bus_address_t)+$bits(burst_lines_t)+TagBits-1:0]),
    .Depth(BurstsMax)
  ) u_to_host (
    .clk_i, .rst_i,
    .in_valid_i(starts_read),
    .in_ready_o(host_ready),
    .in_i({written_q.address, written_q.lines, written_q.tag}),
    .out_valid_o(host_valid_o),
    .out_ready_i(host_ready_i),
    .out_o({host_address_o, host_lines_o, host_tag_o}),
    .count_o()
  );

  fifo #(
    .T(logic [PlaceBits+$bits(burst_lines_t)+TagBits-1:0]),
    .Depth(BurstsMax)
  ) u_to_cache (
    .clk_i, .rst_i,
    .in_valid_i(starts_hit),
    .in_ready_o(hit_ready),
    .in_i({fill_place_o, written_q.lines, written_q.tag}),
    .out_valid_o(hit_valid_o),
    .out_ready_i(hit_ready_i),
    .out_o({hit_place_o, hit_lines_o, hit_tag_o}),
    .count_o()
  );

  assign starts_read = written_q.passes || (written_q.looks && !starts_hit);
  assign host_pops = host_valid_o && host_ready_i;
  assign hit_pops = hit_valid_o && hit_ready_i;
  assign written_index = written_q.address[LineIndexBits+:IndexBits];
  assign fill_start_o = starts_fill;
  assign fill_tag_o = written_q.tag;
  assign fill_place_o = {written_q.set, way, written_index};
  assign drop_ready_o = written_q.drops;
  assign counts_hit_o = written_q.looks && is_hit;
  assign counts_miss_o = written_q.looks && !is_hit;

  `ASSERT(QueuesHaveRoom, (!starts_read || host_ready) && (!starts_hit || hit_ready))
  `ASSERT_OFFER_STAYS(HostStays, host_valid_o, host_ready_i, {host_address_o, host_lines_o, host_tag_o})
  `ASSERT_OFFER_STAYS(HitStays, hit_valid_o, hit_ready_i, {hit_place_o, hit_lines_o, hit_tag_o})
  `COVER(UpdateWaits, update_valid && !enters_update)
  `COVER(FillFails, written_q.fills && written_q.failed)

endmodule

`default_nettype wire
