// Begins to open the leaves of a range scan unit: requests header and samples, follows previous versions
// while the buffer is too new, and requests the summary of the key suffix, which depends on the prefix of
// the leaf. A sibling that is too new and has no previous version did not exist at the read version; then
// the slot repeats its descent. The first header may be that of a copy: only fields that never change are
// used. Every leaf is found or fails: it has the level 0, and versions decrease along previous versions.
//
//   Begin: choice | leaf | read is requested
//   Header: choice | leaf, line is requested | header | comparisons | end

`default_nettype none

`include "assertions.svh"

module leaf_starter
  import layout_pkg::*;
  import accelerator_pkg::*;
  import scan_pkg::*;
#(
  parameter int unsigned Slots = 4,
  // size of the largest node
  parameter int unsigned NodeBytes = NodeBytesDefault,
  localparam int unsigned PlaceBits = Slots > 1 ? $clog2(Slots) : 1
) (
  input logic clk_i,
  input logic rst_i,

  input geometry_t geometry_i,

  // for each slot: it can begin; its header can be read; works: a step has begun, or is about to
  input logic [Slots-1:0] begins_i,
  input logic [Slots-1:0] headers_i,
  output logic [Slots-1:0] works_o,
  output logic [Slots-1:0] wakes_o,

  // see slot_requests
  output logic open_read_o,
  output logic [PlaceBits-1:0] open_place_o,
  input open_t open_i,
  output logic previous_valid_o,
  input logic previous_ready_i,
  output open_t previous_o,

  // see leaf_fetcher
  output logic start_valid_o,
  input logic start_ready_i,

  // see leaf_windows
  output logic line_valid_o,
  input logic line_ready_i,
  input line_t line_i,

  // see key_summaries
  output logic suffix_o,
  output suffix_t suffix_bytes_o,

  // A step ends with this state. none: there is no leaf at the read version. fails: the leaf is too large, or
  // no leaf, or a previous version that is not older.
  // wake: the slot awaits no summary.
  output logic end_o,
  output slot_state_e end_state_o,
  output logic end_none_o,
  output logic fails_o,
  output logic wake_o,
  // the slot of the step
  output logic [PlaceBits-1:0] place_o
);

  typedef enum logic [2:0] {
    Choose,
    Begin,
    Line,
    Header,
    Compare,
    Decide
  } state_e;

  state_e state_q, state_d;
  logic takes;
  logic [PlaceBits-1:0] pick;
  logic [Slots-1:0] is_pick;
  // verilator lint_off UNUSEDSIGNAL
  node_header_t header_q;
  // verilator lint_on UNUSEDSIGNAL
  logic is_newer_q, is_too_long_q, is_inner_q, is_not_older_q, has_previous_q, previous_done, is_invalid;
  // the version of the buffer before, of which this one is the previous version
  version_t later_version;

  slot_turns #(
    .Slots(Slots)
  ) u_turns (
    .clk_i,
    .rst_i,
    .asks_i(begins_i | headers_i),
    .is_idle_i(state_q == Choose), .ends_i(end_o),
    .begins_o(takes),
    .begin_place_o(pick), .is_begin_place_o(is_pick),
    .place_o,
    .works_o
  );

  assign open_read_o = takes;
  assign open_place_o = pick;
  assign wakes_o = is_pick & headers_i & {Slots{takes}};

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Choose: if (takes) state_d = headers_i[pick] ? Line : Begin;
      Begin: if (start_ready_i) state_d = Choose;
      Line: if (line_ready_i) state_d = Header;
      Header: state_d = Compare;
      Compare: state_d = Decide;
      default: if (end_o) state_d = Choose;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= Choose;
    else state_q <= state_d;
    if (state_q == Header) header_q <= node_header_t'(line_i);
  end

  // ---- the header

  ram #(
    .Width($bits(version_t)),
    .Depth(2 ** PlaceBits)
  ) u_versions (
    .clk_i,
    .rst_i,
    .write_i(previous_done),
    .write_address_i(place_o),
    .write_data_i(header_q.node_version),
    .read_i(takes),
    .read_address_i(pick),
    .read_data_o(later_version)
  );

  always_ff @(posedge clk_i) begin
    is_newer_q <= header_q.node_version > open_i.read_version;
    is_too_long_q <= 32'(geometry_i.node_bytes) > NodeBytes || exceeds_node(header_q, geometry_i);
    has_previous_q <= header_q.previous_version != '0;
    is_inner_q <= header_q.level != '0;
    is_not_older_q <= open_i.is_previous && header_q.node_version >= later_version;
  end

  always_comb begin
    previous_o = open_i;
    previous_o.address = bus_address_t'(header_q.previous_version);
    previous_o.is_previous = 1'b1;
  end

  // A tree that is too new ends at its root, which may be an interior node.
  assign is_invalid = is_too_long_q || is_not_older_q || (is_inner_q && !is_newer_q);
  assign previous_valid_o = state_q == Decide && !is_invalid && is_newer_q && has_previous_q;
  assign previous_done = previous_valid_o && previous_ready_i;

  // A scan needs no fingerprint.
  always_comb begin
    suffix_bytes_o.by_upper = open_i.by_upper;
    suffix_bytes_o.first = key_length_t'(header_q.prefix_length);
    suffix_bytes_o.last = suffix_bytes_o.first + 8;
    if (open_i.is_get || open_i.key_length < suffix_bytes_o.last) suffix_bytes_o.last = open_i.key_length;
  end

  // ---- ends of steps

  logic goes_on;

  assign goes_on = state_q == Decide && !is_invalid && !is_newer_q;
  assign suffix_o = goes_on && open_i.key_length != '0;
  assign wake_o = goes_on && open_i.key_length == '0;
  assign fails_o = state_q == Decide && is_invalid;
  assign start_valid_o = state_q == Begin;
  assign line_valid_o = state_q == Line;

  always_comb begin
    end_o = (start_valid_o && start_ready_i) || (state_q == Decide && (!previous_valid_o || previous_done));
    end_state_o = SlotHeader;
    end_none_o = 1'b0;
    if (state_q == Decide) begin
      if (is_invalid) end_state_o = SlotReady;
      else if (!is_newer_q) end_state_o = SlotSamples;
      else if (has_previous_q) end_state_o = SlotBegin;
      else if (open_i.is_sibling) end_state_o = SlotRepeat;
      else {end_state_o, end_none_o} = {SlotReady, 1'b1};
    end
  end

  `ASSERT(SuffixIsInOrder, !suffix_o || suffix_bytes_o.first <= suffix_bytes_o.last)
  `COVER(FollowsAPreviousVersion, previous_done)
  `COVER(PreviousVersionIsNotOlder, state_q == Decide && is_not_older_q)
  `COVER(LeafIsAnInteriorNode, state_q == Decide && is_inner_q && !is_newer_q)
  `COVER(TreeIsTooNew, state_q == Decide && is_inner_q && is_newer_q)
  `COVER(SiblingIsTooNew, end_o && end_state_o == SlotRepeat)
  `COVER(NodeEndsAtBuffer, state_q == Decide && size_of(header_q) == 16'(geometry_i.node_bytes))
  `COVER(NodeLacksAByte, state_q == Decide && size_of(header_q) + 1'b1 == 16'(geometry_i.node_bytes))
  `COVER(NodeHasAByteMore, state_q == Decide && size_of(header_q) == 16'(geometry_i.node_bytes) + 1'b1)
  `COVER(NodeHasReadVersion, state_q == Compare && header_q.node_version == open_i.read_version)
  `COVER(NodeIsOneNewer, state_q == Compare && header_q.node_version == open_i.read_version + 1'b1)
  `COVER(NodeIsOneOlder, state_q == Compare && header_q.node_version + 1'b1 == open_i.read_version)
  // A comparison of the low 40 bits errs.
  `COVER(NodeIsNewerInHighBits, state_q == Decide && is_newer_q &&
      header_q.node_version[39:0] <= open_i.read_version[39:0])
  `COVER(NodeIsOlderInHighBits, state_q == Decide && !is_newer_q &&
      header_q.node_version[39:0] > open_i.read_version[39:0])
  `COVER(KeyEndsWithThePrefix, suffix_o && suffix_bytes_o.first == open_i.key_length)
  `COVER(KeyLacksAByteOfTheHead, suffix_o && open_i.key_length + 1'b1 == suffix_bytes_o.first + 8)
  `COVER(KeyEndsWithTheHead, suffix_o && open_i.key_length == suffix_bytes_o.first + 8)
  `COVER(KeyHasAByteMore, suffix_o && open_i.key_length == suffix_bytes_o.first + 9)

endmodule

`default_nettype wire
