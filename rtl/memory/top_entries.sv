// Knows which nodes are on chip. An entry belongs to one buffer of a node, named by LID and bus address
// together. The first entry is for a root, the others are for children of roots, of any table.
//
// - A node gets an entry if one is free, so what is on chip is not displaced: if the root has more children
//   than there are entries, the others are in the cache.
// - A mapping frees the entry of its LID. A burst of another buffer of the LID does, too.
// - An entry that was not read for an age is free again: its node may have been retired, may be further from
//   the root now, or may be of a table that nobody reads.

`default_nettype none

`include "assertions.svh"

module top_entries
  import accelerator_pkg::*;
  import memory_pkg::*;
#(
  // number of entries: a power of two
  parameter int unsigned Nodes = 16,
  // number of LIDs that can be mapped
  parameter int unsigned LidCount = 65536,
  // an age has 2**AgeBits cycles
  parameter int unsigned AgeBits = 20,
  localparam int unsigned EntryBits = Nodes > 1 ? $clog2(Nodes) : 1
) (
  input logic clk_i,
  input logic rst_i,

  // Compares a name with all entries. The results are valid from the next cycle to the next comparison. An
  // entry that is freed meanwhile has no other node before that.
  input  logic       compares_i,
  // LIDs beyond the table are not compared.
  // verilator lint_off UNUSEDSIGNAL
  input  node_name_t name_i,
  // the name that was compared
  input  node_name_t compared_i,
  input  lid_t       drop_lid_i,
  // verilator lint_on UNUSEDSIGNAL
  // the whole buffer is on chip, in this entry
  output logic                 is_here_o,
  output logic [EntryBits-1:0] entry_o,
  // the LID has an entry
  output logic is_known_o,

  // The compared buffer is read from its entry; is read although its LID may have an entry of another buffer;
  // gets an entry, which is free.
  input logic uses_i,
  input logic passes_i,
  input logic makes_i,
  input logic drop_valid_i,

  // an entry for the compared buffer, if one is free
  output logic                 is_free_o,
  output logic [EntryBits-1:0] free_entry_o,

  // the entry that is being filled has all lines, or has failed
  input logic                 filled_i,
  input logic                 failed_i,
  input logic [EntryBits-1:0] filled_entry_i
);

  localparam int unsigned LidBits = $clog2(LidCount);
  typedef logic [LidBits-1:0] table_lid_t;

  // An entry has a node; it has all lines; it was read in this age.
  logic [Nodes-1:0] used_q, valid_q, recent_q;
  table_lid_t [Nodes-1:0] lid_q;
  line_address_t [Nodes-1:0] address_q;
  // the results of the comparison
  logic [Nodes-1:0] is_lid_q, is_buffer_q, here;
  // In the last cycle, a burst of another buffer of the LID has passed; the LID was dropped.
  logic [Nodes-1:0] is_replaced_q, is_dropped_q;
  table_lid_t compared_lid, drop_lid;
  logic tick_q, is_void_q, voids, keeps;
  logic [AgeBits-1:0] age_q;
  logic [Nodes-1:0] made, filled, frees, leaves;

  assign compared_lid = table_lid_t'(compared_i.buffer.lid);
  assign drop_lid = table_lid_t'(drop_lid_i);
  assign here = is_lid_q & is_buffer_q & valid_q;
  assign is_here_o = here != '0;
  assign is_known_o = is_lid_q != '0;
  assign voids = (frees & used_q & ~valid_q) != '0;
  // An entry that was freed while it was filled has lines of no node.
  assign keeps = filled_i && !failed_i && !is_void_q && !voids;

  always_comb begin
    entry_o = '0;
    for (int unsigned at = 0; at < Nodes; at++) begin
      if (here[at]) entry_o |= EntryBits'(at);
      made[at] = makes_i && free_entry_o == EntryBits'(at);
      filled[at] = filled_i && filled_entry_i == EntryBits'(at);
      frees[at] = is_dropped_q[at] || is_replaced_q[at]
          || (tick_q && valid_q[at] && !recent_q[at]);
    end
  end

  assign leaves = (frees & valid_q) | (filled & {Nodes{!keeps}});

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {used_q, valid_q} <= '0;
      {age_q, tick_q, is_dropped_q, is_replaced_q} <= '0;
    end else begin
      used_q <= (used_q | made) & ~leaves;
      valid_q <= (valid_q | (filled & {Nodes{keeps}})) & ~leaves;
      {tick_q, age_q} <= {&age_q, age_q + 1'b1};
      // The drop may come in the cycle in which the LID gets its entry.
      for (int unsigned at = 0; at < Nodes; at++) begin
        is_dropped_q[at] <= drop_valid_i
            && (lid_q[at] == drop_lid || (made[at] && compared_lid == drop_lid));
      end
      is_replaced_q <= is_lid_q & ~is_buffer_q & {Nodes{passes_i}};
    end
    recent_q <= (tick_q ? '0 : recent_q) | filled | (here & {Nodes{uses_i}});
    if (makes_i) is_void_q <= 1'b0;
    else if (voids) is_void_q <= 1'b1;
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned at = 0; at < Nodes; at++) begin
      if (made[at]) begin
        lid_q[at] <= compared_lid;
        address_q[at] <= line_address_t'(compared_i.buffer.address >> LineIndexBits);
      end
      if (compares_i) begin
        is_lid_q[at] <= used_q[at] && lid_q[at] == table_lid_t'(name_i.buffer.lid);
        is_buffer_q[at] <= address_q[at] == line_address_t'(name_i.buffer.address >> LineIndexBits);
      end
    end
  end

  // ---- free entries, as of the last cycle: only the filler, which is then busy, takes one

  logic root_is_free_q, child_is_free_q, is_root;
  logic [EntryBits-1:0] free_child_d, free_child_q;

  always_comb begin
    free_child_d = '0;
    for (int unsigned at = Nodes - 1; at > 0; at--) if (!used_q[at]) free_child_d = EntryBits'(at);
  end

  always_ff @(posedge clk_i) begin
    root_is_free_q <= !used_q[0];
    child_is_free_q <= free_child_d != '0;
    free_child_q <= free_child_d;
  end

  assign is_root = compared_i.depth == DepthRoot;
  assign is_free_o = is_root ? root_is_free_q : child_is_free_q;
  assign free_entry_o = is_root ? '0 : free_child_q;

  `ASSERT(OneEntryPerBuffer, $onehot0(is_lid_q & is_buffer_q & used_q))
  `ASSERT(OneFill, $onehot0(used_q & ~valid_q))
  `ASSERT(MakesFreeEntry, !makes_i || (made & used_q) == '0)
  `ASSERT(FillsItsEntry, !filled_i || (filled & used_q & ~valid_q) != '0)
  `COVER(Drops, |(is_dropped_q & valid_q))
  `COVER(DropsWhileFilling, voids && |is_dropped_q)
  `COVER(OtherBuffer, |(is_replaced_q & valid_q))
  `COVER(Ages, tick_q && |(frees & valid_q))
  `COVER(DropsWhileCompared, |(leaves & is_lid_q & is_buffer_q & valid_q))

endmodule

`default_nettype wire
