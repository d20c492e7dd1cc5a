// An arbiter of three streams, whatever they do: elements of a stream leave in order, those of a packet next
// to each other, and a stream that offers is let through before any other begins a third packet.

module prove_arbiter (
  input logic clk_i,
  input logic [2:0] in_valid_i,
  input logic [2:0] in_last_i,
  input logic out_ready_i
);

  localparam int unsigned Count = 3;

  logic rst, out_valid, out_last;
  logic [2:0] in_ready, put;
  logic [2:0][3:0] put_q, taken_q;
  logic [3:0] out;
  logic [1:0] index;

  for (genvar stream = 0; stream < Count; stream++) begin : gen_streams
    logic stream_rst;
    neighbours u_neighbours (
      .clk_i,
      .rst_o(stream_rst),
      .in_valid_i(in_valid_i[stream]),
      .in_ready_i(in_ready[stream])
    );
  end
  assign rst = gen_streams[0].stream_rst;

  arbiter #(
    .T(logic [3:0]),
    .Count(Count)
  ) u_arbiter (
    .clk_i,
    .rst_i(rst),
    .in_valid_i,
    .in_ready_o(in_ready),
    .in_i(put_q),
    .in_last_i,
    .out_valid_o(out_valid),
    .out_ready_i,
    .out_o(out),
    .out_last_o(out_last),
    .out_index_o(index)
  );

  assign put = in_valid_i & in_ready;

  // The stream whose packet is under way at the output.
  logic is_within_q;
  logic [1:0] within_q;
  // Whether a stream offered in the last cycle and was not taken; packets that others began since it offers.
  logic [2:0] waits_q, last_q, begins, in_packet_q;
  logic [2:0][1:0] others_q;

  assign begins = put & ~in_packet_q;

  always_ff @(posedge clk_i) begin
    last_q <= in_last_i;
    if (rst) begin
      put_q <= '0;
      taken_q <= '0;
      is_within_q <= 1'b0;
      waits_q <= '0;
      in_packet_q <= '0;
      others_q <= '0;
    end else begin
      waits_q <= in_valid_i & ~in_ready;
      for (int stream = 0; stream < int'(Count); stream++) begin
        put_q[stream] <= put_q[stream] + 4'(put[stream]);
        if (put[stream]) in_packet_q[stream] <= !in_last_i[stream];
        if (!in_valid_i[stream] || put[stream]) others_q[stream] <= '0;
        else if (|begins && others_q[stream] != '1) others_q[stream] <= others_q[stream] + 1'b1;
      end
      if (out_valid && out_ready_i) begin
        taken_q[index] <= taken_q[index] + 1'b1;
        is_within_q <= !out_last;
        within_q <= index;
      end
    end
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      LastStays : assume ((waits_q & (in_last_i ^ last_q)) == '0);
      HasItsTurn : assert (others_q[0] <= 2'd2 && others_q[1] <= 2'd2 && others_q[2] <= 2'd2);
      InOrder : assert (!out_valid || out == taken_q[index]);
      PacketsStayWhole : assert (!out_valid || !is_within_q || index == within_q);
    end
  end

endmodule
