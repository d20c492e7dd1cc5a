// Reads a part of a leaf: decodes its headers and compares its bytes with a key, window by window, until
// the order is known.

`default_nettype none

`include "assertions.svh"

module part_reader
  import layout_pkg::*;
  import accelerator_pkg::*;
  import scan_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  // accepted when the part was read
  input logic read_valid_i,
  output logic read_ready_o,
  input part_read_t read_i,
  // valid in the cycle in which the read is accepted
  output part_t part_o,

  output logic window_valid_o,
  input logic window_ready_i,
  output offset_t window_offset_o,
  output offset_t window_limit_o,
  input logic window_fresh_i,
  input line_t window_i,

  // windows of the keys, read at the same time
  output logic key_read_o,
  output logic key_upper_o,
  output key_length_t key_byte_o,
  input line_t key_window_i
);

  localparam int unsigned ItemHeaderBytes = ItemHeaderBits / 8;

  typedef enum logic {
    Request,
    Wait
  } state_e;

  typedef logic [LineIndexBits:0] window_count_t;

  state_e state_q, state_d;
  // bytes that were compared, and the offset of the first window's bytes
  offset_t compared_q, compared_d;
  log_entry_header_t entry_q;
  item_header_t header_q;

  logic is_first, is_last, decided;
  offset_t headers_bytes, part_bytes, key_bytes;
  window_count_t room, part_count, key_count;
  item_header_t header;
  line_t part_window;
  logic less, equal;

  assign is_first = compared_q == '0;

  always_comb begin
    header = header_q;
    headers_bytes = '0;
    part_window = window_i;
    unique case (read_i.part)
      PartItem: begin
        headers_bytes = offset_t'(ItemHeaderBytes);
        if (is_first) header = window_i[0+:ItemHeaderBits];
        if (is_first) part_window = window_i >> (8 * ItemHeaderBytes);
      end
      PartLogEntry: begin
        headers_bytes = offset_t'(LogEntryHeaderSize + ItemHeaderBytes);
        if (is_first) header = window_i[8*LogEntryHeaderSize+:ItemHeaderBits];
        if (is_first) part_window = window_i >> (8 * (LogEntryHeaderSize + ItemHeaderBytes));
      end
      default: ;
    endcase
  end

  function automatic window_count_t at_most(window_count_t limit, offset_t bytes);
    return bytes < offset_t'(limit) ? window_count_t'(bytes) : limit;
  endfunction

  always_comb begin
    room = window_count_t'(LineBytes);
    if (is_first) room -= window_count_t'(headers_bytes);
    part_bytes = (read_i.part == PartBytes ? read_i.length : offset_t'(header.suffix_length)) - compared_q;
    key_bytes = offset_t'(read_i.key_last) - offset_t'(read_i.key_first) - compared_q;
    part_count = at_most(room, part_bytes);
    key_count = at_most(room, key_bytes);
    is_last = part_bytes <= offset_t'(room) && key_bytes <= offset_t'(room);
  end

  assign decided = !equal || is_last;

  key_compare u_compare (
    .a_i(part_window),
    .a_count_i(part_count),
    .b_i(key_window_i),
    .b_count_i(key_count),
    .less_o(less),
    .equal_o(equal)
  );

  always_comb begin
    state_d = state_q;
    compared_d = compared_q;
    read_ready_o = 1'b0;
    unique case (state_q)
      Request: if (read_valid_i && window_ready_i) state_d = Wait;
      Wait: begin
        if (window_fresh_i) begin
          state_d = Request;
          read_ready_o = decided || !read_i.compares;
          compared_d = read_ready_o ? '0 : compared_q + offset_t'(room);
        end
      end
      default: ;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (is_first) begin
      entry_q <= window_i[0+:8*LogEntryHeaderSize];
      header_q <= header;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= Request;
      compared_q <= '0;
    end else begin
      state_q <= state_d;
      compared_q <= compared_d;
    end
  end

  always_comb begin
    part_o.entry = is_first ? window_i[0+:8*LogEntryHeaderSize] : entry_q;
    part_o.header = header;
    part_o.less = less;
    part_o.equal = equal;
    part_o.in_window = is_first;
  end

  assign window_valid_o = read_valid_i && state_q == Request;
  assign window_offset_o = read_i.offset + compared_q + (is_first ? '0 : headers_bytes);
  assign window_limit_o = read_i.limit;
  assign key_read_o = window_valid_o && window_ready_i && read_i.compares;
  assign key_upper_o = read_i.by_upper;
  assign key_byte_o = read_i.key_first + key_length_t'(compared_q);

  `ASSERT(KeyBytesAreInOrder, !read_valid_i || !read_i.compares || read_i.key_first <= read_i.key_last)
  `ASSERT_OFFER_STAYS(ReadStays, read_valid_i, read_ready_o, read_i)

endmodule

`default_nettype wire
