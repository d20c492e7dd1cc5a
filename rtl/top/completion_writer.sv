// Turns answers into completions: header, body, and zeros up to a multiple of 8 bytes. Each completion, or
// each part of a long one, is a packet. A request is done when the last part of its completion is accepted.

`default_nettype none

`include "assertions.svh"

module completion_writer
  import layout_pkg::*;
  import accelerator_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  // the beats of an answer; beats of different answers are never mixed
  input  logic         answer_valid_i,
  output logic         answer_ready_o,
  input  answer_beat_t answer_i,

  // identifier and read version of a request, valid one cycle after the read: see request_slots
  output logic        name_read_o,
  output slot_t       name_slot_o,
  input  logic [63:0] name_identifier_i,
  input  version_t    name_read_version_i,

  // completions: keep marks the first bytes of a beat
  output logic                 out_valid_o,
  input  logic                 out_ready_i,
  output line_t                out_data_o,
  output logic [LineBytes-1:0] out_keep_o,
  output logic                 out_last_o,

  // the last beat of the last part was accepted in the cycle before, so the request is done
  output logic  done_valid_o,
  output slot_t done_slot_o
);

  localparam int unsigned CountBits = $clog2(LineBytes + 1);

  typedef logic [CountBits-1:0] count_t;

  // A line of a completion. All lengths are multiples of 8 bytes, so a bit of keep covers as many.
  typedef struct packed {
    line_t data;
    logic [LineBytes/8-1:0] keep;
    logic last;
  } beat_t;

  typedef enum logic [1:0] {
    Idle,
    Header,
    Body
  } state_e;

  state_e state_d, state_q;
  // Remaining bytes of the body, and those of the next beat with padding.
  logic [31:0] remaining_d, remaining_q;
  count_t count_d, count_q;

  completion_t header;
  completion_outcome_t outcome;

  // The next bytes of the packet.
  logic chunk_valid, chunk_ready, chunk_last;
  line_t chunk_bytes;
  count_t chunk_count;

  // ---- header and body ----

  assign outcome = '{
    pairs: answer_i.pairs,
    more: answer_i.more,
    continued: answer_i.continued,
    status: answer_i.status
  };
  assign header = '{
    outcome: outcome,
    bytes: answer_i.bytes,
    pair_version: answer_i.pair_version,
    read_version: name_read_version_i,
    identifier: name_identifier_i
  };

  // Bytes of a beat of the body, including padding.
  function automatic count_t beat_bytes(logic [31:0] remaining);
    if (remaining >= LineBytes) return count_t'(LineBytes);
    return {count_t'(remaining + 32'd7) >> 3} << 3;
  endfunction

  always_comb begin
    chunk_valid = state_q == Header || (state_q == Body && answer_valid_i);
    chunk_last = answer_i.last;
    chunk_bytes = line_t'(header);
    chunk_count = count_t'(CompletionSize);
    if (state_q == Header) begin
      chunk_last = answer_i.bytes == '0;
    end else begin
      chunk_bytes = answer_i.data;
      chunk_count = count_q;
    end
  end

  // The count is computed for both lengths, before it is known which of them remains.
  always_comb begin
    state_d = state_q;
    {remaining_d, count_d} = {remaining_q, count_q};
    case (state_q)
      Idle: if (answer_valid_i) state_d = Header;
      Header: begin
        {remaining_d, count_d} = {answer_i.bytes, beat_bytes(answer_i.bytes)};
        if (chunk_ready) state_d = chunk_last ? Idle : Body;
      end
      default: begin
        if (chunk_valid && chunk_ready) begin
          {remaining_d, count_d} = {remaining_q - LineBytes, beat_bytes(remaining_q - LineBytes)};
          if (chunk_last) state_d = Idle;
        end
      end
    endcase
  end

  // The header consumes the beat of an empty body.
  assign answer_ready_o = chunk_ready && (state_q == Body || (state_q == Header && chunk_last));

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= Idle;
    else state_q <= state_d;
  end

  always_ff @(posedge clk_i) begin
    {remaining_q, count_q} <= {remaining_d, count_d};
  end

  assign name_read_o = state_q == Idle && answer_valid_i;
  assign name_slot_o = answer_i.slot;

  always_ff @(posedge clk_i) begin
    done_valid_o <= !rst_i && answer_valid_i && answer_ready_o && answer_i.last && !answer_i.continued;
    done_slot_o <= answer_i.slot;
  end

  // ---- lines ----

  // An incomplete line waits for more bytes. A header is half a line, so each full beat of a body completes
  // one line and leaves half of the next one.
  line_t partial_q;
  count_t partial_count_q;
  logic is_last_partial_q;

  line_t combined_low, combined_high;
  logic [CountBits:0] combined_count;
  logic is_full;
  beat_t line;
  logic line_valid, line_ready, line_accepted;

  function automatic logic [LineBytes/8-1:0] keep_of(logic [CountBits-4:0] words);
    return (LineBytes / 8)'((LineBytes / 8 + 1)'(1) << words) - 1'b1;
  endfunction

  assign {combined_high, combined_low} =
    {{LineBits{1'b0}}, partial_q} | ((2 * LineBits)'(chunk_bytes) << (64 * partial_count_q[CountBits-2:3]));
  assign combined_count = (CountBits + 1)'(partial_count_q) + (CountBits + 1)'(chunk_count);
  assign is_full = combined_count >= (CountBits + 1)'(LineBytes);

  // The remainder of a packet is sent before the next packet is accepted.
  assign chunk_ready = !is_last_partial_q && (line_ready || !(is_full || chunk_last));
  assign line_valid = is_last_partial_q || (chunk_valid && (is_full || chunk_last));
  assign line_accepted = line_valid && line_ready;
  always_comb begin
    if (is_last_partial_q) begin
      line = '{data: partial_q, keep: keep_of(partial_count_q[CountBits-1:3]), last: 1'b1};
    end else begin
      line.data = combined_low;
      line.keep = is_full ? '1 : keep_of(combined_count[CountBits-1:3]);
      line.last = chunk_last && combined_count <= (CountBits + 1)'(LineBytes);
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      partial_q <= '0;
      partial_count_q <= '0;
      is_last_partial_q <= 1'b0;
    end else if (line_accepted && line.last) begin
      partial_q <= '0;
      partial_count_q <= '0;
      is_last_partial_q <= 1'b0;
    end else if (chunk_valid && chunk_ready) begin
      partial_q <= is_full ? combined_high : combined_low;
      partial_count_q <= count_t'(is_full ? combined_count - (CountBits + 1)'(LineBytes) : combined_count);
      is_last_partial_q <= chunk_last;
    end
  end

  beat_t beat;
  skid_buffer #(.T(beat_t)) u_out (
    .clk_i,
    .rst_i,
    .in_valid_i(line_valid),
    .in_ready_o(line_ready),
    .in_i(line),
    .out_valid_o,
    .out_ready_i,
    .out_o(beat)
  );
  assign out_data_o = beat.data;
  assign out_last_o = beat.last;
  for (genvar word = 0; word < LineBytes / 8; word++) begin : gen_keep
    assign out_keep_o[8*word+:8] = {8{beat.keep[word]}};
  end

  `ASSERT(LastBeatMatchesLength,
      state_q != Body || !answer_valid_i || answer_i.last == (remaining_q <= LineBytes))
  `ASSERT(EmptyBodyIsOneBeat, state_q != Header || answer_i.bytes != '0 || answer_i.last)
  `ASSERT(RestFollowsLine, !is_last_partial_q || out_valid_o)
  `ASSERT_OFFER_STAYS(AnswerStays, answer_valid_i, answer_ready_o, answer_i)
  `ASSERT_OFFER_STAYS(OutStays, out_valid_o, out_ready_i, {out_data_o, out_keep_o, out_last_o})

endmodule

`default_nettype wire
