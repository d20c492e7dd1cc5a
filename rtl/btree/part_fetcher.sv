// Reads the windows of parts of a leaf. It finds the place of an item by the column of offsets, or by the
// stride. The heads of eight adjacent items and the offsets of 16 stay in registers. While a part is compared
// or emitted, the fetcher prepares the item that a scan reads next, but fetches no line for it. At the
// beginning of a leaf it prepares the first item with the head of the search key.
//
//   heads | offsets | place | window | | there         with offsets
//   heads | window | | there                           with a stride
//
// An item that follows one with the same line of heads begins with its offsets, or with its window.

`default_nettype none

`include "assertions.svh"

module part_fetcher
  import layout_pkg::*;
  import accelerator_pkg::*;
  import search_pkg::*;
  import scan_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  // another leaf follows; prepare_i, in the last of these cycles: its first item is prepared
  input logic forget_i,
  input logic prepare_i,
  input number_t first_i,
  input offset_t first_offset_i,
  // verilator lint_off UNUSEDSIGNAL
  input leaf_columns_t columns_i,
  input node_header_t header_i,
  // verilator lint_on UNUSEDSIGNAL
  // a scan steps from item to item
  input logic steps_i,
  input logic backward_i,

  // begins a part; is_index_i: it is the item with the index index_o, which may be prepared
  input logic start_i,
  input logic is_index_i,
  // verilator lint_off UNUSEDSIGNAL
  input part_read_t part_i,
  // verilator lint_on UNUSEDSIGNAL
  // continues the part with the window at an offset
  input logic continue_i,
  input offset_t offset_i,
  input offset_t limit_i,

  // The window is that of the part, and the place and the limit of the part, and the head of the item; until
  // take_i. Then the fetcher may prepare an item.
  output logic there_o,
  output offset_t place_o,
  output offset_t limit_o,
  output head_t head_o,
  // constant except after prepare_i, start_i and take_i
  output number_t index_o,
  input logic take_i,

  // A window follows two cycles after its request was accepted, and is stable until that of another request,
  // which may be of another unit (other_window_i). The request that is accepted is that of the cycle before,
  // so there is none in a cycle before another part. ahead_o: the window is not needed yet.
  output logic window_valid_o,
  input logic window_ready_i,
  output logic window_ahead_o,
  output offset_t window_offset_o,
  output offset_t window_limit_o,
  input logic other_window_i,
  input line_t window_i
);

  localparam int unsigned Offsets = 16;
  localparam int unsigned OffsetIndexBits = $clog2(Offsets);

  typedef enum logic [2:0] {
    StateIdle,
    StateHeads,
    StateOffsets,
    StatePlace,
    StateWindow,
    StateThere
  } state_e;

  typedef enum logic [1:0] {
    None,
    Heads,
    ItemOffsets,
    Bytes
  } window_e;

  state_e state_q, state_d;
  // The use of the windows that follow in the next cycle and in this one.
  window_e asks, coming_q, came_q;
  // the part, or bytes after its first window
  part_e part_q;
  logic ahead_q, there, arrived_q, claims, restarts, prepares, is_beyond, knows_head;
  number_t index_q, next_index, count;
  offset_t place_q, limit_q;

  line_t heads_q;
  logic [8*OffsetBytes*Offsets-1:0] offsets_q;
  number_t heads_first_q, offsets_first_q, heads_first, offsets_first;
  // The offset of the offsets; the fence keys follow them at once. Registers, because the heads come first.
  offset_t offsets_place, offsets_place_q;
  logic reaches_fences_q;
  logic has_heads_q, has_offsets_q, has_stride, needs_heads, needs_offsets;

  assign has_stride = columns_i.stride != '0;
  assign heads_first = {index_q[NumberBits-1:ElementBits], ElementBits'(0)};
  assign offsets_first = {index_q[NumberBits-1:OffsetIndexBits], OffsetIndexBits'(0)};
  assign offsets_place = columns_i.offsets_start + (offset_t'(offsets_first) << 1);
  assign needs_heads = !has_heads_q || heads_first_q != heads_first;
  assign needs_offsets = !has_offsets_q || offsets_first_q != offsets_first;

  // The part that begins is the prepared item.
  assign claims = start_i && ahead_q && is_index_i;
  assign restarts = (start_i && !claims) || continue_i;

  // A log entry is read with the index of the item behind it.
  assign count = number_t'(header_i.sorted_count);
  always_comb begin
    next_index = index_q;
    if (part_q == PartItem) next_index = backward_i ? index_q - 1'b1 : index_q + 1'b1;
  end
  // There is no first item, so the fetcher waits for another part.
  assign is_beyond = index_q == count;
  assign prepares = take_i && steps_i && part_q != PartBytes && next_index < count;
  // The next item has its head in the same line as the item that is taken.
  assign knows_head = part_q == PartItem && index_q[ElementBits-1:0] != (backward_i ? '0 : '1);

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StateHeads: if ((!needs_heads || window_ready_i) && !is_beyond)
        state_d = has_stride ? StateWindow : StateOffsets;
      StateOffsets: if (!needs_offsets) state_d = StatePlace;
      StatePlace: state_d = StateWindow;
      StateWindow: if (window_ready_i) state_d = StateThere;
      // The window of another unit takes the place of this one.
      StateThere: if (other_window_i) state_d = StateWindow;
      default: ;
    endcase
    if (take_i) state_d = StateIdle;
    if (prepares) state_d = !knows_head ? StateHeads : has_stride ? StateWindow : StateOffsets;
    if (restarts) state_d = start_i && part_i.part == PartItem ? StateHeads : StateWindow;
    if (forget_i) state_d = prepare_i ? StateHeads : StateIdle;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= StateIdle;
    else state_q <= state_d;
    if (rst_i || start_i || continue_i) ahead_q <= 1'b0;
    else if (forget_i) ahead_q <= prepare_i;
    else if (take_i) ahead_q <= prepares;
  end

  // ---- windows

  always_comb begin
    asks = None;
    window_offset_o = place_q;
    window_limit_o = limit_q;
    unique case (state_q)
      StateHeads: begin
        if (needs_heads) asks = Heads;
        window_offset_o = head_offset(heads_first);
        // A line of heads.
        window_limit_o = window_offset_o + offset_t'(LineBytes);
      end
      StateOffsets: begin
        if (needs_offsets && coming_q != ItemOffsets && came_q != ItemOffsets) asks = ItemOffsets;
        window_offset_o = offsets_place_q;
        window_limit_o = columns_i.fences_start;
        if (!reaches_fences_q) window_limit_o = offsets_place_q + offset_t'(OffsetBytes * Offsets);
      end
      StateWindow: asks = Bytes;
      default: ;
    endcase
  end

  assign window_valid_o = asks != None && !restarts && !forget_i;
  assign window_ahead_o = ahead_q;

  always_ff @(posedge clk_i) begin
    if (rst_i || forget_i || restarts) {coming_q, came_q, arrived_q} <= {None, None, 1'b0};
    else begin
      coming_q <= window_ready_i ? asks : None;
      came_q <= coming_q;
      arrived_q <= state_q == StateThere && there && !take_i && !other_window_i;
    end
  end

  assign there = state_q == StateThere && (came_q == Bytes || arrived_q);
  assign there_o = there && !ahead_q;
  assign place_o = place_q;
  assign limit_o = limit_q;
  assign index_o = index_q;
  assign head_o = heads_q[64*index_q[ElementBits-1:0]+:64];

  always_ff @(posedge clk_i) begin
    if (state_q == StateHeads && needs_heads) heads_first_q <= heads_first;
    if (came_q == Heads) heads_q <= window_i;
    offsets_place_q <= offsets_place;
    reaches_fences_q <= offsets_place + offset_t'(OffsetBytes * Offsets) >= columns_i.fences_start;
    if (state_q == StateOffsets && needs_offsets) offsets_first_q <= offsets_first;
    if (came_q == ItemOffsets) offsets_q <= window_i[8*OffsetBytes*Offsets-1:0];
    if (rst_i || forget_i) {has_heads_q, has_offsets_q} <= '0;
    else begin
      if (asks == Heads) has_heads_q <= 1'b0;
      else if (came_q == Heads) has_heads_q <= 1'b1;
      if (asks == ItemOffsets) has_offsets_q <= 1'b0;
      else if (came_q == ItemOffsets) has_offsets_q <= 1'b1;
    end
  end

  // ---- places

  offset_t product_q, stride;
  // the last item; known before a place is, since a leaf is opened long before
  number_t last_q;
  logic [8*OffsetBytes*Offsets-1:0] offsets_after;
  logic [OffsetBits-1-2:0] stored, stored_after;

  assign stride = offset_t'(columns_i.stride);
  assign offsets_after = offsets_q >> 8 * OffsetBytes;
  assign stored = offsets_q[16*index_q[OffsetIndexBits-1:0]+:OffsetBits-2];
  assign stored_after = offsets_after[16*index_q[OffsetIndexBits-1:0]+:OffsetBits-2];

  always_ff @(posedge clk_i) begin
    last_q <= count - 1'b1;
    if (prepare_i) begin
      {part_q, index_q} <= {PartItem, first_i};
      product_q <= first_offset_i - columns_i.items_start;
    end else if (start_i && !claims) begin
      {part_q, index_q} <= {part_i.part, part_i.index};
      product_q <= offset_t'(part_i.index) * stride;
    end else if (continue_i) begin
      part_q <= PartBytes;
    end else if (take_i) begin
      {part_q, index_q} <= {PartItem, next_index};
      if (part_q == PartItem) product_q <= backward_i ? product_q - stride : product_q + stride;
    end
  end

  // The item ends where the next one begins, or, if that is not known, at the end of the sorted block.
  always_ff @(posedge clk_i) begin
    if (start_i && !claims) begin
      {place_q, limit_q} <= {part_i.offset, part_i.limit};
    end else if (continue_i) begin
      {place_q, limit_q} <= {offset_i, limit_i};
    end else if (state_q == StateHeads) begin
      place_q <= columns_i.items_start + product_q;
      limit_q <= columns_i.items_start + product_q + stride;
    end else if (take_i && has_stride) begin
      {place_q, limit_q} <= backward_i ? {place_q - stride, place_q} : {limit_q, limit_q + stride};
    end else if (state_q == StatePlace) begin
      place_q <= {stored, 2'b0};
      limit_q <= index_q == last_q || index_q[OffsetIndexBits-1:0] == '1 ? offset_t'(header_i.sorted_end)
          : {stored_after, 2'b0};
    end
  end

  `ASSERT(TakesWhatIsThere, !take_i || there_o)
  `ASSERT(IndexIsThatOfThePart,
      !start_i || is_index_i == (part_i.part == PartItem && part_i.index == index_q))
  `ASSERT(PreparesInTheEnd, !prepare_i || (forget_i && !start_i && !take_i && !continue_i))
  `ASSERT(LastIsKnown, state_q != StatePlace || last_q == number_t'(count - 1'b1))
  `ASSERT(ItemsExist, state_q != StateHeads || !is_beyond || ahead_q)
  `COVER(NoFirstItem, state_q == StateHeads && is_beyond)
  `COVER(FirstIsPrepared, claims && part_q == PartItem && !has_offsets_q && there)
  `ASSERT(StartsAfterATake, !start_i || state_q == StateIdle || ahead_q)
  `ASSERT(OthersDoNotDisturb, !other_window_i || state_q == StateIdle || ahead_q)
  `COVER(IsPrepared, claims && there)
  `ASSERT(HeadIsKnown, !(prepares && knows_head) || !needs_heads)
  `ASSERT(PlaceIsThatOfTheItem, !(state_q == StateWindow && ahead_q && has_stride) ||
      place_q == columns_i.items_start + product_q)
  `COVER(HeadsAreKnown, state_q == StateHeads && !needs_heads)
  `COVER(NextHasAStride, prepares && knows_head && has_stride)
  `COVER(NextHasAnOffset, prepares && knows_head && !has_stride)
  `COVER(OffsetsAreKnown, state_q == StateOffsets && !needs_offsets && !has_stride)
  `COVER(LosesItsWindow, state_q == StateThere && other_window_i)

endmodule

`default_nettype wire
