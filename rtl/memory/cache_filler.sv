// Writes lines from host memory into the cache. It never delays these lines: if it has no room for a line,
// the fill fails. A fill is done when memory has acknowledged all its writes. One tag after the other is
// examined for that, one in each cycle: a reader with many tags has other ones meanwhile.

`default_nettype none

`include "assertions.svh"

module cache_filler
  import accelerator_pkg::*;
  import memory_pkg::*;
#(
  parameter int unsigned TagBits = 3,
  parameter int unsigned PlaceBits = 19,
  // channels of on-board memory
  parameter int unsigned Channels = 1,
  // capacity in lines
  parameter int unsigned Depth = 16
) (
  input logic clk_i,
  input logic rst_i,

  input logic                 start_i,
  input logic [TagBits-1:0]   start_tag_i,
  input logic [PlaceBits-1:0] start_place_i,

  // all lines from host memory
  input logic               line_valid_i,
  input logic [TagBits-1:0] line_tag_i,
  input burst_line_t        line_i,

  output logic                 write_valid_o,
  input  logic                 write_ready_i,
  output logic [TagBits-1:0]   write_tag_o,
  output logic [PlaceBits-1:0] write_place_o,
  output line_t                write_o,
  input  logic [Channels-1:0]              written_i,
  input  logic [Channels-1:0][TagBits-1:0] written_tag_i,
  input  logic [Channels-1:0]              written_error_i,

  output logic               filled_valid_o,
  input  logic               filled_ready_i,
  output logic [TagBits-1:0] filled_tag_o,
  output logic               filled_failed_o
);

  localparam int unsigned Tags = 2 ** TagBits;

  typedef struct packed {
    // lines have yet to arrive
    logic comes;
    // from the start until all writes are acknowledged
    logic busy;
    // The end has yet to be reported.
    logic done;
    logic failed;
    // lines that were written, and those whose write is not acknowledged
    burst_lines_t written;
    burst_lines_t open;
  } fill_t;

  typedef struct packed {
    logic [TagBits-1:0] tag;
    logic [PlaceBits-1:0] place;
    line_t data;
  } element_t;

  fill_t [Tags-1:0] fills_q;
  logic [Tags-1:0][PlaceBits-1:0] start_place_q;
  logic put, ready, is_done_q, reports, offers_q;
  // the tag that is examined next, the one that was examined last, and the one that is offered
  logic [TagBits-1:0] at_q, seen_q, tag_q;
  logic [Tags-1:0] arrives, puts, answered, rejected, ends, done;
  element_t in, out;

  // Each tag decides by its own state. Only the queue selects a state first.
  for (genvar tag = 0; tag < Tags; tag++) begin : gen_events
    assign arrives[tag] = line_valid_i && line_tag_i == TagBits'(tag) && fills_q[tag].comes;
    assign puts[tag] = arrives[tag] && ready && !line_i.error && !fills_q[tag].failed;
  end
  assign put = line_valid_i && ready && !line_i.error
      && fills_q[line_tag_i].comes && !fills_q[line_tag_i].failed;
  // All lines of a fill are in one channel.
  always_comb begin
    answered = '0;
    rejected = '0;
    for (int unsigned channel = 0; channel < Channels; channel++) begin
      if (written_i[channel]) answered[written_tag_i[channel]] = 1'b1;
      if (written_i[channel] && written_error_i[channel]) rejected[written_tag_i[channel]] = 1'b1;
    end
  end
  assign in = '{
    tag: line_tag_i,
    place: start_place_q[line_tag_i] + PlaceBits'(fills_q[line_tag_i].written),
    data: line_i.data
  };

  // A line for which the queue has no room is not offered.
  fifo #(
    .T(element_t),
    .Depth(Depth)
  ) u_fifo (
    .clk_i,
    .rst_i,
    .in_valid_i(put),
    .in_ready_o(ready),
    .in_i(in),
    .out_valid_o(write_valid_o),
    .out_ready_i(write_ready_i),
    .out_o(out),
    .count_o()
  );

  always_ff @(posedge clk_i) begin
    if (start_i) start_place_q[start_tag_i] <= start_place_i;
    if (rst_i) begin
      fills_q <= '0;
    end else begin
      for (int unsigned tag = 0; tag < Tags; tag++) begin
        fills_q[tag].open <= fills_q[tag].open + burst_lines_t'(puts[tag]) - burst_lines_t'(answered[tag]);
        fills_q[tag].written <= fills_q[tag].written + burst_lines_t'(puts[tag]);
        if (arrives[tag] && line_i.last) fills_q[tag].comes <= 1'b0;
        if (rejected[tag] || (arrives[tag] && (line_i.error || !ready))) fills_q[tag].failed <= 1'b1;
        if (ends[tag]) {fills_q[tag].busy, fills_q[tag].done} <= 2'b01;
      end
      if (reports) fills_q[seen_q].done <= 1'b0;
      if (start_i) begin
        fills_q[start_tag_i] <= '{
            comes: 1'b1, busy: 1'b1, done: 1'b0, failed: 1'b0, written: '0, open: '0
        };
      end
    end
  end

  // Offers the end of one fill at a time; an offer is stable.
  for (genvar tag = 0; tag < Tags; tag++) begin : gen_done
    assign ends[tag] = fills_q[tag].busy && !fills_q[tag].comes && fills_q[tag].open == '0;
    assign done[tag] = fills_q[tag].done;
  end
  assign reports = is_done_q && (!offers_q || filled_ready_i);

  always_ff @(posedge clk_i) begin
    if (rst_i) {offers_q, is_done_q, at_q} <= '0;
    else begin
      offers_q <= reports || (offers_q && !filled_ready_i);
      if (reports || !is_done_q) {is_done_q, at_q} <= {done[at_q], at_q + 1'b1};
    end
    if (reports || !is_done_q) seen_q <= at_q;
    if (reports) tag_q <= seen_q;
  end

  assign write_tag_o = out.tag;
  assign write_place_o = out.place;
  assign write_o = out.data;
  assign filled_valid_o = offers_q;
  assign filled_tag_o = tag_q;
  assign filled_failed_o = fills_q[tag_q].failed;

  `ASSERT(OneFillPerTag, !start_i || !(fills_q[start_tag_i].busy || fills_q[start_tag_i].done))
  `ASSERT(OneTagPuts, put == (puts != '0))
  for (genvar channel = 0; channel < Channels; channel++) begin : gen_assertions
    `ASSERT(ResponseWasExpected, !written_i[channel] || fills_q[written_tag_i[channel]].open != '0)
  end
  `ASSERT_OFFER_STAYS(FilledStays, filled_valid_o, filled_ready_i, {filled_tag_o, filled_failed_o})

endmodule

`default_nettype wire
