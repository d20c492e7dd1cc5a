// Queues the results of a range scan unit, so that the unit executes other requests while overflow values
// arrive. The queue has chunks, outcomes, and places of overflow values; at the place of a value it
// returns the lines of the value as chunks, when they arrive. All leave in the order in which they were
// accepted, and lines arrive in the order of the values.
//
//   pair_emitter ─┬─ chunk, outcome, place of a value ─> queue ─┬─> result_buffer
//                 └─ value ─> value_reader ─> memory ─> lines ──┘
//
// The read of a value may fail when the unit has long ended the grant of its request. Then other bytes
// take the place of the lines that lack, since the outcome before them counts them, and the last outcome
// of the request becomes a fault. Requests that continue with a sibling have outcomes of others between
// theirs, so failures are kept for each slot of the unit.

`default_nettype none

`include "assertions.svh"

module answer_queue
  import layout_pkg::*;
  import accelerator_pkg::*;
  import scan_pkg::*;
#(
  // slots of the unit
  parameter int unsigned Slots = 4,
  // capacity in chunks, outcomes and values
  parameter int unsigned Depth = 128,
  localparam int unsigned PlaceBits = Slots > 1 ? $clog2(Slots) : 1
) (
  input logic clk_i,
  input logic rst_i,

  // the slot of the unit whose results are accepted
  input logic [PlaceBits-1:0] place_i,

  // At most one of the three is valid.
  input logic chunk_valid_i,
  output logic chunk_ready_o,
  input byte_chunk_t chunk_i,
  input logic outcome_valid_i,
  output logic outcome_ready_o,
  input outcome_t outcome_i,
  input logic outcome_first_i,
  // void: it is not read, and counts as failed
  input logic value_valid_i,
  output logic value_ready_o,
  input logic [31:0] value_bytes_i,
  input logic value_void_i,

  // The lines of the values, in order. An error is the last beat of its read.
  input logic beat_valid_i,
  output logic beat_ready_o,
  // verilator lint_off UNUSEDSIGNAL
  input line_beat_t beat_i,
  // verilator lint_on UNUSEDSIGNAL

  // see result_buffer
  output logic chunk_valid_o,
  input logic chunk_ready_i,
  output byte_chunk_t chunk_o,
  output logic chunk_last_o,
  output logic outcome_valid_o,
  input logic outcome_ready_i,
  output outcome_t outcome_o,
  output logic outcome_first_o
);

  typedef enum logic [1:0] {
    Chunk,
    Outcome,
    Value
  } kind_e;

  // A value shares no bits with chunks and outcomes: bits of a block memory are cheaper than their choice.
  typedef struct packed {
    kind_e kind;
    logic [PlaceBits-1:0] place;
    logic is_void;
    logic [31:0] value_bytes;
    logic outcome_first;
    outcome_t outcome;
    byte_chunk_t chunk;
  } result_t;

  result_t in, out;
  logic in_ready, out_valid, out_ready, gives_chunk, gives_outcome, gives_value;

  assign in.kind = value_valid_i ? Value : outcome_valid_i ? Outcome : Chunk;
  assign in.place = place_i;
  assign in.is_void = value_void_i;
  assign in.value_bytes = value_bytes_i;
  assign {in.outcome, in.outcome_first, in.chunk} = {outcome_i, outcome_first_i, chunk_i};
  assign {chunk_ready_o, outcome_ready_o, value_ready_o} = {3{in_ready}};

  ram_fifo #(
    .T(result_t),
    .Depth(Depth)
  ) u_results (
    .clk_i,
    .rst_i,
    .in_valid_i(chunk_valid_i || outcome_valid_i || value_valid_i), .in_ready_o(in_ready), .in_i(in),
    .out_valid_o(out_valid), .out_ready_i(out_ready), .out_o(out)
  );

  assign gives_chunk = out_valid && out.kind == Chunk;
  assign gives_outcome = out_valid && out.kind == Outcome;
  assign gives_value = out_valid && out.kind == Value;

  // ---- the lines of a value

  // What is left of the value, and its line within a read. has_left_q: these are known.
  logic [31:0] left_q;
  logic [$clog2(ValueReadLines)-1:0] line_q;
  logic has_left_q;
  // A line is there: a register, so each takes two cycles. The lines of the read, or of a void value, lack.
  logic has_line_q, lacks_q, takes_line, fails, is_last, is_read_over;

  assign is_last = left_q <= LineBytes;
  assign is_read_over = line_q == '1;
  assign takes_line = has_left_q && chunk_valid_o && chunk_ready_i;
  assign beat_ready_o = has_line_q && chunk_ready_i;
  assign fails = takes_line && (out.is_void || (has_line_q && beat_i.error));

  always_ff @(posedge clk_i) begin
    if (rst_i) {has_left_q, has_line_q, lacks_q} <= '0;
    else begin
      has_left_q <= gives_value && !(takes_line && is_last);
      has_line_q <= has_left_q && !lacks_q && beat_valid_i && !takes_line;
      if (!has_left_q) lacks_q <= out.is_void;
      else if (takes_line) lacks_q <= out.is_void || ((lacks_q || fails) && !is_read_over);
    end
  end

  always_ff @(posedge clk_i) begin
    if (!has_left_q) {left_q, line_q} <= {out.value_bytes, {$bits(line_q) {1'b0}}};
    else if (takes_line) begin
      left_q <= left_q - LineBytes;
      line_q <= line_q + 1'b1;
    end
  end

  // ---- failures

  logic [Slots-1:0] failed_q;
  logic ends, is_fault;

  // The last outcome of the request.
  assign ends = gives_outcome && !out.outcome.continued;
  assign is_fault = ends && failed_q[out.place];

  always_ff @(posedge clk_i) begin
    if (rst_i) failed_q <= '0;
    else begin
      if (fails) failed_q[out.place] <= 1'b1;
      if (ends && outcome_ready_i) failed_q[out.place] <= 1'b0;
    end
  end

  // ---- results

  assign chunk_valid_o = gives_chunk || (has_left_q && (has_line_q || lacks_q));
  assign outcome_valid_o = gives_outcome;
  assign out_ready = gives_outcome ? outcome_ready_i :
      chunk_ready_i && (gives_chunk || (takes_line && is_last));

  always_comb begin
    chunk_o = out.chunk;
    chunk_last_o = gives_value && is_last;
    if (gives_value) begin
      chunk_o.first = '0;
      chunk_o.count = is_last ? (LineIndexBits + 1)'(left_q) : (LineIndexBits + 1)'(LineBytes);
      chunk_o.bytes = beat_i.data;
    end
    outcome_o = out.outcome;
    outcome_first_o = out.outcome_first;
    if (is_fault) begin
      outcome_o.status = 8'(StatusFault);
      {outcome_o.more, outcome_o.pairs, outcome_o.pair_version, outcome_o.bytes} = '0;
    end
  end

  `ASSERT(OneResult, $onehot0({chunk_valid_i, outcome_valid_i, value_valid_i}))
  `ASSERT(ValueIsNotEmpty, !value_valid_i || value_bytes_i != '0)
  `ASSERT(PlaceIsASlot, 32'(place_i) < Slots)
  `ASSERT(ReadEndsWithItsLines, !(beat_valid_i && beat_ready_o) ||
      beat_i.last == (beat_i.error || is_last || is_read_over))
  `ASSERT(FirstIsNotLast, !(ends && out.outcome_first))
  // The bytes of a chunk are undefined, and a value may become void, after a read of the leaf has failed.
  `ASSERT_OFFER_STAYS(ChunkArrives, chunk_valid_i, chunk_ready_o, chunk_i.count)
  `ASSERT_OFFER_STAYS(OutcomeArrives, outcome_valid_i, outcome_ready_o, {outcome_i, outcome_first_i})
  `ASSERT_OFFER_STAYS(ValueArrives, value_valid_i, value_ready_o, value_bytes_i)
  `ASSERT_OFFER_STAYS(ChunkStays, chunk_valid_o, chunk_ready_i, {chunk_o.count, chunk_last_o})
  `ASSERT_OFFER_STAYS(OutcomeStays, outcome_valid_o, outcome_ready_i, {outcome_o, outcome_first_o})
  `COVER(LastLineFails, fails && is_last)
  `COVER(LineBeforeTheLastFails, fails && !is_last && left_q <= 2 * LineBytes)
  `COVER(LastLineOfAReadFails, fails && is_read_over && !is_last)
  `COVER(ReadAfterAFailure, has_line_q && !beat_i.error && failed_q[out.place])
  `COVER(OtherRequestAfterAFailure, gives_outcome && failed_q != '0 && !failed_q[out.place])
  `COVER(ValueEndsWithALine, takes_line && left_q == LineBytes)
  `COVER(LastLineHasAByte, takes_line && left_q == 1)

endmodule

`default_nettype wire
