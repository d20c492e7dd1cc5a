// Assertions and covers in the one form that Verilator, slang and Yosys all take: looked at at each rising
// edge of clk_i outside of reset. A module includes this file above its head and ends with them.

`ifndef ASSERTIONS_SVH
`define ASSERTIONS_SVH

// Holds in every cycle.
`define ASSERT(Name, Expression) \
  always @(posedge clk_i) begin \
    if (!rst_i) begin \
      Name : assert (Expression); \
    end \
  end

// What holds in a cycle after one that was not reset either: Expression may look back by $past and $stable.
`define ASSERT_AFTER(Name, Expression) \
  always @(posedge clk_i) begin \
    if (!rst_i && !$past(rst_i)) begin \
      Name : assert (Expression); \
    end \
  end

// What is offered and not taken is offered again, unchanged.
`define ASSERT_OFFER_STAYS(Name, Valid, Ready, Data) \
  `ASSERT_AFTER(Name, !$past((Valid) && !(Ready)) || ((Valid) && $stable(Data)))

// A state that tests have to come to: rtl/test/coverage.py counts in how many cycles they did.
`define COVER(Name, Expression) \
  always @(posedge clk_i) begin \
    if (!rst_i) begin \
      Name : cover (Expression); \
    end \
  end

`endif
