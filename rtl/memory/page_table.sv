// Finds the buffer of a LID. The table has a word of 8 bytes for each LID, eight words in a line of
// on-board memory. Many lookups are in flight; each reader has at most one, and its number is the id of the
// read. Several readers may share a port. A cache on chip keeps the words of cacheable nodes. A word also
// tells whether the columns of a leaf are in on-board memory.

`default_nettype none

`include "assertions.svh"

module page_table
  import accelerator_pkg::*;
  import memory_pkg::*;
#(
  parameter int unsigned Ports = 4,
  // bits of the number of a reader; the readers before this one look up nodes that may be cached
  parameter int unsigned ReaderBits = 2,
  parameter int unsigned CachedReaders = 4,
  // number of LIDs that can be mapped
  parameter int unsigned LidCount = 65536,
  // number of words on chip: a power of two
  parameter int unsigned KeptLids = 1024,
  // first page of the page table, in pages of 4 KiB
  parameter int unsigned BasePage = 0,
  parameter int unsigned AddressBits = 34
) (
  input logic clk_i,
  input logic rst_i,

  input  logic    [Ports-1:0]                 lookup_valid_i,
  output logic    [Ports-1:0]                 lookup_ready_o,
  input  lookup_t [Ports-1:0]                 lookup_i,
  input  logic    [Ports-1:0][ReaderBits-1:0] lookup_reader_i,

  // map_valid_i: a mapping is being written, so a lookup may return the older one. drop_i comes first and
  // removes the word of the LID from the cache on chip.
  input logic map_valid_i,
  input logic drop_i,
  input lid_t map_lid_i,

  // The table has failed: no LID is mapped until reset.
  input logic failed_i,

  // the result for a reader: the address, or 0 if the LID is not mapped
  output logic                  found_valid_o,
  output logic [ReaderBits-1:0] found_reader_o,
  output bus_address_t          found_o,
  // the columns of the leaf are in on-board memory
  output logic                  found_columns_o,

  // a reader could read columns of this LID from on-board memory, but they are not there
  output logic lacks_valid_o,
  output lid_t lacks_lid_o,

  // reads of single lines of on-board memory, answered in any order
  output logic                   line_read_valid_o,
  input  logic                   line_read_ready_i,
  output logic [ReaderBits-1:0]  line_read_id_o,
  output logic [AddressBits-1:0] line_read_address_o,

  input logic                  line_valid_i,
  input logic [ReaderBits-1:0] line_id_i,
  input line_t                 line_i,
  input logic                  line_error_i
);

  localparam int unsigned WordIndexBits = LineIndexBits - 3;

  // A lookup, and one in flight.
  typedef struct packed {
    logic [ReaderBits-1:0] reader;
    lookup_t lookup;
  } element_t;

  typedef struct packed {
    logic beyond;
    lookup_t lookup;
  } flight_t;

  element_t [Ports-1:0] elements;
  element_t element;
  lookup_t missed;
  logic [ReaderBits-1:0] reader;
  logic lookup_valid, lookup_ready, hit_valid, hit_ready, beyond, fills;
  bus_address_t hit_address, address;
  // verilator lint_off UNUSEDSIGNAL
  table_word_t word;
  // verilator lint_on UNUSEDSIGNAL
  flight_t flight;
  // The result of a lookup, and the LID whose word may be kept.
  logic found_valid_q;
  logic [ReaderBits-1:0] found_reader_q;
  bus_address_t found_q;
  logic fills_q, has_columns_q, lacks_q;
  lid_t fill_lid_q;

  for (genvar port = 0; port < Ports; port++) begin : gen_elements
    assign elements[port] = {lookup_reader_i[port], lookup_i[port]};
  end

  arbiter_tree #(
    .T(element_t),
    .Count(Ports)
  ) u_arbiter (
    .clk_i,
    .rst_i,
    .in_valid_i(lookup_valid_i),
    .in_ready_o(lookup_ready_o),
    .in_i(elements),
    .out_valid_o(lookup_valid),
    .out_ready_i(lookup_ready),
    .out_o(element),
    .out_index_o()
  );

  page_table_cache #(
    .Entries(KeptLids),
    .ClientBits(ReaderBits)
  ) u_cache (
    .clk_i,
    .rst_i,
    .lookup_valid_i(lookup_valid),
    .lookup_ready_o(lookup_ready),
    .lookup_i(element.lookup),
    .lookup_client_i(element.reader),
    .hit_valid_o(hit_valid),
    .hit_ready_i(hit_ready),
    .hit_address_o(hit_address),
    .miss_valid_o(line_read_valid_o),
    .miss_ready_i(line_read_ready_i),
    .lookup_o(missed),
    .client_o(reader),
    .fill_i(fills),
    .fill_lid_i(fill_lid_q),
    .fill_address_i(found_q),
    .drop_i,
    .drop_lid_i(map_lid_i)
  );

  // A lookup of a LID beyond the table reads the word of another LID and ignores it.
  assign beyond = missed.lid >= lid_t'(LidCount);
  assign line_read_id_o = reader;
  assign line_read_address_o = (AddressBits'(BasePage) << $clog2(PageBytes)) + AddressBits'({
    beyond ? '0 : missed.lid[$bits(lid_t)-1:WordIndexBits], LineIndexBits'(0)
  });

  // A lookup in flight is in the row of its reader. The word is not kept if a mapping is written meanwhile,
  // because it may be stale.
  logic starts, is_kept;
  logic [CachedReaders-1:0] kept_q;

  assign starts = line_read_valid_o && line_read_ready_i;

  ram #(
    .Width($bits(flight_t)),
    .Depth(2 ** ReaderBits)
  ) u_flights (
    .clk_i,
    .rst_i,
    .write_i(starts),
    .write_address_i(reader),
    .write_data_i({beyond, missed}),
    .read_i(line_valid_i),
    .read_address_i(line_id_i),
    .read_data_o(flight)
  );

  for (genvar index = 0; index < CachedReaders; index++) begin : gen_kept
    always_ff @(posedge clk_i) begin
      if (starts && reader == ReaderBits'(index)) kept_q[index] <= missed.kept;
      else if (map_valid_i) kept_q[index] <= 1'b0;
    end
  end

  // The line from memory, one cycle later, and the result one cycle after it.
  logic valid_q, error_q, is_lost;
  logic [ReaderBits-1:0] id_q;
  line_t line_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) valid_q <= 1'b0;
    else valid_q <= line_valid_i;
    id_q <= line_id_i;
    line_q <= line_i;
    error_q <= line_error_i;
  end

  always_comb begin
    is_kept = 1'b0;
    for (int unsigned index = 0; index < CachedReaders; index++) begin
      if (id_q == ReaderBits'(index)) is_kept = kept_q[index];
    end
  end

  assign word = line_q[64*flight.lookup.lid[WordIndexBits-1:0]+:64];
  assign address = word.address;
  assign is_lost = flight.beyond || error_q || failed_i;

  // Lines from memory cannot wait, so hits do.
  assign hit_ready = !valid_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      found_valid_q <= 1'b0;
      {fills_q, lacks_q} <= '0;
    end else begin
      found_valid_q <= valid_q || hit_valid;
      fills_q <= valid_q && is_kept && !map_valid_i && !is_lost && address != '0;
      lacks_q <= valid_q && flight.lookup.columns && !is_lost && address != '0 && !word.has_columns;
    end
    found_reader_q <= valid_q ? id_q : reader;
    fill_lid_q <= flight.lookup.lid;
    has_columns_q <= valid_q && word.has_columns;
    found_q <= valid_q ? address : hit_address;
    if (failed_i || (valid_q && is_lost)) found_q <= '0;
  end

  assign found_valid_o = found_valid_q;
  assign found_reader_o = found_reader_q;
  assign found_o = found_q;
  assign found_columns_o = has_columns_q;
  assign lacks_valid_o = lacks_q;
  assign lacks_lid_o = fill_lid_q;
  // A mapping that has begun since drops the word, in this cycle at the earliest.
  assign fills = fills_q && !map_valid_i;

  // Lookups in flight.
  logic [2**ReaderBits-1:0] flying_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      flying_q <= '0;
    end else begin
      if (starts) flying_q[reader] <= 1'b1;
      if (line_valid_i) flying_q[line_id_i] <= 1'b0;
    end
  end

  `ASSERT(OneLookupPerReader, !line_read_valid_o || !flying_q[reader])
  `ASSERT(OnlySomeAreKept, !lookup_valid || !element.lookup.kept || 32'(element.reader) < CachedReaders)
  `ASSERT(LineWasRequested, !line_valid_i || flying_q[line_id_i])

endmodule

`default_nettype wire
