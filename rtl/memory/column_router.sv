// Sends bursts of columns past the nodes on chip and the cache, and merges them with the hits of the cache.
// The columns of leaves are behind the lines of the cache in on-board memory.

`default_nettype none

module column_router
  import accelerator_pkg::*;
  import memory_pkg::*;
#(
  parameter int unsigned TagBits = 3,
  // lines of the cache; lines of cache and columns
  parameter int unsigned CacheLines = 65536,
  parameter int unsigned PlaceBits = 22,
  localparam int unsigned CachePlaceBits = $clog2(CacheLines)
) (
  input logic clk_i,
  input logic rst_i,

  // a burst, of columns if on_board_i is set
  input  logic               burst_valid_i,
  output logic               burst_ready_o,
  input  logic               on_board_i,
  // verilator lint_off UNUSEDSIGNAL
  input  bus_address_t       burst_address_i,
  // verilator lint_on UNUSEDSIGNAL
  input  burst_lines_t       burst_lines_i,
  input  logic [TagBits-1:0] burst_tag_i,
  // a burst of anything else is accepted here
  output logic               other_valid_o,
  input  logic               other_ready_i,

  // see node_cache
  input  logic                      hit_valid_i,
  output logic                      hit_ready_o,
  input  logic [CachePlaceBits-1:0] hit_place_i,
  input  burst_lines_t              hit_lines_i,
  input  logic [TagBits-1:0]        hit_tag_i,

  output logic                 read_valid_o,
  input  logic                 read_ready_i,
  output logic [PlaceBits-1:0] read_place_o,
  output burst_lines_t         read_lines_o,
  output logic [TagBits-1:0]   read_tag_o,

  // lines of the burst of columns that is accepted in this cycle
  output burst_lines_t column_lines_o
);

  typedef struct packed {
    logic [PlaceBits-1:0] place;
    burst_lines_t lines;
    logic [TagBits-1:0] tag;
  } read_t;

  read_t hit, columns;
  logic columns_valid, columns_ready;

  assign columns_valid = burst_valid_i && on_board_i;
  assign other_valid_o = burst_valid_i && !on_board_i;
  assign burst_ready_o = on_board_i ? columns_ready : other_ready_i;
  assign column_lines_o = columns_valid && columns_ready ? burst_lines_i : '0;

  assign hit = '{place: PlaceBits'(hit_place_i), lines: hit_lines_i, tag: hit_tag_i};
  assign columns = '{
    place: PlaceBits'(place_of_columns(CacheLines, line_address_t'(burst_address_i >> LineIndexBits))),
    lines: burst_lines_i,
    tag: burst_tag_i
  };

  arbiter #(
    .T(read_t),
    .Count(2)
  ) u_arbiter (
    .clk_i,
    .rst_i,
    .in_valid_i({columns_valid, hit_valid_i}),
    .in_ready_o({columns_ready, hit_ready_o}),
    .in_i({columns, hit}),
    .in_last_i('1),
    .out_valid_o(read_valid_o),
    .out_ready_i(read_ready_i),
    .out_o({read_place_o, read_lines_o, read_tag_o}),
    .out_last_o(),
    .out_index_o()
  );

endmodule

`default_nettype wire
