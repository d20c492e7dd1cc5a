// Ends a burst that fails in memory with its last beat: of the beats from the first error on, only the last
// one is kept, and it reports the error. So no beat of a burst follows its end, when its tag may be in use
// again. The beats of several bursts are interleaved; a tag has one burst at a time.

`default_nettype none

module failed_bursts #(
  parameter int unsigned TagBits = 3
) (
  input logic clk_i,
  input logic rst_i,

  // a beat that is transferred
  input logic               beat_i,
  input logic [TagBits-1:0] tag_i,
  input logic               last_i,
  input logic               error_i,

  // of this beat: its burst has failed; it is not kept
  output logic fails_o,
  output logic discards_o
);

  logic [2**TagBits-1:0] failed_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) failed_q <= '0;
    else if (beat_i) failed_q[tag_i] <= discards_o;
  end

  assign fails_o = error_i || failed_q[tag_i];
  assign discards_o = fails_o && !last_i;

endmodule

`default_nettype wire
