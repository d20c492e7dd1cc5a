// Reads the pieces of all clients from host memory. A tag is a client and one of its banks, so its read is in
// flight at most once, and its lines have room when they come.

`default_nettype none

`include "assertions.svh"

module host_reader
  import accelerator_pkg::*;
  import memory_pkg::*;
#(
  parameter int unsigned ClientCount = 4,
  parameter int unsigned Banks = 2,
  localparam int unsigned ClientBits = ClientCount > 1 ? $clog2(ClientCount) : 1,
  localparam int unsigned BankBits = $clog2(Banks),
  localparam int unsigned TagBits = ClientBits + BankBits
) (
  input logic clk_i,
  input logic rst_i,

  input  logic               piece_valid_i,
  output logic               piece_ready_o,
  input  bus_address_t       piece_address_i,
  input  piece_lines_t       piece_lines_i,
  input  logic [TagBits-1:0] piece_tag_i,

  // The line that came, to the one client that it is for.
  output logic        [ClientCount-1:0] line_valid_o,
  output logic        [TagBits-1:0]     line_tag_o,
  output piece_line_t                   line_o,

  output logic               host_read_valid_o,
  input  logic               host_read_ready_i,
  output logic [63:0]        host_read_address_o,
  output logic [15:0]        host_read_bytes_o,
  output logic [TagBits-1:0] host_read_tag_o,

  input  logic               host_beat_valid_i,
  output logic               host_beat_ready_o,
  input  logic [TagBits-1:0] host_beat_tag_i,
  input  line_t              host_beat_data_i,
  input  logic               host_beat_last_i,
  input  logic               host_beat_error_i
);

  assign host_read_valid_o = piece_valid_i;
  assign piece_ready_o = host_read_ready_i;
  assign host_read_address_o = 64'(piece_address_i);
  assign host_read_bytes_o = 16'(piece_lines_i) << LineIndexBits;
  assign host_read_tag_o = piece_tag_i;

  // What came, a cycle later.
  logic valid_q;
  logic [TagBits-1:0] tag_q;
  piece_line_t line_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) valid_q <= 1'b0;
    else valid_q <= host_beat_valid_i;
    tag_q <= host_beat_tag_i;
    // An error ends what is read.
    line_q <= '{
      data: host_beat_data_i,
      last: host_beat_last_i || host_beat_error_i,
      error: host_beat_error_i
    };
  end

  assign host_beat_ready_o = 1'b1;
  assign line_tag_o = tag_q;
  assign line_o = line_q;
  always_comb begin
    line_valid_o = '0;
    for (int unsigned index = 0; index < ClientCount; index++) begin
      line_valid_o[index] = valid_q && tag_q[TagBits-1:BankBits] == ClientBits'(index);
    end
  end

  // Tags in flight.
  logic [2**TagBits-1:0] flying_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      flying_q <= '0;
    end else begin
      if (host_read_valid_o && host_read_ready_i) flying_q[host_read_tag_o] <= 1'b1;
      if (host_beat_valid_i && (host_beat_last_i || host_beat_error_i)) flying_q[host_beat_tag_i] <= 1'b0;
    end
  end

  `ASSERT(TagIsFree, !host_read_valid_o || !flying_q[host_read_tag_o])
  `ASSERT(BeatWasAskedFor, !host_beat_valid_i || flying_q[host_beat_tag_i])
  `ASSERT(StaysWithinThePage, !host_read_valid_o
          || 32'(host_read_address_o[11:0]) + 32'(host_read_bytes_o) <= PageBytes)
  `ASSERT_OFFER_STAYS(ReadStays, host_read_valid_o, host_read_ready_i,
                      {host_read_address_o, host_read_bytes_o, host_read_tag_o})

endmodule

`default_nettype wire
