// Emits the results of a request: the value of a get, the pairs of a scan, and finally the status. It
// divides them into answers: a pair that does not fit into the result buffer begins another answer, and a
// pair or a value of a get that is an overflow value gets a separate answer. That one begins before the value
// was read, so another one always follows and says whether the read has failed. The value is read later: see
// answer_queue.

`default_nettype none

`include "assertions.svh"

module pair_emitter
  import layout_pkg::*;
  import accelerator_pkg::*;
  import scan_pkg::*;
#(
  // capacity of the result buffer
  parameter int unsigned LinesMax = 32
) (
  input logic clk_i,
  input logic rst_i,

  // verilator lint_off UNUSEDSIGNAL
  input task_t request_i,
  // verilator lint_on UNUSEDSIGNAL

  // emits a pair, or the value of a get; accepted when that is done
  input logic emit_valid_i,
  output logic emit_ready_o,
  input item_result_t emit_i,
  // see pair_measurer
  input item_result_t measure_i,
  input logic measured_i,
  // valid then: bytes of the value, and of key and value
  output logic [31:0] value_bytes_o,
  output logic [31:0] bytes_o,

  // the prefix of the leaf: its first bytes, its length, and its offset
  input prefix_t prefix_i,
  input key_length_t prefix_length_i,
  input offset_t prefix_offset_i,

  // Sends the last answer; accepted when it was sent. finish_continues_i: sends the pairs that were emitted,
  // if there are any, and another answer follows.
  input logic finish_valid_i,
  output logic finish_ready_o,
  input logic finish_continues_i,
  input logic [7:0] finish_status_i,
  input logic finish_more_i,

  // a read of the leaf has failed, so windows are undefined
  input logic failed_i,

  output logic part_valid_o,
  input logic part_ready_i,
  output part_read_t part_read_o,
  input part_t part_i,

  output logic move_valid_o,
  input logic move_ready_i,
  output move_t move_o,
  input logic move_chunk_valid_i,
  output logic move_chunk_ready_o,
  input byte_chunk_t move_chunk_i,

  output logic chunk_valid_o,
  input logic chunk_ready_i,
  output byte_chunk_t chunk_o,
  output logic value_valid_o,
  input logic value_ready_i,
  output value_t value_o,
  output logic outcome_valid_o,
  input logic outcome_ready_i,
  output outcome_t outcome_o,
  output logic outcome_first_o
);

  localparam int unsigned BytesMax = LinesMax * LineBytes;
  localparam int unsigned BytesBits = $clog2(BytesMax + 1);
  // The longest pair whose value is in its item.
  localparam int unsigned PairBytesMax = CompletionPairSize + KeyBytesMax + InlineValueBytesMax;

  if (BytesMax < PairBytesMax) $fatal(1, "LinesMax must be enough for the longest pair: at least 15");
  typedef enum logic [2:0] {
    Choose,
    // chunks: the header of the pair with the first bytes of the prefix; the remaining prefix; the head,
    // with the bytes after it if they were read; these alone after a short head; the bytes after the head, to
    // move; the overflow value
    Head,
    Prefix,
    First,
    Second,
    Rest,
    Value
  } state_e;

  typedef logic [$clog2(BytesMax/CompletionPairSize+1)-1:0] pair_count_t;
  typedef logic [BytesBits-1:0] byte_count_t;

  state_e state_q, state_d;
  pair_count_t pairs_q, pairs_d;
  byte_count_t bytes_q, bytes_d;
  // is_sized: the sizes are those of the pair.
  pair_sizes_t sizes;
  logic is_sized;

  // ---- parts of the pair

  logic is_overflow, is_get, moves_get, has_prefix_rest_q, is_full, begins_pair, is_done, finishes_none;
  bus_address_t value_address;
  offset_t value_offset;
  logic [31:0] pair_bytes;
  logic exceeds;

  assign is_get = !request_i.is_scan;
  // The leaf was opened long before a pair is emitted.
  always_ff @(posedge clk_i) has_prefix_rest_q <= 32'(prefix_length_i) > PrefixBytes;

  pair_measurer #(
    .BytesMax(BytesMax)
  ) u_measurer (
    .clk_i, .rst_i, .is_get_i(is_get), .keys_only_i(request_i.keys_only), .prefix_length_i,
    .answer_bytes_i(bytes_q), .emit_valid_i, .emit_i(measure_i), .measured_i,
    .consume_i(emit_ready_o),
    .valid_o(is_sized),
    .sizes_o(sizes),
    .pair_bytes_o(pair_bytes),
    .exceeds_o(exceeds),
    .is_overflow_o(is_overflow),
    .address_o(value_address),
    .value_offset_o(value_offset),
    .part_valid_o, .part_ready_i,
    .part_read_o,
    .part_i
  );

  // ---- sequence

  // If a pair does not fit into the open answer, that answer is ended first.
  assign is_full = pairs_q != '0 && (is_overflow || exceeds);
  assign finishes_none = finish_continues_i && pairs_q == '0;
  assign begins_pair = state_q == Choose && is_sized && !is_get && !is_full && !is_overflow;

  state_e after_head, after_prefix, after_first, after_rest, after;
  assign after_rest = is_overflow ? Value : Choose;
  assign after_first = !sizes.has_more ? after_rest : sizes.is_whole ? Second : Rest;
  assign after_prefix = sizes.first != '0 ? First : after_first;
  assign after_head = has_prefix_rest_q ? Prefix : after_prefix;

  // The chunk, the move or the value of a state is done; the state that follows then.
  assign is_done = state_q == Value ? value_ready_i :
      state_q inside {Prefix, Rest} ? move_ready_i : chunk_ready_i;

  always_comb begin
    unique case (state_q)
      Choose, Head: after = after_head;
      Prefix: after = after_prefix;
      First: after = after_first;
      Second, Rest: after = after_rest;
      default: after = Choose;
    endcase
  end

  always_comb begin
    state_d = state_q;
    pairs_d = pairs_q;
    bytes_d = bytes_q;
    // After a failure the reference is undefined and is not followed.
    emit_ready_o = !is_sized && failed_i && part_valid_o && part_ready_i;

    if (state_q != Choose || begins_pair) begin
      if (is_done) state_d = after;
      emit_ready_o = is_done && after == Choose;
      if (begins_pair && is_done) begin
        pairs_d = pairs_q + 1'b1;
        bytes_d = bytes_q + byte_count_t'(pair_bytes);
      end
    end else if (is_sized && is_get && !is_overflow) begin
      bytes_d = byte_count_t'(sizes.value);
      if (sizes.has_more) state_d = Rest;
      emit_ready_o = !sizes.has_more;
    end else if (is_sized && !is_full) begin
      if (outcome_ready_i) state_d = is_get ? Value : Head;
    end else if (is_sized || finish_valid_i) begin
      if (outcome_ready_i) {pairs_d, bytes_d} = '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= Choose;
      pairs_q <= '0;
      bytes_q <= '0;
    end else begin
      state_q <= state_d;
      pairs_q <= pairs_d;
      bytes_q <= bytes_d;
    end
  end

  // ---- outcomes

  // No pair is offered then, so its sizes do not count.
  assign finish_ready_o = state_q == Choose && finish_valid_i && (outcome_ready_i || finishes_none);
  assign value_bytes_o = sizes.value;
  assign bytes_o = 32'(sizes.key) + sizes.value;

  always_comb begin
    outcome_first_o = is_sized && is_overflow && !is_full;
    outcome_valid_o = state_q == Choose &&
        ((finish_valid_i && !finishes_none) || (is_sized && (is_full || is_overflow)));
  end

  always_comb begin
    outcome_o = '0;
    outcome_o.slot = request_i.slot;
    outcome_o.status = 8'(StatusFound);
    outcome_o.pairs = 22'(pairs_q);
    outcome_o.bytes = 32'(bytes_q);
    // Another answer follows.
    outcome_o.continued = finish_valid_i ? finish_continues_i : 1'b1;
    outcome_o.pair_version = is_get ? emit_i.version : '0;
    if (outcome_first_o) begin
      outcome_o.pairs = 22'(!is_get);
      outcome_o.bytes = is_get ? sizes.value : pair_bytes;
    end
    if (finish_valid_i && finish_status_i != 8'(StatusFound)) begin
      outcome_o.status = finish_status_i;
      outcome_o.pairs = '0;
      outcome_o.bytes = '0;
      outcome_o.pair_version = '0;
    end
    outcome_o.more = finish_valid_i && finish_more_i;
  end

  // ---- chunks

  key_length_t prefix_count;

  assign prefix_count = has_prefix_rest_q ? key_length_t'(PrefixBytes) : prefix_length_i;

  // Only one of the two has a chunk.
  assign move_chunk_ready_o = chunk_ready_i;

  assign moves_get = is_sized && is_get && !is_overflow && sizes.has_more;
  assign move_valid_o = state_q inside {Prefix, Rest} || (state_q == Choose && moves_get);

  always_comb begin
    move_o.offset = is_get ? value_offset : emit_i.rest;
    move_o.bytes = sizes.moved;
    if (state_q == Prefix) begin
      move_o.offset = prefix_offset_i + offset_t'(PrefixBytes);
      move_o.bytes = 32'(prefix_length_i) - PrefixBytes;
    end
  end

  assign value_valid_o = state_q == Value;
  assign value_o = '{slot: request_i.slot, address: value_address, bytes: sizes.value};

  completion_pair_t pair_header;
  logic has_header;

  // While nothing else has a chunk the header of a pair is selected, whether the pair begins or not:
  // otherwise the result buffer would load its chunk after the sizes of the pair are compared.
  assign has_header = state_q == Head || (state_q == Choose && !is_get);

  always_comb begin
    pair_header = '0;
    pair_header.value_length = sizes.value;
    pair_header.key_length = 16'(sizes.key);
    chunk_o = move_chunk_i;
    chunk_valid_o = move_chunk_valid_i;
    if (state_q inside {First, Second}) begin
      chunk_o.first = state_q == Second ? LineIndexBits'(HeadBytes) : '0;
      chunk_o.count = state_q == Second ? (LineIndexBits + 1)'(sizes.moved) : sizes.first;
      chunk_o.bytes = part_i.bytes;
      // The part may be that of another read, unless its other bytes are emitted too.
      chunk_o.bytes[8*HeadBytes-1:0] = head_bytes(emit_i.head);
      chunk_valid_o = 1'b1;
    end
    if (has_header) begin
      chunk_o.first = '0;
      chunk_o.count = (LineIndexBits + 1)'(key_length_t'(CompletionPairSize) + prefix_count);
      chunk_o.bytes = {prefix_i, pair_header};
      chunk_valid_o = state_q == Head || begins_pair;
    end
  end

  `ASSERT_OFFER_STAYS(EmitStays, emit_valid_i, emit_ready_o, emit_i)
  `ASSERT(SizesAreThoseOfAPair, !is_sized || emit_valid_i)
  `ASSERT(EmitExcludesFinish, !emit_valid_i || !finish_valid_i)
  `ASSERT(PrefixIsKnown, !(state_q == Head || begins_pair) ||
      has_prefix_rest_q == (PrefixBytes < 32'(prefix_length_i)))
  `ASSERT(OneChunk, !move_chunk_valid_i || !(state_q inside {First, Second} || has_header))
  `ASSERT(OpenAnswerFits, 32'(bytes_q) <= BytesMax)
  `COVER(PrefixLacksAByte, begins_pair && 32'(prefix_length_i) + 1 == PrefixBytes)
  `COVER(PrefixFillsItsRegister, begins_pair && 32'(prefix_length_i) == PrefixBytes)
  `COVER(PrefixHasOneMore, state_q == Prefix && 32'(prefix_length_i) == PrefixBytes + 1)
  `COVER(PairLeavesAByte, begins_pair && is_done && 32'(bytes_q) + pair_bytes + 1 == BytesMax)
  `COVER(PairFillsTheAnswer, begins_pair && is_done && 32'(bytes_q) + pair_bytes == BytesMax)

endmodule

`default_nettype wire
