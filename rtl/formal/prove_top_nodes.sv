// Proves for nodes on chip with arbitrary bursts, lines and mappings: a burst is read from the chip only if a
// copy of its buffer has succeeded that began after the last drop of its LID.

`default_nettype none

module prove_top_nodes
  import accelerator_pkg::*;
  import memory_pkg::*;
(
  input logic clk_i,
  input logic burst_valid_i,
  input logic burst_tag_i,
  // select one of two LIDs, one of two buffers, and the root or its child
  input logic burst_lid_i,
  input logic burst_buffer_i,
  input logic burst_is_root_i,
  input logic other_ready_i,
  input logic line_valid_i,
  input logic line_error_i,
  input logic [1:0] beat_ready_i,
  input logic drop_valid_i,
  input logic drop_lid_i
);

  localparam logic [1:0] FillTag = 2'd3;

  logic rst, burst_ready, other_valid;
  logic [1:0] other_tag, beat_valid;
  logic [1:0][1:0] beat_tag;
  burst_line_t [1:0] beat;

  function automatic lid_t lid_of(logic which);
    return which ? lid_t'(2) : lid_t'(1);
  endfunction

  function automatic bus_address_t buffer_of(logic which);
    return bus_address_t'(which ? 2 * PageBytes : PageBytes);
  endfunction

  neighbours u_bursts (.clk_i, .rst_o(rst), .in_valid_i(burst_valid_i), .in_ready_i(burst_ready));

  // Nodes of one line.
  top_nodes #(
    .TagBits(2),
    .FillTag(FillTag),
    .Nodes(2),
    .EntryLines(PageLines),
    .LidCount(4),
    .AgeBits(3)
  ) u_top_nodes (
    .clk_i,
    .rst_i(rst),
    .levels_i(2'd2),
    .node_lines_i(line_count_t'(1)),
    .drop_valid_i,
    .drop_lid_i(lid_of(drop_lid_i)),
    .burst_valid_i,
    .burst_ready_o(burst_ready),
    .burst_address_i(buffer_of(burst_buffer_i)),
    .burst_lines_i(burst_lines_t'(1)),
    .burst_tag_i({1'b0, burst_tag_i}),
    .name_i('{
      depth: burst_is_root_i ? DepthRoot : DepthSecond,
      buffer: '{cacheable: 1'b1, lid: lid_of(burst_lid_i), address: buffer_of(burst_buffer_i)}
    }),
    .other_valid_o(other_valid),
    .other_ready_i,
    .other_address_o(),
    .other_lines_o(),
    .other_tag_o(other_tag),
    .other_name_o(),
    .line_valid_i,
    .line_tag_i(FillTag),
    .line_i('{data: '0, last: 1'b1, error: line_error_i}),
    .beat_valid_o(beat_valid),
    .beat_ready_i,
    .beat_tag_o(beat_tag),
    .beat_o(beat)
  );

  // The compared burst is of the watched buffer.
  logic is_watched;
  // For each tag: its burst has not been answered. A read of the filler is in flight.
  logic [1:0] bursts_q;
  logic reads_q;
  // The copy in progress is of the watched buffer and began after the last drop; one has succeeded.
  logic fresh_q, known_q, drop_q;

  assign is_watched = u_top_nodes.name_q.buffer.lid == lid_of(1'b0)
      && u_top_nodes.name_q.buffer.address == buffer_of(1'b0);

  always_ff @(posedge clk_i) begin
    if (rst) begin
      {bursts_q, reads_q, fresh_q, known_q, drop_q} <= '0;
    end else begin
      if (other_valid && other_ready_i && other_tag != FillTag) bursts_q[other_tag[0]] <= 1'b0;
      for (int unsigned at = 0; at < 2; at++)
        if (beat_valid[at] && beat_ready_i[at]) bursts_q[beat_tag[at][0]] <= 1'b0;
      if (burst_valid_i && burst_ready) bursts_q[burst_tag_i] <= 1'b1;
      if (line_valid_i) reads_q <= 1'b0;
      if (other_valid && other_ready_i && other_tag == FillTag) reads_q <= 1'b1;
      // A drop takes effect in the next cycle.
      drop_q <= drop_valid_i && !drop_lid_i;
      if (u_top_nodes.filled && !u_top_nodes.failed && fresh_q) known_q <= 1'b1;
      if (drop_q) {fresh_q, known_q} <= '0;
      if (u_top_nodes.fills) fresh_q <= is_watched;
    end
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      BurstStays : assume (!$past(burst_valid_i && !burst_ready && !rst)
          || $stable({burst_tag_i, burst_lid_i, burst_buffer_i, burst_is_root_i}));
      OneBurstPerTag : assume (!burst_valid_i || !bursts_q[burst_tag_i]);
      OnlyReadLinesArrive : assume (!line_valid_i || reads_q);
      HitIsValid : assert (!(u_top_nodes.uses && is_watched) || known_q);
    end
  end

endmodule

`default_nettype wire
