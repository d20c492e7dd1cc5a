// Merges the writes of lines to on-board memory: fills of the cache, and copies of columns behind it. The tag
// of a copy names the filler of columns, whose port follows those of the clients, so an acknowledgement finds
// its writer.

`default_nettype none

module line_writes
  import accelerator_pkg::*;
  import memory_pkg::*;
#(
  parameter int unsigned TagBits = 3,
  // the tag of copies
  parameter logic [TagBits-1:0] CopyTag = '1,
  // lines of the cache; lines of cache and columns
  parameter int unsigned CacheLines = 65536,
  parameter int unsigned PlaceBits = 22,
  // channels of on-board memory
  parameter int unsigned Channels = 1
) (
  input logic clk_i,
  input logic rst_i,

  // see cache_filler
  input  logic                          fill_valid_i,
  output logic                          fill_ready_o,
  input  logic [TagBits-1:0]            fill_tag_i,
  input  logic [$clog2(CacheLines)-1:0] fill_place_i,
  input  line_t                         fill_i,
  output logic [Channels-1:0]           filled_o,
  // see column_filler; a LID with columns is within the table
  input  logic                          copy_valid_i,
  output logic                          copy_ready_o,
  // verilator lint_off UNUSEDSIGNAL
  input  column_place_t                 copy_place_i,
  // verilator lint_on UNUSEDSIGNAL
  input  line_t                         copy_i,
  output logic [Channels-1:0]           copied_o,

  // see dram_ports
  output logic                             line_valid_o,
  input  logic                             line_ready_i,
  output logic [TagBits-1:0]               line_tag_o,
  output logic [PlaceBits-1:0]             line_place_o,
  output line_t                            line_o,
  input  logic [Channels-1:0]              line_written_i,
  input  logic [Channels-1:0][TagBits-1:0] line_written_tag_i
);

  typedef struct packed {
    logic [TagBits-1:0] tag;
    logic [PlaceBits-1:0] place;
    line_t data;
  } write_t;

  write_t fill, copy, write;

  assign fill = '{tag: fill_tag_i, place: PlaceBits'(fill_place_i), data: fill_i};
  assign copy = '{
    tag: CopyTag,
    place: PlaceBits'(place_of_columns(CacheLines, line_address_t'(copy_place_i))),
    data: copy_i
  };

  arbiter #(
    .T(write_t),
    .Count(2)
  ) u_arbiter (
    .clk_i,
    .rst_i,
    .in_valid_i({copy_valid_i, fill_valid_i}),
    .in_ready_o({copy_ready_o, fill_ready_o}),
    .in_i({copy, fill}),
    .in_last_i('1),
    .out_valid_o(line_valid_o),
    .out_ready_i(line_ready_i),
    .out_o(write),
    .out_last_o(),
    .out_index_o()
  );

  assign {line_tag_o, line_place_o, line_o} = write;
  for (genvar channel = 0; channel < Channels; channel++) begin : gen_written
    logic is_copy;
    assign is_copy = line_written_tag_i[channel] == CopyTag;
    assign copied_o[channel] = line_written_i[channel] && is_copy;
    assign filled_o[channel] = line_written_i[channel] && !is_copy;
  end

endmodule

`default_nettype wire
