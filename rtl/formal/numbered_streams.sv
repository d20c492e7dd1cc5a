// The elements of streams that are merged: numbers that count up in each stream, so that an element tells its
// place. The next element that each stream offers, and the next one that should leave.

`default_nettype none

module numbered_streams #(
  parameter int unsigned Count = 2,
  parameter int unsigned Bits = 4,
  localparam int unsigned IndexBits = $clog2(Count)
) (
  input logic clk_i,
  input logic rst_i,

  // for each stream: its element was accepted
  input  logic [Count-1:0] put_i,
  output logic [Count-1:0][Bits-1:0] offered_o,

  // an element of this stream leaves
  input  logic sent_i,
  input  logic [IndexBits-1:0] index_i,
  output logic [Count-1:0][Bits-1:0] expected_o
);

  always_ff @(posedge clk_i) begin
    if (rst_i) {offered_o, expected_o} <= '0;
    else begin
      for (int stream = 0; stream < int'(Count); stream++)
        offered_o[stream] <= offered_o[stream] + Bits'(put_i[stream]);
      if (sent_i) expected_o[index_i] <= expected_o[index_i] + 1'b1;
    end
  end

endmodule

`default_nettype wire
