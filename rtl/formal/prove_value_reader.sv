// Proves for a value reader whose request fails at any moment: the lines that it returns are those of the
// value that was requested last, unless its request has failed; each read is that of this value, and stays
// until it is accepted; a line waits only for a request that awaits it. If memory has no read, a value is
// accepted.

`default_nettype none

module prove_value_reader
  import accelerator_pkg::*;
(
  input logic clk_i,
  input logic failed_i,
  input logic value_valid_i,
  input logic [1:0] address_i,
  input logic line_ready_i,
  input logic read_ready_i,
  // a beat of the read in flight
  input logic beat_valid_i,
  input logic beat_error_i,
  input logic beat_last_i,
  input logic [1:0] data_i
);

  logic rst, value_ready, line_valid, fails, read_valid, beat_ready;
  line_t line;
  line_read_t read;
  line_beat_t beat;

  // A value was requested whose lines are awaited; its address. A read is in flight, and is that of this
  // value.
  logic lives_q, flies_q, is_live_q;
  logic [1:0] address_q;
  // the beat that was not accepted in the cycle before
  logic waits_q;
  logic [3:0] waiting_q;
  logic takes, accepts, ends;

  neighbours #(.Count(2)) u_neighbours (
    .clk_i, .rst_o(rst), .in_valid_i({value_valid_i, beat_valid_i}), .in_ready_i({value_ready, beat_ready})
  );

  value_reader u_reader (
    .clk_i, .rst_i(rst),
    .failed_i,
    .value_valid_i, .value_ready_o(value_ready), .address_i(bus_address_t'(address_i)),
    .count_i(line_count_t'(1)),
    .line_valid_o(line_valid), .line_ready_i, .line_o(line), .fails_o(fails),
    .read_valid_o(read_valid), .read_ready_i, .read_o(read),
    .beat_valid_i, .beat_ready_o(beat_ready), .beat_i(beat)
  );

  always_comb begin
    beat = '0;
    {beat.error, beat.last, beat.data} = {beat_error_i, beat_last_i || beat_error_i, LineBits'(data_i)};
  end

  assign takes = value_valid_i && value_ready && !failed_i;
  assign accepts = read_valid && read_ready_i;
  assign ends = beat_valid_i && beat_ready && beat.last;

  always_ff @(posedge clk_i) begin
    lives_q <= !failed_i && (takes || (lives_q && !ends));
    is_live_q <= !failed_i && (accepts ? lives_q : is_live_q);
    flies_q <= accepts || (flies_q && !ends);
    if (takes) address_q <= address_i;
    {waits_q, waiting_q} <= {beat_valid_i && !beat_ready, {beat_error_i, beat_last_i, data_i}};
    if (rst) {lives_q, flies_q, is_live_q, waits_q} <= '0;
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      BeatsAreOfARead : assume (!beat_valid_i || flies_q);
      BeatStays : assume (!waits_q || waiting_q == {beat_error_i, beat_last_i, data_i});

      LinesAreOfTheValue : assert (!line_valid || failed_i
          || (lives_q && flies_q && is_live_q && beat_valid_i && line == LineBits'(data_i)));
      LinesWaitForARequest : assert (!beat_valid_i || beat_ready || (lives_q && is_live_q));
      FailsWithItsRead : assert (!fails || (beat_valid_i && beat_error_i && (failed_i || is_live_q)));
      ErrorsEndLines : assert (!(beat_valid_i && beat_error_i) || failed_i || !line_valid);
      ReadIsOfTheValue : assert (!read_valid || (!flies_q && read.address == bus_address_t'(address_q)));
      ValuesAreAccepted : assert (value_ready || read_valid || flies_q);
    end
  end

endmodule

`default_nettype wire
