// A queue of packets for a receiver that accepts no gap within a packet: it offers a packet only when it has
// all elements of it. So it hides the gaps of a sender, and those that a queue between clocks adds.

`default_nettype none

`include "assertions.svh"

module packet_fifo #(
  parameter type T = logic [31:0],
  // capacity in elements: the length of the longest packet at least
  parameter int unsigned Depth = 32
) (
  input logic clk_i,
  input logic rst_i,

  input  logic in_valid_i,
  output logic in_ready_o,
  input  T     in_i,
  input  logic in_last_i,

  output logic out_valid_o,
  input  logic out_ready_i,
  output T     out_o,
  output logic out_last_o
);

  localparam int unsigned CountBits = $clog2(Depth + 1);

  typedef struct packed {
    logic last;
    T element;
  } item_t;

  item_t out;
  logic has_element, arrives, leaves;
  // The packets that are in the queue with their last element.
  logic [CountBits-1:0] packets_q;

  fifo #(
    .T(item_t),
    .Depth(Depth)
  ) u_items (
    .clk_i,
    .rst_i,
    .in_valid_i,
    .in_ready_o,
    .in_i({in_last_i, in_i}),
    .out_valid_o(has_element),
    .out_ready_i(out_ready_i && packets_q != '0),
    .out_o(out),
    .count_o()
  );

  assign arrives = in_valid_i && in_ready_o && in_last_i;
  assign leaves = out_valid_o && out_ready_i && out_last_o;

  always_ff @(posedge clk_i) begin
    if (rst_i) packets_q <= '0;
    else packets_q <= packets_q + CountBits'(arrives) - CountBits'(leaves);
  end

  assign out_valid_o = packets_q != '0;
  assign {out_last_o, out_o} = out;

  `ASSERT(PacketIsWhole, packets_q == '0 || has_element)
  `ASSERT(PacketHasRoom, in_ready_o || packets_q != '0)
  `ASSERT_OFFER_STAYS(OutStays, out_valid_o, out_ready_i, {out_o, out_last_o})
  `COVER(PacketIsIncomplete, has_element && packets_q == '0)
  `COVER(QueueIsFull, in_valid_i && !in_ready_o)

endmodule

`default_nettype wire
