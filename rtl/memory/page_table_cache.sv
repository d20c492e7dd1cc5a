// Caches page-table words of interior nodes on chip: there are few interior nodes, and each request looks
// up several of them. It is direct-mapped by LID. A lookup reads its entry in one cycle and compares it in
// the next one; another lookup may begin in each cycle.

`default_nettype none

`include "assertions.svh"

module page_table_cache
  import accelerator_pkg::*;
  import memory_pkg::*;
#(
  // number of words: a power of two
  parameter int unsigned Entries = 1024,
  parameter int unsigned ClientBits = 2
) (
  input logic clk_i,
  input logic rst_i,

  input  logic                  lookup_valid_i,
  output logic                  lookup_ready_o,
  input  lookup_t               lookup_i,
  input  logic [ClientBits-1:0] lookup_client_i,

  // the result of a lookup: a hit, or a miss that the table must answer
  output logic                  hit_valid_o,
  input  logic                  hit_ready_i,
  output bus_address_t          hit_address_o,
  output logic                  miss_valid_o,
  input  logic                  miss_ready_i,
  output lookup_t               lookup_o,
  output logic [ClientBits-1:0] client_o,

  // stores a word that was read from the table
  input logic         fill_i,
  input lid_t         fill_lid_i,
  input bus_address_t fill_address_i,
  // removes the word of this LID; never in the same cycle as a fill
  input logic         drop_i,
  // verilator lint_off UNUSEDSIGNAL
  input lid_t         drop_lid_i
  // verilator lint_on UNUSEDSIGNAL
);

  localparam int unsigned PlaceBits = $clog2(Entries);
  localparam int unsigned RestBits = $bits(lid_t) - PlaceBits;

  if (Entries < 2 || 2 ** PlaceBits != Entries) $fatal(1, "Entries must be a power of two, at least 2");

  typedef logic [PlaceBits-1:0] place_t;

  typedef struct packed {
    logic used;
    // the remaining bits of the LID
    logic [RestBits-1:0] rest;
    bus_address_t address;
  } entry_t;

  // Empty entries are written after reset.
  logic clears_q;
  place_t clear_q, place;
  // The lookup whose entry was read, and the result before it.
  logic looks_q, hit_valid_q, miss_valid_q;
  lookup_t lookup_q, result_q;
  logic [ClientBits-1:0] client_q, result_client_q;
  bus_address_t address_q;
  entry_t found, written;
  logic takes, compares, writes, is_hit;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      clears_q <= 1'b1;
      clear_q <= '0;
      {looks_q, hit_valid_q, miss_valid_q} <= '0;
    end else begin
      if (&clear_q) clears_q <= 1'b0;
      clear_q <= clear_q + 1'b1;
      looks_q <= takes || (looks_q && !compares);
      hit_valid_q <= (compares && is_hit) || (hit_valid_q && !hit_ready_i);
      miss_valid_q <= (compares && !is_hit) || (miss_valid_q && !miss_ready_i);
    end
  end

  always_ff @(posedge clk_i) begin
    if (takes) {lookup_q, client_q} <= {lookup_i, lookup_client_i};
    if (compares) {result_q, result_client_q, address_q} <= {lookup_q, client_q, found.address};
  end

  always_comb begin
    place = clear_q;
    written = '0;
    if (!clears_q) begin
      place = drop_i ? place_t'(drop_lid_i) : place_t'(fill_lid_i);
      if (!drop_i) begin
        written = '{used: 1'b1, rest: fill_lid_i[$bits(lid_t)-1:PlaceBits], address: fill_address_i};
      end
    end
  end

  assign writes = clears_q || drop_i || fill_i;
  assign compares = looks_q && !(hit_valid_q && !hit_ready_i) && !(miss_valid_q && !miss_ready_i);
  // A read never takes place in the cycle of a write.
  assign lookup_ready_o = !writes && (!looks_q || compares);
  assign takes = lookup_valid_i && lookup_ready_o;

  ram #(
    .Width($bits(entry_t)),
    .Depth(Entries)
  ) u_entries (
    .clk_i,
    .rst_i,
    .write_i(writes),
    .write_address_i(place),
    .write_data_i(written),
    .read_i(takes),
    .read_address_i(place_t'(lookup_i.lid)),
    .read_data_o(found)
  );

  assign is_hit = found.used && found.rest == lookup_q.lid[$bits(lid_t)-1:PlaceBits];
  assign hit_valid_o = hit_valid_q;
  assign hit_address_o = address_q;
  assign miss_valid_o = miss_valid_q;
  assign lookup_o = result_q;
  assign client_o = result_client_q;

  `ASSERT(OneWrite, !(drop_i && fill_i))
  `ASSERT(CachesOnlyMappedLids, !fill_i || fill_address_i != '0)
  `ASSERT_OFFER_STAYS(HitStays, hit_valid_o, hit_ready_i, {hit_address_o, client_o})
  `ASSERT_OFFER_STAYS(MissStays, miss_valid_o, miss_ready_i, {lookup_o, client_o})
  `COVER(Hits, hit_valid_o && hit_ready_i)
  `COVER(Misses, miss_valid_o && miss_ready_i)
  `COVER(HasOtherLid, compares && !is_hit && found.used)
  `COVER(LookupWaitsForWrite, lookup_valid_i && !looks_q && !clears_q && writes)
  `COVER(Drops, drop_i)

endmodule

`default_nettype wire
