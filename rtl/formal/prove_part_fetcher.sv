// Proves for a fetcher with arbitrary parts of two leaves, one with a stride and one with offsets, and
// arbitrary windows of the answers in between: the window that it returns is that of the part, from its place
// up to its end or beyond, and the head is that of the item, whether the item was prepared or not. It returns
// a window only while a part awaits one, and keeps it until it is taken. No window that a part needs is
// requested ahead, and a part waits for windows only. Windows with missing lines, whose requests are accepted
// later, are left out.

`default_nettype none

module prove_part_fetcher
  import layout_pkg::*;
  import accelerator_pkg::*;
  import search_pkg::*;
  import scan_pkg::*;
(
  input logic clk_i,
  input logic forget_i,
  input logic prepare_i,
  input logic [2:0] first_i,
  input logic start_i,
  input logic [1:0] part_i,
  input logic [2:0] index_i,
  input logic take_i,
  input logic continue_i,
  input logic window_ready_i,
  input logic other_window_i
);

  localparam int unsigned Items = 18;
  localparam int unsigned FirstItem = 1024;
  localparam int unsigned Stride = 12;
  // The place of log entries and of other bytes, and that of bytes that continue a part.
  localparam int unsigned Bytes = 4096;
  localparam int unsigned More = 5120;
  localparam int unsigned Length = 48;
  localparam int unsigned Delay = 9;

  typedef logic [4:0] item_t;

  // A window that was requested, of a leaf; or that of the answers.
  typedef struct packed {
    logic is_other;
    logic leaf;
    offset_t offset;
    offset_t limit;
  } window_t;

  // Returns one of the items 7 to 10 and 15 to 18, since a line of heads ends with item 7, and one of offsets
  // with item 15. The last one does not exist.
  function automatic item_t item_of(logic [2:0] number);
    return item_t'(7) + {1'b0, number[2], 1'b0, number[1:0]};
  endfunction

  // Returns the head of an item, which tells it.
  function automatic head_t head_of(logic leaf, item_t item);
    return head_t'({leaf, item});
  endfunction

  logic rst, there, valid, ahead;
  offset_t place, limit, offset, window_limit;
  head_t head;
  number_t index;
  line_t window;

  neighbours u_neighbours (.clk_i, .rst_o(rst), .in_valid_i(1'b0), .in_ready_i(1'b0));

  // ---- two leaves: one with offsets, and items of 4 to 12 bytes; and one with a stride of 12 bytes

  logic leaf_q, steps_q, backward_q;
  logic [Items:0] is_late_q;
  leaf_columns_t columns;
  node_header_t header;

  // Returns the place of an item, or the end of the items.
  function automatic offset_t place_of(logic leaf, item_t item);
    if (leaf) return offset_t'(FirstItem) + offset_t'(item) * offset_t'(Stride);
    return offset_t'(FirstItem) + offset_t'({item, is_late_q[item], 2'd0});
  endfunction

  function automatic leaf_columns_t columns_of(logic leaf);
    columns_of = '0;
    columns_of.stride = leaf ? stride_t'(Stride) : '0;
    columns_of.offsets_start = head_offset(number_t'(Items));
    columns_of.fences_start = columns_of.offsets_start;
    if (!leaf) columns_of.fences_start += offset_t'(2 * Items);
    columns_of.items_start = offset_t'(FirstItem);
  endfunction

  always_comb begin
    columns = columns_of(leaf_q);
    header = '0;
    header.sorted_count = 16'(Items);
    header.sorted_end = 16'(place_of(leaf_q, item_t'(Items)));
  end

  // ---- the part that is read: awaited, or taken and not continued; and what is expected

  logic awaits_q, may_go_on_q, forgot_q, stays_q;
  part_e part_q;
  item_t item_q, item, first;
  logic is_more_q;
  offset_t expected_place, expected_end;
  part_read_t part;
  logic [3:0] delayed_q;

  always_comb begin
    {item, first} = {item_of(index_i), item_of(first_i)};
    part = '0;
    {part.part, part.index} = {part_e'(part_i), number_t'(item)};
    {part.offset, part.limit} = {offset_t'(Bytes), offset_t'(Bytes + Length)};
    expected_place = part_q == PartItem ? place_of(leaf_q, item_q) : offset_t'(Bytes);
    expected_end = part_q == PartItem ? place_of(leaf_q, item_q + 1'b1) : offset_t'(Bytes + Length);
    if (is_more_q) {expected_place, expected_end} = {offset_t'(More), offset_t'(More + Length)};
  end

  part_fetcher u_fetcher (
    .clk_i,
    .rst_i(rst),
    .forget_i, .prepare_i,
    .first_i(number_t'(first)), .first_offset_i(place_of(leaf_q, first)),
    .columns_i(columns), .header_i(header),
    .steps_i(steps_q), .backward_i(backward_q),
    .start_i, .is_index_i(part.part == PartItem && part.index == index), .part_i(part),
    .continue_i, .offset_i(offset_t'(More)), .limit_i(offset_t'(More + Length)),
    .there_o(there), .place_o(place), .limit_o(limit), .head_o(head), .index_o(index), .take_i,
    .window_valid_o(valid), .window_ready_i, .window_ahead_o(ahead),
    .window_offset_o(offset), .window_limit_o(window_limit),
    .other_window_i, .window_i(window)
  );

  always_ff @(posedge clk_i) begin
    {steps_q, backward_q, is_late_q} <= {steps_q, backward_q, is_late_q};
    // The leaf changes at first.
    leaf_q <= leaf_q ^ (!rst && forget_i && !forgot_q);
    if (start_i) {part_q, item_q, is_more_q} <= {part_e'(part_i), item, 1'b0};
    else if (continue_i) is_more_q <= 1'b1;
    if (rst) {awaits_q, may_go_on_q, forgot_q, stays_q, delayed_q} <= '0;
    else begin
      forgot_q <= forget_i;
      stays_q <= there && !take_i;
      awaits_q <= start_i || continue_i || (awaits_q && !take_i);
      may_go_on_q <= take_i || (may_go_on_q && !start_i && !continue_i && !forget_i);
      if (!awaits_q || there) delayed_q <= '0;
      else delayed_q <= delayed_q + 4'(!valid || window_ready_i);
    end
  end

  // ---- windows: the request of the cycle before is accepted, and its window follows after two cycles

  logic requested_q;
  window_t requested_window_q, coming_q, window_q;
  logic comes_q;

  always_ff @(posedge clk_i) begin
    requested_q <= !rst && valid && !window_ready_i;
    requested_window_q <= '{is_other: 1'b0, leaf: leaf_q, offset: offset, limit: window_limit};
    comes_q <= !rst && (window_ready_i || other_window_i);
    coming_q <= requested_window_q;
    if (other_window_i) coming_q.is_other <= 1'b1;
    if (comes_q) window_q <= coming_q;
  end

  // The first items of a line of heads, and of offsets.
  item_t first_head, first_offset;

  assign first_head = item_t'((window_q.offset - head_offset('0)) >> 3);
  assign first_offset = item_t'((window_q.offset - columns_of(window_q.leaf).offsets_start) >> 1);

  always_comb begin
    // Offsets are in units of four bytes.
    window = '1;
    if (!window_q.is_other && window_q.offset < columns_of(window_q.leaf).offsets_start) begin
      for (int unsigned at = 0; at < 8; at++)
        window[64*at+:64] = head_of(window_q.leaf, first_head + item_t'(at));
    end else if (!window_q.is_other && window_q.offset < offset_t'(FirstItem)) begin
      for (int unsigned at = 0; at < 16; at++) begin
        automatic item_t entry = first_offset + item_t'(at);
        if (entry < item_t'(Items)) window[16*at+:16] = 16'(place_of(window_q.leaf, entry) >> 2);
      end
    end
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      // As part_reader does: one part at a time.
      StartsWhenIdle : assume (!start_i || !(awaits_q || forget_i || continue_i));
      PartExists : assume (!start_i || part_i inside {PartBytes, PartEntry}
          || (part_i == PartItem && item != item_t'(Items)));
      TakesWhenThere : assume (!take_i || there);
      ContinuesAfterTheTake : assume (!continue_i || may_go_on_q);
      ForgetsWhenIdle : assume (!forget_i || !(awaits_q || continue_i));
      // As the grant does: the leaf is open long before its first item is prepared.
      PreparesInTheEnd : assume (!prepare_i || (forget_i && forgot_q));
      // As leaf_windows does if it has the lines; the answers read no window while a part is awaited.
      AcceptsARequest : assume (!window_ready_i || requested_q);
      LinesAreThere : assume (!requested_q || window_ready_i || other_window_i);
      OneIsAccepted : assume (!other_window_i || !(window_ready_i || awaits_q || start_i || continue_i));

      IsAwaited : assert (!there || awaits_q);
      StaysUntilTaken : assert (!stays_q || there);
      PlaceIsThatOfThePart : assert (!there || place == expected_place);
      LimitIsTheEnd : assert (!there || limit == expected_end
          || (!is_more_q && part_q == PartItem && item_q[3:0] == '1
          && limit == offset_t'(header.sorted_end)));
      HeadIsThatOfTheItem : assert (!there || is_more_q || part_q != PartItem
          || head == head_of(leaf_q, item_q));
      WindowIsThatOfThePart : assert (!there
          || window_q == window_t'{is_other: 1'b0, leaf: leaf_q, offset: place, limit: limit});
      AheadUnlessAwaited : assert (!valid || ahead == !awaits_q);
      NothingIsDelayed : assert (delayed_q < 4'(Delay));
    end
  end

endmodule

`default_nettype wire
