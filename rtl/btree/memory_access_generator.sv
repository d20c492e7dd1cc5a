// Decides what a descent reads next, from the root to a leaf (the memory access generator of section 5 of
// the paper). It reads each node by its LID. The first line has the bus address of the buffer, by which
// the generator then reads the segment. If a node is too new, it reads the previous version by address. It
// does not read the leaf, unless the root is a leaf.
//
// The descents of a unit share a child_finder. A descent requests the finder with grant_valid_o when the
// first line of its node has arrived. Lines wait until has_grant_i is set. The grant ends with
// grant_ends_o, when the next node is known.
//
//   read | waits for memory | grant: header, heads, segment's read, items | read of the child ...

`default_nettype none

`include "assertions.svh"

module memory_access_generator
  import accelerator_pkg::*;
  import layout_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  // allowed while the generator is idle; the descent is constant until the next start
  input  logic start_i,
  input  descent_t descent_i,
  output logic busy_o,
  output descent_t descent_o,
  // the whole search key was loaded
  input  logic key_loaded_i,

  output logic read_valid_o,
  input  logic read_ready_i,
  output line_read_t read_o,
  input  logic beat_valid_i,
  output logic beat_ready_o,
  // The generator ignores whether a beat is the last one: memory accepts the next read after it.
  // verilator lint_off UNUSEDSIGNAL
  input  line_beat_t beat_i,
  // verilator lint_on UNUSEDSIGNAL

  output logic grant_valid_o,
  input  logic grant_ready_i,
  input  logic has_grant_i,
  output logic grant_ends_o,

  // the ports of the child_finder, valid while the descent has the grant
  input  line_count_t first_lines_i,
  output logic line_valid_o,
  input  logic line_ready_i,
  input  logic header_valid_i,
  // The generator uses only some fields of the header.
  // verilator lint_off UNUSEDSIGNAL
  input  node_header_t header_i,
  // verilator lint_on UNUSEDSIGNAL
  output logic find_o,
  input  logic segment_valid_i,
  output logic segment_ready_o,
  input  line_count_t segment_first_i,
  input  line_count_t segment_count_i,
  input  logic child_valid_i,
  input  lid_t child_i,

  output logic leaf_valid_o,
  input  logic leaf_ready_i,
  output leaf_t leaf_o,

  // for the counters: lines, and steps to a previous version
  output logic line_o,
  output logic version_step_o,
  output event_t event_o
);

  typedef enum logic [2:0] {
    StateIdle,
    // requests header and shortcuts of a node; when they arrive, it requests the grant
    StateRead,
    StateGrant,
    // waits for the header
    StateHeader,
    // waits for the child, and requests the lines that are needed to find it
    StateChild,
    StateLeaf
  } state_e;

  state_e state_d, state_q;
  descent_t descent_q;
  // The LID of the node, and the address of its buffer, which is unknown before the first line of a read
  // by LID.
  lid_t lid_d, lid_q;
  bus_address_t address_d, address_q;
  logic by_lid_d, by_lid_q;
  // The buffer was replaced, so caching it is useless.
  logic is_past_d, is_past_q;
  logic failed_d, failed_q;

  // beat: a beat is accepted; beat_counts: the descent needs the beats of this read.
  logic beat, beat_counts, read_fails;
  logic header_valid, is_too_new, is_child_known, reads_segment;

  assign header_valid = state_q == StateHeader && has_grant_i && header_valid_i;
  assign is_too_new = header_i.node_version > descent_q.request.read_version;
  assign is_child_known = state_q == StateChild && child_valid_i;
  assign reads_segment = state_q == StateChild && segment_valid_i;

  // Remaining beats of a read that the descent does not need are discarded.
  assign beat_counts =
      state_q == StateHeader || (state_q == StateChild && !child_valid_i && !segment_valid_i);
  always_comb begin
    beat_ready_o = state_q != StateGrant;
    if (beat_counts) beat_ready_o = has_grant_i && (beat_i.error || line_ready_i);
  end
  assign beat = beat_valid_i && beat_ready_o;
  assign read_fails = beat_valid_i && beat_counts && has_grant_i && beat_i.error;

  always_comb begin
    state_d = state_q;
    {lid_d, address_d, by_lid_d, is_past_d, failed_d} = {lid_q, address_q, by_lid_q, is_past_q, failed_q};
    {find_o, version_step_o} = '0;
    case (state_q)
      StateIdle: begin
        {lid_d, by_lid_d, is_past_d, failed_d} = {descent_i.request.root, 3'b100};
        if (start_i) state_d = StateRead;
      end
      StateRead: if (read_valid_o && read_ready_i) state_d = StateGrant;
      StateGrant: if (grant_valid_o && grant_ready_i) state_d = StateHeader;
      StateHeader: begin
        if (beat_valid_i) address_d = beat_i.address;
        if (header_valid && is_too_new && header_i.previous_version != '0) begin
          version_step_o = 1'b1;
          {address_d, by_lid_d, is_past_d} = {bus_address_t'(header_i.previous_version), 2'b01};
          state_d = StateRead;
        end else if (header_valid && (is_too_new || header_i.level == '0)) begin
          state_d = StateLeaf;
        end else if (header_valid && key_loaded_i) begin
          find_o = 1'b1;
          state_d = StateChild;
        end
      end
      StateChild: begin
        if (is_child_known) begin
          {lid_d, address_d, by_lid_d, is_past_d} = {child_i, bus_address_t'(0), 2'b10};
          state_d = header_i.level == 8'd1 ? StateLeaf : StateRead;
        end
      end
      StateLeaf: if (leaf_valid_o && leaf_ready_i) state_d = StateIdle;
      default: state_d = StateIdle;
    endcase
    if (read_fails) begin
      failed_d = 1'b1;
      state_d = StateLeaf;
    end
  end

  always_ff @(posedge clk_i) begin
    if (start_i) descent_q <= descent_i;
    {lid_q, address_q, by_lid_q, is_past_q, failed_q} <= {lid_d, address_d, by_lid_d, is_past_d, failed_d};
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= StateIdle;
    else state_q <= state_d;
  end

  assign read_valid_o = state_q == StateRead || reads_segment;
  assign read_o = '{
      by_lid: by_lid_q && !reads_segment,
      cacheable: !is_past_q,
      follows: 1'b0,
      lid: lid_q,
      address: by_lid_q && !reads_segment ? '0 : address_q,
      first: reads_segment ? segment_first_i : '0,
      count: reads_segment ? segment_count_i : first_lines_i
  };
  assign grant_valid_o = state_q == StateGrant && beat_valid_i;
  assign grant_ends_o = has_grant_i && !(state_d inside {StateHeader, StateChild});
  assign line_valid_o = beat_valid_i && beat_counts && !beat_i.error;
  assign segment_ready_o = read_ready_i && reads_segment;
  // The unit requests no further line of the key after the leaf was accepted.
  assign leaf_valid_o = state_q == StateLeaf && key_loaded_i;
  assign leaf_o = '{
      failed: failed_q,
      repeated: descent_q.repeated,
      lid: lid_q,
      address: address_q,
      request: descent_q.request
  };
  assign busy_o = state_q != StateIdle;
  assign descent_o = descent_q;
  assign line_o = beat;

  always_comb begin
    event_o = event_if(1'b0, 0, descent_q.request.slot, '0, '0);
    if (start_i) event_o = event_if(1'b1, EventDescent, descent_i.request.slot, '0, 64'(lid_d));
    if (version_step_o)
      event_o = event_if(1'b1, EventVersionStep, descent_q.request.slot, '0, 64'(address_d));
    if (find_o) begin
      event_o = event_if(1'b1, EventHeader, descent_q.request.slot, '0, 64'(lid_q));
      event_o.detail = 32'({header_i.shortcut_count, header_i.level});
    end
    if (is_child_known)
      event_o = event_if(1'b1, EventChild, descent_q.request.slot, '0, 64'(child_i));
    if (leaf_valid_o && leaf_ready_i)
      event_o = event_if(1'b1, EventLeaf, descent_q.request.slot, 32'(failed_q), 64'(lid_q));
  end

  `ASSERT(StartsWhenIdle, !start_i || !busy_o)
  `ASSERT(GrantWasRequested, !has_grant_i || state_q inside {StateHeader, StateChild})
  `ASSERT(SearchesWithGrant, state_q != StateChild || has_grant_i)
  `ASSERT_OFFER_STAYS(ReadStays, read_valid_o, read_ready_i, read_o)
  `ASSERT_OFFER_STAYS(LeafStays, leaf_valid_o, leaf_ready_i, leaf_o)
  `COVER(VersionStep, version_step_o)
  `COVER(TooNewWithoutPrevious, header_valid && is_too_new && !version_step_o)
  `COVER(RootIsLeaf, header_valid && !is_too_new && header_i.level == '0)
  `COVER(KeyArrivesLate, header_valid && !key_loaded_i)
  `COVER(ReadFails, read_fails)

endmodule

`default_nettype wire
