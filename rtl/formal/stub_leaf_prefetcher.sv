// A prefetcher whose step lasts arbitrarily long, with arbitrary requests and an arbitrary range of pairs:
// those that geometry_i states.

`default_nettype none

module stub_leaf_prefetcher
  import layout_pkg::*;
  import accelerator_pkg::*;
  import search_pkg::*;
  import scan_pkg::*;
(
  input logic clk_i,
  input logic rst_i,
  input geometry_t geometry_i,
  input logic start_i,
  input slot_state_e step_i,
  input open_t open_i,
  input node_header_t header_i,
  input leaf_columns_t columns_i,
  input search_t search_i,
  input logic log_may_have_i,
  output logic done_o,
  output indexes_t pairs_o,
  output logic fetch_valid_o,
  output fetch_t fetch_o
);

  logic works_q, ends, fetches, begins_late, begins_late_q;
  logic [1:0] fetch;

  assign {ends, fetches, begins_late, fetch} = 5'(geometry_i.node_bytes);
  assign done_o = works_q && ends;
  assign fetch_valid_o = works_q && fetches;
  assign fetch_o = '{wakes: fetch[1], columns: fetch[0], first: line_count_t'(fetch),
                     limit: line_count_t'(fetch) + 1'b1};
  assign pairs_o = '{first: number_t'(begins_late_q), last: number_t'(2)};

  always_ff @(posedge clk_i) begin
    works_q <= !rst_i && (start_i || (works_q && !ends));
    if (works_q) begins_late_q <= begins_late;
  end

endmodule

`default_nettype wire
