// Proves for a writer with a table of two pages and an arbitrary memory, which rejects some bursts: the table
// is zero when it is clear; each mapping drops its LID once, and only then changes its word; a mapping that
// was accepted is in memory, and a mark is in memory after the mappings before it. All other words of the
// table remain as they are, and nothing outside the table is written. A burst has as many attempts as memory
// rejects, up to four; then the table has failed. The writer pauses for at most one cycle while it has work.
// The contents of a table that has failed are left out.

`default_nettype none

module prove_page_table_writer
  import accelerator_pkg::*;
  import memory_pkg::*;
(
  input logic clk_i,
  input logic map_valid_i,
  input lid_t map_lid_i,
  input bus_address_t map_address_i,
  input logic drop_ready_i,
  input logic mark_valid_i,
  input lid_t mark_lid_i,
  input bus_address_t mark_address_i,
  input logic burst_ready_i,
  input logic word_ready_i,
  // a word that memory received takes effect; memory acknowledges or rejects the burst
  input logic happens_i,
  input logic done_i,
  input logic done_error_i,
  // the watched word of memory, counted in words
  input logic [14:0] watched_i
);

  // The table begins in the second page of memory.
  localparam int unsigned Lids = 1024;
  localparam int unsigned FirstWord = 512;
  localparam int unsigned AddressBits = 18;
  localparam logic [1:0] LastAttempt = 2'd3;

  logic rst, map_ready, drop_valid, mark_ready, is_clear, failed;
  logic burst_valid, word_valid, word_last, done_ready;
  logic [AddressBits-1:0] burst_address;
  logic [7:0] burst_len;
  line_t line;
  logic [LineBytes-1:0] strobe;
  logic done;

  neighbours #(.Count(1)) u_maps (.clk_i, .rst_o(rst), .in_valid_i(map_valid_i), .in_ready_i(map_ready));

  page_table_writer #(
    .LidCount(Lids),
    .BasePage(1),
    .AddressBits(AddressBits)
  ) u_writer (
    .clk_i,
    .rst_i(rst),
    .map_valid_i, .map_ready_o(map_ready), .map_lid_i, .map_address_i,
    .drop_valid_o(drop_valid), .drop_ready_i,
    .mark_valid_i, .mark_ready_o(mark_ready), .mark_lid_i, .mark_address_i,
    .is_clear_o(is_clear),
    .failed_o(failed),
    .burst_valid_o(burst_valid), .burst_ready_i, .burst_address_o(burst_address), .burst_len_o(burst_len),
    .word_valid_o(word_valid), .word_ready_i, .word_o(line), .word_strobe_o(strobe), .word_last_o(word_last),
    .done_valid_i(done), .done_ready_o(done_ready), .done_error_i
  );

  // Pages that were cleared. The mapping was dropped; its burst has ended. A mark is written, and its word.
  logic [1:0] cleared_q;
  logic dropped_q, mapped_q, marks_q, failed_q;
  lid_t mark_lid_q;
  bus_address_t mark_address_q;
  // The burst in flight: its place, in lines, words of memory that it wrote, and all that it has to write.
  // Attempts that memory has rejected.
  logic flies_q;
  logic [AddressBits-1:0] place_q;
  logic [6:0] lines_q, all_q;
  logic [1:0] rejected_q;
  // The watched word: in memory, and on its way; and that of the last mapping or mark that was written.
  logic [63:0] memory_q, coming_q, word_q;
  logic [7:0] bytes_q;
  logic [AddressBits-4:0] watched_q;
  // No output was active.
  logic pauses, paused_q;

  // ---- the work that comes next: a page, or the word of a LID

  logic clears, maps, marks, works, ends, is_watched, is_in_table;
  lid_t lid;
  logic [63:0] word;

  assign clears = cleared_q != 2'd2;
  assign marks = !clears && marks_q;
  assign maps = map_valid_i && !clears && !marks_q;
  assign works = clears || marks || (maps && dropped_q && !mapped_q);
  assign lid = marks ? mark_lid_q : map_lid_i;
  // The columns have the bit behind the address.
  assign word = marks ? 64'(mark_address_q) + 64'h1_0000_0000_0000 : 64'(map_address_i);
  assign is_in_table = watched_q >= 15'(FirstWord) && watched_q < 15'(FirstWord + Lids);
  // The word of the LID is the watched one.
  assign is_watched = !clears && is_in_table && lid == lid_t'(watched_q) - lid_t'(FirstWord);

  // ---- memory

  logic puts, at_watched;
  logic [7:0] bytes;
  logic [63:0] data, merged;

  assign puts = word_valid && word_ready_i;
  assign at_watched = puts && (AddressBits-6)'(place_q + AddressBits'(lines_q)) == watched_q[AddressBits-4:3];
  assign bytes = at_watched ? strobe[8*watched_q[2:0]+:8] : '0;
  assign data = line[64*watched_q[2:0]+:64];
  // An acknowledged burst has taken effect.
  assign done = done_i && flies_q && lines_q == all_q && (done_error_i || bytes_q == '0);
  assign ends = done && (!done_error_i || rejected_q == LastAttempt);

  for (genvar at = 0; at < 8; at++) begin : gen_merged
    assign merged[8*at+:8] = bytes_q[at] ? coming_q[8*at+:8] : memory_q[8*at+:8];
  end

  always_ff @(posedge clk_i) begin
    watched_q <= rst ? watched_i : watched_q;
    if (happens_i) {memory_q, bytes_q} <= {merged, 8'h0};
    if (bytes != '0) {coming_q, bytes_q} <= {data, bytes};
    if (puts) lines_q <= lines_q + 1'b1;
    if (burst_valid && burst_ready_i) begin
      flies_q <= 1'b1;
      {place_q, lines_q, all_q} <= {burst_address >> LineIndexBits, 7'd0, 7'(burst_len) + 7'd1};
    end
    if (done) {flies_q, bytes_q} <= '0;
    if (done) rejected_q <= ends ? '0 : rejected_q + 1'b1;
    if (ends && done_error_i) failed_q <= 1'b1;
    if (ends && clears) {cleared_q, word_q} <= {cleared_q + 1'b1, 64'd0};
    if (ends && is_watched) word_q <= word;
    if (ends && marks) marks_q <= 1'b0;
    if (ends && maps) mapped_q <= 1'b1;
    if (drop_valid && drop_ready_i) dropped_q <= 1'b1;
    if (map_valid_i && map_ready) {dropped_q, mapped_q} <= '0;
    if (mark_valid_i && mark_ready)
      {marks_q, mark_lid_q, mark_address_q} <= {1'b1, mark_lid_i, mark_address_i};
    paused_q <= pauses && (clears || marks || map_valid_i);
    if (rst) begin
      {cleared_q, dropped_q, mapped_q, marks_q, failed_q, flies_q, rejected_q, bytes_q, paused_q} <= '0;
    end
  end

  assign pauses = !(burst_valid || word_valid || drop_valid || done_ready || map_ready);

  logic offered_q;
  lid_t offered_lid_q;
  bus_address_t offered_address_q;

  always_ff @(posedge clk_i) begin
    offered_q <= map_valid_i && !map_ready && !rst;
    {offered_lid_q, offered_address_q} <= {map_lid_i, map_address_i};
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      MappingStays : assume (!offered_q || {map_lid_i, map_address_i} == {offered_lid_q, offered_address_q});
      MarkIsOfAMappedLeaf : assume (!mark_valid_i
          || (mark_lid_i < lid_t'(Lids) && mark_address_i != '0));

      BurstHasWork : assert (!burst_valid || (works && !flies_q));
      BurstIsAPageOrALine : assert (!burst_valid || (clears
          ? burst_address == AddressBits'(4096 * (1 + 32'(cleared_q))) && burst_len == 8'd63
          : burst_address == AddressBits'(8 * FirstWord) + AddressBits'(64 * (lid / 8))
          && burst_len == 8'd0));
      BurstIsInTheTable : assert (!burst_valid || (burst_address >= AddressBits'(8 * FirstWord)
          && burst_address < AddressBits'(8 * (FirstWord + Lids))));
      WordIsOfABurst : assert (!word_valid || (flies_q && lines_q < all_q));
      LastWordIsLast : assert (!word_valid || word_last == (lines_q + 7'd1 == all_q));
      AwaitsTheEnd : assert (done_ready == (flies_q && lines_q == all_q));
      OtherWordsStay : assert (bytes == '0 || clears || is_watched);
      WholeWords : assert (bytes == '0 || bytes == '1);
      DropsOnceAndFirst : assert (!drop_valid
          || (maps && map_lid_i < lid_t'(Lids) && !dropped_q && !flies_q));
      AcceptedIfWritten : assert (!map_ready || (maps && (mapped_q || map_lid_i >= lid_t'(Lids))));
      AcceptedIsInMemory : assert (!map_ready || !is_watched || failed || memory_q == 64'(map_address_i));
      MarkIsAfterMappings : assert (!mark_ready || !(clears || map_valid_i || marks_q || flies_q));
      MarkIsTaken : assert (mark_ready || clears || map_valid_i || marks_q);
      ClearIsKnown : assert (is_clear == !clears);
      WordIsCurrent : assert (clears || failed || !is_in_table || memory_q == word_q
          || (is_watched && works && memory_q == word));
      FailsAfterAllAttempts : assert (failed == failed_q);
      PausesOneCycle : assert (!pauses || !paused_q);
    end
  end

  // Invariants of the induction: the state of the writer is that of the work, and the words in flight.
  logic is_cleared;
  logic [AddressBits-4:0] first_word;

  assign first_word = 15'(FirstWord) + 15'(cleared_q << 9);
  // The watched word was cleared with an earlier page, or was sent in this attempt.
  assign is_cleared = watched_q < first_word || (flies_q && watched_q < first_word + 15'(lines_q << 3));

  always @(posedge clk_i) begin
    if (!rst) begin
      StateExists : assert (u_writer.state_q <= 3'd5);
      OneStateAtATime : assert (flies_q == (word_valid || done_ready));
      PageAsKnown : assert (cleared_q <= 2'd2 && (!clears || u_writer.page_q == cleared_q[0]));
      LinesAsKnown : assert (word_valid && clears ? u_writer.word_q == lines_q[5:0] : u_writer.word_q == '0);
      BurstAsKnown : assert (!flies_q || (works && lines_q <= all_q
          && all_q == (clears ? 7'd64 : 7'd1)
          && (clears ? place_q == AddressBits'(64 * (1 + 32'(cleared_q)))
          : place_q == AddressBits'(FirstWord / 8) + AddressBits'(lid / 8))));
      RejectedAsKnown : assert (drop_valid || burst_valid || flies_q
          ? u_writer.rejected_q == rejected_q : rejected_q == '0);
      WorkAsKnown : assert (clears || !(burst_valid || flies_q || drop_valid) || (lid < lid_t'(Lids)
          && {u_writer.lid_q, u_writer.address_q, u_writer.is_mark_q}
          == {lid, marks ? mark_address_q : map_address_i, marks}));
      WorksInItsStates : assert (!works || burst_valid || flies_q || (clears && pauses));
      MapsInItsStates : assert ((!dropped_q && !mapped_q) || (maps && dropped_q));
      TakenAsKnown : assert (map_ready == (maps && mapped_q) || (map_ready && map_lid_i >= lid_t'(Lids)));
      MarkAsKnown : assert (!marks_q || !clears);
      ComingIsTheWord : assert (bytes_q == '0 || (flies_q && is_in_table && bytes_q == '1
          && (clears ? coming_q == '0 && is_cleared && watched_q >= first_word
          : is_watched && lines_q == all_q && coming_q == word)));
      NothingComesBefore : assert (!flies_q || lines_q != '0 || bytes_q == '0);
      SentIsInMemory : assert (clears || !flies_q || !is_watched || lines_q != all_q || bytes_q != '0
          || memory_q == word);
      ClearedIsZero : assert (failed || !clears || !is_in_table || !is_cleared || bytes_q != '0
          || memory_q == '0);
      MappedIsTheWord : assert (!mapped_q || !is_watched || word_q == word);
    end
  end

endmodule

`default_nettype wire
