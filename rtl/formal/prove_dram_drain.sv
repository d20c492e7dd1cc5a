// Proves for a channel with an arbitrary accelerator, which may forget all that it has begun at any moment,
// and an arbitrary controller: each read and each write that was accepted arrives at the controller once,
// unchanged, and in order. Each burst of a write has its number of beats, of which the last one is marked:
// first those that the accelerator has sent, unchanged, and then beats without any byte enabled. While the
// channel drains, it accepts nothing, returns nothing to the accelerator, takes all answers, and offers the
// missing beats without a pause. Otherwise answers pass unchanged, and it accepts an address if it has room.
// It is idle exactly when no transaction is in flight; then it offers nothing, and no beat is missing.
//
// The order of answers, their beats before the last one, and their ids are those of the controller, which
// the channel does not know.

`default_nettype none

module prove_dram_drain
  import accelerator_pkg::*;
  import axi_pkg::*;
(
  input logic clk_i,
  input logic drains_i,
  // the accelerator
  input logic arvalid_i,
  input logic rready_i,
  input logic awvalid_i,
  input logic [1:0] awlen_i,
  input logic wvalid_i,
  input logic bready_i,
  // the controller
  input logic arready_i,
  input logic rvalid_i,
  input logic rlast_i,
  input logic awready_i,
  input logic wready_i,
  input logic bvalid_i,
  input logic [1:0] answer_i
);

  // More than the bursts of writes whose beats may be missing.
  localparam int unsigned Bursts = 5;
  localparam int unsigned OpenBursts = 4;

  // A burst has a number, and a beat has that of its burst and its own one.
  typedef logic [2:0] burst_t;
  typedef logic [4:0] beat_t;

  typedef struct packed {
    logic [AxiIdBits-1:0] id;
    logic [AxiAddressBits-1:0] address;
    logic [7:0] len;
    logic [2:0] size;
    logic [1:0] burst;
  } address_t;

  logic rst, idle;
  axi_read_request_t read, dram_read;
  axi_read_response_t read_answer, dram_read_answer;
  axi_write_request_t write, dram_write;
  axi_write_response_t write_answer, dram_write_answer;

  neighbours u_neighbours (.clk_i, .rst_o(rst), .in_valid_i(1'b0), .in_ready_i(1'b0));

  dram_drain #(
    .Bursts(Bursts)
  ) u_drain (
    .clk_i,
    .rst_i(rst),
    .drains_i, .idle_o(idle),
    .read_i(read), .read_o(read_answer), .write_i(write), .write_o(write_answer),
    .dram_read_o(dram_read), .dram_read_i(dram_read_answer),
    .dram_write_o(dram_write), .dram_write_i(dram_write_answer)
  );

  // Returns the address of a burst, and the bytes that are enabled of a beat.
  function automatic address_t address_of(burst_t number, logic [1:0] len);
    return '{id: 16'({1'b1, number}), address: {1'b1, 60'd0, number}, len: 8'(len), size: number,
             burst: 2'(number)};
  endfunction

  function automatic logic [LineBytes-1:0] strobe_of(beat_t beat);
    return {1'b1, 58'd0, beat};
  endfunction

  // ---- Bursts by their numbers: those that were accepted, those whose address the controller has, and those
  // that it has answered. Of writes the burst and the beat that the accelerator sends next, and that the
  // controller receives next; for each burst its length, and the beats that the accelerator has sent.

  burst_t read_put_q, read_sent_q, read_done_q, put_q, sent_q, done_q, from_q, to_q;
  logic [1:0] from_beat_q, to_beat_q;
  logic [7:0][1:0] len_q;
  logic [7:0][2:0] beats_q;
  logic drained_q, was_idle_q, missed_q;
  logic takes_read, reads, read_ends, takes_write, writes, write_ends, takes_beat, puts_beat;
  burst_t reads_in_flight, writes_in_flight, to_complete;

  assign takes_read = arvalid_i && read_answer.arready;
  assign reads = dram_read.arvalid && arready_i;
  assign read_ends = rvalid_i && rlast_i && dram_read.rready;
  assign takes_write = awvalid_i && write_answer.awready;
  assign writes = dram_write.awvalid && awready_i;
  assign write_ends = bvalid_i && dram_write.bready;
  assign takes_beat = wvalid_i && write_answer.wready;
  assign puts_beat = dram_write.wvalid && wready_i;
  assign reads_in_flight = read_put_q - read_done_q;
  assign writes_in_flight = put_q - done_q;
  // The controller has address and beats.
  assign to_complete = sent_q - done_q < to_q - done_q ? sent_q - done_q : to_q - done_q;

  always_comb begin
    read = '0;
    {read.arvalid, read.rready} = {arvalid_i, rready_i};
    {read.arid, read.araddr, read.arlen, read.arsize, read.arburst} = address_of(read_put_q, 2'(read_put_q));
    dram_read_answer = '0;
    {dram_read_answer.arready, dram_read_answer.rvalid, dram_read_answer.rlast} =
        {arready_i, rvalid_i, rlast_i};
    {dram_read_answer.rid, dram_read_answer.rresp, dram_read_answer.rdata} =
        {16'(answer_i), answer_i, LineBits'(answer_i)};
    write = '0;
    {write.awvalid, write.wvalid, write.bready} = {awvalid_i, wvalid_i, bready_i};
    {write.awid, write.awaddr, write.awlen, write.awsize, write.awburst} = address_of(put_q, awlen_i);
    {write.wdata, write.wstrb} = {LineBits'({from_q, from_beat_q}), strobe_of({from_q, from_beat_q})};
    write.wlast = from_beat_q == len_q[from_q];
    dram_write_answer = '0;
    {dram_write_answer.awready, dram_write_answer.wready, dram_write_answer.bvalid} =
        {awready_i, wready_i, bvalid_i};
    {dram_write_answer.bid, dram_write_answer.bresp} = {16'(answer_i), answer_i};
  end

  always_ff @(posedge clk_i) begin
    read_put_q <= read_put_q + 3'(takes_read);
    read_sent_q <= read_sent_q + 3'(reads);
    read_done_q <= read_done_q + 3'(read_ends);
    put_q <= put_q + 3'(takes_write);
    sent_q <= sent_q + 3'(writes);
    done_q <= done_q + 3'(write_ends);
    if (takes_write) {len_q[put_q], beats_q[put_q]} <= {awlen_i, 3'd0};
    if (takes_beat) begin
      beats_q[from_q] <= beats_q[from_q] + 1'b1;
      if (write.wlast) {from_q, from_beat_q} <= {from_q + 1'b1, 2'd0};
      else from_beat_q <= from_beat_q + 1'b1;
    end
    // The accelerator has forgotten its bursts.
    if (drains_i) {from_q, from_beat_q} <= {put_q, 2'd0};
    if (puts_beat) begin
      if (dram_write.wlast) {to_q, to_beat_q} <= {to_q + 1'b1, 2'd0};
      else to_beat_q <= to_beat_q + 1'b1;
    end
    {drained_q, was_idle_q} <= {drains_i, idle};
    missed_q <= drains_i && to_q != put_q;
    if (rst) begin
      {read_put_q, read_sent_q, read_done_q, put_q, sent_q, done_q} <= '0;
      {from_q, to_q, from_beat_q, to_beat_q, drained_q, missed_q} <= '0;
    end
  end

  // ---- what is expected of the next beat

  // Returns the beat after another one.
  function automatic beat_t after(beat_t beat);
    return beat[1:0] == len_q[beat[4:2]] ? {beat[4:2] + 3'd1, 2'd0} : beat + 1'b1;
  endfunction

  logic is_sent;
  beat_t to;

  assign to = {to_q, to_beat_q};
  assign is_sent = 3'(to_beat_q) < beats_q[to_q];

  always @(posedge clk_i) begin
    if (!rst) begin
      // As drained_reset does.
      DrainsUntilIdle : assume (!drained_q || drains_i || was_idle_q);
      // As a controller does.
      LinesAreOfAReadInFlight : assume (!rvalid_i || read_done_q != read_sent_q);
      ResponseIsOfAWrite : assume (!bvalid_i || to_complete != '0);

      ReadsAtOnce : assert (dram_read.arvalid == (read_sent_q != read_put_q));
      ReadIsThatOfTheAccelerator : assert (!dram_read.arvalid
          || {dram_read.arid, dram_read.araddr, dram_read.arlen, dram_read.arsize, dram_read.arburst}
          == address_of(read_sent_q, 2'(read_sent_q)));
      WritesAtOnce : assert (dram_write.awvalid == (sent_q != put_q));
      WriteIsThatOfTheAccelerator : assert (!dram_write.awvalid
          || {dram_write.awid, dram_write.awaddr, dram_write.awlen, dram_write.awsize, dram_write.awburst}
          == address_of(sent_q, len_q[sent_q]));
      BeatIsOfABurst : assert (!dram_write.wvalid || to_q != put_q);
      LastBeatIsLast : assert (!dram_write.wvalid || dram_write.wlast == (to_beat_q == len_q[to_q]));
      SentBeatIsUnchanged : assert (!dram_write.wvalid || !is_sent
          || (dram_write.wdata == LineBits'(to) && dram_write.wstrb == strobe_of(to)));
      OtherBeatsWriteNothing : assert (!dram_write.wvalid || is_sent || dram_write.wstrb == '0);

      AcceptsNothing : assert (!drains_i
          || !(read_answer.arready || write_answer.awready || write_answer.wready));
      ReturnsNothing : assert (!drains_i || !(read_answer.rvalid || write_answer.bvalid));
      TakesAnswers : assert (!drains_i || (dram_read.rready && dram_write.bready));
      MissingBeatsAreOffered : assert (!drains_i || !missed_q || to_q == put_q || dram_write.wvalid);

      LinesPass : assert (drains_i || ({read_answer.rvalid, read_answer.rid, read_answer.rresp,
          read_answer.rlast, read_answer.rdata, dram_read.rready} == {rvalid_i, 16'(answer_i), answer_i,
          rlast_i, LineBits'(answer_i), rready_i}));
      ResponsesPass : assert (drains_i || ({write_answer.bvalid, write_answer.bid, write_answer.bresp,
          dram_write.bready} == {bvalid_i, 16'(answer_i), answer_i, bready_i}));
      AcceptsReads : assert (drains_i || read_answer.arready
          == (reads_in_flight != 3'(Bursts) && read_put_q - read_sent_q < 3'd2));
      AcceptsWrites : assert (drains_i || write_answer.awready == (writes_in_flight != 3'(Bursts)
          && put_q - sent_q < 3'd2 && put_q - from_q != 3'(OpenBursts)));
      AcceptsBeats : assert (drains_i || write_answer.wready
          == (from_q != put_q && ({from_q, from_beat_q} == to || {from_q, from_beat_q} == after(to))));
      IdleIsKnown : assert (idle == (reads_in_flight == '0 && writes_in_flight == '0));
      IdleOffersNothing : assert (!idle
          || (!(dram_read.arvalid || dram_write.awvalid || dram_write.wvalid) && to_q == put_q));
      FewAreInFlight : assert (reads_in_flight <= 3'(Bursts) && writes_in_flight <= 3'(Bursts));
    end
  end

  // Invariants of the induction: the queues have the bursts and beats between both sides.

  // The burst and the beat that the channel takes or completes next.
  burst_t at;
  logic [1:0] at_beat;
  logic has_beat, has_second;
  logic [2:0] open;

  assign open = u_drain.u_open.count_q;
  assign {at, at_beat} = {put_q - open, 2'(u_drain.beat_q)};
  assign has_beat = u_drain.u_beats.out_valid_q;
  assign has_second = !u_drain.u_beats.has_room_q;

  // Returns whether a beat in the queue is the expected one.
  function automatic logic is_beat(logic [LineBits+LineBytes:0] queued, beat_t beat);
    logic sent;
    sent = 3'(beat[1:0]) < beats_q[beat[4:2]];
    return queued[LineBits+LineBytes] == (beat[1:0] == len_q[beat[4:2]])
        && queued[LineBits+:LineBytes] == (sent ? strobe_of(beat) : '0)
        && (!sent || queued[LineBits-1:0] == LineBits'(beat));
  endfunction

  always @(posedge clk_i) begin
    if (!rst) begin
      OrderAsKnown : assert (read_sent_q - read_done_q <= reads_in_flight
          && sent_q - done_q <= writes_in_flight && to_q - done_q <= writes_in_flight
          && 3'(at - done_q) <= writes_in_flight && to_q - done_q <= 3'(at - done_q));
      CountsAsKnown : assert (u_drain.reads_q == reads_in_flight && u_drain.writes_q == writes_in_flight);
      OpenAsKnown : assert (open <= 3'(OpenBursts) && u_drain.beat_q <= 8'd3
          && u_drain.u_open.has_room_q == (open != 3'(OpenBursts))
          && 2'(u_drain.u_open.tail_q - u_drain.u_open.head_q) == 2'(open));
      PositionsAsKnown : assert ({at, at_beat} == (has_second ? after(after(to)) : has_beat ? after(to) : to)
          && (open != '0 || at_beat == '0) && (open == '0 || at_beat <= len_q[at]));
      BeatsAsKnown : assert ((!has_second || has_beat) && (!has_beat || is_beat(u_drain.u_beats.out_q, to))
          && (!has_second || is_beat(u_drain.u_beats.skid_q, after(to))));
      QueuedBeatsExist : assert ((!has_beat || to_beat_q <= len_q[to_q])
          && (!has_second || to[4:2] == after(to)[4:2] || after(to)[4:2] != put_q));
      ReadsAsKnown : assert (read_put_q - read_sent_q == 3'(u_drain.u_reads.out_valid_q)
          + 3'(!u_drain.u_reads.has_room_q)
          && (u_drain.u_reads.has_room_q
          || u_drain.u_reads.skid_q == address_of(read_sent_q + 3'd1, 2'(read_sent_q + 3'd1))));
      WritesAsKnown : assert (put_q - sent_q == 3'(u_drain.u_writes.out_valid_q)
          + 3'(!u_drain.u_writes.has_room_q)
          && (u_drain.u_writes.has_room_q
          || u_drain.u_writes.skid_q == address_of(sent_q + 3'd1, len_q[sent_q + 3'd1])));
      FromAsKnown : assert (drained_q || {from_q, from_beat_q} == {at, at_beat});
      FromIsBehind : assert (!drained_q || {from_q, from_beat_q} == {put_q, 2'd0});
      AllEndsIdle : assert (!idle || at == put_q);
      IdleStays : assert (!drained_q || !was_idle_q || idle);
      MissedIsMissing : assert (!missed_q || drained_q);
    end
  end

  for (genvar burst = 0; burst < 8; burst++) begin : gen_bursts
    logic [2:0] ahead;

    // The distance from the burst that the channel completes next.
    assign ahead = 3'(burst) - at;

    always @(posedge clk_i) begin
      if (!rst) begin
        LengthAsKnown : assert (ahead >= open || u_drain.u_open.items_q[2'(u_drain.u_open.head_q + 2'(ahead))]
            == 8'(len_q[burst]));
        SentAsKnown : assert (ahead >= open || (ahead == '0 ? (drained_q ? beats_q[burst] <= 3'(at_beat)
            : beats_q[burst] == 3'(at_beat)) : beats_q[burst] == '0));
      end
    end
  end

endmodule

`default_nettype wire
