// Caches page-table words of interior nodes on chip: there are few interior nodes, and each request looks up
// several of them. It is direct-mapped by LID and executes one lookup at a time, in two cycles.

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

  typedef enum logic [1:0] {
    // writes empty entries after reset
    Clears,
    Idle,
    Looks
  } state_e;

  state_e state_d, state_q;
  place_t clear_q, place;
  lookup_t lookup_q;
  logic [ClientBits-1:0] client_q;
  entry_t found, written;
  logic takes, writes, is_hit;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Clears: if (&clear_q) state_d = Idle;
      Idle: if (takes) state_d = Looks;
      default: if (is_hit ? hit_ready_i : miss_ready_i) state_d = Idle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= Clears;
      clear_q <= '0;
    end else begin
      state_q <= state_d;
      if (state_q == Clears) clear_q <= clear_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (takes) {lookup_q, client_q} <= {lookup_i, lookup_client_i};
  end

  always_comb begin
    place = clear_q;
    written = '0;
    if (state_q != Clears) begin
      place = drop_i ? place_t'(drop_lid_i) : place_t'(fill_lid_i);
      if (!drop_i) begin
        written = '{used: 1'b1, rest: fill_lid_i[$bits(lid_t)-1:PlaceBits], address: fill_address_i};
      end
    end
  end

  assign writes = state_q == Clears || drop_i || fill_i;
  // A read never takes place in the cycle of a write.
  assign lookup_ready_o = state_q == Idle && !writes;
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
  assign hit_valid_o = state_q == Looks && is_hit;
  assign hit_address_o = found.address;
  assign miss_valid_o = state_q == Looks && !is_hit;
  assign lookup_o = lookup_q;
  assign client_o = client_q;

  `ASSERT(OneWrite, !(drop_i && fill_i))
  `ASSERT(CachesOnlyMappedLids, !fill_i || fill_address_i != '0)
  `ASSERT_OFFER_STAYS(HitStays, hit_valid_o, hit_ready_i, {hit_address_o, client_o})
  `ASSERT_OFFER_STAYS(MissStays, miss_valid_o, miss_ready_i, {lookup_o, client_o})
  `COVER(Hits, hit_valid_o && hit_ready_i)
  `COVER(Misses, miss_valid_o && miss_ready_i)
  `COVER(HasOtherLid, miss_valid_o && found.used)
  `COVER(LookupWaitsForWrite, lookup_valid_i && state_q == Idle && writes)
  `COVER(Drops, drop_i)

endmodule

`default_nettype wire
