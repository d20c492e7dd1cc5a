// Proves for reads of host memory that begin and are answered at arbitrary times: none stays in flight for
// longer than two periods and the cycles in which visits wait, only reads in flight fail, only after a
// timeout, and nothing times out unless a read has been in flight for a period.

`default_nettype none

module prove_read_timeouts (
  input logic clk_i,
  input logic begins_i,
  input logic begins_tag_i,
  input logic ends_i,
  input logic ends_tag_i
);

  // Small numbers: a period of 4 cycles, a visit after 2.
  localparam int unsigned PeriodBits = 2;
  // Two periods, a cycle in which each of the four visits waits, and two visits after the timeout.
  localparam int unsigned AgeMax = 14;

  logic rst, ready, timed_out, fails, fails_tag;
  logic [1:0] flying_q;
  logic [1:0][4:0] age_q;
  logic timed_out_q;

  neighbours #(
    .Count(1)
  ) u_neighbours (
    .clk_i,
    .rst_o(rst),
    .in_valid_i(1'b0),
    .in_ready_i(1'b0)
  );

  read_timeouts #(
    .TagBits(1),
    .PeriodBits(PeriodBits)
  ) u_read_timeouts (
    .clk_i,
    .rst_i(rst),
    .ready_o(ready),
    .begins_i,
    .begins_tag_i,
    .ends_i,
    .ends_tag_i,
    .timed_out_o(timed_out),
    .fails_o(fails),
    .fails_tag_o(fails_tag)
  );

  always_ff @(posedge clk_i) begin
    if (rst) begin
      {flying_q, timed_out_q} <= '0;
      age_q <= '0;
    end else begin
      timed_out_q <= timed_out;
      for (int tag = 0; tag < 2; tag++) age_q[tag] <= age_q[tag] + 5'(age_q[tag] != '1);
      if (ends_i && !timed_out) flying_q[ends_tag_i] <= 1'b0;
      if (fails) flying_q[fails_tag] <= 1'b0;
      if (begins_i) {flying_q[begins_tag_i], age_q[begins_tag_i]} <= {1'b1, 5'd1};
    end
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      BeginsWhenReady : assume (!begins_i || (ready && !flying_q[begins_tag_i]));
      AnswersReads : assume (!ends_i || timed_out || flying_q[ends_tag_i]);
    end
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      FailsWhatIsInFlight : assert (!fails || (timed_out && flying_q[fails_tag]));
      TimedOutStays : assert (!timed_out_q || timed_out);
      // A read that times out may be answered in the cycle of its second visit.
      TimesOutAfterPeriod : assert (!timed_out || timed_out_q
          || age_q[0] > 5'(2 ** PeriodBits) || age_q[1] > 5'(2 ** PeriodBits));
    end
  end
  for (genvar tag = 0; tag < 2; tag++) begin : gen_tags
    always @(posedge clk_i) begin
      if (!rst) begin
        Ends : assert (!flying_q[tag] || age_q[tag] <= 5'(AgeMax));
      end
    end
  end

endmodule

`default_nettype wire
