// Walks over the log entries that are visible at a read version, in order of arrival. Versions ascend, so
// these entries are the beginning of the log. It reads their words, eight at a time, from the end of the node
// downwards. A scan sorts them, an entry in a cycle; a get looks for the newest entry of its key.

`default_nettype none

`include "assertions.svh"

module log_walker
  import layout_pkg::*;
  import accelerator_pkg::*;
  import search_pkg::*;
  import scan_pkg::*;
#(
  // compares entries with the key of a get; otherwise it returns them
  parameter bit Compares = 1'b1
) (
  input logic clk_i,
  input logic rst_i,

  input geometry_t geometry_i,

  // accepted when all visible entries were read
  input logic walk_valid_i,
  output logic walk_ready_o,
  input node_header_t header_i,
  input version_t read_version_i,
  // for a get: only entries whose fingerprint matches, or that have none, are compared with its key
  input logic [7:0] fingerprint_i,
  input key_length_t key_length_i,

  // an entry, for one cycle
  output logic entry_valid_o,
  output sorted_entry_t entry_o,
  output logic [LogWordOrderHintBits-1:0] rank_o,

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

  localparam int unsigned WordsALine = LineBytes / (LogWordBits / 8);

  typedef enum logic [2:0] {
    StateIdle,
    // reads the line with the word at index_q
    StateLine,
    StateEntry,
    // compares the entry with the key of a get
    StateKey,
    StateDone
  } state_e;

  state_e state_q, state_d;
  // verilator lint_off UNUSEDSIGNAL
  lock_and_size_t state;
  // verilator lint_on UNUSEDSIGNAL
  // The words that are left of a line; the next one is the last.
  line_t words_d, words_q;
  log_word_t word_d, word_q;
  logic [7:0] index_q;
  logic is_over, is_seen_d, is_seen_q, may_be_of_key, takes_word, finds, found_q;
  offset_t line_limit;
  version_t version, version_q;
  // The read version is newer than the leaf by this number; it is not older, or else the leaf is not open.
  version_t age_q;
  item_result_t found_item_q;

  assign state = header_i.lock_and_size;
  assign is_over = index_q == state.log_count;
  assign version = header_i.node_version + version_t'(word_q.version_delta);
  assign may_be_of_key = index_q >= 8'(NodeHeaderTagsCount) || header_i.tags[index_q[3:0]] == fingerprint_i;
  assign finds = state_q == StateKey && part_ready_i && part_i.equal;
  assign line_limit = geometry_i.node_bytes - ((offset_t'(index_q) / offset_t'(WordsALine)) << LineIndexBits);

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StateIdle: if (walk_valid_i) state_d = StateLine;
      StateLine: begin
        if (is_over) state_d = StateDone;
        else if (part_ready_i) state_d = StateEntry;
      end
      StateEntry: begin
        if (!is_seen_q) state_d = StateDone;
        else if (Compares && may_be_of_key) state_d = StateKey;
        else state_d = next_state(index_q);
      end
      StateKey: if (part_ready_i) state_d = next_state(index_q);
      default: state_d = StateIdle;
    endcase
  end

  // Returns the state after an entry.
  function automatic state_e next_state(logic [7:0] index);
    logic [7:0] next = index + 8'd1;
    return next % 8'(WordsALine) == '0 || next == state.log_count ? StateLine : StateEntry;
  endfunction

  assign takes_word = (state_q == StateEntry && state_d != StateKey) || (state_q == StateKey && part_ready_i);

  always_comb begin
    {word_d, words_d, is_seen_d} = {word_q, words_q, is_seen_q};
    // An entry is compared with the read version as its word arrives.
    if (state_q == StateLine) begin
      {word_d, words_d} = {part_i.bytes, 64'd0};
      is_seen_d = is_seen(log_word_t'(part_i.bytes[LineBits-1-:LogWordBits]));
    end else if (takes_word) begin
      {word_d, words_d} = {words_q, 64'd0};
      is_seen_d = is_seen(log_word_t'(words_q[LineBits-1-:LogWordBits]));
    end
  end

  // Returns whether the read version includes an entry.
  // verilator lint_off UNUSEDSIGNAL
  function automatic logic is_seen(log_word_t word);
  // verilator lint_on UNUSEDSIGNAL
    return version_t'(word.version_delta) <= age_q;
  endfunction

  always_ff @(posedge clk_i) begin
    {word_q, words_q, is_seen_q} <= {word_d, words_d, is_seen_d};
    version_q <= version;
    age_q <= read_version_i - header_i.node_version;
    if (state_q == StateIdle) index_q <= '0;
    else if (takes_word) index_q <= index_q + 1'b1;
    if (finds) found_item_q <= found_item(part_i, version_q);
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= StateIdle;
    else state_q <= state_d;
    if (rst_i || state_q == StateIdle) found_q <= 1'b0;
    else if (finds) found_q <= 1'b1;
  end

  always_comb begin
    part_read_o = '0;
    part_read_o.part = PartBytes;
    part_read_o.offset = line_limit - offset_t'(LineBytes);
    part_read_o.limit = line_limit;
    if (state_q == StateKey) begin
      part_read_o.part = PartEntry;
      part_read_o.offset = entry_o.entry;
      part_read_o.limit = offset_t'(state.size);
      part_read_o.compares = 1'b1;
    end
    part_read_o.key_first = key_length_t'(header_i.prefix_length);
    part_read_o.key_last = key_length_i;
  end

  assign part_valid_o = (state_q == StateLine && !is_over) || state_q == StateKey;
  assign walk_ready_o = state_q == StateDone;
  assign entry_valid_o = state_q == StateEntry && is_seen_q;
  assign entry_o.back_pointer = number_t'(word_q.back_pointer);
  assign entry_o.entry = offset_t'({word_q.entry_offset, 2'b0});
  assign entry_o.repeats = word_q.repeats;
  assign rank_o = word_q.order_hint;
  assign found_o = found_q;
  assign found_item_o = found_item_q;

  `ASSERT_OFFER_STAYS(WalkStays, walk_valid_i, walk_ready_o, {header_i, read_version_i})
  `COVER(FindsKey, finds)
  `COVER(FindsNewerEntry, finds && found_q)
  `COVER(EntryIsTooNew, state_q == StateEntry && !is_seen_q)
  `COVER(FingerprintExcludesEntry, state_q == StateEntry && Compares && !may_be_of_key)
  `COVER(EntryHasNoFingerprint, state_q == StateEntry && index_q >= 8'(NodeHeaderTagsCount))
  `COVER(SecondLine, state_q == StateLine && index_q != '0 && !is_over)
  `COVER(EntryHasReadVersion, state_q == StateEntry && version_t'(word_q.version_delta) == age_q)
  `COVER(EntryIsOneNewer, state_q == StateEntry && version_t'(word_q.version_delta) == age_q + 1'b1)
  `COVER(EntryIsOneOlder, state_q == StateEntry && version_t'(word_q.version_delta) + 1'b1 == age_q)
  `COVER(EntryHasTheLastFingerprint, state_q == StateEntry && index_q == 8'(NodeHeaderTagsCount - 1))
  // An age has 64 bits, a delta 31.
  `COVER(EntryHasTheGreatestDelta, state_q == StateEntry && word_q.version_delta == '1)
  `COVER(AgeIsOneBelowTheGreatestDelta, state_q == StateEntry && age_q == version_t'(32'h7fff_fffe))
  `COVER(AgeIsTheGreatestDelta, state_q == StateEntry && age_q == version_t'(32'h7fff_ffff))
  `COVER(AgeIsOneBeyondTheDeltas, state_q == StateEntry && age_q == version_t'(32'h8000_0000))
  `COVER(AgeWrapsTo32Bits, state_q == StateEntry && age_q[63:32] != '0 &&
      age_q[31:0] < 32'(word_q.version_delta))

endmodule

`default_nettype wire
