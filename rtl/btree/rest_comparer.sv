// Compares the item of a separator with a search key that has the same head: by the bytes after the head,
// then by length. This is rare, so the comparer compares four bytes at a time, and all descents of a unit
// share it.
//
// After start_i the comparer requests the lines of the item one after the other with wants_line_o, and the
// search key eight bytes at a time. It ends with done_o.
//
//   | word | rest of the separator ...                 an item; it begins at a multiple of four bytes
//          | rest of the search key ...

`default_nettype none

`include "assertions.svh"

module rest_comparer
  import accelerator_pkg::*;
  import layout_pkg::*;
  import search_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  input  logic start_valid_i,
  output logic start_ready_o,
  input  rest_read_t start_i,

  // The next line of the item arrives some cycles after wants_line_o.
  output logic wants_line_o,
  input  logic line_valid_i,
  input  line_t line_i,

  // a read of the search key, and its result some cycles later
  output logic key_valid_o,
  input  logic key_ready_i,
  output head_read_t key_o,
  input  logic head_valid_i,
  input  head_t head_i,

  // the separator is less than the search key, or equal to it
  output logic done_o,
  output logic less_o,
  output logic equal_o
);

  localparam int unsigned Words = LineBytes / 4;

  typedef logic [$clog2(Words)-1:0] place_t;

  typedef enum logic [2:0] {
    StateIdle,
    // waits for a line
    StateLine,
    // selects a word of the line
    StateWord,
    // uses it: the lengths, or four bytes
    StateUse,
    // waits for the search key
    StateKey,
    StateCompare
  } state_e;

  state_e state_d, state_q;
  // The length of the search key without the prefix, and with it.
  key_length_t suffix_length_q, key_length_q;
  line_t line_q;
  place_t place_q;
  // The word is that with the lengths.
  logic is_lengths_q;
  logic [31:0] word_q, separator_q;
  // The length of the separator without the prefix, and bytes of it and of the search key after this word.
  key_length_t separator_length_q, separator_left_q, key_left_q;
  // The place of the bytes in the search key; the bytes, and whether the next four are in the upper half.
  key_length_t offset_q;
  head_t key_q;
  logic wants_line_q, asks_q, is_half_q, less_q, equal_q, done_q;

  // The word with the lengths, of which only that of the key matters.
  // verilator lint_off UNUSEDSIGNAL
  item_word_t lengths;
  // verilator lint_on UNUSEDSIGNAL
  logic [31:0] key_word;
  logic differs, ends, is_rest_empty, done_d;
  key_length_t separator_length;

  function automatic key_length_t after(key_length_t length, key_length_t bytes);
    return length > bytes ? length - bytes : '0;
  endfunction

  assign lengths = word_q;
  assign key_word = is_half_q ? key_q[31:0] : key_q[63:32];
  assign differs = separator_q != key_word;
  // All bytes that both have are equal.
  assign ends = separator_left_q <= 4 || key_left_q <= 4;
  // The lengths decide at once if the rest of one key is empty.
  assign separator_length = lengths.suffix_length;
  assign is_rest_empty = separator_length <= 8 || suffix_length_q <= 8;
  assign done_d = state_q == StateUse ? is_lengths_q && is_rest_empty
      : state_q == StateCompare && (differs || ends);

  always_comb begin
    state_d = state_q;
    case (state_q)
      StateIdle: if (start_valid_i) state_d = StateLine;
      StateLine: if (line_valid_i) state_d = StateWord;
      StateWord: state_d = StateUse;
      StateUse: state_d = is_lengths_q ? (place_q == '0 ? StateLine : StateWord) : StateKey;
      StateKey: if (!asks_q && (is_half_q || head_valid_i)) state_d = StateCompare;
      StateCompare: state_d = place_q == '0 ? StateLine : StateWord;
      default: state_d = StateIdle;
    endcase
    if (done_d) state_d = StateIdle;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= StateIdle;
      {wants_line_q, asks_q, done_q} <= '0;
    end else begin
      state_q <= state_d;
      if (state_q == StateUse && state_d == StateKey && !is_half_q) asks_q <= 1'b1;
      else if (key_ready_i) asks_q <= 1'b0;
      wants_line_q <= state_d == StateLine && state_q != StateLine;
      done_q <= done_d;
    end
  end

  always_ff @(posedge clk_i) begin
    if (line_valid_i) line_q <= line_i;
    if (head_valid_i) key_q <= head_i;
    word_q <= line_q[32*place_q+:32];
    case (state_q)
      StateIdle: begin
        suffix_length_q <= start_i.suffix_length;
        key_length_q <= start_i.suffix_length + start_i.prefix_length;
        place_q <= start_i.place;
        is_lengths_q <= 1'b1;
        is_half_q <= 1'b0;
        offset_q <= start_i.prefix_length + 8;
        key_left_q <= after(start_i.suffix_length, 8);
      end
      StateWord: place_q <= place_q + 1'b1;
      StateUse: begin
        is_lengths_q <= 1'b0;
        if (is_lengths_q) begin
          separator_length_q <= separator_length;
          separator_left_q <= after(separator_length, 8);
        end
        for (int unsigned i = 0; i < 4; i++) begin
          separator_q[8*(3-i)+:8] <= key_length_t'(i) < separator_left_q ? word_q[8*i+:8] : '0;
        end
      end
      StateCompare: begin
        is_half_q <= !is_half_q;
        if (is_half_q) offset_q <= offset_q + 8;
        separator_left_q <= after(separator_left_q, 4);
        key_left_q <= after(key_left_q, 4);
      end
      default: ;
    endcase
    if (state_q == StateUse) begin
      less_q <= separator_length < suffix_length_q;
      equal_q <= separator_length == suffix_length_q;
    end
    if (state_q == StateCompare) begin
      less_q <= differs ? separator_q < key_word : separator_length_q < suffix_length_q;
      equal_q <= !differs && separator_length_q == suffix_length_q;
    end
  end

  assign start_ready_o = state_q == StateIdle;
  assign wants_line_o = wants_line_q;
  assign key_valid_o = asks_q;
  assign key_o = '{offset: offset_q, length: key_length_q};
  assign done_o = done_q;
  assign less_o = less_q;
  assign equal_o = equal_q;

  `ASSERT(LineWasWanted, !line_valid_i || state_q == StateLine)
  `ASSERT(HeadWasRead, !head_valid_i || (state_q == StateKey && !asks_q))
  `ASSERT_OFFER_STAYS(KeyStays, key_valid_o, key_ready_i, key_o)
  `COVER(RestDiffers, state_q == StateCompare && differs)
  `COVER(LengthDecides, state_q == StateCompare && ends && !differs)
  `COVER(ItemContinuesInNextLine, state_q == StateCompare && state_d == StateLine)
  `COVER(RestLacksAByteOfALine, state_q == StateCompare && place_q == '0 && separator_left_q == 3)
  `COVER(RestEndsWithALine, state_q == StateCompare && place_q == '0 && separator_left_q == 4)
  `COVER(RestHasAByteInTheNextLine, state_q == StateCompare && place_q == '0 && separator_left_q == 5)
  `COVER(KeyLacksAByteOfAWord, state_q == StateCompare && key_left_q == 3)
  `COVER(KeyEndsWithAWord, state_q == StateCompare && key_left_q == 4)
  `COVER(KeyHasAByteInTheNextWord, state_q == StateCompare && key_left_q == 5)

endmodule

`default_nettype wire
