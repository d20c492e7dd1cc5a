// Proves for a filler with two tags, two channels and arbitrary lines, memories and fills: each line that it
// writes is the line of its fill with this place, once. A fill that succeeds has written all its lines, and
// one fails only if a line had an error or no room, or if memory rejected a write. Each fill ends once, not
// before memory has acknowledged all its writes, and soon after that.

`default_nettype none

module prove_cache_filler
  import accelerator_pkg::*;
  import memory_pkg::*;
(
  input logic clk_i,
  input logic start_i,
  input logic start_tag_i,
  input logic [2:0] start_place_i,
  input logic line_valid_i,
  input logic line_tag_i,
  input logic line_data_i,
  input logic line_last_i,
  input logic line_error_i,
  input logic write_ready_i,
  input logic [1:0] written_i,
  input logic [1:0] written_tag_i,
  input logic [1:0] written_error_i,
  input logic filled_ready_i,
  // the watched place
  input logic [2:0] watched_i
);

  localparam int unsigned Depth = 2;
  // A burst has at most as many lines as there are places.
  typedef logic [2:0] place_t;
  typedef logic [3:0] count_t;

  // A fill, from its start until its end is accepted.
  typedef struct packed {
    logic flies;
    // lines have yet to arrive
    logic comes;
    logic failed;
    // the place of the next line, and the number of lines that have arrived
    place_t place;
    count_t lines;
    // the line of the watched place: it has arrived, its contents, it was written
    logic arrived;
    logic data;
    logic wrote;
    // lines that wait for their write; writes that memory has not acknowledged
    count_t waiting;
    count_t open;
    // cycles in which the fill has not ended, although all its lines are written and no receiver stalled
    logic [2:0] delayed;
  } fill_t;

  logic rst, write_valid, write_tag, filled_valid, filled_tag, filled_failed, has_room;
  place_t write_place;
  line_t write;
  fill_t [1:0] fill_q;
  logic [1:0] arrives, puts, writes, answered, rejected, is_written;

  neighbours u_neighbours (.clk_i, .rst_o(rst), .in_valid_i(1'b0), .in_ready_i(1'b0));

  cache_filler #(
    .TagBits(1),
    .PlaceBits($bits(place_t)),
    .Channels(2),
    .Depth(Depth)
  ) u_cache_filler (
    .clk_i,
    .rst_i(rst),
    .start_i,
    .start_tag_i,
    .start_place_i,
    .line_valid_i,
    .line_tag_i,
    .line_i('{data: line_t'(line_data_i), last: line_last_i, error: line_error_i}),
    .write_valid_o(write_valid),
    .write_ready_i,
    .write_tag_o(write_tag),
    .write_place_o(write_place),
    .write_o(write),
    .written_i,
    .written_tag_i,
    .written_error_i,
    .filled_valid_o(filled_valid),
    .filled_ready_i,
    .filled_tag_o(filled_tag),
    .filled_failed_o(filled_failed)
  );

  assign has_room = fill_q[0].waiting + fill_q[1].waiting != count_t'(Depth);

  for (genvar tag = 0; tag < 2; tag++) begin : gen_fills
    logic [1:0] answers;
    assign answers = written_i & (tag == 1 ? written_tag_i : ~written_tag_i);
    assign arrives[tag] = line_valid_i && line_tag_i == tag && fill_q[tag].comes;
    assign puts[tag] = arrives[tag] && !line_error_i && !fill_q[tag].failed && has_room;
    assign writes[tag] = write_valid && write_ready_i && write_tag == tag;
    assign answered[tag] = answers != '0;
    assign rejected[tag] = (answers & written_error_i) != '0;
    assign is_written[tag] = fill_q[tag].flies && !fill_q[tag].comes
        && fill_q[tag].waiting == '0 && fill_q[tag].open == '0;

    always_ff @(posedge clk_i) begin
      if (arrives[tag]) begin
        fill_q[tag].place <= fill_q[tag].place + 1'b1;
        fill_q[tag].lines <= fill_q[tag].lines + 1'b1;
        if (fill_q[tag].place == watched_i) {fill_q[tag].arrived, fill_q[tag].data} <= {1'b1, line_data_i};
        if (line_last_i) fill_q[tag].comes <= 1'b0;
      end
      if (rejected[tag] || (arrives[tag] && (line_error_i || !has_room))) fill_q[tag].failed <= 1'b1;
      if (writes[tag] && write_place == watched_i) fill_q[tag].wrote <= 1'b1;
      fill_q[tag].waiting <= fill_q[tag].waiting + count_t'(puts[tag]) - count_t'(writes[tag]);
      fill_q[tag].open <= fill_q[tag].open + count_t'(writes[tag]) - count_t'(answered[tag]);
      if (is_written[tag] && !(filled_valid && !filled_ready_i))
        fill_q[tag].delayed <= fill_q[tag].delayed + 1'b1;
      if (filled_valid && filled_ready_i && filled_tag == tag) fill_q[tag] <= '0;
      if (start_i && start_tag_i == tag) begin
        fill_q[tag] <= '0;
        {fill_q[tag].flies, fill_q[tag].comes, fill_q[tag].place} <= {2'b11, start_place_i};
      end
      if (rst) fill_q[tag] <= '0;
    end

    always @(posedge clk_i) begin
      if (!rst) begin
        AnswerIsOfAWrite : assume (!answered[tag] || fill_q[tag].open != '0);
        // All lines of a fill are in one channel.
        OneAnswer : assume (answers != '1);
        BurstHasAnEnd : assume (!arrives[tag] || line_last_i || fill_q[tag].lines < count_t'(7));
        EndsSoon : assert (fill_q[tag].delayed < 3'd5);
      end
    end
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      WatchesOnePlace : assume ($past(rst) || $stable(watched_i));
      OneFillPerTag : assume (!start_i || !fill_q[start_tag_i].flies);
      OffersLines : assert (write_valid == (fill_q[0].waiting != '0 || fill_q[1].waiting != '0));
      WriteIsOfAFill : assert (!write_valid || fill_q[write_tag].waiting != '0);
      WritesTheLineOnce : assert (!write_valid || write_place != watched_i || (fill_q[write_tag].arrived
          && write == line_t'(fill_q[write_tag].data) && !fill_q[write_tag].wrote));
      EndsAfterItsWrites : assert (!filled_valid || is_written[filled_tag]);
      FailsForAReason : assert (!filled_valid || filled_failed == fill_q[filled_tag].failed);
      SucceedsWithAllLines : assert (!filled_valid || filled_failed
          || fill_q[filled_tag].wrote == fill_q[filled_tag].arrived);
    end
  end

  // Invariants of the induction: the lines in the queue, and the states of the fills.
  logic [1:0] is_first, is_second, waits_first, waits_second;
  logic first, second, at_first, at_second;

  assign first = u_cache_filler.u_fifo.count_q != '0;
  assign second = u_cache_filler.u_fifo.count_q == 2'd2;
  assign at_first = u_cache_filler.u_fifo.head_q;
  assign at_second = !at_first;

  for (genvar tag = 0; tag < 2; tag++) begin : gen_invariants
    logic is_offered, is_seen, busy, done;
    logic [2:0] ahead;

    // The first and the second line in the queue are of this fill, and of the watched place.
    assign is_first[tag] = first && u_cache_filler.u_fifo.items_q[at_first].tag == tag;
    assign is_second[tag] = second && u_cache_filler.u_fifo.items_q[at_second].tag == tag;
    assign waits_first[tag] = is_first[tag] && u_cache_filler.u_fifo.items_q[at_first].place == watched_i;
    assign waits_second[tag] = is_second[tag] && u_cache_filler.u_fifo.items_q[at_second].place == watched_i;

    assign busy = u_cache_filler.fills_q[tag].busy;
    assign done = u_cache_filler.fills_q[tag].done;
    assign is_offered = filled_valid && filled_tag == tag;
    assign is_seen = u_cache_filler.is_done_q && u_cache_filler.seen_q == tag;

    // The greatest number of cycles until the end is offered.
    always_comb begin
      ahead = 3'd4;
      if (done) ahead = u_cache_filler.at_q == tag ? 3'd2 : 3'd3;
      if (is_seen) ahead = 3'd1;
      if (is_offered) ahead = '0;
    end

    always @(posedge clk_i) begin
      if (!rst) begin
        FillIsInOneState : assert (2'(busy) + 2'(done) + 2'(is_offered) == 2'(fill_q[tag].flies));
        SeenIsDone : assert (!is_seen || (done && u_cache_filler.at_q != tag));
        BusyUntilWritten : assert (!fill_q[tag].flies || busy || is_written[tag]);
        NothingFliesWithoutAFill : assert (fill_q[tag].flies || (!fill_q[tag].comes
            && fill_q[tag].waiting == '0 && fill_q[tag].open == '0));
        ComesAsKnown : assert (u_cache_filler.fills_q[tag].comes == fill_q[tag].comes);
        FailedAsKnown : assert (!fill_q[tag].flies
            || u_cache_filler.fills_q[tag].failed == fill_q[tag].failed);
        OpenAsKnown : assert (!fill_q[tag].flies || u_cache_filler.fills_q[tag].open
            == burst_lines_t'(fill_q[tag].waiting) + burst_lines_t'(fill_q[tag].open));
        WrittenAsKnown : assert (!fill_q[tag].comes || fill_q[tag].failed
            || u_cache_filler.fills_q[tag].written == burst_lines_t'(fill_q[tag].lines));
        PlaceAsKnown : assert (!fill_q[tag].comes || fill_q[tag].place
            == u_cache_filler.start_place_q[tag] + place_t'(fill_q[tag].lines));
        WaitingAsKnown : assert (fill_q[tag].waiting == count_t'(is_first[tag]) + count_t'(is_second[tag]));
        LinesAreCounted : assert (fill_q[tag].lines <= count_t'(7 + !fill_q[tag].comes)
            && 5'(fill_q[tag].waiting) + 5'(fill_q[tag].open) <= 5'(fill_q[tag].lines));
        ArrivedInOrder : assert (!fill_q[tag].flies || fill_q[tag].arrived
            == (count_t'(place_t'(watched_i - fill_q[tag].place + place_t'(fill_q[tag].lines)))
            < fill_q[tag].lines));
        WatchedLineIsOnce : assert (2'(waits_first[tag]) + 2'(waits_second[tag]) + 2'(fill_q[tag].wrote)
            <= 2'(fill_q[tag].arrived));
        WatchedLineIsNotLost : assert (!fill_q[tag].flies || fill_q[tag].failed || !fill_q[tag].arrived
            || waits_first[tag] || waits_second[tag] || fill_q[tag].wrote);
        WatchedLineIsCorrect : assert (
            (!waits_first[tag] || u_cache_filler.u_fifo.items_q[at_first].data == line_t'(fill_q[tag].data))
            && (!waits_second[tag]
            || u_cache_filler.u_fifo.items_q[at_second].data == line_t'(fill_q[tag].data)));
        EndComesNearer : assert (!fill_q[tag].flies || 4'(fill_q[tag].delayed) + 4'(ahead) <= 4'd4);
      end
    end
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      TailFollowsLines : assert (u_cache_filler.u_fifo.count_q <= 2'd2
          && u_cache_filler.u_fifo.tail_q == (at_first ^ u_cache_filler.u_fifo.count_q[0]));
    end
  end

endmodule

`default_nettype wire
