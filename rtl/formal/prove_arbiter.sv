// Proves for an arbiter of three arbitrary streams: the elements of a stream leave in order, packets are not
// mixed, and a stream that offers an element gets the grant before other streams begin a third packet.

`default_nettype none

module prove_arbiter (
  input logic clk_i,
  input logic [2:0] in_valid_i,
  input logic [2:0] in_last_i,
  input logic out_ready_i
);

  localparam int unsigned Count = 3;

  logic rst, out_valid, out_last;
  logic [2:0] in_ready, put;
  logic [2:0][3:0] offered, expected;
  logic [3:0] out;
  logic [1:0] index;

  neighbours #(.Count(Count)) u_neighbours (.clk_i, .rst_o(rst), .in_valid_i, .in_ready_i(in_ready));

  arbiter #(
    .T(logic [3:0]),
    .Count(Count)
  ) u_arbiter (
    .clk_i,
    .rst_i(rst),
    .in_valid_i,
    .in_ready_o(in_ready),
    .in_i(offered),
    .in_last_i,
    .out_valid_o(out_valid),
    .out_ready_i,
    .out_o(out),
    .out_last_o(out_last),
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

  // The stream whose packet is incomplete at the output.
  logic is_within_q;
  logic [1:0] within_q;
  // waits_q: the offer of a stream was not accepted in the last cycle. others_q: the number of packets
  // that other streams have begun since this stream made its offer.
  logic [2:0] waits_q, last_q, begins, in_packet_q;
  logic [2:0][1:0] others_q;

  assign begins = put & ~in_packet_q;

  always_ff @(posedge clk_i) begin
    last_q <= in_last_i;
    if (rst) begin
      is_within_q <= 1'b0;
      waits_q <= '0;
      in_packet_q <= '0;
      others_q <= '0;
    end else begin
      waits_q <= in_valid_i & ~in_ready;
      for (int stream = 0; stream < int'(Count); stream++) begin
        if (put[stream]) in_packet_q[stream] <= !in_last_i[stream];
        if (!in_valid_i[stream] || put[stream]) others_q[stream] <= '0;
        else if (|begins && others_q[stream] != '1) others_q[stream] <= others_q[stream] + 1'b1;
      end
      if (out_valid && out_ready_i) begin
        is_within_q <= !out_last;
        within_q <= index;
      end
    end
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      LastStays : assume ((waits_q & (in_last_i ^ last_q)) == '0);
      EveryStreamGetsGrant : assert (others_q[0] <= 2'd2 && others_q[1] <= 2'd2 && others_q[2] <= 2'd2);
      InOrder : assert (!out_valid || out == expected[index]);
      PacketsAreNotMixed : assert (!out_valid || !is_within_q || index == within_q);
    end
  end

  // Invariants of the induction: the arbiter contains up to two elements.
  logic first, second, is_begun;
  logic [1:0] grant, second_index;
  // The packet that is open after the last of them.
  logic [2:0] open;

  assign first = out_valid;
  assign second = !u_arbiter.u_skid_buffer.has_room_q;
  assign second_index = u_arbiter.u_skid_buffer.skid_q.index;
  assign grant = u_arbiter.grant_q[2] ? 2'd2 : 2'(u_arbiter.grant_q[1]);
  assign is_begun = in_packet_q[grant];

  function automatic logic [2:0] stream(logic is_open, logic [1:0] number);
    return is_open ? 3'd1 << number : 3'd0;
  endfunction

  always_comb begin
    open = stream(is_within_q, within_q);
    if (first) open = stream(!out_last, index);
    if (second) open = stream(!u_arbiter.u_skid_buffer.skid_q.last, second_index);
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      StreamExists : assert (within_q < 2'd3 || !is_within_q);
      OneGrant : assert (u_arbiter.grant_q == 3'd1 << grant);
      LastGrantIsLast : assert (u_arbiter.before_q[grant] == ~(3'd1 << grant));
      FirstExists : assert (!first || index < 2'd3);
      SecondExists : assert (!second || second_index < 2'd3);
      SecondIsNext : assert (!second || u_arbiter.u_skid_buffer.skid_q.data
          == expected[second_index] + 4'(second_index == index));
      SecondStays : assert (!second || out_last || second_index == index);
      OpenPacketIsKnown : assert (open == in_packet_q);
      PacketHasGrant : assert (in_packet_q == '0 || (u_arbiter.is_locked_q && in_packet_q == 3'd1 << grant));
    end
  end

  // The number of streams that may begin a packet before this one: the stream that has the grant and has not
  // begun, and the streams that go before this one.
  // The streams that go after each one.
  logic [2:0][2:0] after;
  always_comb begin
    for (int one = 0; one < 3; one++) begin
      for (int other = 0; other < 3; other++) after[one][other] = u_arbiter.before_q[other][one];
    end
  end

  for (genvar at = 0; at < Count; at++) begin : gen_grants
    logic has_grant, waits;
    logic [1:0] between, ahead;
    assign has_grant = grant == 2'(at);
    assign waits = u_arbiter.is_locked_q && !is_begun;
    assign between = 2'($countones(u_arbiter.before_q[at]));
    assign ahead = has_grant && waits ? 2'd0 : between + 2'(waits);
    always @(posedge clk_i) begin
      if (!rst) begin
        AllAreCounted : assert (offered[at] - expected[at]
            == 4'(first && index == 2'(at)) + 4'(second && second_index == 2'(at)));
        IsBeforeOrAfter : assert (u_arbiter.before_q[at] == ~((3'd1 << at) | after[at]));
        GrantIsFair : assert (3'(others_q[at]) + 3'(ahead) <= 3'd2);
        NoPacketBeginsBetween : assert (!in_packet_q[at] || others_q[at] == '0);
      end
    end
  end

endmodule

`default_nettype wire
