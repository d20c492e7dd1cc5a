// Goes down from a root to a leaf, one descent at a time. Each node is read by its LID, which gives the bus
// address of its buffer, by which the segment is read then. Of a node that is too new it reads the previous
// version, by its address. It never reads the leaf, unless the root is one.

`include "assertions.svh"

module key_search_unit
  import accelerator_pkg::*;
  import layout_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  // that of the store's nodes
  input logic [7:0] shortcut_capacity_i,

  input  logic descent_valid_i,
  output logic descent_ready_o,
  input  descent_t descent_i,

  // the key buffers answer a read with its line, some cycles later; one read is under way
  output logic key_valid_o,
  input  logic key_ready_i,
  output key_read_t key_o,
  input  logic key_line_valid_i,
  input  line_t key_line_i,

  output logic read_valid_o,
  input  logic read_ready_i,
  output line_read_t read_o,
  input  logic beat_valid_i,
  output logic beat_ready_o,
  // whether a beat is the last is not looked at: memory takes the next read after it
  // verilator lint_off UNUSEDSIGNAL
  input  line_beat_t beat_i,
  // verilator lint_on UNUSEDSIGNAL

  output logic leaf_valid_o,
  input  logic leaf_ready_i,
  output leaf_t leaf_o,

  // What is counted: cycles with a descent, interior nodes, lines, steps to a previous version.
  output logic busy_o,
  output logic node_o,
  output logic line_o,
  output logic version_step_o,
  output event_t event_o
);

  typedef enum logic [2:0] {
    StateIdle,
    // asks for the header and shortcuts of a node, then waits for the header
    StateAsk,
    StateHeader,
    // waits for the child, and asks for what is read to find it
    StateChild,
    StateLeaf
  } state_e;

  state_e state_d, state_q;
  descent_t descent_q;
  // The node and, but for a LID that nothing was read of yet, its buffer.
  lid_t lid_d, lid_q;
  bus_address_t address_d, address_q;
  logic by_lid_d, by_lid_q;
  // The buffer was replaced: it is not worth keeping.
  logic is_past_d, is_past_q;
  logic failed_d, failed_q;

  logic beat, beat_counts;

  logic start, find;
  logic key_write, key_loaded;
  key_line_t key_write_line;
  logic line_ready, header_valid, segment_valid, asks_segment, child_valid;
  line_count_t first_lines, segment_first, segment_count;
  // Only of some of its fields.
  // verilator lint_off UNUSEDSIGNAL
  node_header_t header;
  // verilator lint_on UNUSEDSIGNAL
  lid_t child;

  // An end of the tree is looked for with an empty key.
  function automatic key_length_t key_length(descent_t descent);
    if (descent.toward inside {TowardFirst, TowardLast}) return '0;
    return descent.by_upper ? descent.request.upper_length : descent.request.lower_length;
  endfunction

  key_loader u_loader (
    .clk_i,
    .rst_i,
    .start_i(start),
    .slot_i(descent_i.request.slot),
    .upper_i(descent_i.by_upper),
    .length_i(key_length(descent_i)),
    .key_valid_o,
    .key_ready_i,
    .key_o,
    .key_line_valid_i,
    .write_o(key_write),
    .write_line_o(key_write_line),
    .loaded_o(key_loaded)
  );

  child_finder u_child_finder (
    .clk_i,
    .rst_i,
    .shortcut_capacity_i,
    .lines_o(first_lines),
    .key_write_i(key_write),
    .key_write_line_i(key_write_line),
    .key_write_data_i(key_line_i),
    .start_i(state_q == StateAsk),
    .line_valid_i(beat_valid_i && beat_counts && !beat_i.error),
    .line_ready_o(line_ready),
    .line_i(beat_i.data),
    .header_valid_o(header_valid),
    .header_o(header),
    .find_i(find),
    .toward_i(descent_q.toward),
    .key_length_i(key_length(descent_q)),
    .segment_valid_o(segment_valid),
    .segment_ready_i(read_ready_i && asks_segment),
    .segment_first_o(segment_first),
    .segment_count_o(segment_count),
    .child_valid_o(child_valid),
    .child_o(child)
  );

  // What is left of a read when nobody waits for it is dropped.
  assign beat_counts =
      state_q == StateHeader || (state_q == StateChild && !child_valid && !segment_valid);
  assign beat_ready_o = !beat_counts || beat_i.error || line_ready;
  assign beat = beat_valid_i && beat_ready_o;

  logic is_too_new;

  assign is_too_new = header.node_version > descent_q.request.read_version;

  always_comb begin
    state_d = state_q;
    {lid_d, address_d, by_lid_d, is_past_d, failed_d} = {lid_q, address_q, by_lid_q, is_past_q, failed_q};
    {start, find, version_step_o} = '0;
    case (state_q)
      StateIdle: begin
        start = descent_valid_i;
        {lid_d, by_lid_d, is_past_d, failed_d} = {descent_i.request.root, 3'b100};
        if (start) state_d = StateAsk;
      end
      StateAsk: if (read_valid_o && read_ready_i) state_d = StateHeader;
      StateHeader: begin
        if (beat) address_d = beat_i.address;
        if (header_valid && is_too_new && header.previous_version != '0) begin
          version_step_o = 1'b1;
          {address_d, by_lid_d, is_past_d} = {bus_address_t'(header.previous_version), 2'b01};
          state_d = StateAsk;
        end else if (header_valid && (is_too_new || header.level == '0)) begin
          state_d = StateLeaf;
        end else if (header_valid && key_loaded) begin
          find = 1'b1;
          state_d = StateChild;
        end
      end
      StateChild: begin
        if (child_valid) begin
          {lid_d, address_d, by_lid_d, is_past_d} = {child, bus_address_t'(0), 2'b10};
          state_d = header.level == 8'd1 ? StateLeaf : StateAsk;
        end
      end
      StateLeaf: if (leaf_valid_o && leaf_ready_i) state_d = StateIdle;
      default: state_d = StateIdle;
    endcase
    if (beat && beat_counts && beat_i.error) begin
      failed_d = 1'b1;
      state_d = StateLeaf;
    end
  end

  always_ff @(posedge clk_i) begin
    if (start) descent_q <= descent_i;
    {lid_q, address_q, by_lid_q, is_past_q, failed_q} <= {lid_d, address_d, by_lid_d, is_past_d, failed_d};
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= StateIdle;
    else state_q <= state_d;
  end

  assign asks_segment = state_q == StateChild && segment_valid;
  assign read_valid_o = state_q == StateAsk || asks_segment;
  assign read_o = '{
      by_lid: by_lid_q && !asks_segment,
      cacheable: !is_past_q,
      follows: 1'b0,
      lid: lid_q,
      address: by_lid_q && !asks_segment ? '0 : address_q,
      first: asks_segment ? segment_first : '0,
      count: asks_segment ? segment_count : first_lines
  };
  assign descent_ready_o = state_q == StateIdle;
  // No line of the key is asked for once the request went on.
  assign leaf_valid_o = state_q == StateLeaf && key_loaded;
  assign leaf_o = '{failed: failed_q, lid: lid_q, address: address_q, request: descent_q.request};
  assign busy_o = state_q != StateIdle;
  assign node_o = find;
  assign line_o = beat;

  always_comb begin
    event_o = event_if(1'b0, 0, descent_q.request.slot, '0, '0);
    if (start) event_o = event_if(1'b1, EventDescent, descent_i.request.slot, '0, 64'(lid_d));
    if (version_step_o)
      event_o = event_if(1'b1, EventVersionStep, descent_q.request.slot, '0, 64'(address_d));
    if (find) begin
      event_o = event_if(1'b1, EventHeader, descent_q.request.slot, '0, 64'(lid_q));
      event_o.detail = 32'({header.shortcut_count, header.level});
    end
    if (state_q == StateChild && child_valid)
      event_o = event_if(1'b1, EventChild, descent_q.request.slot, '0, 64'(child));
    if (leaf_valid_o && leaf_ready_i)
      event_o = event_if(1'b1, EventLeaf, descent_q.request.slot, 32'(failed_q), 64'(lid_q));
  end

  `ASSERT_OFFER_STAYS(ReadStays, read_valid_o, read_ready_i, read_o)
  `ASSERT_OFFER_STAYS(LeafStays, leaf_valid_o, leaf_ready_i, leaf_o)
  `COVER(VersionStep, version_step_o)
  `COVER(TooNewAndFirst, state_q == StateHeader && header_valid && is_too_new && !version_step_o)
  `COVER(RootIsLeaf, state_q == StateHeader && header_valid && !is_too_new && header.level == '0)
  `COVER(KeyComesLate, state_q == StateHeader && header_valid && !key_loaded)
  `COVER(ReadFails, beat && beat_counts && beat_i.error)

endmodule
