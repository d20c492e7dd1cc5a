// Returns lines of cache hits, or of the root on chip, to the clients that requested them. Lines from other
// sources have priority: a line waits while its client receives another one.

`default_nettype none

`include "assertions.svh"

module hit_reader
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

  input  logic               beat_valid_i,
  output logic               beat_ready_o,
  input  logic [TagBits-1:0] beat_tag_i,
  input  burst_line_t        beat_i,

  // clients that receive another line in this cycle
  input  logic        [ClientCount-1:0] busy_i,
  output logic        [ClientCount-1:0] line_valid_o,
  output logic        [BankBits-1:0]    line_bank_o,
  output burst_line_t                   line_o
);

  typedef struct packed {
    logic [TagBits-1:0] tag;
    burst_line_t line;
  } element_t;

  logic valid, ready;
  element_t beat, out;

  assign beat = '{tag: beat_tag_i, line: beat_i};

  skid_buffer #(
    .T(element_t)
  ) u_skid_buffer (
    .clk_i,
    .rst_i,
    .in_valid_i(beat_valid_i),
    .in_ready_o(beat_ready_o),
    .in_i(beat),
    .out_valid_o(valid),
    .out_ready_i(ready),
    .out_o(out)
  );

  logic [ClientCount-1:0] is_for;
  for (genvar index = 0; index < ClientCount; index++) begin : gen_clients
    assign is_for[index] = out.tag[TagBits-1:BankBits] == ClientBits'(index);
  end

  assign ready = (is_for & busy_i) == '0;
  assign line_valid_o = valid && ready ? is_for : '0;
  assign line_bank_o = out.tag[BankBits-1:0];
  assign line_o = out.line;

  `ASSERT(OneSourcePerClient, (line_valid_o & busy_i) == '0)

endmodule

`default_nettype wire
