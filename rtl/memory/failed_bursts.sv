// Ends a burst that fails in memory with its last beat: of the beats from the first error on, only the last
// one is kept, and it reports the error. So no beat of a burst follows its end, when its tag may be in use
// again. The beats of several bursts are interleaved; a tag has one burst at a time.
//
// The flags of all tags are a memory, because as registers they would be most of a port. A burst leaves its
// flag cleared, and the flags are cleared one after the other after reset; until then no burst may begin.

`default_nettype none

`include "assertions.svh"

module failed_bursts #(
  parameter int unsigned TagBits = 3
) (
  input logic clk_i,
  input logic rst_i,
  // all flags are cleared
  output logic ready_o,

  // a beat that is transferred
  input logic               beat_i,
  input logic [TagBits-1:0] tag_i,
  input logic               last_i,
  input logic               error_i,

  // of this beat: its burst has failed; it is not kept
  output logic fails_o,
  output logic discards_o
);

  logic failed_q[2**TagBits];
  // The number of flags that are cleared.
  logic [TagBits:0] cleared_q;
  logic [TagBits-1:0] written;

  assign ready_o = cleared_q[TagBits];
  assign written = ready_o ? tag_i : cleared_q[TagBits-1:0];

  always_ff @(posedge clk_i) begin
    if (rst_i) cleared_q <= '0;
    else if (!ready_o) cleared_q <= cleared_q + 1'b1;
    if (!ready_o || beat_i) failed_q[written] <= ready_o && discards_o;
  end

  assign fails_o = error_i || failed_q[tag_i];
  assign discards_o = fails_o && !last_i;

  `ASSERT(NoBeatBeforeFlagsAreCleared, !beat_i || ready_o)

endmodule

`default_nettype wire
