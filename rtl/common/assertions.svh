// Assertions and covers in the one form that Verilator, slang and Yosys accept. They are evaluated at each
// rising edge of clk_i outside of reset. A module includes this file above its header and places its
// assertions at its end. A failed assertion names its instance, unless ASSERTIONS_WITHOUT_SCOPES is
// defined, which gives all instances of a module the same code. Then assertions are conditions, because for
// each assertion Verilator calls a function in each cycle that tells whether it is enabled.

`ifndef ASSERTIONS_SVH
`define ASSERTIONS_SVH

`ifdef WITHOUT_ASSERTIONS

// Without any trace, because names and numbers of cells that a synthesis drops later change its result.
`define ASSERTION(Name, Expression)
`define ASSERT(Name, Expression)
`define ASSERT_STAYS(Name, Kept, Changes, Data)
`define ASSERT_OFFER_STAYS(Name, Valid, Ready, Data)
`define COVER(Name, Expression)

`else

`ifdef ASSERTIONS_WITHOUT_SCOPES
`define ASSERTION(Name, Expression) \
  if (!(Expression)) begin : Name \
    $display(`"Assertion failed: Name`"); \
    $stop; \
  end
`else
`define ASSERTION(Name, Expression) Name : assert (Expression);
`endif

// Expression is true in every cycle.
`define ASSERT(Name, Expression) \
  always @(posedge clk_i) begin \
    if (!rst_i) begin \
      `ASSERTION(Name, Expression) \
    end \
  end

// If Kept is true in a cycle, Data has the same value in the next cycle, unless Changes is true in the next
// cycle. The macro uses registers instead of $past, because Verilator samples the operands of $past once more
// for each instance.
`define ASSERT_STAYS(Name, Kept, Changes, Data) \
  logic Name``_kept_q; \
  logic [$bits(Data)-1:0] Name``_data_q; \
  always_ff @(posedge clk_i) begin \
    Name``_kept_q <= !rst_i && (Kept); \
    Name``_data_q <= (Data); \
  end \
  `ASSERT(Name, !Name``_kept_q || (Changes) || (Data) == Name``_data_q)

// An offer that is not accepted is repeated unchanged in the next cycle.
`define ASSERT_OFFER_STAYS(Name, Valid, Ready, Data) \
  `ASSERT_STAYS(Name, (Valid) && !(Ready), 1'b0, {Valid, Data})

// A state that tests must reach. rtl/test/coverage.py counts the cycles in which they reach it.
`define COVER(Name, Expression) \
  always @(posedge clk_i) begin \
    if (!rst_i) begin \
      Name : cover (Expression); \
    end \
  end

`endif
`endif
