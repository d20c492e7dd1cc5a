// Extends the reset of a unit until the transactions around it that were in flight are completed. Those who
// complete them see the reset, as `drains_o`, some cycles later than the unit: a transaction that the unit
// begins meanwhile is one of them.

`default_nettype none

`include "assertions.svh"

module drained_reset (
  input logic clk_i,
  // The reset of those who complete the transactions. It begins only during that of the unit, which lasts
  // longer.
  input logic drain_rst_i,

  // the reset of the unit, of this clock: see reset_sync
  input  logic unit_rst_i,
  // While drains_o is set, no transaction begins; none is in flight.
  output logic drains_o,
  input  logic idle_i,
  output logic rst_o
);

  logic is_held_q;

  always_ff @(posedge clk_i) begin
    is_held_q <= unit_rst_i || (is_held_q && !(drains_o && idle_i));
  end

  // The reset of the unit begins without a clock.
  synchronizer #(
    .Bits(1)
  ) u_drains (
    .clk_i,
    .rst_i(drain_rst_i),
    .bits_i(is_held_q),
    .bits_o(drains_o)
  );

  assign rst_o = unit_rst_i || is_held_q;

  logic was_idle_q;
  always_ff @(posedge clk_i) was_idle_q <= drains_o && idle_i;
  always @(posedge clk_i) begin
    if (!drain_rst_i) begin
      `ASSERTION(EndsWhenDrained, rst_o || was_idle_q || !drains_o)
    end
  end

endmodule

`default_nettype wire
