// Reads lines of leaves for the slots of a range scan unit: the first lines of a leaf at once, and queued
// fetches of each slot in their order, of the slots in turn. Fetches are of the buffer from which the first
// lines came. A read is within a page, so a fetch of lines in two pages is two reads.
//
//   choice of a slot | its fetch | offer ...

`default_nettype none

`include "assertions.svh"

module leaf_fetcher
  import accelerator_pkg::*;
  import search_pkg::*;
  import scan_pkg::*;
#(
  parameter int unsigned Slots = 4,
  localparam int unsigned PlaceBits = Slots > 1 ? $clog2(Slots) : 1
) (
  input logic clk_i,
  input logic rst_i,

  // a request begins in a slot
  input logic begin_i,
  input logic [PlaceBits-1:0] begin_place_i,

  // Reads the first lines of a leaf. Nothing is left of the leaf before.
  input logic start_valid_i,
  output logic start_ready_o,
  input logic [PlaceBits-1:0] start_place_i,
  // verilator lint_off UNUSEDSIGNAL
  input open_t start_i,
  // verilator lint_on UNUSEDSIGNAL

  // queues a fetch
  input logic fetch_i,
  input logic [PlaceBits-1:0] fetch_place_i,
  input fetch_t fetch_lines_i,

  // a line of a read, and its number in the leaf
  input logic line_valid_i,
  // verilator lint_off UNUSEDSIGNAL
  input place_line_t line_i,
  // verilator lint_on UNUSEDSIGNAL
  output line_count_t line_o,

  // for each slot: see slot_reads; settled: no read is about to be offered either
  input logic [Slots-1:0] fails_i,
  input logic [Slots-1:0] leaves_i,
  input logic [Slots-1:0] wake_i,
  input logic [Slots-1:0] wakes_i,
  output logic [Slots-1:0] woken_o,
  output logic [Slots-1:0] settled_o,
  output logic [Slots-1:0] failed_o,
  output logic [Slots-1:0] copied_o,

  output logic read_valid_o,
  input logic read_ready_i,
  output place_read_t read_o
);

  localparam int unsigned Fetches = 8;
  localparam int unsigned FetchBits = $clog2(Fetches);

  typedef logic [PlaceBits-1:0] place_t;

  typedef enum logic [1:0] {
    Choose,
    Load,
    Offer
  } state_e;

  state_e state_q, state_d;
  logic picked, takes_pick, offers, is_accepted, starts, halves;
  place_t pick, place_q;
  logic [Slots-1:0] fetches, settled, is_half, number, is_place;
  line_count_t [Slots-1:0] line;
  logic [Slots-1:0][FetchBits-1:0] first, last;
  place_read_t read_d, read_q;
  flight_t flight_d, flight_q;
  fetch_t fetch;
  line_count_t page_end, first_line, limit;

  picker #(
    .Count(Slots)
  ) u_picker (
    .clk_i,
    .rst_i,
    .asks_i(fetches & ~is_place),
    .valid_o(picked),
    .index_o(pick),
    .is_index_o(),
    .take_i(takes_pick)
  );

  // ---- fetches of the slots

  ram #(
    .Width($bits(fetch_t)),
    .Depth(2 ** PlaceBits * Fetches)
  ) u_fetches (
    .clk_i,
    .rst_i,
    .write_i(fetch_i),
    .write_address_i({fetch_place_i, last[fetch_place_i]}),
    .write_data_i(fetch_lines_i),
    .read_i(takes_pick),
    .read_address_i({pick, first[pick]}),
    .read_data_o(fetch)
  );

  // ---- reads

  assign start_ready_o = state_q == Choose;
  assign takes_pick = state_q == Choose && !start_valid_i && picked;
  assign starts = start_valid_i && start_ready_o;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      // The leaf may have been left since the choice.
      Choose: if (starts) state_d = Offer; else if (takes_pick && fetches[pick]) state_d = Load;
      Load: state_d = Offer;
      default: if (is_accepted) state_d = Choose;
    endcase
  end

  // The second read of a fetch begins with a page.
  assign page_end = (fetch.first | line_count_t'(memory_pkg::PageLines - 1)) + 1'b1;
  assign halves = fetch.limit > page_end && !is_half[place_q];
  assign first_line = is_half[place_q] ? page_end : fetch.first;
  assign limit = halves ? page_end : fetch.limit;

  always_comb begin
    read_d = '0;
    flight_d = '0;
    if (state_q == Load) begin
      {read_d.first, read_d.count} = {first_line, line_count_t'(limit - first_line)};
      {read_d.follows, read_d.columns} = {1'b1, fetch.columns};
      {flight_d.wakes, flight_d.line} = {fetch.wakes && !halves, first_line};
    end else begin
      {read_d.by_lid, read_d.columns} = {start_i.address == '0, 1'b1};
      {read_d.lid, read_d.address} = {start_i.lid, start_i.address};
      read_d.count = line_count_t'(HeadsLine);
      flight_d.wakes = 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= Choose;
    else state_q <= state_d;
    if (state_q inside {Choose, Load}) {read_q, flight_q} <= {read_d, flight_d};
    if (state_q == Choose) place_q <= start_valid_i ? start_place_i : pick;
  end

  assign offers = state_q == Offer;
  assign is_accepted = offers && read_ready_i;
  assign read_valid_o = offers;

  always_comb begin
    read_o = read_q;
    {read_o.place, read_o.number} = {port_place_t'(place_q), number[place_q]};
  end

  assign line_o = line[place_t'(line_i.place)];

  for (genvar slot = 0; slot < Slots; slot++) begin : gen_slots
    assign is_place[slot] = state_q != Choose && place_q == place_t'(slot);
    assign settled_o[slot] = settled[slot] && !is_place[slot];

    slot_reads #(
      .Fetches(Fetches)
    ) u_reads (
      .clk_i,
      .rst_i,
      .begin_i(begin_i && begin_place_i == place_t'(slot)),
      .starts_i(starts && start_place_i == place_t'(slot)),
      .fails_i(fails_i[slot]),
      .leaves_i(leaves_i[slot]),
      .push_i(fetch_i && fetch_place_i == place_t'(slot)),
      .pop_i(state_q == Load && is_place[slot]), .halves_i(halves),
      .first_o(first[slot]), .end_o(last[slot]),
      .fetches_o(fetches[slot]), .is_half_o(is_half[slot]),
      .read_i(is_accepted && is_place[slot]),
      .flight_i(flight_q),
      .number_o(number[slot]),
      .line_i(line_valid_i && place_t'(line_i.place) == place_t'(slot)),
      .line_number_i(line_i.number), .line_last_i(line_i.last),
      .line_error_i(line_i.error), .line_copied_i(line_i.copied),
      .line_o(line[slot]),
      .wake_i(wake_i[slot]), .wakes_i(wakes_i[slot]),
      .woken_o(woken_o[slot]),
      .settled_o(settled[slot]),
      .failed_o(failed_o[slot]),
      .copied_o(copied_o[slot])
    );
  end

  `ASSERT(ReadsHaveLines, !offers || read_q.count != '0)
  `ASSERT(FetchesAreNotEmpty, !fetch_i || fetch_lines_i.first < fetch_lines_i.limit)
  `ASSERT(FetchesAreOfTwoPages, state_q != Load || limit <= page_end || is_half[place_q])
  `ASSERT(StartsWhenSettled, !starts || settled_o[start_place_i])
  `ASSERT_OFFER_STAYS(ReadStays, offers, is_accepted, {place_q, read_o})
  `COVER(LeftSinceTheChoice, takes_pick && !fetches[pick])
  `COVER(ReadsTwoPages, state_q == Load && halves)

endmodule

`default_nettype wire
