// Turns completions of PCIe into lines of bursts. A completion has a descriptor of three dwords and then
// whole lines, because completions are divided at multiples of 64 bytes: so a line is the end of a beat and
// the beginning of the next one. If a request ends early, with an error status or after a timeout of the
// integrated block, all remaining lines of its burst are errors. If the block reports in the last beat of a
// completion that it is damaged, its last line is an error; the manager must then use no line of the burst.
// The request does not end by this: its other completions arrive.

`default_nettype none

`include "assertions.svh"

module pcie_read_answers
  import accelerator_pkg::*;
  import axi_pkg::*;
  import pcie_pkg::*;
#(
  parameter int unsigned Tags = 256,
  localparam int unsigned TagBits = $clog2(Tags)
) (
  input logic clk_i,
  input logic rst_i,

  input  logic       answer_valid_i,
  output logic       answer_ready_o,
  input  pcie_beat_t answer_i,
  input  logic       answer_damaged_i,

  // the burst of a tag, and its lines that no request has covered
  output logic [TagBits-1:0] tag_o,
  input  pcie_burst_t        burst_i,
  input  pcie_lines_t        uncovered_i,

  output logic                 line_valid_o,
  input  logic                 line_ready_i,
  output logic [AxiIdBits-1:0] line_id_o,
  output line_t                line_o,
  output logic [1:0]           line_response_o,
  output logic                 line_last_o,

  // a line that a request covers was returned
  output logic arrived_o,

  // tags that are free; first all of them after reset
  output logic               freed_valid_o,
  output logic [TagBits-1:0] freed_tag_o,
  // bursts with lines that no request has covered; all requests of them were answered
  output logic               again_valid_o,
  output logic [TagBits-1:0] again_tag_o
);

  localparam int unsigned AnswerBits = $bits(pcie_answer_t);

  typedef enum logic [2:0] {
    // Frees all tags.
    Clear,
    // The next beat is the first one of a completion.
    First,
    // The next beat ends a line.
    Line,
    // Ignores a completion without lines of the burst.
    Drop,
    // Returns errors for all remaining lines of the burst.
    Fail
  } state_t;

  typedef struct packed {
    logic [AxiIdBits-1:0] id;
    line_t data;
    logic [1:0] response;
    logic last;
  } answered_t;

  state_t state_q;
  // The lines that were returned of the burst of each tag; zero while the tag is free.
  pcie_lines_t returned_q[Tags];
  logic write;
  logic [TagBits-1:0] written_tag;
  pcie_lines_t written;

  // The completion in progress, and its burst.
  logic [TagBits-1:0] tag_q;
  pcie_burst_t burst_q;
  pcie_lines_t count_q, uncovered_q, remaining;
  logic is_poisoned_q, is_complete_q, fails_q;
  logic [LineBits-AnswerBits-1:0] carry_q;

  // verilator lint_off UNUSEDSIGNAL
  pcie_answer_t answer;
  pcie_beat_t beat;
  // verilator lint_on UNUSEDSIGNAL
  logic is_damaged;
  logic beat_valid, beat_ready, takes, emits, emit_ready, ends_completion, ends_burst;
  logic is_ours, has_lines;
  answered_t answered, line;

  skid_buffer #(
    .T(logic [$bits(pcie_beat_t):0])
  ) u_answers (
    .clk_i,
    .rst_i,
    .in_valid_i(answer_valid_i),
    .in_ready_o(answer_ready_o),
    .in_i({answer_damaged_i, answer_i}),
    .out_valid_o(beat_valid),
    .out_ready_i(beat_ready),
    .out_o({is_damaged, beat})
  );

  assign answer = pcie_answer_t'(beat.data[AnswerBits-1:0]);
  assign tag_o = answer.tag[TagBits-1:0];
  assign is_ours = !(answer.error_code inside {PcieErrorFields, PcieErrorAddress, PcieErrorTag});
  assign has_lines = answer.error_code inside {PcieErrorNone, PcieErrorPoisoned} && !beat.last;

  assign beat_ready = state_q == First || state_q == Drop || (state_q == Line && emit_ready);
  assign takes = beat_valid && beat_ready;
  assign emits = (state_q == Line && beat_valid) || state_q == Fail;

  // Lines after the one that is returned in this cycle.
  assign remaining = burst_q.lines - count_q - 1'b1;
  assign ends_burst = emits && emit_ready && remaining == '0;
  assign ends_completion = state_q == Line && takes && beat.last;

  always_ff @(posedge clk_i) begin
    if (takes) carry_q <= beat.data[LineBits-1:AnswerBits];
    if (state_q == First && takes) begin
      tag_q <= tag_o;
      burst_q <= burst_i;
      uncovered_q <= uncovered_i;
      count_q <= returned_q[tag_o];
      is_poisoned_q <= answer.error_code == PcieErrorPoisoned;
      is_complete_q <= answer.request_completed;
      fails_q <= is_ours;
    end else if (emits && emit_ready) begin
      count_q <= count_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= Clear;
    end else begin
      case (state_q)
        Clear: if (written_tag == TagBits'(Tags - 1)) state_q <= First;
        First: begin
          if (takes && has_lines) state_q <= Line;
          else if (takes && !beat.last) state_q <= Drop;
          else if (takes) state_q <= is_ours ? Fail : First;
        end
        Drop: if (takes && beat.last) state_q <= fails_q ? Fail : First;
        Line: if (ends_completion) state_q <= First;
        default: if (ends_burst) state_q <= First;
      endcase
    end
  end

  logic [TagBits-1:0] clearing_q;
  always_ff @(posedge clk_i) clearing_q <= rst_i ? '0 : clearing_q + 1'b1;

  // At each line, because the end of a completion is known late in the cycle.
  assign write = state_q == Clear || (emits && emit_ready);
  assign written_tag = state_q == Clear ? clearing_q : tag_q;
  assign written = state_q == Clear || ends_burst ? '0 : count_q + 1'b1;

  always_ff @(posedge clk_i) begin
    if (write) returned_q[written_tag] <= written;
  end

  always_ff @(posedge clk_i) begin
    arrived_o <= !rst_i && emits && emit_ready && remaining >= uncovered_q;
    freed_valid_o <= !rst_i && (state_q == Clear || ends_burst);
    freed_tag_o <= written_tag;
    again_valid_o <= !rst_i && ends_completion && is_complete_q && remaining != '0;
    again_tag_o <= tag_q;
  end

  assign line.id = burst_q.id;
  // Beats that arrive meanwhile must not change an error.
  assign line.data = state_q == Fail ? '0 : {beat.data[AnswerBits-1:0], carry_q};
  assign line.response = state_q == Fail || is_poisoned_q || is_damaged ? AxiRespSlaveError : AxiRespOkay;
  assign line.last = remaining == '0;

  skid_buffer #(
    .T(answered_t)
  ) u_lines (
    .clk_i,
    .rst_i,
    .in_valid_i(emits),
    .in_ready_o(emit_ready),
    .in_i(line),
    .out_valid_o(line_valid_o),
    .out_ready_i(line_ready_i),
    .out_o(answered)
  );

  assign line_id_o = answered.id;
  assign line_o = answered.data;
  assign line_response_o = answered.response;
  assign line_last_o = answered.last;

  `ASSERT(TagIsKnown, !(state_q == First && takes && is_ours) || 32'(answer.tag) < Tags)
  `ASSERT(LinesAreExpected, !emits || count_q < burst_q.lines)
  // The integrated block compares the lengths of completions with that of their request.
  `ASSERT(RequestHasAllItsLines, !(ends_completion && is_complete_q) || remaining == uncovered_q)
  `ASSERT(CompletionIsOfLines, !(state_q == First && takes && has_lines) || answer.dwords[3:0] == '0)
  `COVER(RequestContinuesWithAnotherCompletion, ends_completion && !is_complete_q)
  `COVER(BurstContinues, again_valid_o)
  `COVER(RequestFails, state_q == First && takes && is_ours && !has_lines)
  `COVER(LineIsPoisoned, state_q == Line && emits && is_poisoned_q)
  `COVER(CompletionIsDamaged, ends_completion && is_damaged && !is_poisoned_q)
  `COVER(CompletionIsOfNoBurst, state_q == Drop && !fails_q)
  `COVER(LinesStall, emits && !emit_ready)

endmodule

`default_nettype wire
