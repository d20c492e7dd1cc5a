// Fetches the lines of one leaf: first header and samples, then the lines that are requested, and the lines
// of a window that are missing. It knows which lines are stored; the memory is shared with other leaves. It
// also passes the lines of overflow values through.

`default_nettype none

`include "assertions.svh"

module leaf_buffer
  import layout_pkg::*;
  import accelerator_pkg::*;
  import scan_pkg::*;
#(
  // size of the largest node
  parameter int unsigned NodeBytes = NodeBytesDefault,
  localparam int unsigned Lines = NodeBytes / LineBytes,
  localparam int unsigned LineIndexWidth = $clog2(Lines)
) (
  input logic clk_i,
  input logic rst_i,

  // discards all lines and reads the first lines of a node
  input logic begin_valid_i,
  output logic begin_ready_o,
  input logic begin_by_lid_i,
  input lid_t begin_lid_i,
  input bus_address_t begin_address_i,
  input line_count_t begin_count_i,

  // A line to store, in the next cycle if it is accepted. A memory accepts one leaf's line in each cycle.
  output logic store_valid_o,
  input logic store_ready_i,
  output logic [LineIndexWidth-1:0] store_line_o,
  output line_t store_data_o,

  // The first lines and the lines of watched fetches in order of arrival, for leaf_search. copied: the first
  // line is the header of a copy.
  output logic watched_valid_o,
  input logic watched_ready_i,
  output line_t watched_o,
  output logic watched_copied_o,
  // a read since the beginning has failed
  output logic failed_o,
  // all requested lines have arrived
  output logic settled_o,

  // prefetches the bytes from an offset to a limit
  input logic fetch_valid_i,
  output logic fetch_ready_o,
  input logic fetch_watched_i,
  input offset_t fetch_offset_i,
  input offset_t fetch_limit_i,
  // the line in which log entries begin; watched lines before it are columns, except for the header
  input line_count_t columns_end_i,

  // Whether the two lines of a window are stored. If lines that it needs are missing, LinesAhead lines are
  // fetched, but none beyond its limit. After a read that failed the window is ready but undefined, so that
  // no unit waits forever.
  input logic window_valid_i,
  output logic window_ready_o,
  input window_read_t window_i,

  // Reads lines of an overflow value. After a read that failed, lines are returned but undefined, as for
  // windows.
  input logic value_valid_i,
  output logic value_ready_o,
  input bus_address_t value_address_i,
  input line_count_t value_count_i,
  output logic value_line_valid_o,
  input logic value_line_ready_i,
  output line_t value_line_o,

  output logic read_valid_o,
  input logic read_ready_i,
  output line_read_t read_o,
  input logic beat_valid_i,
  output logic beat_ready_o,
  input line_beat_t beat_i
);

  localparam int unsigned LinesAhead = 4;

  typedef logic [LineIndexWidth-1:0] line_index_t;

  typedef struct packed {
    logic watched;
    line_count_t first;
    line_count_t limit;
  } lines_t;

  typedef enum logic {Choose, Offer} state_e;

  // A read in flight.
  typedef struct packed {
    logic is_value;
    logic watched;
    line_count_t first;
  } flight_t;

  state_e state_q, state_d;
  line_read_t read_q, read_d;
  logic is_value_q, is_value_d, watched_q, watched_d;
  // The read whose lines arrive, and the number of its lines that have arrived.
  flight_t flight;
  line_count_t came_q, line;
  logic flies, has_room, ends;
  // A line of the window is missing; its first one is stored; the lines after that one up to the limit.
  // Registers, so a fetch begins one cycle later.
  logic wants_line_q, has_first_q;
  line_count_t more_q;
  // The lines that are stored, and the one that is stored in this cycle.
  logic [Lines-1:0] there_q;
  logic stores_q;
  line_index_t stored_q;
  // known_q: the first read has ended. has_address_q: a line has arrived, so the address of the buffer
  // is known.
  logic failed_q, known_q, has_address_q;
  bus_address_t address_q;

  // ---- reads

  lines_t fetch_in, fetch_out;
  logic fetch_out_valid, fetch_out_ready, fetch_is_empty, begins, wants_line;
  line_count_t window_line, window_last, missing, missing_count;

  assign fetch_in.watched = fetch_watched_i;
  assign fetch_in.first = line_count_t'(fetch_offset_i >> LineIndexBits);
  assign fetch_in.limit = line_count_t'((fetch_limit_i + offset_t'(LineBytes - 1)) >> LineIndexBits);
  assign fetch_is_empty = fetch_out.first >= fetch_out.limit;
  assign begins = begin_valid_i && begin_ready_o;

  fifo #(
    .T(lines_t),
    .Depth(2)
  ) u_fetches (
    .clk_i,
    .rst_i(rst_i || begins || failed_q),
    .in_valid_i(fetch_valid_i), .in_ready_o(fetch_ready_o),
    .in_i(fetch_in),
    .out_valid_o(fetch_out_valid), .out_ready_i(fetch_out_ready),
    .out_o(fetch_out),
    .count_o()
  );

  function automatic line_read_t read_of(bus_address_t address, line_count_t first, line_count_t count);
    line_read_t read = '0;
    read.address = address;
    read.first = first;
    read.count = count;
    return read;
  endfunction

  always_comb begin
    state_d = state_q;
    read_d = read_q;
    is_value_d = is_value_q;
    watched_d = watched_q;
    begin_ready_o = 1'b0;
    value_ready_o = 1'b0;
    fetch_out_ready = 1'b0;
    unique case (state_q)
      Choose: begin
        {is_value_d, watched_d} = '0;
        if (begin_valid_i) begin
          begin_ready_o = !flies;
          read_d = read_of(begin_address_i, '0, begin_count_i);
          read_d.by_lid = begin_by_lid_i;
          read_d.lid = begin_lid_i;
          read_d.columns = 1'b1;
          watched_d = 1'b1;
          if (begin_ready_o) state_d = Offer;
        end else if (failed_q) begin
          value_ready_o = 1'b1;
        end else if (fetch_out_valid) begin
          fetch_out_ready = has_address_q && has_room;
          read_d = read_of(address_q, fetch_out.first, fetch_out.limit - fetch_out.first);
          read_d.follows = 1'b1;
          read_d.columns = fetch_out.watched && fetch_out.first != '0 && fetch_out.limit <= columns_end_i;
          watched_d = fetch_out.watched;
          if (fetch_out_ready && !fetch_is_empty) state_d = Offer;
        end else if (value_valid_i) begin
          value_ready_o = !flies;
          is_value_d = 1'b1;
          read_d = read_of(value_address_i, '0, value_count_i);
          if (value_ready_o) state_d = Offer;
        end else if (wants_line_q && window_valid_i) begin
          read_d = read_of(address_q, missing, missing_count);
          state_d = Offer;
        end
      end
      default: if (read_ready_i) state_d = Choose;
    endcase
  end

  // An error ends all reads in flight.
  fifo #(
    .T(flight_t),
    .Depth(2)
  ) u_flights (
    .clk_i,
    .rst_i(rst_i || (ends && beat_i.error)),
    .in_valid_i(read_valid_o && read_ready_i),
    .in_ready_o(has_room),
    .in_i(flight_t'({is_value_q, watched_q, read_q.first})),
    .out_valid_o(flies),
    .out_ready_i(ends),
    .out_o(flight),
    .count_o()
  );

  assign ends = beat_valid_i && beat_ready_o && beat_i.last;

  assign read_valid_o = state_q == Offer;
  assign read_o = read_q;

  // ---- lines from memory

  logic takes_line, is_watched, is_given_up, is_value, may_take;

  assign line = flight.first + came_q;
  assign is_value = flies && flight.is_value;
  // Remaining lines of a node are discarded when the next node begins.
  assign is_given_up = begin_valid_i || beat_i.error;
  assign is_watched = flies && flight.watched;
  assign may_take = flies && !is_value && (!is_watched || watched_ready_i || is_given_up);
  assign store_valid_o = may_take && beat_valid_i;
  assign store_line_o = line_index_t'(line);
  assign store_data_o = beat_i.data;
  assign watched_valid_o = is_watched && beat_valid_i && !is_given_up && store_ready_i;
  assign {watched_copied_o, watched_o} = {beat_i.copied, beat_i.data};
  assign takes_line = store_valid_o && store_ready_i;
  assign value_line_valid_o = is_value ? beat_valid_i : failed_q;
  assign value_line_o = beat_i.data;

  assign beat_ready_o = is_value ? value_line_ready_i : may_take && store_ready_i;

  always_ff @(posedge clk_i) begin
    if (state_q == Choose) begin
      read_q <= read_d;
      {is_value_q, watched_q} <= {is_value_d, watched_d};
    end
    if (!flies || ends) came_q <= '0;
    else if (takes_line) came_q <= came_q + 1'b1;
    stored_q <= line_index_t'(line);
    if (begins) address_q <= begin_address_i;
    else if (takes_line) address_q <= beat_i.address;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= Choose;
    else state_q <= state_d;
    if (rst_i || begins) begin
      there_q <= '0;
      stores_q <= 1'b0;
      known_q <= 1'b0;
      has_address_q <= 1'b0;
      failed_q <= 1'b0;
    end else begin
      if (beat_valid_i && beat_ready_o && beat_i.error) failed_q <= 1'b1;
      stores_q <= takes_line && !beat_i.error;
      if (stores_q) there_q[stored_q] <= 1'b1;
      if (takes_line && beat_i.last) known_q <= 1'b1;
      if (takes_line) has_address_q <= 1'b1;
    end
  end

  assign failed_o = failed_q;
  assign settled_o = failed_q || (state_q == Choose && !fetch_out_valid && !flies);

  // ---- windows

  // by line: the next line is stored
  logic [Lines-1:0] there_after;
  logic has_first, has_second;

  assign there_after = {there_q[0], there_q[Lines-1:1]};
  assign window_line = line_count_t'(window_i.offset >> LineIndexBits);
  assign window_last = line_count_t'((window_i.limit - 1'b1) >> LineIndexBits);
  assign has_first = there_q[line_index_t'(window_line)] || !window_i.needs_first;
  assign has_second = there_after[line_index_t'(window_line)] || !window_i.needs_second;
  assign window_ready_o = (has_first && has_second) || failed_q;
  // A read in flight may return the line.
  assign wants_line = window_valid_i && !window_i.ahead && !window_ready_o && known_q && !flies &&
      !stores_q && !failed_q;
  assign missing = has_first_q ? window_line + 1'b1 : window_line;

  always_comb begin
    missing_count = line_count_t'(LinesAhead);
    if (more_q < line_count_t'(LinesAhead)) missing_count = has_first_q ? more_q : more_q + 1'b1;
  end

  always_ff @(posedge clk_i) begin
    // No other read begins in between.
    wants_line_q <= wants_line && state_d == Choose && !rst_i;
    {has_first_q, more_q} <= {has_first, window_last - window_line};
  end

  `ASSERT(LinesFit, !takes_line || 32'(line) < Lines)
  `ASSERT(WindowsFit, !window_valid_i || failed_q || 32'(window_i.offset) < NodeBytes)
  `ASSERT_STAYS(WindowStays, wants_line, !window_valid_i, window_i)
  `ASSERT(BeatsWereRequested, !beat_valid_i || flies)
  `ASSERT(ReadsHaveLines, !read_valid_o || read_o.count != '0)
  `ASSERT(ReadsHaveRoom, !read_valid_o || has_room)
  `ASSERT_OFFER_STAYS(ReadStays, read_valid_o, read_ready_i, read_o)

endmodule

`default_nettype wire
