// Cuts all combinational paths between two units at full rate: no output depends on an input of the same
// cycle. An element appears at the output in the cycle after it was accepted at the earliest.

`default_nettype none

`include "assertions.svh"

module skid_buffer #(
  parameter type T = logic [31:0]
) (
  input logic clk_i,
  input logic rst_i,

  input  logic in_valid_i,
  output logic in_ready_o,
  input  T     in_i,

  output logic out_valid_o,
  input  logic out_ready_i,
  output T     out_o
);

  // The output register, and the skid register: the element that arrived while the output was stalled.
  T out_q, skid_q;
  // The skid register is free. Both handshakes come from registers without logic, as pins must.
  logic out_valid_q, has_room_q;
  logic accepts, advances;

  assign accepts = in_valid_i && in_ready_o;
  assign advances = !out_valid_q || out_ready_i;

  always_ff @(posedge clk_i) begin
    if (advances) out_q <= has_room_q ? in_i : skid_q;
    if (accepts) skid_q <= in_i;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      out_valid_q <= 1'b0;
      has_room_q <= 1'b1;
    end else begin
      if (advances) out_valid_q <= !has_room_q || accepts;
      has_room_q <= advances || (has_room_q && !accepts);
    end
  end

  assign in_ready_o = has_room_q;
  assign out_valid_o = out_valid_q;
  assign out_o = out_q;

  `ASSERT(SkidOnlyIfOutputIsValid, has_room_q || out_valid_q)
  `ASSERT_OFFER_STAYS(InStays, in_valid_i, in_ready_o, in_i)
  `ASSERT_OFFER_STAYS(OutStays, out_valid_o, out_ready_i, out_o)
  `COVER(SkidIsUsed, !has_room_q && !out_ready_i)

endmodule

`default_nettype wire
