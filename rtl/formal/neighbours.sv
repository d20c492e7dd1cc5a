// The assumptions of a proof: reset is active in the first cycle only, and each source keeps its offer until
// the offer is accepted.

`default_nettype none

module neighbours #(
  // number of sources
  parameter int unsigned Count = 1
) (
  input  logic clk_i,
  output logic rst_o,
  input  logic [Count-1:0] in_valid_i,
  input  logic [Count-1:0] in_ready_i
);

  logic started_q = 1'b0;
  logic [Count-1:0] offered_q;

  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    offered_q <= started_q ? in_valid_i & ~in_ready_i : '0;
  end

  assign rst_o = !started_q;

  always @(posedge clk_i) begin
    if (started_q) begin
      OfferStays : assume ((offered_q & ~in_valid_i) == '0);
    end
  end

endmodule

`default_nettype wire
