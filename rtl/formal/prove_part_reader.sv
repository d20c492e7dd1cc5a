// Proves for a reader with two items, a log entry and other bytes, in leaves with a stride and with offsets,
// and two keys: the part has the lengths, the flags, the head, the place of the rest and the bytes of what
// was read, whether it was read now or is the item that was read before; has_all tells whether these are all
// its bytes. If a part is compared, bytes of its windows and of those of the key are compared that have the
// same place, as many as there are, in one window or two; the first window that decides gives the order. A
// window of a part begins once, and only the next one follows it. Each read is answered once. A read that is
// held does not end, and the part before stays; other reads wait only for their windows.
//
// Parts and keys are up to 120 bytes long. In place of part_fetcher and key_compare, which have proofs, there
// are a fetcher that has the part after any time, and an arbitrary order of a window. An item that is read
// again after two windows needs longer runs.

`default_nettype none

module prove_part_reader
  import layout_pkg::*;
  import accelerator_pkg::*;
  import search_pkg::*;
  import scan_pkg::*;
(
  input logic clk_i,
  input logic forget_i,
  input logic read_valid_i,
  input logic [1:0] object_i,
  input logic compares_i,
  input logic by_upper_i,
  input logic hold_i,
  input logic there_i,
  input logic is_prepared_i,
  // less, equal
  input logic [1:0] order_i
);

  localparam int unsigned Delay = 9;
  localparam int unsigned LengthMax = 120;
  localparam logic [127:0] Pattern = 128'hd3a7_1c95_0b6e_f824_59e2_4d37_a1cc_860f;
  localparam int unsigned WordBytes = ItemWordBits / 8;

  typedef logic [6:0] length_t;
  typedef logic [1:0] object_t;
  localparam object_t Entry = 2'd2;
  localparam object_t Bytes = 2'd3;

  logic rst, ready, starts, continues, key_read, key_upper;
  offset_t next_offset, next_limit;
  key_length_t key_byte;
  part_read_t read;
  part_t part;
  line_t window, key_window;
  leaf_columns_t columns;
  node_header_t header;

  neighbours #(.Count(1)) u_neighbours (
    .clk_i, .rst_o(rst), .in_valid_i(read_valid_i), .in_ready_i(ready)
  );

  // ---- Two leaves: one with a stride, and one with offsets. In each there are two items, an entry, and
  // other bytes; each has its place, its lengths and flags, and its bytes.

  logic leaf_q;
  length_t [3:0] length_q;
  logic [3:0][5:0] value_length_q;
  logic [3:0][3:0] flags_q;
  // the keys, and the byte of each with which it begins
  length_t [1:0] key_length_q;
  logic [1:0] key_first_q;

  always_ff @(posedge clk_i) begin
    leaf_q <= leaf_q ^ (!rst && forget_i);
    {length_q, value_length_q, flags_q} <= {length_q, value_length_q, flags_q};
    {key_length_q, key_first_q} <= {key_length_q, key_first_q};
  end

  // Returns bytes of a part from a place on. Together they tell the place, by the lowest bit of each; the
  // last one of the head tells the part.
  function automatic line_t bytes_of(object_t object, length_t from);
    for (int unsigned at = 0; at < LineBytes; at++) bytes_of[8*at+:8] = 8'(Pattern[from+length_t'(at)]);
    if (from == '0) bytes_of[8*HeadBytes-1-:8] = {1'b1, object, 5'd0};
  endfunction

  // Returns the head of a part: its first bytes as a number.
  function automatic head_t head_of(object_t object);
    return head_bytes(head_t'(bytes_of(object, '0)));
  endfunction

  // Return the place of a part, which is that of its leaf, and the limit of its bytes.
  function automatic offset_t place_of(object_t object);
    return offset_t'({1'b1, leaf_q, object, 9'd0});
  endfunction

  function automatic offset_t limit_of(object_t object);
    return place_of(object) + offset_t'(8'd200);
  endfunction

  // ---- the read, its windows, and the part before

  object_t object_q, object, last_q;
  // A read was offered. A window of it has begun, or one was taken; it is the second one. The part that was
  // read last is an item that can be read again.
  logic offered_q, awaits_q, taken_q, is_second_q, has_last_q, reads_again_q, held_q, stays_q, continued_q;
  logic compares_q, upper_q, key_comes_q;
  logic [1:0] key_window_of_q, key_coming_q;
  part_read_t read_q;
  logic [1:0] order_q;
  logic decided_q;
  logic [3:0] delayed_q;
  logic takes, is_item, ends;
  offset_t place, rest, limit;

  // The items of a leaf with a stride have the same lengths, and no flags.
  object_t sized;
  item_word_t word;

  assign sized = leaf_q && !object_q[1] ? object_t'(0) : object_q;

  always_comb begin
    word = '0;
    {word.suffix_length, word.value_length} = {9'(length_q[object_q]), 9'(value_length_q[sized])};
    if (!leaf_q || object_q == Entry)
      {word.overflow, word.tombstone, word.replaces, word.repeats} = flags_q[object_q];
  end

  assign object = object_i;
  assign is_item = !object_q[1];
  assign ends = read_valid_i && ready;
  assign rest = place_of(object_q) + (leaf_q && is_item ? '0 : is_item ? offset_t'(WordBytes)
      : offset_t'(HeadBytes + WordBytes));
  assign place = is_second_q ? (object_q == Bytes ? place_of(object_q) + offset_t'(LineBytes)
      : rest + offset_t'(RestBytes)) : place_of(object_q);
  assign limit = limit_of(object_q);
  assign takes = u_reader.take;

  always_comb begin
    read = '0;
    read.part = object == Entry ? PartEntry : object == Bytes ? PartBytes : PartItem;
    {read.index, read.offset, read.limit} = {number_t'(object), place_of(object), limit_of(object)};
    {read.compares, read.by_upper} = {compares_i, by_upper_i};
    read.length = offset_t'(length_q[object]);
    read.key_first = key_length_t'(key_first_q[by_upper_i]);
    read.key_last = read.key_first + key_length_t'(key_length_q[by_upper_i]);
    columns = '0;
    columns.stride = leaf_q ? stride_t'(12) : '0;
    {columns.suffix_length, columns.value_length} = {9'(length_q[0]), 9'(value_length_q[0])};
    header = '0;
    {header.sorted_end, header.right} = {16'(limit), head_of(object_q)};
  end

  // The window begins at the place of the part, when it is there.
  always_comb begin
    if (is_second_q) window = bytes_of(object_q, object_q == Bytes ? 7'd64 : 7'd60);
    else if (object_q == Bytes) window = bytes_of(object_q, '0);
    else if (object_q == Entry)
      window = bytes_of(object_q, 7'd8) << 96 | LineBits'({word, head_of(object_q)});
    else if (leaf_q) window = bytes_of(object_q, 7'd8);
    else window = bytes_of(object_q, 7'd8) << 32 | LineBits'(word);
    if (!there_i) window = '1;
    // The window of a key tells itself, and the order of the comparison.
    key_window = LineBits'({key_window_of_q, order_i});
  end

  part_reader u_reader (
    .clk_i, .rst_i(rst),
    .forget_i, .prepare_i(there_i), .first_i(is_prepared_i ? number_t'(object) : '1),
    .first_offset_i(place), .columns_i(columns), .header_i(header), .steps_i(1'b0), .backward_i(1'b0),
    .read_valid_i, .read_ready_o(ready), .read_i(read), .part_o(part), .hold_i,
    .window_valid_o(starts), .window_ready_i(1'b0), .window_ahead_o(continues),
    .window_offset_o(next_offset), .window_limit_o(next_limit), .other_window_i(1'b0), .window_i(window),
    .key_read_o(key_read), .key_upper_o(key_upper), .key_byte_o(key_byte), .key_window_i(key_window)
  );

  always_ff @(posedge clk_i) begin
    offered_q <= read_valid_i && !ready;
    read_q <= read;
    if (read_valid_i && !offered_q) begin
      {object_q, compares_q, upper_q, taken_q, is_second_q} <= {object, compares_i, by_upper_i, 2'b00};
      reads_again_q <= has_last_q && object == last_q;
    end
    if (starts || continues) awaits_q <= 1'b1;
    if (continues) is_second_q <= 1'b1;
    if (takes) {awaits_q, taken_q, last_q, has_last_q} <= {2'b01, object_q, is_item && !is_second_q};
    if (forget_i) has_last_q <= 1'b0;
    // The window of the key follows after two cycles.
    if (key_read) key_coming_q <= {key_upper, is_second_q};
    key_comes_q <= key_read;
    if (key_comes_q) key_window_of_q <= key_coming_q;
    {held_q, stays_q, continued_q} <= {hold_i, !takes, continues};
    if (!read_valid_i || ready || starts || continues || takes || hold_i || awaits_q) delayed_q <= '0;
    else delayed_q <= delayed_q + 1'b1;
    if (rst) {offered_q, awaits_q, has_last_q, held_q, stays_q, continued_q, delayed_q} <= '0;
  end

  // ---- the comparison of a window: as many bytes of both as it has

  logic compares;
  length_t room, part_left, key_left, part_count, key_count;
  line_t compared;
  logic [ItemWordBits+8:0] stays, stays_before_q;

  assign compares = u_reader.state_q == 3'd4;

  always_comb begin
    room = object_q == Bytes || is_second_q ? 7'(LineBytes) : 7'(HeadBytes + RestBytes);
    {part_left, key_left} = {length_q[object_q], key_length_q[upper_q]};
    if (is_second_q) begin
      part_left = part_left - (object_q == Bytes ? 7'(LineBytes) : 7'(HeadBytes + RestBytes));
      key_left = key_left - (object_q == Bytes ? 7'(LineBytes) : 7'(HeadBytes + RestBytes));
    end
    part_count = part_left < room ? part_left : room;
    key_count = key_left < room ? key_left : room;
    compared = bytes_of(object_q, object_q == Bytes ? 7'd64 : 7'd60);
    // The byte tells the part. The order changes while the part stays.
    stays = {part.word, part.has_all, part.bytes[8*HeadBytes-1-:8]};
  end

  always_ff @(posedge clk_i) begin
    stays_before_q <= stays;
    if (read_valid_i && !offered_q) decided_q <= 1'b0;
    else if (compares) begin
      order_q <= order_i;
      // Equal windows decide if they have the last bytes.
      decided_q <= !order_i[0] || (part_left <= room && key_left <= room);
    end
  end

  // Returns whether the first bytes are those of the part.
  function automatic logic are_first(line_t bytes, logic is_window);
    line_t expected;
    expected = bytes_of(object_q, '0);
    return is_window ? bytes == expected
        : bytes[8*(HeadBytes+RestBytes)-1:0] == expected[8*(HeadBytes+RestBytes)-1:0];
  endfunction

  always @(posedge clk_i) begin
    if (!rst) begin
      PartsAreShort : assume (length_q[0] <= 7'(LengthMax) && length_q[1] <= 7'(LengthMax)
          && length_q[2] <= 7'(LengthMax) && length_q[3] <= 7'(LengthMax));
      KeysAreShort : assume (key_length_q[0] <= 7'(LengthMax) && key_length_q[1] <= 7'(LengthMax));
      // The items of a leaf with a stride are alike.
      StrideHasOneLength : assume (!leaf_q || length_q[0] == length_q[1]);
      ReadStays : assume (!offered_q || read == read_q);
      // As the users of the reader do.
      ForgetsBetweenReads : assume (!forget_i || !read_valid_i);
      // As scan_control does: it emits the part before, while the next one is read.
      HoldsThePartBefore : assume (!hold_i || held_q || !offered_q);
      ReadsAnotherPart : assume (!hold_i || !read_valid_i || !has_last_q || object != last_q);
      // As key_compare does.
      EqualsHaveOneLength : assume (!compares || !order_i[0] || (part_count == key_count && !order_i[1]));
      // As part_fetcher does; the next window takes some cycles.
      ThereLater : assume (!there_i || !continued_q);
      ThereIfAwaited : assume (!there_i || awaits_q);

      BeginsOnce : assert (!starts || (offered_q && !awaits_q && !taken_q && !reads_again_q));
      ContinuesAfterTheFirst : assert (!continues || (offered_q && !awaits_q && !is_second_q && compares_q));
      NextWindowFollows : assert (!continues || (next_limit == limit && next_offset == (object_q == Bytes
          ? place_of(object_q) + offset_t'(LineBytes) : rest + offset_t'(RestBytes))));
      KeyIsThatOfTheRead : assert (!key_read || (compares_q && key_upper == upper_q && key_byte
          == key_length_t'(key_first_q[upper_q]) + (!is_second_q ? '0 : object_q == Bytes ? 9'd64 : 9'd60)));
      EndsARead : assert (!ready || (offered_q && !awaits_q && (taken_q || reads_again_q)));
      WordIsThatOfThePart : assert (!ends || object_q == Bytes || part.word == word);
      HeadIsThatOfThePart : assert (!ends || object_q == Bytes || part.head == head_of(object_q));
      RestIsThatOfThePart : assert (!ends || object_q == Bytes || part.rest == rest);
      BytesAreThatOfTheWindow : assert (!(ends || compares)
          || (is_second_q ? part.bytes == compared : are_first(part.bytes, object_q == Bytes)));
      KnowsIfAllAreThere : assert (!ends || part.has_all == (!is_second_q && object_q != Bytes
          && 32'(word.value_length) <= RestBytes
          && 32'(word.suffix_length) + 32'(word.value_length) <= HeadBytes + RestBytes));
      ComparesTheWindow : assert (u_reader.u_compare.a_i == part.bytes);
      ComparesWhatIsThere : assert (!compares || (compares_q && !awaits_q));
      ComparesTheKey : assert (!compares || key_window_of_q == {upper_q, is_second_q});
      ComparesAllBytes : assert (!compares
          || {u_reader.u_compare.a_count_i, u_reader.u_compare.b_count_i} == {part_count, key_count});
      OrderIsThatOfAWindow : assert (!ends || !compares_q
          || (decided_q && {part.less, part.equal} == order_q));
      HeldReadsWait : assert (!hold_i || !ready);
      PartStays : assert (!stays_q || stays == stays_before_q);
      HeldPartStays : assert (!held_q || stays_q);
      IsNotDelayed : assert (delayed_q < 4'(Delay));
    end
  end

endmodule

`default_nettype wire
