// Assertions and covers in the one form that Verilator, slang and Yosys all take: looked at at each rising
// edge of clk_i outside of reset. A module includes this file above its head and ends with them. One that fails
// says in which instance, but with ASSERTIONS_WITHOUT_SCOPES, so that all instances of a module are alike.

`ifndef ASSERTIONS_SVH
`define ASSERTIONS_SVH

`ifdef ASSERTIONS_WITHOUT_SCOPES
`define ASSERTION(Name, Expression) \
  Name : assert (Expression) else begin \
    $display(`"Assertion failed: Name`"); \
    $stop; \
  end
`else
`define ASSERTION(Name, Expression) Name : assert (Expression);
`endif

// Holds in every cycle.
`define ASSERT(Name, Expression) \
  always @(posedge clk_i) begin \
    if (!rst_i) begin \
      `ASSERTION(Name, Expression) \
    end \
  end

// What Data is in a cycle in which Kept holds, it is in the next one, too, unless Changes holds then. (Registers,
// not $past: Verilator samples what that looks at in each instance by itself.)
`define ASSERT_STAYS(Name, Kept, Changes, Data) \
  logic Name``_kept_q; \
  logic [$bits(Data)-1:0] Name``_data_q; \
  always_ff @(posedge clk_i) begin \
    Name``_kept_q <= !rst_i && (Kept); \
    Name``_data_q <= (Data); \
  end \
  `ASSERT(Name, !Name``_kept_q || (Changes) || (Data) == Name``_data_q)

// What is offered and not taken is offered again, unchanged.
`define ASSERT_OFFER_STAYS(Name, Valid, Ready, Data) \
  `ASSERT_STAYS(Name, (Valid) && !(Ready), 1'b0, {Valid, Data})

// A state that tests have to come to: rtl/test/coverage.py counts in how many cycles they did.
`define COVER(Name, Expression) \
  always @(posedge clk_i) begin \
    if (!rst_i) begin \
      Name : cover (Expression); \
    end \
  end

`endif
