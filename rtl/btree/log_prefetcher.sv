// Requests the log entries that a scan is likely to read: those whose back pointers are in the range of its
// pairs. It reads the words of the log, which have arrived, and requests the bytes from the first of these
// entries, in order of arrival, to the end of the last one, or of the window that is read to know its length.
// A leaf has few of them, so mostly it is one entry or none.
//
//   line of words | arrives | a word in each cycle ... | the last word | request

`default_nettype none

`include "assertions.svh"

module log_prefetcher
  import layout_pkg::*;
  import accelerator_pkg::*;
  import search_pkg::*;
  import scan_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  // verilator lint_off UNUSEDSIGNAL
  input geometry_t geometry_i,

  // Begins with the log of a leaf, which has entries. The inputs are constant from then on until done_o.
  input logic start_i,
  input node_header_t header_i,
  // verilator lint_on UNUSEDSIGNAL
  // the first back pointer, and the last one
  input indexes_t pairs_i,
  // for one cycle, with the request
  output logic done_o,

  // a line of the leaf, one cycle after its request was accepted
  output logic line_valid_o,
  input logic line_ready_i,
  output line_count_t line_number_o,
  input line_t line_i,

  output logic fetch_valid_o,
  output fetch_t fetch_o
);

  localparam int unsigned WordsALine = LineBytes / (LogWordBits / 8);

  typedef enum logic [2:0] {
    Idle,
    Line,
    Arrives,
    Word,
    Last,
    Request
  } state_e;

  state_e state_q, state_d;
  // verilator lint_off UNUSEDSIGNAL
  lock_and_size_t state;
  log_word_t word;
  // verilator lint_on UNUSEDSIGNAL
  // The words that are left of a line; the next one is the last.
  line_t words_q;
  line_count_t line_q, fetch_limit_q;
  logic [7:0] index_q, next_index;
  logic is_wanted, has_any_q, ends_last_q, ends_log, has_fetch_q;
  number_t back_pointer;
  offset_t entry, size, first_q, window_q, limit_q;

  assign state = header_i.lock_and_size;
  assign size = offset_t'(state.size);
  assign next_index = index_q + 1'b1;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle: if (start_i) state_d = Line;
      Line: if (line_ready_i) state_d = Arrives;
      Arrives: state_d = Word;
      Word: begin
        if (next_index == state.log_count) state_d = Last;
        else if (next_index % 8'(WordsALine) == '0) state_d = Line;
      end
      Last: state_d = Request;
      default: state_d = Idle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= Idle;
    else state_q <= state_d;
    if (state_q == Idle) index_q <= '0;
    else if (state_q == Word) index_q <= next_index;
    words_q <= state_q == Arrives ? line_i : words_q << LogWordBits;
  end

  // From the end of the node downwards.
  always_ff @(posedge clk_i) begin
    if (state_q == Idle) line_q <= line_count_t'(geometry_i.node_bytes >> LineIndexBits) - 1'b1;
    else if (state_q == Arrives) line_q <= line_q - 1'b1;
  end

  assign line_valid_o = state_q == Line;
  assign line_number_o = line_q;

  // ---- the bytes of the entries: each ends where the next one begins, and the last one with the log

  assign word = log_word_t'(words_q[LineBits-1-:LogWordBits]);
  assign entry = offset_t'({word.entry_offset, 2'b0});
  assign back_pointer = number_t'(word.back_pointer);
  assign is_wanted = pairs_i.first <= back_pointer && back_pointer <= pairs_i.last;
  // The bytes end with the log.
  assign ends_log = ends_last_q || size < limit_q;

  always_ff @(posedge clk_i) begin
    if (state_q == Idle) {has_any_q, ends_last_q} <= '0;
    else if (state_q == Word) begin
      {has_any_q, ends_last_q} <= {has_any_q || is_wanted, is_wanted};
      if (!has_any_q) first_q <= entry;
      // The end of the first window of the entry.
      window_q <= entry + offset_t'(LineBytes);
      if (ends_last_q) limit_q <= window_q < entry ? entry : window_q;
    end
  end

  assign done_o = state_q == Request;
  // After a read that failed the words are undefined.
  always_ff @(posedge clk_i) begin
    has_fetch_q <= has_any_q && first_q < size && (ends_last_q || first_q < limit_q);
    fetch_limit_q <= ends_log ? limit_line(size) : limit_line(limit_q);
  end

  assign fetch_valid_o = done_o && has_fetch_q;

  always_comb begin
    fetch_o = '0;
    fetch_o.first = line_count_t'(first_q >> LineIndexBits);
    fetch_o.limit = fetch_limit_q;
  end

  `ASSERT(StartsWhenIdle, !start_i || (state_q == Idle && state.log_count != '0))
  `COVER(WantsNone, done_o && !has_any_q)
  `COVER(WantsOneOfSeveral, fetch_valid_o && !ends_last_q && index_q > 8'd2)
  `COVER(SecondLine, state_q == Line && index_q != '0)

endmodule

`default_nettype wire
