// Arbitrates the writes to a channel of on-board memory: bursts of the page table, and single lines of the
// cache. The page table has priority, and no line is written within one of its bursts.

`default_nettype none

`include "assertions.svh"

module dram_writer
  import accelerator_pkg::*;
#(
  parameter int unsigned AddressBits = 34,
  parameter int unsigned IdBits = 4
) (
  input logic clk_i,
  input logic rst_i,

  // id 0
  input  logic                   burst_valid_i,
  output logic                   burst_ready_o,
  input  logic [AddressBits-1:0] burst_address_i,
  input  logic [7:0]             burst_len_i,
  input  logic                   word_valid_i,
  output logic                   word_ready_o,
  input  line_t                  word_i,
  input  logic [LineBytes-1:0]   word_strobe_i,
  input  logic                   word_last_i,

  input  logic                   line_valid_i,
  output logic                   line_ready_o,
  input  logic [IdBits-1:0]      line_id_i,
  input  logic [AddressBits-1:0] line_address_i,
  input  line_t                  line_i,

  output logic                   aw_valid_o,
  input  logic                   aw_ready_i,
  output logic [IdBits-1:0]      aw_id_o,
  output logic [AddressBits-1:0] aw_address_o,
  output logic [7:0]             aw_len_o,
  output logic                   w_valid_o,
  input  logic                   w_ready_i,
  output line_t                  w_data_o,
  output logic [LineBytes-1:0]   w_strobe_o,
  output logic                   w_last_o
);

  typedef struct packed {
    logic [IdBits-1:0] id;
    logic [AddressBits-1:0] address;
    logic [7:0] len;
  } address_t;

  typedef struct packed {
    logic last;
    logic [LineBytes-1:0] strobe;
    line_t data;
  } word_t;

  logic address_ready, word_ready, takes_line, puts_address, puts_word;
  address_t address, address_out;
  word_t word, word_out;

  // Words of the current burst of the page table have yet to arrive.
  logic in_burst_q;

  assign takes_line = line_valid_i && !in_burst_q && !burst_valid_i && address_ready && word_ready;
  assign line_ready_o = takes_line;
  assign burst_ready_o = !in_burst_q && address_ready;
  assign word_ready_o = in_burst_q && word_ready;
  assign puts_address = takes_line || (burst_valid_i && burst_ready_o);
  assign puts_word = takes_line || (word_valid_i && word_ready_o);
  assign address = takes_line ? '{id: line_id_i, address: line_address_i, len: '0}
      : '{id: '0, address: burst_address_i, len: burst_len_i};
  assign word = takes_line ? '{data: line_i, strobe: '1, last: 1'b1}
      : '{data: word_i, strobe: word_strobe_i, last: word_last_i};

  always_ff @(posedge clk_i) begin
    if (rst_i) in_burst_q <= 1'b0;
    else if (burst_valid_i && burst_ready_o) in_burst_q <= 1'b1;
    else if (word_valid_i && word_ready_o && word_last_i) in_burst_q <= 1'b0;
  end

  skid_buffer #(
    .T(address_t)
  ) u_addresses (
    .clk_i,
    .rst_i,
    .in_valid_i(puts_address),
    .in_ready_o(address_ready),
    .in_i(address),
    .out_valid_o(aw_valid_o),
    .out_ready_i(aw_ready_i),
    .out_o(address_out)
  );

  skid_buffer #(
    .T(word_t)
  ) u_words (
    .clk_i,
    .rst_i,
    .in_valid_i(puts_word),
    .in_ready_o(word_ready),
    .in_i(word),
    .out_valid_o(w_valid_o),
    .out_ready_i(w_ready_i),
    .out_o(word_out)
  );

  assign aw_id_o = address_out.id;
  assign aw_address_o = address_out.address;
  assign aw_len_o = address_out.len;
  assign w_data_o = word_out.data;
  assign w_strobe_o = word_out.strobe;
  assign w_last_o = word_out.last;

  `ASSERT(WordsBelongToBurst, !word_valid_i || in_burst_q)
  `ASSERT_OFFER_STAYS(LineStays, line_valid_i, line_ready_o, {line_id_i, line_address_i, line_i})

endmodule

`default_nettype wire
