// Collects the results of a request and sends them as answers. Either the chunks of an answer come before
// its outcome, which counts them: then the buffer stores them until the outcome arrives. Or the outcome
// comes first: then the chunks pass through. An outcome with zero bytes discards the chunks before it.

`default_nettype none

`include "assertions.svh"

module result_buffer
  import accelerator_pkg::*;
  import scan_pkg::*;
#(
  // maximum size of an answer whose outcome comes last
  parameter int unsigned LinesMax = 32
) (
  input logic clk_i,
  input logic rst_i,

  input logic chunk_valid_i,
  output logic chunk_ready_o,
  input byte_chunk_t chunk_i,
  // for chunks that pass through: the last chunk of the answer
  input logic chunk_last_i,

  input logic outcome_valid_i,
  output logic outcome_ready_o,
  input outcome_t outcome_i,
  input logic outcome_first_i,

  output logic answer_valid_o,
  input logic answer_ready_i,
  output answer_beat_t answer_o
);

  typedef struct packed {
    logic has_lines;
    logic has_bytes;
    outcome_t outcome;
  } answer_t;

  typedef struct packed {
    logic last;
    line_t data;
  } packed_line_t;

  // ---- chunks: one is delayed until it is known whether it is the last one

  byte_chunk_t held_q;
  logic is_held_q, is_last_q, is_open, closes, packer_valid, packer_ready, takes_held;
  logic outcomes_valid, outcomes_ready, lines_valid, lines_ready, packed_valid, packed_ready;
  packed_line_t packed_line, line;
  answer_t answer;
  logic has_dropped_q, drops, has_bytes, brings_bytes, takes_answer;

  // A delayed chunk belongs to the next outcome, unless it was the last chunk of the previous answer.
  assign is_open = is_held_q && !is_last_q;
  assign closes = outcome_valid_i && outcomes_ready && is_open;
  assign packer_valid = is_held_q && (is_last_q || closes || chunk_valid_i);
  assign takes_held = packer_valid && packer_ready;
  // A chunk or an outcome moves the delayed chunk on, so ready does not depend on their valid.
  assign chunk_ready_o = !is_held_q || packer_ready;

  always_ff @(posedge clk_i) begin
    if (chunk_valid_i && chunk_ready_o) begin
      held_q <= chunk_i;
      is_last_q <= chunk_last_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) is_held_q <= 1'b0;
    else if (chunk_valid_i) is_held_q <= 1'b1;
    else if (takes_held) is_held_q <= 1'b0;
  end

  byte_packer u_packer (
    .clk_i,
    .rst_i,
    .in_valid_i(packer_valid),
    .in_ready_o(packer_ready),
    .in_bytes_i(held_q.bytes),
    .in_first_i(held_q.first),
    .in_count_i(held_q.count),
    .in_last_i(is_last_q || closes),
    .line_valid_o(packed_valid),
    .line_ready_i(packed_ready),
    .line_o(packed_line.data),
    .line_last_o(packed_line.last)
  );

  fifo #(
    .T(packed_line_t),
    .Depth(LinesMax)
  ) u_lines (
    .clk_i,
    .rst_i,
    .in_valid_i(packed_valid),
    .in_ready_o(packed_ready),
    .in_i(packed_line),
    .out_valid_o(lines_valid),
    .out_ready_i(lines_ready),
    .out_o(line),
    .count_o()
  );

  // ---- outcomes

  assign brings_bytes = outcome_i.bytes != '0;
  assign outcome_ready_o = outcomes_ready && (!is_open || packer_ready);

  // Registers, unlike the memory of a fifo, so that the lines are accepted in time.
  skid_buffer #(
    .T(answer_t)
  ) u_outcomes (
    .clk_i,
    .rst_i,
    .in_valid_i(outcome_valid_i && (!is_open || packer_ready)),
    .in_ready_o(outcomes_ready),
    .in_i('{has_lines: is_open || (outcome_first_i && brings_bytes), has_bytes: brings_bytes,
            outcome: outcome_i}),
    .out_valid_o(outcomes_valid),
    .out_ready_i(takes_answer && answer_o.last),
    .out_o(answer)
  );

  // ---- answers: lines that precede an answer without bytes are discarded

  assign has_bytes = answer.has_bytes;
  assign drops = outcomes_valid && answer.has_lines && !has_bytes && !has_dropped_q;
  assign takes_answer = answer_valid_o && answer_ready_i;
  assign lines_ready = drops || (takes_answer && has_bytes);

  always_ff @(posedge clk_i) begin
    if (rst_i || takes_answer) has_dropped_q <= 1'b0;
    else if (drops && lines_valid && line.last) has_dropped_q <= 1'b1;
  end

  always_comb begin
    answer_o.slot = answer.outcome.slot;
    answer_o.status = answer.outcome.status;
    answer_o.continued = answer.outcome.continued;
    answer_o.more = answer.outcome.more;
    answer_o.pairs = answer.outcome.pairs;
    answer_o.pair_version = answer.outcome.pair_version;
    answer_o.bytes = answer.outcome.bytes;
    answer_o.data = has_bytes ? line.data : '0;
    answer_o.last = !has_bytes || line.last;
  end

  assign answer_valid_o = outcomes_valid && (has_bytes ? lines_valid : !drops);

  `ASSERT_OFFER_STAYS(ChunkStays, chunk_valid_i, chunk_ready_o, {chunk_i.count, chunk_last_i})
  `ASSERT_OFFER_STAYS(OutcomeStays, outcome_valid_i, outcome_ready_o, {outcome_i, outcome_first_i})
  `ASSERT_OFFER_STAYS(AnswerStays, answer_valid_o, answer_ready_i, answer_o)
  `ASSERT(OutcomeExcludesChunk, !outcome_valid_i || !chunk_valid_i)
  `ASSERT(NoChunkBeforeFirst, !outcome_valid_i || !outcome_first_i || !is_held_q || is_last_q)

endmodule

`default_nettype wire
