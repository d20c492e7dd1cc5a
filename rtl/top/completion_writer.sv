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

  // the beats of an answer, not mixed with beats of another one
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

  // the last beat of the last part was accepted, so the request is done
  output logic  done_valid_o,
  output slot_t done_slot_o
);

  localparam int unsigned CountBits = $clog2(LineBytes + 1);

  typedef logic [CountBits-1:0] count_t;

  // A line of a completion, and the number of its valid bytes.
  typedef struct packed {
    line_t data;
    count_t count;
    logic last;
  } beat_t;

  typedef enum logic [1:0] {
    Idle,
    Header,
    Body
  } state_e;

  state_e state_d, state_q;
  // Remaining bytes of the body.
  logic [31:0] rest_d, rest_q;

  completion_t header;
  completion_outcome_t outcome;

  // The next bytes of the packet.
  logic put_valid, put_ready, put_last;
  line_t put_bytes;
  count_t put_count;

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
  function automatic count_t beat_bytes(logic [31:0] rest);
    if (rest >= LineBytes) return count_t'(LineBytes);
    return {count_t'(rest + 32'd7) >> 3} << 3;
  endfunction

  always_comb begin
    put_valid = state_q == Header || (state_q == Body && answer_valid_i);
    put_last = answer_i.last;
    put_bytes = line_t'(header);
    put_count = count_t'(CompletionSize);
    if (state_q == Header) begin
      put_last = answer_i.bytes == '0;
    end else begin
      put_bytes = answer_i.data;
      put_count = beat_bytes(rest_q);
    end
  end

  always_comb begin
    state_d = state_q;
    rest_d = rest_q;
    case (state_q)
      Idle: if (answer_valid_i) state_d = Header;
      Header: begin
        rest_d = answer_i.bytes;
        if (put_ready) state_d = put_last ? Idle : Body;
      end
      default: begin
        if (put_valid && put_ready) begin
          rest_d = rest_q - LineBytes;
          if (put_last) state_d = Idle;
        end
      end
    endcase
  end

  // The header consumes the beat of an empty body.
  assign answer_ready_o = put_ready && (state_q == Body || (state_q == Header && put_last));

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= Idle;
    else state_q <= state_d;
  end

  always_ff @(posedge clk_i) begin
    rest_q <= rest_d;
  end

  assign name_read_o = state_q == Idle && answer_valid_i;
  assign name_slot_o = answer_i.slot;
  assign done_valid_o = answer_valid_i && answer_ready_o && answer_i.last && !answer_i.continued;
  assign done_slot_o = answer_i.slot;

  // ---- lines ----

  // An incomplete line waits for more bytes. A header is half a line, so each full beat of a body completes
  // one line and leaves half of the next one.
  line_t half_q;
  count_t half_count_q;
  logic is_last_half_q;

  line_t joined_low, joined_high;
  logic [CountBits:0] joined_count;
  logic is_whole;
  beat_t line;
  logic line_valid, line_ready, line_taken;

  // All lengths are multiples of 8 bytes.
  assign {joined_high, joined_low} =
    {{LineBits{1'b0}}, half_q} | ((2 * LineBits)'(put_bytes) << (64 * half_count_q[CountBits-2:3]));
  assign joined_count = (CountBits + 1)'(half_count_q) + (CountBits + 1)'(put_count);
  assign is_whole = joined_count >= (CountBits + 1)'(LineBytes);

  // The remainder of a packet is sent before the next packet is accepted.
  assign put_ready = !is_last_half_q && (line_ready || !(is_whole || put_last));
  assign line_valid = is_last_half_q || (put_valid && (is_whole || put_last));
  assign line_taken = line_valid && line_ready;
  always_comb begin
    if (is_last_half_q) begin
      line = '{data: half_q, count: half_count_q, last: 1'b1};
    end else begin
      line.data = joined_low;
      line.count = is_whole ? count_t'(LineBytes) : joined_count[CountBits-1:0];
      line.last = put_last && joined_count <= (CountBits + 1)'(LineBytes);
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      half_q <= '0;
      half_count_q <= '0;
      is_last_half_q <= 1'b0;
    end else if (line_taken && line.last) begin
      half_q <= '0;
      half_count_q <= '0;
      is_last_half_q <= 1'b0;
    end else if (put_valid && put_ready) begin
      half_q <= is_whole ? joined_high : joined_low;
      half_count_q <= count_t'(is_whole ? joined_count - (CountBits + 1)'(LineBytes) : joined_count);
      is_last_half_q <= put_last;
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
  assign out_keep_o = beat.count == count_t'(LineBytes) ? '1 : (LineBytes'(1) << beat.count) - 1'b1;

  `ASSERT(BodyEndsWithItsBytes, state_q != Body || !answer_valid_i || answer_i.last == (rest_q <= LineBytes))
  `ASSERT(EmptyBodyIsOneBeat, state_q != Header || answer_i.bytes != '0 || answer_i.last)
  `ASSERT_OFFER_STAYS(AnswerStays, answer_valid_i, answer_ready_o, answer_i)
  `ASSERT_OFFER_STAYS(OutStays, out_valid_o, out_ready_i, {out_data_o, out_keep_o, out_last_o})

endmodule

`default_nettype wire
