// Proves for a cache with arbitrary bursts, fills and mappings: a burst is a hit only if a fill of its
// buffer has succeeded that began after the last drop of its LID. So if a buffer is used again for another
// state of the same node, no line of the earlier state is returned.

`default_nettype none

module prove_node_cache
  import accelerator_pkg::*;
  import memory_pkg::*;
(
  input logic clk_i,
  input logic burst_valid_i,
  input logic burst_tag_i,
  // select one of two LIDs of a set, and one of two buffers
  input logic burst_lid_i,
  input logic burst_buffer_i,
  input logic host_ready_i,
  input logic hit_ready_i,
  input logic hit_done_i,
  input logic hit_done_tag_i,
  input logic filled_valid_i,
  input logic filled_tag_i,
  input logic filled_failed_i,
  input logic drop_valid_i,
  input logic drop_lid_i
);

  logic rst, burst_ready, filled_ready, drop_ready, host_valid, hit_valid;
  logic host_tag, hit_tag;
  logic fill_start, fill_tag;

  function automatic lid_t lid_of(logic which);
    return which ? lid_t'(2) : '0;
  endfunction

  function automatic bus_address_t buffer_of(logic which);
    return bus_address_t'(which ? 2 * PageBytes : PageBytes);
  endfunction

  neighbours #(.Count(3)) u_neighbours (
    .clk_i,
    .rst_o(rst),
    .in_valid_i({burst_valid_i, filled_valid_i, drop_valid_i}),
    .in_ready_i({burst_ready, filled_ready, drop_ready})
  );

  node_cache #(
    .TagBits(1),
    .Sets(2),
    .Ways(2),
    .EntryLines(PageLines)
  ) u_node_cache (
    .clk_i,
    .rst_i(rst),
    .enable_i(1'b1),
    .redirects_i(1'b0),
    .halvings_i('0),
    .burst_valid_i,
    .burst_ready_o(burst_ready),
    .burst_address_i(buffer_of(burst_buffer_i)),
    .burst_lines_i(burst_lines_t'(1)),
    .burst_tag_i,
    .name_i('{
      cacheable: 1'b1, lid: lid_of(burst_lid_i), address: buffer_of(burst_buffer_i)
    }),
    .host_valid_o(host_valid),
    .host_ready_i,
    .host_address_o(),
    .host_lines_o(),
    .host_tag_o(host_tag),
    .hit_valid_o(hit_valid),
    .hit_ready_i,
    .hit_place_o(),
    .hit_lines_o(),
    .hit_tag_o(hit_tag),
    .hit_done_i,
    .hit_done_tag_i,
    .fill_start_o(fill_start),
    .fill_tag_o(fill_tag),
    .fill_place_o(),
    .filled_valid_i,
    .filled_ready_o(filled_ready),
    .filled_tag_i,
    .filled_failed_i,
    .drop_valid_i,
    .drop_ready_o(drop_ready),
    .drop_lid_i(lid_of(drop_lid_i)),
    .counts_hit_o(),
    .counts_miss_o()
  );

  // The burst that is written is of the watched buffer.
  logic is_watched;
  // For each tag: its burst has not left the cache; it reads the cache; it fills the cache; the fill is of
  // the watched buffer and began after the last drop.
  logic [1:0] bursts_q, hits_q, fills_q, fresh_q;
  // A fill of the watched buffer that began after the last drop has succeeded.
  logic known_q;

  assign is_watched = u_node_cache.written_q.lid == lid_of(1'b0)
      && u_node_cache.written_q.buffer == buffer_of(1'b0);

  always_ff @(posedge clk_i) begin
    if (rst) begin
      {bursts_q, hits_q, fills_q, fresh_q, known_q} <= '0;
    end else begin
      if (host_valid && host_ready_i) bursts_q[host_tag] <= 1'b0;
      if (hit_valid && hit_ready_i) bursts_q[hit_tag] <= 1'b0;
      if (burst_valid_i && burst_ready) bursts_q[burst_tag_i] <= 1'b1;
      if (hit_done_i) hits_q[hit_done_tag_i] <= 1'b0;
      if (hit_valid && hit_ready_i) hits_q[hit_tag] <= 1'b1;
      if (filled_valid_i && filled_ready) begin
        fills_q[filled_tag_i] <= 1'b0;
        if (fresh_q[filled_tag_i] && !filled_failed_i) known_q <= 1'b1;
      end
      if (fill_start) {fills_q[fill_tag], fresh_q[fill_tag]} <= {1'b1, is_watched};
      if (drop_valid_i && drop_ready && !drop_lid_i) {fresh_q, known_q} <= '0;
    end
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      BurstStays : assume (!$past(burst_valid_i && !burst_ready && !rst)
          || $stable({burst_tag_i, burst_lid_i, burst_buffer_i}));
      FilledStays : assume (!$past(filled_valid_i && !filled_ready && !rst)
          || $stable({filled_tag_i, filled_failed_i}));
      DropStays : assume (!$past(drop_valid_i && !drop_ready && !rst) || $stable(drop_lid_i));
      OneBurstPerTag : assume (!burst_valid_i || !bursts_q[burst_tag_i]);
      OnlyStartedFillsEnd : assume (!filled_valid_i || fills_q[filled_tag_i]);
      OnlyStartedHitsEnd : assume (!hit_done_i || hits_q[hit_done_tag_i]);
      OneFillPerTag : assert (!fill_start || !fills_q[fill_tag]);
      HitIsValid : assert (!(u_node_cache.starts_hit && is_watched) || known_q);
    end
  end

endmodule

`default_nettype wire
