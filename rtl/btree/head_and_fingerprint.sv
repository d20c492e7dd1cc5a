// Computes the head of a key suffix, which is its first eight bytes as a number, and its fingerprint,
// which is the complement of the low byte of its CRC-32C. It consumes eight bytes per cycle.

`default_nettype none

`include "assertions.svh"

module head_and_fingerprint
  import accelerator_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  // begins with the bytes first_i to last_i of a key; last_i is not included
  input logic start_i,
  input key_length_t first_i,
  input key_length_t last_i,

  output logic key_read_o,
  output key_length_t key_byte_o,
  input line_t key_window_i,

  output logic head_valid_o,
  output head_t head_o,
  output logic fingerprint_valid_o,
  output logic [7:0] fingerprint_o
);

  localparam int unsigned StepBytes = 8;
  // reflected
  localparam logic [31:0] Polynomial = 32'h82f63b78;

  typedef enum logic [2:0] {
    Idle,
    Read,
    Wait,
    First,
    Steps,
    Done
  } state_e;

  state_e state_q, state_d;
  key_length_t first_q, last_q, left;
  logic [31:0] crc_q, crc_d;
  logic [8*StepBytes-1:0] bytes;
  head_t head_q, head_d;
  logic is_line_over, head_valid_q;
  // Offset of the next byte in its window.
  logic [LineIndexBits-1:0] first_in_window_q;

  assign left = last_q - first_q;
  assign bytes = (8 * StepBytes)'(key_window_i >> {first_in_window_q, 3'b000});

  assign is_line_over = first_in_window_q == LineIndexBits'(LineBytes - StepBytes);

  function automatic logic [31:0] add_byte(logic [31:0] crc, logic [7:0] next);
    logic [31:0] sum = crc ^ {24'd0, next};
    for (int unsigned i = 0; i < 8; i++) sum = (sum >> 1) ^ (sum[0] ? Polynomial : 32'd0);
    return sum;
  endfunction

  always_comb begin
    crc_d = crc_q;
    for (int unsigned i = 0; i < StepBytes; i++) begin
      if (i < 32'(left)) crc_d = add_byte(crc_d, bytes[8*i+:8]);
      head_d[8*(StepBytes-1-i)+:8] = i < 32'(left) ? bytes[8*i+:8] : 8'd0;
    end
  end

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Read: state_d = Wait;
      Wait: state_d = First;
      First, Steps: begin
        state_d = Steps;
        if (32'(left) <= StepBytes) state_d = Done;
        else if (is_line_over) state_d = Read;
      end
      default: ;
    endcase
    if (start_i) state_d = Read;
  end

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      first_q <= first_i;
      last_q <= last_i;
      crc_q <= '1;
      first_in_window_q <= '0;
    end else if (state_q == First || state_q == Steps) begin
      first_q <= first_q + key_length_t'(StepBytes);
      first_in_window_q <= first_in_window_q + LineIndexBits'(StepBytes);
      crc_q <= crc_d;
      if (!head_valid_q) head_q <= head_d;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= Idle;
    else state_q <= state_d;
    if (rst_i || start_i) head_valid_q <= 1'b0;
    else if (state_q == First) head_valid_q <= 1'b1;
  end

  assign key_read_o = state_q == Read;
  assign key_byte_o = first_q;
  assign head_valid_o = head_valid_q;
  assign head_o = head_q;
  assign fingerprint_valid_o = state_q == Done;
  assign fingerprint_o = ~crc_q[7:0];

  `ASSERT(BytesAreInOrder, !start_i || first_i <= last_i)

endmodule

`default_nettype wire
