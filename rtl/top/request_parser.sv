// Finds the requests in a stream of bytes and validates them.
//
// A packet contains whole requests, back to back. A request that the end of its packet truncates is
// malformed, even if it has other errors. The header of every other request states its length, so the
// parser finds the next request even after an invalid one.
//
// The header is stored in one cycle and determines the next part in another one, because bytes come through
// a shifter of 64 places that must not depend on them. A part of a request is consumed in chunks, a chunk a
// cycle. The next header is found while a request waits for the acceptance of its keys.

`default_nettype none

`include "assertions.svh"

module request_parser
  import layout_pkg::*;
  import accelerator_pkg::*;
  import request_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  // from the next cycle on no packet begins; one that has begun is received to its end
  input  logic drain_i,
  // No packet has begun. All requests of the packets before have begun.
  output logic idle_o,

  // requests: keep marks the first bytes of a beat
  input  logic                 in_valid_i,
  output logic                 in_ready_o,
  input  line_t                in_data_i,
  input  logic [LineBytes-1:0] in_keep_i,
  input  logic                 in_last_i,

  // the slot of the next request
  input  logic  slot_valid_i,
  output logic  slot_ready_o,
  input  slot_t slot_i,

  // its keys, for the key buffers; bytes after the end of a key in its last line are undefined
  output logic       key_valid_o,
  input  logic       key_ready_i,
  output key_write_t key_o,

  // the request, after its keys
  output logic            request_valid_o,
  input  logic            request_ready_i,
  output parsed_request_t request_o
);

  // Enough for the two longest lengths that the header of a request can contain.
  localparam int unsigned LengthBits = 17;
  localparam int unsigned HeaderBytes = RequestSize;

  typedef logic [LengthBits-1:0] length_t;

  // The bytes of a part, at least one: full lines, and the last chunk.
  typedef struct packed {
    logic [LengthBits-LineIndexBits-1:0] lines;
    logic [LineIndexBits:0] rest;
  } part_t;

  typedef enum logic [2:0] {
    // between two packets
    Restart,
    Header,
    // The header is known.
    Lengths,
    // keys that are too long are consumed and discarded
    Skip,
    Lower,
    Upper,
    Padding
  } state_e;

  state_e state_d, state_q;
  // What remains of this part.
  part_t part_d, part_q;
  // This is its last chunk; the part is the last one of its request.
  logic is_last_q, is_final_q;
  logic [6:0] chunk_q;
  key_line_t line_d, line_q;
  logic is_truncated_d, is_truncated_q;
  slot_t slot_q;
  request_t request_q;
  // The first and the last beat of the packet were received.
  logic begun_d, begun_q, ended_d, ended_q;
  // A register, because it goes to a pin.
  logic in_ready_q;
  // Bytes of the packet that were received and are not yet consumed.
  logic [7:0] received_q;

  logic start, accepts_line, window_ready, window_ready_next;
  line_t bytes;
  logic [7:0] window_count;
  logic [6:0] consume;
  logic has_chunk, takes_chunk, accepts_header, is_key, puts_key, key_ready, ends, is_free;
  request_t header;
  key_write_t key;
  parsed_request_t parsed_q;
  logic parsed_valid_q, shown_q;

  // The functions use only some fields of a request.
  // verilator lint_off UNUSEDSIGNAL

  // A header is followed by the keys, and zeros up to a multiple of 8 bytes. After the last part comes the
  // next header.
  function automatic state_e after_header(request_t request);
    if (is_too_long(request)) return Skip;
    if (request.lower_length != '0) return Lower;
    return after_lower(request);
  endfunction

  function automatic state_e after_lower(request_t request);
    return request.upper_length != '0 ? Upper : after_keys(request);
  endfunction

  function automatic state_e after_keys(request_t request);
    return padding_bytes(request) != '0 ? Padding : Header;
  endfunction

  function automatic state_e after_part(state_e state, request_t request);
    case (state)
      Lower: return after_lower(request);
      Padding: return Header;
      default: return after_keys(request);
    endcase
  endfunction

  // The sizes are divided before it is known which of them is used.
  function automatic part_t part_of(state_e state, request_t request);
    case (state)
      Skip: return part_with(length_t'(request.lower_length) + length_t'(request.upper_length));
      Lower: return part_with(length_t'(request.lower_length));
      Upper: return part_with(length_t'(request.upper_length));
      default: return part_with(length_t'(padding_bytes(request)));
    endcase
  endfunction

  function automatic part_t part_with(length_t size);
    length_t before_last = size - 1'b1;
    return '{
      lines: before_last[LengthBits-1:LineIndexBits],
      rest: {1'b0, before_last[LineIndexBits-1:0]} + 1'b1
    };
  endfunction

  // verilator lint_on UNUSEDSIGNAL

  // ---- bytes ----

  assign accepts_line = in_valid_i && in_ready_q;
  byte_window u_byte_window (
    .clk_i, .rst_i, .start_i(start), .line_valid_i(accepts_line), .line_ready_o(window_ready),
    .line_i(in_data_i), .line_ready_next_o(window_ready_next),
    .bytes_o(bytes),
    .count_o(window_count),
    .consume_i(consume)
  );
  assign in_ready_o = in_ready_q;
  assign begun_d = !start && (begun_q || accepts_line);
  assign ended_d = !start && (ended_q || (accepts_line && in_last_i));
  assign header = bytes[8*HeaderBytes-1:0];

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      in_ready_q <= 1'b0;
      begun_q <= 1'b0;
      ended_q <= 1'b0;
    end else begin
      in_ready_q <= window_ready_next && state_d != Restart && !ended_d && (begun_d || !drain_i);
      begun_q <= begun_d;
      ended_q <= ended_d;
    end
    if (rst_i || start) received_q <= '0;
    else received_q <= received_q - 8'(consume) + (accepts_line ? 8'($countones(in_keep_i)) : 8'd0);
  end

  assign idle_o = !begun_q;

  // ---- parts of a request ----

  assign is_key = state_q == Lower || state_q == Upper;
  assign has_chunk = received_q >= 8'(chunk_q);
  // A request ends only if there is room for it.
  assign is_free = !parsed_valid_q;

  assign takes_chunk = has_chunk && (!is_key || key_ready) && (is_free || !(is_last_q && is_final_q));

  always_comb begin
    state_d = state_q;
    part_d = part_q;
    line_d = line_q;
    is_truncated_d = is_truncated_q;
    consume = '0;
    start = 1'b0;
    accepts_header = 1'b0;
    puts_key = 1'b0;
    ends = 1'b0;
    case (state_q)
      Restart: begin
        start = 1'b1;
        state_d = Header;
      end
      Header: begin
        line_d = '0;
        if (ended_q && received_q == '0) begin
          state_d = Restart;
        end else if (slot_valid_i && received_q >= 8'(HeaderBytes)) begin
          accepts_header = 1'b1;
          consume = 7'(HeaderBytes);
          is_truncated_d = 1'b0;
          state_d = Lengths;
        end else if (slot_valid_i && ended_q) begin
          accepts_header = 1'b1;
          consume = received_q[6:0];
          is_truncated_d = 1'b1;
          state_d = Lengths;
        end
      end
      Lengths: begin
        state_d = is_truncated_q ? Header : after_header(request_q);
        part_d = part_of(state_d, request_q);
        ends = state_d == Header;
        if (ends && !is_free) state_d = Lengths;
      end
      default: begin
        if (takes_chunk) begin
          ends = is_last_q && is_final_q;
          consume = chunk_q;
          puts_key = is_key;
          line_d = is_last_q ? '0 : line_q + 1'b1;
          part_d.lines = part_q.lines - 1'b1;
          if (is_last_q) begin
            state_d = after_part(state_q, request_q);
            part_d = part_of(state_d, request_q);
          end
        end else if (!has_chunk && ended_q && is_free) begin
          ends = 1'b1;
          consume = received_q[6:0];
          is_truncated_d = 1'b1;
          state_d = Header;
        end
      end
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= Restart;
    else state_q <= state_d;
  end

  always_ff @(posedge clk_i) begin
    part_q <= part_d;
    is_last_q <= part_d.lines == '0;
    chunk_q <= part_d.lines == '0 ? part_d.rest : 7'(LineBytes);
    is_final_q <= after_part(state_d, request_q) == Header;
    line_q <= line_d;
    is_truncated_q <= is_truncated_d;
    if (accepts_header) begin
      slot_q <= slot_i;
      request_q <= header;
      // A truncated identifier is not echoed.
      if (received_q < 8'(RequestIdentifierBytes)) request_q.identifier <= '0;
    end
  end

  // ---- keys, and the request after its keys ----

  assign slot_ready_o = accepts_header;
  assign key = '{slot: slot_q, upper: state_q == Upper, line: line_q, data: bytes};

  skid_buffer #(
    .T(key_write_t)
  ) u_keys (
    .clk_i, .rst_i, .in_valid_i(puts_key), .in_ready_o(key_ready), .in_i(key),
    .out_valid_o(key_valid_o), .out_ready_i(key_ready_i), .out_o(key_o)
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      parsed_valid_q <= 1'b0;
      shown_q <= 1'b0;
    end else begin
      parsed_valid_q <= (ends && is_free) || (parsed_valid_q && !(request_valid_o && request_ready_i));
      shown_q <= request_valid_o && !request_ready_i;
    end
    if (is_free) begin
      parsed_q <= '{
        slot: slot_q,
        status: is_truncated_d ? 8'(StatusMalformed) : status_of(request_q),
        request: request_q
      };
    end
  end

  // No key of the request is left. Keys of the next one may follow while the request is offered.
  assign request_valid_o = parsed_valid_q && (shown_q || !key_valid_o);
  assign request_o = parsed_q;

  `ASSERT(KeepIsContiguous, !in_valid_i || (in_keep_i & (in_keep_i + 1'b1)) == '0)
  `ASSERT(WindowHasRoom, !in_ready_o || window_ready)
  `ASSERT(ConsumesReceivedBytes, 8'(consume) <= received_q && 8'(consume) <= window_count)
  `ASSERT(SlotIsFree, !slot_ready_o || slot_valid_i)
  `ASSERT_OFFER_STAYS(InStays, in_valid_i, in_ready_o, {in_data_i, in_keep_i, in_last_i})
  `ASSERT_OFFER_STAYS(KeyStays, key_valid_o, key_ready_i, {key_o.slot, key_o.upper, key_o.line})
  `ASSERT_OFFER_STAYS(RequestStays, request_valid_o, request_ready_i, request_o)
  `COVER(LowerKeyLacksAByte, state_q == Lengths && request_q.lower_length == 16'(KeyBytesMax - 1))
  `COVER(LowerKeyIsTheLongest, state_q == Lengths && request_q.lower_length == 16'(KeyBytesMax))
  `COVER(LowerKeyHasAByteMore, state_q == Lengths && request_q.lower_length == 16'(KeyBytesMax + 1))
  `COVER(UpperKeyHasAByteMore, state_q == Lengths && request_q.upper_length == 16'(KeyBytesMax + 1))

endmodule

`default_nettype wire
