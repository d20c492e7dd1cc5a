// Merges the leaves of the descents of a key search unit, each with the request of its descent, which waits
// in a memory meanwhile. The place of a descent is taken until its request was read.
//
//   start: request of a place | ... leaf of the place | its request | leaf

`default_nettype none

`include "assertions.svh"

module descent_leaves
  import accelerator_pkg::*;
  import search_pkg::*;
#(
  parameter int unsigned Descents = 2,
  localparam int unsigned PlaceBits = Descents > 1 ? $clog2(Descents) : 1
) (
  input logic clk_i,
  input logic rst_i,

  // a descent begins
  input logic start_i,
  input logic [PlaceBits-1:0] place_i,
  input task_t request_i,

  // the results of the descents
  input  logic [Descents-1:0] end_valid_i,
  output logic [Descents-1:0] end_ready_o,
  input  descent_end_t [Descents-1:0] end_i,
  // places whose leaf waits for its request
  output logic [Descents-1:0] waits_o,

  output logic leaf_valid_o,
  input  logic leaf_ready_i,
  output leaf_t leaf_o
);

  typedef logic [PlaceBits-1:0] place_t;

  logic valid, loads, loads_q;
  descent_end_t found, found_q;
  place_t place;
  logic [Descents-1:0] waits_q;
  task_t request;

  wide_arbiter #(
    .T(descent_end_t),
    .Count(Descents)
  ) u_ends (
    .clk_i,
    .rst_i,
    .in_valid_i(end_valid_i),
    .in_ready_o(end_ready_o),
    .in_i(end_i),
    .out_valid_o(valid),
    .out_ready_i(!loads_q || leaf_ready_i),
    .out_o(found),
    .out_index_o(place)
  );

  assign loads = valid && (!loads_q || leaf_ready_i);

  ram #(
    .Width($bits(task_t)),
    .Depth(2 ** PlaceBits)
  ) u_requests (
    .clk_i,
    .rst_i,
    .write_i(start_i),
    .write_address_i(place_i),
    .write_data_i(request_i),
    .read_i(loads),
    .read_address_i(place),
    .read_data_o(request)
  );

  for (genvar index = 0; index < Descents; index++) begin : gen_waits
    always_ff @(posedge clk_i) begin
      if (rst_i) waits_q[index] <= 1'b0;
      else if (end_valid_i[index] && end_ready_o[index]) waits_q[index] <= 1'b1;
      else if (loads && place == place_t'(index)) waits_q[index] <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) loads_q <= 1'b0;
    else loads_q <= loads || (loads_q && !leaf_ready_i);
    if (loads) found_q <= found;
  end

  assign waits_o = waits_q;
  assign leaf_valid_o = loads_q;
  assign leaf_o = '{
    failed: found_q.failed,
    repeated: found_q.repeated,
    lid: found_q.lid,
    address: found_q.address,
    request: request
  };

  `ASSERT(PlaceIsFree, !start_i || !waits_q[place_i])
  `ASSERT_OFFER_STAYS(LeafStays, leaf_valid_o, leaf_ready_i, leaf_o)
  `COVER(LeafWaits, leaf_valid_o && !leaf_ready_i)

endmodule

`default_nettype wire
