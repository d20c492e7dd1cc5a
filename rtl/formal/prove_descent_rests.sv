// Proves for two descents with arbitrary separators and search keys, and an arbitrary memory: each comparison
// that a descent requests ends once, with the order of the two strings. Until then its place is named, and
// only lines of its item and bytes of its key are read. Descents are compared in turn, and nothing waits
// without a reason. Keys of more than 16 bytes behind the prefix are left out.

`default_nettype none

module prove_descent_rests
  import layout_pkg::*;
  import accelerator_pkg::*;
  import search_pkg::*;
(
  input logic clk_i,
  input logic [1:0] rest_valid_i,
  input logic line_valid_i,
  input logic key_ready_i,
  // bytes around an item
  input logic around_i
);

  localparam int unsigned Head = 8;
  // Most bytes after the head, and words of an item.
  localparam int unsigned Rest = 8;
  localparam int unsigned Words = 1 + Rest / 4;
  // The place of the first item; the last ones begin in one line and end in the next.
  localparam int unsigned FirstPlace = 13;
  localparam int unsigned LineWords = LineBytes / 4;
  localparam int unsigned LengthBits = ItemWordSuffixLengthBits;

  typedef logic [4:0] length_t;
  typedef logic [5:0] word_t;
  typedef logic [Rest-1:0] bytes_t;

  logic rst, place, wants_line, key_valid, done, less, equal, awaits_head_q;
  logic [1:0] rest_ready;
  rest_read_t [1:0] rests;
  line_t line;
  head_read_t key;
  head_t head;

  neighbours #(.Count(2)) u_rests (
    .clk_i, .rst_o(rst), .in_valid_i(rest_valid_i), .in_ready_i(rest_ready)
  );

  descent_rests #(
    .Descents(2)
  ) u_descent_rests (
    .clk_i,
    .rst_i(rst),
    .rest_valid_i, .rest_ready_o(rest_ready), .rest_i(rests),
    .place_o(place),
    .wants_line_o(wants_line),
    .line_valid_i, .line_i(line),
    .key_valid_o(key_valid), .key_ready_i, .key_o(key),
    .head_valid_i(awaits_head_q), .head_i(head),
    .done_o(done), .less_o(less), .equal_o(equal)
  );

  // ---- for each descent: an arbitrary separator, without the prefix, and an arbitrary key, with equal heads

  length_t [1:0] separator_length_q, suffix_length_q;
  bytes_t [1:0] separator_q, suffix_q;
  logic [1:0] prefix_length_q;
  logic [1:0][1:0] place_q;

  always_ff @(posedge clk_i) begin
    {separator_length_q, suffix_length_q} <= {separator_length_q, suffix_length_q};
    {separator_q, suffix_q} <= {separator_q, suffix_q};
    {prefix_length_q, place_q} <= {prefix_length_q, place_q};
  end

  // The length of a separator up to the end of its first line.
  length_t [1:0] limits;

  always_comb begin
    for (int unsigned at = 0; at < 2; at++) begin
      rests[at].suffix_length = key_length_t'(suffix_length_q[at]);
      rests[at].prefix_length = key_length_t'(prefix_length_q[at]);
      rests[at].place = 4'(FirstPlace) + 4'(place_q[at]);
      limits[at] = length_t'(Head) + (length_t'(LineWords - FirstPlace - 1) - length_t'(place_q[at])) * 5'd4;
    end
  end

  // The order of two strings: that of their bytes, of which those behind the end are less than all others.
  logic [1:0] is_less, is_equal;

  always_comb begin
    is_equal = '1;
    is_less = '0;
    for (int unsigned at = 0; at < 2; at++) begin
      for (int unsigned byte_at = 0; byte_at < Head + Rest; byte_at++) begin
        automatic logic [1:0] left = '0, right = '0;
        if (length_t'(byte_at) < separator_length_q[at])
          left = byte_at < Head ? 2'd1 : 2'd1 + 2'(separator_q[at][byte_at%Rest]);
        if (length_t'(byte_at) < suffix_length_q[at])
          right = byte_at < Head ? 2'd1 : 2'd1 + 2'(suffix_q[at][byte_at%Rest]);
        if (is_equal[at]) {is_less[at], is_equal[at]} = {left < right, left == right};
      end
    end
  end

  // ---- the comparison in progress: from its first line on

  logic compares_q, owner_q, awaits_line_q;
  logic [1:0] lines_q;
  key_length_t offset_q;
  // Comparisons that were requested, and accepted; those of the other descent that have ended meanwhile.
  logic [1:0] accepted_q;
  logic [1:0][1:0] overtaken_q;
  // Cycles in which nothing happened although no neighbour is awaited.
  logic [2:0] delayed_q;
  logic [1:0] asks, ends;

  assign asks = rest_valid_i | accepted_q;
  assign ends = {done && place, done && !place};

  always_ff @(posedge clk_i) begin
    if (wants_line) {owner_q, lines_q} <= {place, compares_q ? lines_q + 1'b1 : 2'd0};
    if (key_valid) offset_q <= key.offset;
    if (rst) begin
      {compares_q, awaits_line_q, awaits_head_q, accepted_q, overtaken_q, delayed_q} <= '0;
    end else begin
      compares_q <= (compares_q || wants_line) && !done;
      awaits_line_q <= wants_line || (awaits_line_q && !line_valid_i);
      awaits_head_q <= key_valid && key_ready_i;
      for (int unsigned at = 0; at < 2; at++) begin
        if (rest_valid_i[at] && rest_ready[at]) accepted_q[at] <= 1'b1;
        else if (ends[at]) accepted_q[at] <= 1'b0;
        if (!asks[at] || ends[at]) overtaken_q[at] <= '0;
        else if (done) overtaken_q[at] <= overtaken_q[at] + 1'b1;
      end
      if (asks == '0 || wants_line || awaits_line_q || key_valid || awaits_head_q || done) delayed_q <= '0;
      else delayed_q <= delayed_q + 1'b1;
    end
  end

  // ---- memory, and the search keys: the result of a read follows in the next cycle

  length_t separator_length;
  key_length_t suffix_length, prefix_length;

  assign separator_length = separator_length_q[owner_q];
  assign suffix_length = rests[owner_q].suffix_length;
  assign prefix_length = rests[owner_q].prefix_length;

  always_comb begin
    for (int unsigned word = 0; word < LineWords; word++) begin
      automatic word_t at = word_t'(word) + {lines_q, 4'd0} - word_t'(rests[owner_q].place);
      line[32*word+:32] = {32{around_i}};
      if (at == '0) line[32*word+:LengthBits] = LengthBits'(separator_length);
      else if (at < word_t'(Words)) begin
        for (int unsigned byte_at = 0; byte_at < 4; byte_at++) begin
          if (length_t'({at[2:0] + 3'd1, 2'(byte_at)}) < separator_length)
            line[32*word+8*byte_at+:8] = 8'(separator_q[owner_q][{!at[0], 2'(byte_at)}]);
        end
      end
    end
    // The bytes of the key are numbers, the first one in front.
    for (int unsigned byte_at = 0; byte_at < Head; byte_at++) begin
      automatic key_length_t at = offset_q - prefix_length + key_length_t'(byte_at);
      head[8*(7-byte_at)+:8] = at < key_length_t'(Head) ? 8'(around_i) : 8'(suffix_q[owner_q][3'(at)]);
      if (at >= suffix_length) head[8*(7-byte_at)+:8] = '0;
    end
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      SeparatorsAreShort : assume (separator_length_q[0] <= length_t'(Head + Rest)
          && separator_length_q[1] <= length_t'(Head + Rest));
      KeysAreShort : assume (suffix_length_q[0] <= length_t'(Head + Rest)
          && suffix_length_q[1] <= length_t'(Head + Rest));
      PlaceExists : assume (place_q[0] != '1 && place_q[1] != '1);
      // As the descents and memory do.
      OneRest : assume ((rest_valid_i & accepted_q) == '0);
      LineWasWanted : assume (!line_valid_i || awaits_line_q);

      LineIsOfARest : assert (!wants_line || accepted_q[place]);
      LineExists : assert (!wants_line || !compares_q
          || (lines_q == '0 && separator_length_q[place] > limits[place]));
      PlaceStays : assert (!compares_q || place == owner_q);
      KeyIsOfARest : assert (!key_valid || (compares_q && place == owner_q));
      KeyExists : assert (!key_valid || (key.offset < key.length
          && key.length == prefix_length + suffix_length));
      EndIsOfARest : assert (!done || (compares_q && place == owner_q && accepted_q[place]));
      OrderIsThatOfTheStrings : assert (!done || {less, equal} == {is_less[place], is_equal[place]});
      InTurn : assert (overtaken_q[0] < 2'd2 && overtaken_q[1] < 2'd2);
      NothingIsDelayed : assert (delayed_q < 3'd6);
    end
  end

endmodule

`default_nettype wire
