// Copies the keys of the requests of a unit from the key buffers, once per request. In each cycle eight bytes
// can be read to compute heads and fingerprints, and a window to compare keys.

`default_nettype none

`include "assertions.svh"

module key_copies
  import accelerator_pkg::*;
  import search_pkg::*;
#(
  // requests of the unit in flight
  parameter int unsigned Slots = 1,
  localparam int unsigned PlaceBits = Slots > 1 ? $clog2(Slots) : 1
) (
  input logic clk_i,
  input logic rst_i,

  // copies the keys of a request to copy place_i; the length of a missing key is 0
  input logic begin_i,
  input logic [PlaceBits-1:0] place_i,
  input slot_t slot_i,
  input key_length_t lower_length_i,
  input key_length_t upper_length_i,
  // for each copy: its keys are complete
  output logic [Slots-1:0] ready_o,

  // see search_key
  input logic summary_read_valid_i,
  input logic [PlaceBits-1:0] summary_index_i,
  input logic summary_upper_i,
  input head_read_t summary_read_i,
  input logic summary_last_i,
  output logic summary_head_valid_o,
  output head_t summary_head_o,
  output logic summary_head_last_o,

  input logic compare_read_i,
  input logic [PlaceBits-1:0] compare_index_i,
  input logic compare_upper_i,
  input key_length_t compare_byte_i,
  output line_t compare_window_o,

  output logic key_valid_o,
  input logic key_ready_i,
  output key_read_t key_o,
  input logic key_line_valid_i,
  input line_t key_line_i
);

  localparam int unsigned Keys = 2 * 2 ** PlaceBits;

  // The copy of the request that began last, the only one whose keys may be incomplete.
  logic [PlaceBits-1:0] place_q;
  slot_t slot_q;
  key_length_t upper_length_q;
  // The key that is being loaded, and whether the upper key must still be loaded.
  logic upper_q, is_upper_left_q, starts_upper, is_loaded, write;
  key_line_t write_line;

  assign starts_upper = is_upper_left_q && is_loaded;

  for (genvar place = 0; place < Slots; place++) begin : gen_ready
    assign ready_o[place] = place_q != PlaceBits'(place) || (!is_upper_left_q && is_loaded);
  end

  always_ff @(posedge clk_i) begin
    if (begin_i) begin
      slot_q <= slot_i;
      upper_length_q <= upper_length_i;
    end
    upper_q <= begin_i ? 1'b0 : upper_q || starts_upper;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) place_q <= '0;
    else if (begin_i) place_q <= place_i;
    if (rst_i) is_upper_left_q <= 1'b0;
    else is_upper_left_q <= begin_i || (is_upper_left_q && !starts_upper);
  end

  key_loader u_loader (
    .clk_i,
    .rst_i,
    .start_i(begin_i || starts_upper),
    .slot_i(begin_i ? slot_i : slot_q),
    .upper_i(!begin_i),
    .length_i(begin_i ? lower_length_i : upper_length_q),
    .key_valid_o,
    .key_ready_i,
    .key_o,
    .key_line_valid_i,
    .write_o(write),
    .write_line_o(write_line),
    .loaded_o(is_loaded)
  );

  search_key #(
    .Keys(Keys)
  ) u_for_summaries (
    .clk_i,
    .rst_i,
    .write_i(write),
    .write_key_i({place_q, upper_q}),
    .write_line_i(write_line),
    .write_data_i(key_line_i),
    .read_valid_i(summary_read_valid_i),
    .read_key_i({summary_index_i, summary_upper_i}),
    .read_i(summary_read_i),
    .read_tag_i(summary_last_i),
    .head_valid_o(summary_head_valid_o),
    .head_o(summary_head_o),
    .head_tag_o(summary_head_last_o)
  );

  window_ram #(
    .Lines(Keys * KeyLines)
  ) u_for_compares (
    .clk_i,
    .rst_i,
    .write_i(write),
    .write_line_i({place_q, upper_q, write_line}),
    .write_data_i(key_line_i),
    .read_i(compare_read_i),
    .read_byte_i({compare_index_i, compare_upper_i, compare_byte_i}),
    .window_fresh_o(),
    .window_o(compare_window_o)
  );

  `ASSERT(BeginsWhenReady, !begin_i || &ready_o)
  `ASSERT(SummarizedKeyIsLoaded, !summary_read_valid_i || ready_o[summary_index_i])
  `ASSERT(ComparedKeyIsLoaded, !compare_read_i || ready_o[compare_index_i])

endmodule

`default_nettype wire
