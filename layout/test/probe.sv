// Reads known bytes through layout_pkg. test_probe_sv.py writes the two included files, from layout.toml
// alone, and fails if this prints anything but its last line.

`default_nettype none

// Prints what is wrong and goes on, so that one run names everything.
`define CHECK(VALUE, EXPECTED) \
  if (64'(VALUE) !== 64'(EXPECTED)) begin \
    $display("%s is %0h, not %0h", `"VALUE`", VALUE, EXPECTED); \
  end

// Stops the elaboration, before anything runs.
`define CHECK_BITS(TYPE, EXPECTED) \
  if ($bits(TYPE) != EXPECTED) begin : gen_wrong_bits_``TYPE \
    $error("%s has %0d bits, not %0d", `"TYPE`", $bits(TYPE), EXPECTED); \
  end

module probe;
  import layout_pkg::*;

  `include "sizes.svh"

  initial begin
    `include "cases.svh"
    $display("checked all");
    $finish;
  end
endmodule

`default_nettype wire
