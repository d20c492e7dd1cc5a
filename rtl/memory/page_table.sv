// Finds the buffer of a LID. The table has a word of 8 bytes for each LID, eight words in a line of
// on-board memory. Many lookups are in flight; each client has at most one, and its number is the id of
// the read. A cache on chip keeps the words of cacheable nodes. A word also tells whether the columns of a
// leaf are in on-board memory.

`default_nettype none

`include "assertions.svh"

module page_table
  import accelerator_pkg::*;
  import memory_pkg::*;
#(
  parameter int unsigned ClientCount = 4,
  // number of LIDs that can be mapped
  parameter int unsigned LidCount = 65536,
  // number of words on chip: a power of two
  parameter int unsigned KeptLids = 1024,
  // first page of the page table, in pages of 4 KiB
  parameter int unsigned BasePage = 0,
  parameter int unsigned AddressBits = 34,
  localparam int unsigned ClientBits = ClientCount > 1 ? $clog2(ClientCount) : 1
) (
  input logic clk_i,
  input logic rst_i,

  input  logic    [ClientCount-1:0] lookup_valid_i,
  output logic    [ClientCount-1:0] lookup_ready_o,
  input  lookup_t [ClientCount-1:0] lookup_i,

  // map_valid_i: a mapping is being written, so a lookup may return the older one. drop_i comes first and
  // removes the word of the LID from the cache on chip.
  input logic map_valid_i,
  input logic drop_i,
  input lid_t map_lid_i,

  // the result for a client: the address, or 0 if the LID is not mapped
  output logic         [ClientCount-1:0] found_valid_o,
  output bus_address_t                   found_o,
  // the columns of the leaf are in on-board memory
  output logic                           found_columns_o,

  // a client could read columns of this LID from on-board memory, but they are not there
  output logic lacks_valid_o,
  output lid_t lacks_lid_o,

  // reads of single lines of on-board memory, answered in any order
  output logic                   line_read_valid_o,
  input  logic                   line_read_ready_i,
  output logic [ClientBits-1:0]  line_read_id_o,
  output logic [AddressBits-1:0] line_read_address_o,

  input logic                  line_valid_i,
  input logic [ClientBits-1:0] line_id_i,
  input line_t                 line_i,
  input logic                  line_error_i
);

  localparam int unsigned WordIndexBits = LineIndexBits - 3;

  // A lookup in flight.
  typedef struct packed {
    logic beyond;
    // lookup.kept is cleared if a mapping is written meanwhile, because the word may be stale
    lookup_t lookup;
  } flight_t;

  lookup_t lookup, missed;
  logic [ClientBits-1:0] lookup_client, client;
  logic lookup_valid, lookup_ready, hit_valid, hit_ready, beyond, fills;
  bus_address_t hit_address, address;
  // verilator lint_off UNUSEDSIGNAL
  table_word_t word;
  // verilator lint_on UNUSEDSIGNAL
  flight_t flight;
  // The result of a lookup, and the LID whose word may be kept.
  logic [ClientCount-1:0] found_valid_d, found_valid_q;
  bus_address_t found_q;
  logic fills_q, has_columns_q, lacks_q;
  lid_t fill_lid_q;

  arbiter_tree #(
    .T(lookup_t),
    .Count(ClientCount)
  ) u_arbiter (
    .clk_i,
    .rst_i,
    .in_valid_i(lookup_valid_i),
    .in_ready_o(lookup_ready_o),
    .in_i(lookup_i),
    .out_valid_o(lookup_valid),
    .out_ready_i(lookup_ready),
    .out_o(lookup),
    .out_index_o(lookup_client)
  );

  page_table_cache #(
    .Entries(KeptLids),
    .ClientBits(ClientBits)
  ) u_cache (
    .clk_i,
    .rst_i,
    .lookup_valid_i(lookup_valid),
    .lookup_ready_o(lookup_ready),
    .lookup_i(lookup),
    .lookup_client_i(lookup_client),
    .hit_valid_o(hit_valid),
    .hit_ready_i(hit_ready),
    .hit_address_o(hit_address),
    .miss_valid_o(line_read_valid_o),
    .miss_ready_i(line_read_ready_i),
    .lookup_o(missed),
    .client_o(client),
    .fill_i(fills),
    .fill_lid_i(fill_lid_q),
    .fill_address_i(found_q),
    .drop_i,
    .drop_lid_i(map_lid_i)
  );

  // A lookup of a LID beyond the table reads the word of another LID and ignores it.
  assign beyond = missed.lid >= lid_t'(LidCount);
  assign line_read_id_o = client;
  assign line_read_address_o = (AddressBits'(BasePage) << $clog2(PageBytes)) + AddressBits'({
    beyond ? '0 : missed.lid[$bits(lid_t)-1:WordIndexBits], LineIndexBits'(0)
  });

  flight_t [2**ClientBits-1:0] flights_q;

  always_ff @(posedge clk_i) begin
    for (int unsigned index = 0; index < 2 ** ClientBits; index++) begin
      if (map_valid_i) flights_q[index].lookup.kept <= 1'b0;
    end
    if (line_read_valid_o && line_read_ready_i) begin
      flights_q[client] <= '{beyond: beyond, lookup: missed};
    end
  end

  // The line from memory, one cycle later, and the result one cycle after it.
  logic valid_q, error_q, is_lost;
  logic [ClientBits-1:0] id_q;
  line_t line_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) valid_q <= 1'b0;
    else valid_q <= line_valid_i;
    id_q <= line_id_i;
    line_q <= line_i;
    error_q <= line_error_i;
  end

  assign flight = flights_q[id_q];
  assign word = line_q[64*flight.lookup.lid[WordIndexBits-1:0]+:64];
  assign address = word.address;
  assign is_lost = flight.beyond || error_q;

  // Lines from memory cannot wait, so hits do.
  assign hit_ready = !valid_q;
  for (genvar index = 0; index < ClientCount; index++) begin : gen_found
    assign found_valid_d[index] = valid_q ? id_q == ClientBits'(index)
        : hit_valid && client == ClientBits'(index);
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      found_valid_q <= '0;
      {fills_q, lacks_q} <= '0;
    end else begin
      found_valid_q <= found_valid_d;
      fills_q <= valid_q && flight.lookup.kept && !map_valid_i && !is_lost && address != '0;
      lacks_q <= valid_q && flight.lookup.columns && !is_lost && address != '0 && !word.has_columns;
    end
    fill_lid_q <= flight.lookup.lid;
    has_columns_q <= valid_q && word.has_columns;
    found_q <= hit_address;
    if (valid_q) found_q <= is_lost ? '0 : address;
  end

  assign found_valid_o = found_valid_q;
  assign found_o = found_q;
  assign found_columns_o = has_columns_q;
  assign lacks_valid_o = lacks_q;
  assign lacks_lid_o = fill_lid_q;
  // A mapping that has begun since drops the word, in this cycle at the earliest.
  assign fills = fills_q && !map_valid_i;

  // Lookups in flight.
  logic [2**ClientBits-1:0] flying_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      flying_q <= '0;
    end else begin
      if (line_read_valid_o && line_read_ready_i) flying_q[client] <= 1'b1;
      if (line_valid_i) flying_q[line_id_i] <= 1'b0;
    end
  end

  `ASSERT(OneLookupPerClient, !line_read_valid_o || !flying_q[client])
  `ASSERT(LineWasRequested, !line_valid_i || flying_q[line_id_i])

endmodule

`default_nettype wire
