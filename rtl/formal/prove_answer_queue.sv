// Proves for a queue of results with arbitrary neighbours: results leave in the order in which they were
// accepted; at the place of a value its lines leave, each once, and all of them if a read fails; an
// outcome is changed if and only if it is the last one of a request for which a read has failed before, or
// a value was void.

`default_nettype none

module prove_answer_queue
  import layout_pkg::*;
  import accelerator_pkg::*;
  import scan_pkg::*;
(
  input logic clk_i,
  // a result is offered: a chunk, an outcome or a value
  input logic valid_i,
  input logic [1:0] kind_i,
  input logic place_i,
  // the outcome is the last one; the value has two lines; it is void
  input logic detail_i,
  input logic void_i,
  input logic chunk_ready_i,
  input logic outcome_ready_i,
  input logic beat_valid_i,
  input logic beat_error_i,
  input logic [1:0] data_i
);

  localparam logic [1:0] Outcome = 2'd1, Value = 2'd2;

  // what was accepted, by number
  typedef struct packed {
    logic [1:0] kind;
    logic place;
    logic detail;
    logic is_void;
  } result_t;

  logic rst, ready, accepts, chunk_valid, chunk_last, outcome_valid, outcome_first, beat_ready, leaves;
  logic [2:0] put_q, sent_q;
  logic value_ready, outcome_ready, chunk_ready;
  result_t [7:0] results_q;
  result_t result;
  byte_chunk_t chunk_in, chunk;
  outcome_t outcome_in, outcome;
  line_beat_t beat;
  // of the value that leaves: its second line is next; the read has failed. Slots whose requests have failed.
  logic second_q, lacks_q, fails, ends_value;
  logic [1:0] failed_q;
  logic waits_q, offers_q;
  logic [2:0] waiting_q;
  result_t offered_q;
  // the results that were there three cycles before; the one before has left in the cycle before
  logic [2:0][2:0] before_q;
  logic leaves_q;

  neighbours u_neighbours (.clk_i, .rst_o(rst), .in_valid_i(valid_i), .in_ready_i(ready));

  answer_queue #(.Slots(2), .Depth(2)) u_queue (
    .clk_i, .rst_i(rst), .place_i(place_i),
    .chunk_valid_i(valid_i && kind_i == '0), .chunk_ready_o(chunk_ready), .chunk_i(chunk_in),
    .outcome_valid_i(valid_i && kind_i == Outcome), .outcome_ready_o(outcome_ready), .outcome_i(outcome_in),
    .outcome_first_i(!detail_i),
    .value_valid_i(valid_i && kind_i == Value), .value_ready_o(value_ready),
    .value_bytes_i(detail_i ? 32'd65 : 32'd64), .value_void_i(void_i),
    .beat_valid_i, .beat_ready_o(beat_ready), .beat_i(beat),
    .chunk_valid_o(chunk_valid), .chunk_ready_i, .chunk_o(chunk), .chunk_last_o(chunk_last),
    .outcome_valid_o(outcome_valid), .outcome_ready_i, .outcome_o(outcome), .outcome_first_o(outcome_first)
  );

  always_comb begin
    chunk_in = '0;
    chunk_in.count = 7'(put_q) + 7'd1;
    outcome_in = '0;
    outcome_in.slot = slot_t'(put_q);
    outcome_in.status = 8'(StatusFound);
    outcome_in.continued = !detail_i;
    beat = '0;
    {beat.error, beat.last, beat.data} = {beat_error_i, beat_error_i || ends_value, LineBits'(data_i)};
  end

  assign ready = kind_i == Value ? value_ready : kind_i == Outcome ? outcome_ready : chunk_ready;
  assign accepts = valid_i && ready;
  assign result = results_q[sent_q];
  assign ends_value = second_q || !result.detail;
  assign leaves = (chunk_valid && chunk_ready_i && (result.kind != Value || ends_value))
      || (outcome_valid && outcome_ready_i);
  assign fails = chunk_valid && chunk_ready_i && result.kind == Value
      && (result.is_void || (beat_ready && beat_error_i));

  always_ff @(posedge clk_i) begin
    {offers_q, offered_q} <= {valid_i && !ready, kind_i, place_i, detail_i, void_i};
    leaves_q <= leaves && !rst;
    before_q <= rst ? '0 : {before_q[1:0], put_q};
    {waits_q, waiting_q} <= {beat_valid_i && !beat_ready, {beat_error_i, data_i}};
    if (rst) {put_q, sent_q, second_q, lacks_q, failed_q, waits_q, offers_q} <= '0;
    else begin
      put_q <= put_q + 3'(accepts);
      sent_q <= sent_q + 3'(leaves);
      if (accepts) results_q[put_q] <= '{kind: kind_i, place: place_i, detail: detail_i, is_void: void_i};
      if (chunk_valid && chunk_ready_i && result.kind == Value) begin
        second_q <= !ends_value;
        lacks_q <= !ends_value && (lacks_q || fails);
      end
      if (fails) failed_q[result.place] <= 1'b1;
      if (outcome_valid && outcome_ready_i && result.detail) failed_q[result.place] <= 1'b0;
    end
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      KindIsKnown : assume (!valid_i || kind_i != 2'd3);
      ResultStays : assume (!offers_q || offered_q == {kind_i, place_i, detail_i, void_i});
      BeatStays : assume (!waits_q || (beat_valid_i && waiting_q == {beat_error_i, data_i}));

      WasAccepted : assert (!(chunk_valid || outcome_valid) || put_q != sent_q);
      IsOfferedInTime : assert (chunk_valid || outcome_valid || leaves_q || sent_q == before_q[1]
          || result.kind == Value);
      OneLeaves : assert (!(chunk_valid && outcome_valid));
      ChunkIsNext : assert (!chunk_valid || result.kind == Value
          || (result.kind == '0 && chunk.count == 7'(sent_q) + 7'd1 && !chunk_last));
      LineIsOfTheValue : assert (!(chunk_valid && result.kind == Value) || (chunk_last == ends_value
          && chunk.count == (second_q ? 7'd1 : 7'd64) && chunk.first == '0));
      LineArrived : assert (!(chunk_valid && result.kind == Value) || result.is_void || lacks_q
          || (beat_valid_i && (beat_error_i || chunk.bytes == LineBits'(data_i))));
      BeatIsTaken : assert (!beat_ready || (chunk_valid && chunk_ready_i && result.kind == Value
          && !result.is_void && !lacks_q));
      BeatIsTakenWithItsLine : assert (!(chunk_valid && chunk_ready_i && result.kind == Value)
          || beat_ready == !(result.is_void || lacks_q));
      OutcomeIsNext : assert (!outcome_valid || (result.kind == Outcome && outcome.slot == slot_t'(sent_q)
          && outcome.continued == !result.detail
          && outcome_first == !result.detail));
      FailuresAreFaults : assert (!outcome_valid || (outcome.status == 8'(StatusFault))
          == (result.detail && failed_q[result.place]));
    end
  end

endmodule

`default_nettype wire
