// Proves for a wide arbiter of three arbitrary streams: the elements of a stream leave in order, and a stream
// that offers an element waits for at most four elements of other streams.

`default_nettype none

module prove_wide_arbiter (
  input logic clk_i,
  input logic [2:0] in_valid_i,
  input logic out_ready_i
);

  localparam int unsigned Count = 3;

  logic rst, out_valid;
  logic [2:0] in_ready, put;
  logic [2:0][3:0] offered, expected;
  logic [3:0] out;
  logic [1:0] index;

  neighbours #(.Count(Count)) u_neighbours (.clk_i, .rst_o(rst), .in_valid_i, .in_ready_i(in_ready));

  wide_arbiter #(
    .T(logic [3:0]),
    .Count(Count)
  ) u_arbiter (
    .clk_i,
    .rst_i(rst),
    .in_valid_i,
    .in_ready_o(in_ready),
    .in_i(offered),
    .out_valid_o(out_valid),
    .out_ready_i,
    .out_o(out),
    .out_index_o(index)
  );

  assign put = in_valid_i & in_ready;

  numbered_streams #(
    .Count(Count),
    .Bits(4)
  ) u_numbers (
    .clk_i,
    .rst_i(rst),
    .put_i(put),
    .offered_o(offered),
    .sent_i(out_valid && out_ready_i),
    .index_i(index),
    .expected_o(expected)
  );

  // The number of elements of other streams that were accepted since this stream made its offer.
  logic [2:0][2:0] others_q;

  always_ff @(posedge clk_i) begin
    if (rst) begin
      others_q <= '0;
    end else begin
      for (int stream = 0; stream < int'(Count); stream++) begin
        if (!in_valid_i[stream] || put[stream]) others_q[stream] <= '0;
        else if (|put && others_q[stream] != '1) others_q[stream] <= others_q[stream] + 1'b1;
      end
    end
  end

  // Invariants of the induction: the arbiter contains up to two elements, and a grant is of an offer.
  logic second;
  logic [1:0] second_index;

  assign second = !u_arbiter.u_skid_buffer.has_room_q;
  assign second_index = u_arbiter.u_skid_buffer.skid_q.index;

  always @(posedge clk_i) begin
    if (!rst) begin
      InOrder : assert (!out_valid || out == expected[index]);
      EveryStreamGetsGrant : assert (others_q[0] <= 3'd4 && others_q[1] <= 3'd4 && others_q[2] <= 3'd4);
      OneGrant : assert (u_arbiter.grant_q inside {3'd0, 3'd1, 3'd2, 3'd4});
      GrantIsKnown : assert (u_arbiter.granted_q == |u_arbiter.grant_q);
      GrantIsOfAnOffer : assert ((u_arbiter.grant_q & ~in_valid_i) == '0);
      TurnIsOfAStream : assert (u_arbiter.after_q inside {3'b000, 3'b100, 3'b110});
      FirstExists : assert (!out_valid || index < 2'd3);
      SecondExists : assert (!second || (out_valid && second_index < 2'd3));
      SecondIsNext : assert (!second || u_arbiter.u_skid_buffer.skid_q.data
          == expected[second_index] + 4'(second_index == index));
    end
  end

  // The streams of the grant and of the one before it. Each grant goes to a stream that is nearer to one that
  // waits than the grant before the last one, so the sum of both distances falls.
  logic [1:0] granted, earlier;
  assign granted = u_arbiter.grant_q[2] ? 2'd2 : 2'(u_arbiter.grant_q[1]);
  assign earlier = u_arbiter.after_q[1] ? 2'd0 : u_arbiter.after_q[2] ? 2'd1 : 2'd2;

  // The number of streams between two, in turn.
  function automatic logic [2:0] between(logic [1:0] from, logic [1:0] to);
    return to > from ? 3'(to - from) - 3'd1 : 3'(to) + 3'd2 - 3'(from);
  endfunction

  for (genvar at = 0; at < Count; at++) begin : gen_counts
    logic [2:0] ahead;
    always_comb begin
      ahead = {between(earlier, 2'(at))[1:0], 1'b0};
      if (u_arbiter.granted_q) ahead = between(earlier, 2'(at)) + between(granted, 2'(at)) + 3'd1;
      if (u_arbiter.grant_q[at]) ahead = '0;
    end
    always @(posedge clk_i) begin
      if (!rst) begin
        GrantIsFair : assert (!in_valid_i[at] || 4'(others_q[at]) + 4'(ahead) <= 4'd4);
        AllAreCounted : assert (offered[at] - expected[at]
            == 4'(out_valid && index == 2'(at)) + 4'(second && second_index == 2'(at)));
      end
    end
  end

endmodule

`default_nettype wire
