// Decides for a burst whether it is a hit, and whether it fills an entry. A new entry replaces a random one
// that has no read or fill in flight. What is decided appears one cycle later, when the set is written.

`default_nettype none

`include "assertions.svh"

module cache_decision #(
  parameter int unsigned Ways = 4,
  localparam int unsigned WayBits = $clog2(Ways)
) (
  input logic clk_i,
  input logic rst_i,

  // A burst is looked up. The operations one, two and three cycles ahead have the same set.
  input logic       looks_i,
  input logic [3:1] same_i,
  // the operation in front writes its set in this cycle
  input logic       writes_i,

  // the entry of the buffer, the entries that have all lines, and those in flight
  input logic [Ways-1:0] is_entry_i,
  input logic [Ways-1:0] has_lines_i,
  input logic [Ways-1:0] is_busy_i,
  // Something with the tag of the burst is in flight: the previous fill, although its client has received all
  // lines.
  input logic            is_tag_busy_i,
  // redirects hits to host memory
  input logic            redirects_i,

  // all lines are valid; the burst is read from the cache, fills an entry, and makes this entry; its way
  output logic               is_hit_o,
  output logic               starts_hit_o,
  output logic               starts_fill_o,
  output logic               makes_entry_o,
  output logic [WayBits-1:0] way_o
);

  logic looks, has_entry, is_hit, is_free, is_stale, wrote_q, wrote_before_q;
  logic [WayBits-1:0] way, chosen;
  logic [7:0] random_q;

  // An operation ahead has written the set since it was read: the burst is read from host memory.
  assign is_stale = |(same_i & {wrote_before_q, wrote_q, writes_i});
  assign looks = looks_i && !is_stale && !is_tag_busy_i;
  always_comb begin
    way = '0;
    for (int unsigned at = 0; at < Ways; at++) begin
      if (is_entry_i[at]) way |= WayBits'(at);
    end
  end
  assign has_entry = |is_entry_i;
  assign is_hit = |(is_entry_i & has_lines_i);
  assign chosen = has_entry ? way : random_q[WayBits-1:0];
  // What the two operations ahead start is not yet known.
  assign is_free = !is_busy_i[chosen] && same_i[2:1] == '0;

  always_ff @(posedge clk_i) begin
    way_o <= chosen;
    is_hit_o <= is_hit && !is_stale;
    if (rst_i) begin
      {starts_hit_o, starts_fill_o, makes_entry_o, wrote_q, wrote_before_q} <= '0;
      random_q <= 8'd1;
    end else begin
      starts_hit_o <= looks && is_hit && !redirects_i;
      starts_fill_o <= looks && !is_hit && (has_entry || is_free);
      makes_entry_o <= looks && !has_entry && is_free;
      {wrote_q, wrote_before_q} <= {writes_i, wrote_q};
      random_q <= {random_q[6:0], random_q[7] ^ random_q[5] ^ random_q[4] ^ random_q[3]};
    end
  end

  `ASSERT(OneEntry, !looks_i || is_stale || $onehot0(is_entry_i))
  `COVER(IsRedirected, looks && is_hit && redirects_i)
  `COVER(FillsFurtherLines, looks && !is_hit && has_entry)
  `COVER(AllWaysAreBusy, looks && !has_entry && is_busy_i[chosen])
  `COVER(SetWasWritten, looks_i && is_stale)

endmodule

`default_nettype wire
