// Stores which lines of which nodes are in on-board memory. An entry belongs to one buffer of a node,
// named by LID and bus address together. The position of a line in its entry is its bus address modulo the
// size of an entry, so a burst never crosses a page in the cache either. The metadata are on chip; a word
// contains those of one set. Operations execute one at a time, so each of them is atomic. None of them
// waits for memory, so a mapping by a writer never depends on reads in flight.
//
// - A burst of a cacheable node is a hit if all its lines are valid. Otherwise it is read from host memory
//   and fills an entry. A new entry replaces a random one that has no read or fill in flight.
// - A successful fill makes its lines valid, unless the entry was dropped.
// - A mapping drops all entries of its LID. So if a buffer is used again for another state of the same
//   node, no line of the earlier state is left.

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
  // the node of the burst
  input  node_name_t         name_i,

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

  typedef struct packed {
    logic used;
    lid_t lid;
    bus_address_t address;
    logic [EntryLines-1:0] lines;
  } entry_t;
  typedef entry_t [Ways-1:0] set_t;

  // The state of a tag: reads of the cache, or a fill, are in flight.
  typedef struct packed {
    logic busy;
    logic [SetBits-1:0] set;
    logic [WayBits-1:0] way;
    logic [IndexBits-1:0] index;
    burst_lines_t lines;
  } flight_t;

  typedef enum logic [2:0] {
    // writes empty sets after reset
    Clears,
    Idle,
    Looks,
    Fills,
    Drops
  } state_e;

  state_e state_d, state_q;
  bus_address_t burst_address_q;
  burst_lines_t lines_q;
  logic [TagBits-1:0] tag_q;
  lid_t lid_q;
  bus_address_t address_q;
  // The destination of the burst that was looked up, until it is accepted there.
  logic to_host_q, to_cache_q;
  flight_t [2**TagBits-1:0] flights_q;
  logic [SetBits-1:0] clear_q, set, burst_set, set_mask_q;
  logic [7:0] random_q;

  function automatic logic [EntryLines-1:0] lines_of(logic [IndexBits-1:0] first, burst_lines_t lines);
    return ((EntryLines'(1) << lines) - 1'b1) << first;
  endfunction

  // ---- the selected set ----

  set_t found, written;
  logic reads, writes;

  ram #(
    .Width($bits(set_t)),
    .Depth(Sets)
  ) u_ram (
    .clk_i,
    .rst_i,
    .write_i(writes),
    .write_address_i(set),
    .write_data_i(written),
    .read_i(reads),
    .read_address_i(set),
    .read_data_o(found)
  );

  // ---- lookup of a burst ----

  logic takes, may_keep, has_entry, is_hit, is_tag_busy, makes_entry, starts_fill, starts_hit;
  logic [IndexBits-1:0] index;
  logic [WayBits-1:0] way, victim;
  logic [Ways-1:0] is_busy, is_entry, has_lines;
  logic [EntryLines-1:0] wanted_q;
  line_address_t from_start;

  assign from_start = line_address_t'((burst_address_i - name_i.address) >> LineIndexBits);
  assign may_keep = enable_i && name_i.cacheable
      && from_start + line_address_t'(burst_lines_i) <= line_address_t'(EntryLines);

  assign index = burst_address_q[LineIndexBits+:IndexBits];
  assign burst_set = lid_q[SetBits-1:0] & set_mask_q;
  always_comb begin
    way = '0;
    for (int unsigned at = 0; at < Ways; at++) begin
      is_entry[at] = found[at].used && found[at].lid == lid_q && found[at].address == address_q;
      has_lines[at] = (~found[at].lines & wanted_q) == '0;
      if (is_entry[at]) way |= WayBits'(at);
    end
  end
  assign has_entry = |is_entry;
  assign is_hit = |(is_entry & has_lines);

  // Ways of the burst's set that have a read or fill in flight.
  always_comb begin
    is_busy = '0;
    for (int unsigned at = 0; at < 2 ** TagBits; at++) begin
      if (flights_q[at].busy && flights_q[at].set == burst_set) is_busy[flights_q[at].way] = 1'b1;
    end
  end
  assign victim = has_entry ? way : random_q[WayBits-1:0];
  assign makes_entry = state_q == Looks && !has_entry && !is_busy[victim] && !is_tag_busy;
  // The previous fill with this tag may still be in flight, although its client has received all lines.
  assign is_tag_busy = flights_q[tag_q].busy;
  assign starts_fill = state_q == Looks && !is_hit && (has_entry || makes_entry) && !is_tag_busy;
  assign starts_hit = state_q == Looks && is_hit && !redirects_i && !is_tag_busy;

  // ---- one operation at a time ----

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Clears: if (clear_q == SetBits'(Sets - 1)) state_d = Idle;
      Idle:
      if (filled_valid_i) state_d = Fills;
      else if (drop_valid_i) state_d = Drops;
      else if (takes && may_keep) state_d = Looks;
      Looks, Fills, Drops: state_d = Idle;
      default: state_d = Clears;
    endcase
  end

  assign takes = state_q == Idle && burst_valid_i && !(filled_valid_i || drop_valid_i)
      && !(to_host_q && !host_ready_i) && !(to_cache_q && !hit_ready_i);
  assign reads = state_q == Idle && state_d inside {Looks, Fills, Drops};
  assign writes = state_q inside {Clears, Fills, Drops} || makes_entry;

  always_ff @(posedge clk_i) set_mask_q <= {SetBits{1'b1}} >> halvings_i;
  always_comb begin
    unique case (state_q)
      Clears: set = clear_q;
      Idle:
      if (filled_valid_i) set = flights_q[filled_tag_i].set;
      else if (drop_valid_i) set = drop_lid_i[SetBits-1:0] & set_mask_q;
      else set = name_i.lid[SetBits-1:0] & set_mask_q;
      Fills: set = flights_q[filled_tag_i].set;
      Drops: set = drop_lid_i[SetBits-1:0] & set_mask_q;
      default: set = burst_set;
    endcase
  end

  always_comb begin
    written = found;
    for (int unsigned at = 0; at < Ways; at++) begin
      if (state_q == Clears || (state_q == Drops && found[at].lid == drop_lid_i)) written[at].used = 1'b0;
    end
    if (makes_entry) written[victim] = '{used: 1'b1, lid: lid_q, address: address_q, lines: '0};
    if (state_q == Fills && !filled_failed_i) begin
      written[flights_q[filled_tag_i].way].lines = found[flights_q[filled_tag_i].way].lines
          | lines_of(flights_q[filled_tag_i].index, flights_q[filled_tag_i].lines);
    end
  end

  // ---- state ----

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= Clears;
      clear_q <= '0;
      random_q <= 8'd1;
      to_host_q <= 1'b0;
      to_cache_q <= 1'b0;
    end else begin
      state_q <= state_d;
      to_host_q <= (takes && !may_keep) || (state_q == Looks && !starts_hit) || (to_host_q && !host_ready_i);
      to_cache_q <= starts_hit || (to_cache_q && !hit_ready_i);
      if (state_q == Clears) clear_q <= clear_q + 1'b1;
      random_q <= {random_q[6:0], random_q[7] ^ random_q[5] ^ random_q[4] ^ random_q[3]};
    end
  end

  always_ff @(posedge clk_i) begin
    if (takes) begin
      burst_address_q <= burst_address_i;
      lines_q <= burst_lines_i;
      wanted_q <= lines_of(burst_address_i[LineIndexBits+:IndexBits], burst_lines_i);
      tag_q <= burst_tag_i;
      lid_q <= name_i.lid;
      address_q <= name_i.address;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      flights_q <= '0;
    end else begin
      for (int unsigned channel = 0; channel < Channels; channel++) begin
        if (hit_done_i[channel]) flights_q[hit_done_tag_i[channel]].busy <= 1'b0;
      end
      if (state_q == Fills) flights_q[filled_tag_i].busy <= 1'b0;
      if (starts_fill || starts_hit) begin
        flights_q[tag_q] <= '{
          busy: 1'b1,
          set: burst_set,
          way: victim,
          index: index,
          lines: lines_q
        };
      end
    end
  end

  assign burst_ready_o = takes;
  assign host_valid_o = to_host_q;
  assign host_address_o = burst_address_q;
  assign host_lines_o = lines_q;
  assign host_tag_o = tag_q;
  assign hit_valid_o = to_cache_q;
  assign hit_place_o = {burst_set, flights_q[tag_q].way, index};
  assign hit_lines_o = lines_q;
  assign hit_tag_o = tag_q;
  assign fill_start_o = starts_fill;
  assign fill_tag_o = tag_q;
  assign fill_place_o = {burst_set, victim, index};
  assign filled_ready_o = state_q == Fills;
  assign drop_ready_o = state_q == Drops;
  assign counts_hit_o = state_q == Looks && is_hit;
  assign counts_miss_o = state_q == Looks && !is_hit;

  `ASSERT(OneEntry, state_q != Looks || $onehot0(is_entry))
  `ASSERT_OFFER_STAYS(HostStays, host_valid_o, host_ready_i, {host_address_o, host_lines_o, host_tag_o})
  `ASSERT_OFFER_STAYS(HitStays, hit_valid_o, hit_ready_i, {hit_place_o, hit_lines_o, hit_tag_o})
  `COVER(Hits, starts_hit)
  `COVER(IsRedirected, state_q == Looks && is_hit && redirects_i)
  `COVER(FillsEntry, starts_fill && makes_entry)
  `COVER(FillsFurtherLines, starts_fill && has_entry)
  `COVER(Evicts, makes_entry && found[victim].used)
  `COVER(AllWaysAreBusy, state_q == Looks && !has_entry && is_busy[victim])
  `COVER(FillFails, state_q == Fills && filled_failed_i)
  `COVER(DropsEntry, state_q == Drops && written != found)
  `COVER(DropsWhileInFlight, state_q == Drops && drop_lid_i == lid_q && is_busy != '0)

endmodule

`default_nettype wire
