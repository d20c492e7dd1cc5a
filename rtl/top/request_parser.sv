// Finds the requests in a stream of bytes and validates them.
//
// A packet contains whole requests, back to back. A request that the end of its packet truncates is
// malformed, even if it has other errors. The header of every other request states its length, so the
// parser finds the next request even after an invalid one.

`default_nettype none

`include "assertions.svh"

module request_parser
  import layout_pkg::*;
  import accelerator_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

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
  localparam int unsigned RemainingBits = 17;
  localparam int unsigned HeaderBytes = RequestSize;

  typedef logic [RemainingBits-1:0] remaining_t;

  typedef enum logic [2:0] {
    // between two packets
    Restart,
    Header,
    // keys that are too long are consumed and discarded
    Skip,
    Lower,
    Upper,
    Padding,
    Offer
  } state_e;

  state_e state_d, state_q;
  // Remaining bytes of this part.
  remaining_t remaining_d, remaining_q;
  key_line_t line_d, line_q;
  logic is_truncated_d, is_truncated_q;
  slot_t slot_q;
  request_t request_q;
  // The last beat of the packet was received.
  logic ended_q;
  // Bytes of the packet that were received and are not yet consumed.
  logic [7:0] received_q;

  logic start, line_ready, window_ready;
  line_t bytes;
  logic [7:0] window_count;
  logic [6:0] chunk, consume;
  logic has_chunk, accepts_header, writes_key;
  request_t header;

  // The functions use only some fields of a request.
  // verilator lint_off UNUSEDSIGNAL

  // A header is followed by the keys, and zeros up to a multiple of 8 bytes.
  function automatic state_e after_header(request_t request);
    if (is_too_long(request)) return Skip;
    if (request.lower_length != '0) return Lower;
    return after_lower(request);
  endfunction

  function automatic state_e after_lower(request_t request);
    return request.upper_length != '0 ? Upper : after_keys(request);
  endfunction

  function automatic state_e after_keys(request_t request);
    return padding_bytes(request) != '0 ? Padding : Offer;
  endfunction

  function automatic logic is_too_long(request_t request);
    return request.lower_length > 16'(KeyBytesMax) || request.upper_length > 16'(KeyBytesMax);
  endfunction

  function automatic logic [2:0] padding_bytes(request_t request);
    return -(request.lower_length[2:0] + request.upper_length[2:0]);
  endfunction

  function automatic remaining_t bytes_of(state_e state, request_t request);
    case (state)
      Skip: return remaining_t'(request.lower_length) + remaining_t'(request.upper_length);
      Lower: return remaining_t'(request.lower_length);
      Upper: return remaining_t'(request.upper_length);
      Padding: return remaining_t'(padding_bytes(request));
      default: return '0;
    endcase
  endfunction

  // verilator lint_on UNUSEDSIGNAL

  // ---- bytes ----

  assign line_ready = !ended_q;
  byte_window u_byte_window (
    .clk_i,
    .rst_i,
    .start_i(start),
    .skip_i('0),
    .line_valid_i(in_valid_i && line_ready && !start),
    .line_ready_o(window_ready),
    .line_i(in_data_i),
    .bytes_o(bytes),
    .count_o(window_count),
    .consume_i(consume)
  );
  assign in_ready_o = line_ready && window_ready && !start;
  assign header = bytes[8*HeaderBytes-1:0];

  always_ff @(posedge clk_i) begin
    if (rst_i || start) begin
      received_q <= '0;
      ended_q <= 1'b0;
    end else begin
      received_q <= received_q - 8'(consume) + (in_valid_i && in_ready_o ? 8'($countones(in_keep_i)) : 8'd0);
      if (in_valid_i && in_ready_o) ended_q <= in_last_i;
    end
  end

  // ---- parts of a request ----

  assign chunk = remaining_q > remaining_t'(LineBytes) ? 7'(LineBytes) : remaining_q[6:0];
  assign has_chunk = received_q >= 8'(chunk);
  assign writes_key = has_chunk && (state_q == Lower || state_q == Upper);

  always_comb begin
    state_d = state_q;
    remaining_d = remaining_q;
    line_d = line_q;
    is_truncated_d = is_truncated_q;
    consume = '0;
    start = 1'b0;
    accepts_header = 1'b0;
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
          state_d = after_header(header);
          remaining_d = bytes_of(state_d, header);
        end else if (slot_valid_i && ended_q) begin
          accepts_header = 1'b1;
          consume = received_q[6:0];
          is_truncated_d = 1'b1;
          state_d = Offer;
        end
      end
      Skip, Lower, Upper, Padding: begin
        if (ended_q && !has_chunk) begin
          consume = received_q[6:0];
          is_truncated_d = 1'b1;
          state_d = Offer;
        end else if (has_chunk) begin
          if (!writes_key || key_ready_i) begin
            consume = chunk;
            remaining_d = remaining_q - remaining_t'(chunk);
            line_d = line_q + 1'b1;
            if (remaining_d == '0) begin
              line_d = '0;
              case (state_q)
                Lower: state_d = after_lower(request_q);
                Padding: state_d = Offer;
                default: state_d = after_keys(request_q);
              endcase
              remaining_d = bytes_of(state_d, request_q);
            end
          end
        end
      end
      default: if (request_ready_i) state_d = Header;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= Restart;
    else state_q <= state_d;
  end

  always_ff @(posedge clk_i) begin
    remaining_q <= remaining_d;
    line_q <= line_d;
    is_truncated_q <= is_truncated_d;
    if (accepts_header) begin
      slot_q <= slot_i;
      request_q <= header;
      // A truncated identifier is not echoed.
      if (received_q < 8'(RequestIdentifierBytes)) request_q.identifier <= '0;
    end
  end

  // ---- validation ----

  function automatic logic [7:0] status_of(request_t request);
    request_flags_t flags;
    logic is_lower_empty, is_upper_empty, has_limits;
    flags = request.flags;
    is_lower_empty = request.lower_length == '0;
    is_upper_empty = request.upper_length == '0;
    has_limits = request.pairs_max != '0 || request.bytes_max != '0;
    if (is_too_long(request)) return 8'(StatusKeyLength);
    case (request.opcode)
      8'(OpcodeGet): begin
        if (is_lower_empty) return 8'(StatusKeyLength);
        if (has_limits || flags != '0 || !is_upper_empty) return 8'(StatusMalformed);
      end
      8'(OpcodeScan): begin
        if (is_lower_empty && flags.lower_excluded) return 8'(StatusMalformed);
        if (is_upper_empty && flags.upper_excluded) return 8'(StatusMalformed);
        if (flags.padding != '0 || (flags.floor_start && flags.backward)) return 8'(StatusMalformed);
      end
      default: return 8'(StatusUnknownOpcode);
    endcase
    return 8'(StatusFound);
  endfunction

  assign slot_ready_o = accepts_header;
  assign key_valid_o = writes_key;
  assign key_o = '{slot: slot_q, upper: state_q == Upper, line: line_q, data: bytes};
  assign request_valid_o = state_q == Offer;
  assign request_o = '{
    slot: slot_q,
    status: is_truncated_q ? 8'(StatusMalformed) : status_of(request_q),
    request: request_q
  };

  `ASSERT(KeepIsContiguous, !in_valid_i || (in_keep_i & (in_keep_i + 1'b1)) == '0)
  `ASSERT(ConsumesReceivedBytes, 8'(consume) <= received_q && 8'(consume) <= window_count)
  `ASSERT(SlotIsFree, !slot_ready_o || slot_valid_i)
  `ASSERT_OFFER_STAYS(InStays, in_valid_i, in_ready_o, {in_data_i, in_keep_i, in_last_i})
  `ASSERT_OFFER_STAYS(KeyStays, key_valid_o, key_ready_i, {key_o.slot, key_o.upper, key_o.line})
  `ASSERT_OFFER_STAYS(RequestStays, request_valid_o, request_ready_i, request_o)

endmodule

`default_nettype wire
