// Walks over the log entries that are visible at a read version, in order of arrival. Versions ascend, so
// these entries are the beginning of the log. A scan sorts them; a get looks for the newest entry of its
// key.

`default_nettype none

`include "assertions.svh"

module log_walker
  import layout_pkg::*;
  import accelerator_pkg::*;
  import scan_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  // accepted when all visible entries were read
  input logic walk_valid_i,
  output logic walk_ready_o,
  input node_header_t header_i,
  input version_t read_version_i,
  input logic compares_i,
  // for a get: only entries whose fingerprint matches, or that have none, are compared with its key
  input logic [7:0] fingerprint_i,
  input key_length_t key_length_i,

  // an entry, for one cycle
  output logic entry_valid_o,
  output sorted_entry_t entry_o,
  output logic [8*LogEntryHeaderOrderHintBytes-1:0] rank_o,

  // the newest entry of the key, valid when the walk is accepted
  output logic found_o,
  output item_result_t found_item_o,

  output logic part_valid_o,
  input logic part_ready_i,
  output part_read_t part_read_o,
  // verilator lint_off UNUSEDSIGNAL
  input part_t part_i
  // verilator lint_on UNUSEDSIGNAL
);

  // verilator lint_off UNUSEDSIGNAL
  lock_and_size_t state;
  // verilator lint_on UNUSEDSIGNAL
  offset_t offset_q;
  logic [7:0] index_q;
  logic is_walking_q, is_over, is_seen, may_be_of_key;
  logic finds, found_q;
  item_result_t found_item_q;
  version_t version;

  assign state = header_i.lock_and_size;
  assign version = header_i.node_version + version_t'(part_i.entry.version_delta);
  assign is_seen = version <= read_version_i;
  assign finds = entry_valid_o && part_read_o.compares && part_i.equal;
  assign is_over = index_q == state.log_count;
  assign may_be_of_key = index_q >= 8'(NodeHeaderTagsCount) || header_i.tags[index_q[3:0]] == fingerprint_i;

  always_comb begin
    part_read_o = '0;
    part_read_o.part = PartLogEntry;
    part_read_o.offset = offset_q;
    part_read_o.limit = offset_t'(state.size);
    part_read_o.compares = compares_i && may_be_of_key;
    part_read_o.key_first = key_length_t'(header_i.prefix_length);
    part_read_o.key_last = key_length_i;
  end

  assign part_valid_o = walk_valid_i && is_walking_q && !is_over;
  assign walk_ready_o = is_walking_q && (is_over || (part_ready_i && !is_seen));

  always_ff @(posedge clk_i) begin
    if (!is_walking_q) begin
      offset_q <= offset_t'(header_i.sorted_end);
      index_q <= '0;
    end else if (part_valid_o && part_ready_i) begin
      offset_q <= offset_q + offset_t'(LogEntryHeaderSize) + item_bytes(part_i.header);
      index_q <= index_q + 1'b1;
    end
    if (finds) begin
      found_item_q <= '{offset: entry_o.item, header: part_i.header, version: version, in_window: 1'b0};
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) is_walking_q <= 1'b0;
    else is_walking_q <= walk_valid_i && !walk_ready_o;
    if (rst_i || (walk_valid_i && !is_walking_q)) found_q <= 1'b0;
    else if (finds) found_q <= 1'b1;
  end

  assign entry_valid_o = part_valid_o && part_ready_i && is_seen;
  assign entry_o.back_pointer = offset_t'(part_i.entry.back_pointer);
  assign entry_o.item = offset_q + offset_t'(LogEntryHeaderSize);
  assign entry_o.repeats = part_i.header.repeats;
  assign entry_o.replaces = part_i.header.replaces;
  assign entry_o.tombstone = part_i.header.tombstone;
  assign rank_o = part_i.entry.order_hint;
  assign found_o = found_q;
  assign found_item_o = found_item_q;

  `ASSERT_OFFER_STAYS(WalkStays, walk_valid_i, walk_ready_o, {header_i, read_version_i})
  `COVER(FindsKey, finds)
  `COVER(FindsNewerEntry, finds && found_q)
  `COVER(EntryIsTooNew, part_valid_o && part_ready_i && !is_seen)
  `COVER(FingerprintExcludesEntry, part_valid_o && compares_i && !may_be_of_key)
  `COVER(EntryHasNoFingerprint, part_valid_o && index_q >= 8'(NodeHeaderTagsCount))

endmodule

`default_nettype wire
