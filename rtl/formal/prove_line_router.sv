// Proves for a router with arbitrary lines of five sources: each line leaves once, unchanged, at the port of
// its reader, and lines of a source leave a port in order. A line of host memory leaves after two cycles, one
// of a channel in the cycle after it was accepted. A source waits only for lines of sources before it, a
// channel only for those of its unit. All lines have left soon after the sources rest.

`default_nettype none

module prove_line_router
  import accelerator_pkg::*;
  import memory_pkg::*;
(
  input logic clk_i,
  input logic [4:0] valid_i,
  input logic [4:0][4:0] tag_i,
  input logic [4:0] last_i,
  input logic [4:0] error_i,
  // the watched source, and the mark of its line
  input logic [2:0] watched_i,
  input logic [1:0] mark_i
);

  // host memory, the channels, the streams
  localparam int unsigned Channels = 2;
  localparam int unsigned Sources = 5;
  // two units, the filler of columns, and two clients
  localparam int unsigned Units = 2;
  localparam int unsigned Ports = 5;

  typedef logic [4:0] tag_t;
  typedef logic [Ports-1:0] ports_t;
  typedef logic [Units-1:0] units_t;

  // The lowest bits of a line; the router treats all bits alike. Two lines of the watched source have the
  // marks 1 and 2.
  typedef struct packed {
    logic is_line;
    logic [2:0] source;
    logic [1:0] mark;
  } data_t;

  // what a line keeps
  typedef struct packed {
    tag_t tag;
    data_t data;
    logic last;
    logic error;
  } kept_t;

  // A line with a mark: it was accepted, and has yet to leave.
  typedef struct packed {
    logic entered;
    logic flies;
    kept_t kept;
    // the port of its reader
    ports_t port;
    // It has been inside for a cycle.
    logic stayed;
  } marked_t;

  logic rst;
  logic [Sources-1:0] ready, accepts;
  burst_line_t [Sources-1:0] line;
  ports_t out_valid;
  tag_t [Ports-1:0] out_tag;
  burst_line_t [Ports-1:0] out;
  marked_t [1:0] marked_q;
  logic [1:0] enters;
  logic [1:0][Ports-1:0] leaves;
  // for each source: the ports that receive a line of a source before it
  logic [Sources-1:0][Ports-1:0] from;
  // cycles without an offer
  logic [2:0] rests_q;

  // The readers of the units have the numbers 2 and 3, and 4 and 5, the filler of columns has 0, and the
  // clients have 8 to 11, and 12 to 15. The numbers 1, 6 and 7 have no port.
  function automatic ports_t port_of(tag_t tag);
    return {tag[4:3] == 2'd3, tag[4:3] == 2'd2, tag[4:1] == 4'd0, tag[4:2] == 3'd2, tag[4:2] == 3'd1};
  endfunction

  function automatic units_t unit_of(tag_t tag);
    return units_t'(port_of(tag));
  endfunction

  neighbours #(.Count(Sources)) u_neighbours (
    .clk_i, .rst_o(rst), .in_valid_i(valid_i), .in_ready_i(ready)
  );

  line_router #(
    .ClientCount(2),
    .NodeUnits(1),
    .NodePlaces(2),
    .LeafUnits(1),
    .LeafPlaces(2),
    .Channels(Channels),
    .Streams(2)
  ) u_line_router (
    .clk_i,
    .rst_i(rst),
    .host_valid_i(valid_i[0]),
    .host_tag_i(tag_i[0]),
    .host_i(line[0]),
    .cache_valid_i(valid_i[2:1]),
    .cache_ready_o(ready[2:1]),
    .cache_tag_i(tag_i[2:1]),
    .cache_i(line[2:1]),
    .chip_valid_i(valid_i[4:3]),
    .chip_ready_o(ready[4:3]),
    .chip_tag_i(tag_i[4:3]),
    .chip_i(line[4:3]),
    .line_valid_o(out_valid),
    .line_tag_o(out_tag),
    .line_o(out)
  );

  assign ready[0] = 1'b1;
  assign accepts = valid_i & ready;
  always_ff @(posedge clk_i) rests_q <= rst || valid_i != '0 ? '0 : rests_q + 3'(rests_q != '1);

  for (genvar mark = 0; mark < 2; mark++) begin : gen_marks
    assign enters[mark] = accepts[watched_i] && mark_i == 2'(mark + 1);

    always_ff @(posedge clk_i) begin
      marked_q[mark].stayed <= marked_q[mark].flies;
      if (leaves[mark] != '0) marked_q[mark].flies <= 1'b0;
      if (enters[mark]) begin
        marked_q[mark] <= '{
          entered: 1'b1, flies: port_of(tag_i[watched_i]) != '0,
          kept: kept_of(tag_i[watched_i], line[watched_i]),
          port: port_of(tag_i[watched_i]), stayed: 1'b0
        };
      end
      if (rst) marked_q[mark] <= '0;
    end

    for (genvar port = 0; port < Ports; port++) begin : gen_leaves
      assign leaves[mark][port] = out_valid[port] && data_of(out[port]).mark == 2'(mark + 1);

      always @(posedge clk_i) begin
        if (!rst) begin
          LeavesUnchanged : assert (!leaves[mark][port]
              || kept_of(out_tag[port], out[port]) == marked_q[mark].kept);
        end
      end
    end

    always @(posedge clk_i) begin
      if (!rst) begin
        EachMarkOnce : assume (!enters[mark] || !marked_q[mark].entered);
        LeavesOnceAtItsPort : assert (leaves[mark] == '0
            || (marked_q[mark].flies && leaves[mark] == marked_q[mark].port));
        HostLeavesAfterTwoCycles : assert (watched_i != '0
            || (leaves[mark] != '0) == (marked_q[mark].flies && marked_q[mark].stayed));
        ChannelLeavesAfterACycle : assert (watched_i == '0 || watched_i > 3'(Channels)
            || (leaves[mark] != '0) == marked_q[mark].flies);
        AllLeave : assert (!marked_q[mark].flies || rests_q < 3'd6);
      end
    end
  end

  function automatic data_t data_of(burst_line_t of);
    return data_t'(of.data);
  endfunction

  function automatic kept_t kept_of(tag_t tag, burst_line_t of);
    return '{tag: tag, data: data_of(of), last: of.last, error: of.error};
  endfunction

  for (genvar port = 0; port < Ports; port++) begin : gen_ports
    always @(posedge clk_i) begin
      if (!rst) begin
        IsALine : assert (!out_valid[port] || data_of(out[port]).is_line);
        IsOfItsReader : assert (!out_valid[port] || port_of(out_tag[port])[port]);
      end
    end
    for (genvar source = 0; source < Sources; source++) begin : gen_from
      assign from[source][port] = out_valid[port] && data_of(out[port]).source < 3'(source);
    end
  end

  for (genvar source = 0; source < Sources; source++) begin : gen_sources
    logic [1:0] mark;
    assign mark = watched_i == 3'(source) ? mark_i : '0;
    assign line[source] = '{
      data: line_t'(data_t'{is_line: 1'b1, source: 3'(source), mark: mark}),
      last: last_i[source], error: error_i[source]
    };

    // the unit for which the source waits, or all ports
    ports_t waits;
    if (source > Channels) begin : gen_stream
      assign waits = {Ports{!ready[source]}};
    end else begin : gen_channel
      always_ff @(posedge clk_i)
        waits <= valid_i[source] && !ready[source] && !rst ? port_of(tag_i[source]) : '0;
    end

    always @(posedge clk_i) begin
      if (!rst) begin
        LineStays : assume (!$past(valid_i[source] && !ready[source] && !rst)
            || $stable({tag_i[source], line[source]}));
        OnlyHostMemoryHasOthers : assume (source == 0 || !valid_i[source] || unit_of(tag_i[source]) != '0);
        WaitsForEarlierSources : assert (waits == '0 || (waits & from[source]) != '0);
      end
    end
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      WatchesOneSource : assume (watched_i < 3'(Sources) && ($past(rst) || $stable(watched_i)));
      // The line with the second mark follows the one with the first mark to the same port.
      SecondIsSecond : assume (!enters[1]
          || (marked_q[0].entered && port_of(tag_i[watched_i]) == marked_q[0].port));
      LeaveInOrder : assert (leaves[1] == '0 || !marked_q[0].flies);
    end
  end

  // Invariants of the induction: the lines in the registers of the router, of host memory and of each stream.
  localparam int unsigned Held = 5;

  typedef struct packed {
    units_t unit;
    tag_t tag;
    burst_line_t line;
  } held_t;

  logic [Held-1:0] holds;
  held_t [Held-1:0] held;
  logic [Held-1:0][2:0] source_of;
  // for each mark: the registers that contain its line
  logic [1:0][Held-1:0] has;

  assign holds[0] = u_line_router.host_valid_q;
  assign held[0] = {u_line_router.host_wants_q, u_line_router.host_q};
  assign source_of = {3'd4, 3'd3, 3'd4, 3'd3, 3'd0};
  for (genvar stream = 0; stream < 2; stream++) begin : gen_held
    assign holds[1+stream] = u_line_router.gen_streams[stream].u_of_chip.out_valid_q;
    assign held[1+stream] = u_line_router.gen_streams[stream].u_of_chip.out_q;
    assign holds[3+stream] = !u_line_router.gen_streams[stream].u_of_chip.has_room_q;
    assign held[3+stream] = u_line_router.gen_streams[stream].u_of_chip.skid_q;
  end

  for (genvar at = 0; at < Held; at++) begin : gen_contents
    data_t data;
    assign data = data_of(held[at].line);
    for (genvar mark = 0; mark < 2; mark++) begin : gen_has
      assign has[mark][at] = holds[at] && port_of(held[at].tag) != '0 && data.mark == 2'(mark + 1);

      always @(posedge clk_i) begin
        if (!rst) begin
          HeldUnchanged : assert (!has[mark][at]
              || kept_of(held[at].tag, held[at].line) == marked_q[mark].kept);
        end
      end
    end

    always @(posedge clk_i) begin
      if (!rst) begin
        HeldIsALine : assert (!holds[at] || (data.is_line && data.source == source_of[at]));
        HeldHasItsUnit : assert (!holds[at] || (held[at].unit == unit_of(held[at].tag)
            && (at == 0 || held[at].unit != '0)));
        OnlyOneSourceMarks : assert (!holds[at] || data.mark == '0 || source_of[at] == watched_i);
      end
    end
  end

  for (genvar unit = 0; unit < Units; unit++) begin : gen_units
    always @(posedge clk_i) begin
      if (!rst) begin
        LineIsOfTheUnit : assert (!u_line_router.gen_units[unit].valid_q
            || unit_of(u_line_router.gen_units[unit].out_q.tag) == units_t'(1) << unit);
      end
    end
  end

  for (genvar mark = 0; mark < 2; mark++) begin : gen_places
    always @(posedge clk_i) begin
      if (!rst) begin
        PortIsOfTheTag : assert (!marked_q[mark].flies || (marked_q[mark].entered
            && marked_q[mark].port == port_of(marked_q[mark].kept.tag) && marked_q[mark].port != '0));
        IsInOnePlace : assert (3'($countones(has[mark])) + 3'(leaves[mark] != '0)
            == 3'(marked_q[mark].flies));
        IsHeldForACycle : assert (!has[mark][0] || !marked_q[mark].stayed);
      end
    end
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      HostWantsForItsLine : assert (holds[0] || u_line_router.host_wants_q == '0);
      SecondIsBehind : assert (!marked_q[1].flies || (marked_q[0].entered
          && marked_q[0].port == marked_q[1].port));
      FirstIsAhead : assert ((has[1][2:0] == '0 || has[0][4:3] == '0)
          && (!marked_q[1].flies || watched_i > 3'd2 || !has[0][0]));
      OneLeavesInEachCycle : assert (4'($countones(holds)) + 4'(rests_q < 3'd5 ? rests_q : 3'd5) <= 4'd5);
    end
  end

endmodule

`default_nettype wire
