// Reads lines of leaves, and of overflow values, for the slots of a range scan unit: the first lines of a
// leaf at once, and queued fetches of each slot in their order, of the slots in turn. Fetches are of the
// buffer from which the first lines came.
//
//   choice of a slot | its fetch and its buffer | offer ...

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

  // Reads lines of an overflow value for a slot in which nothing is in flight.
  input logic value_valid_i,
  output logic value_ready_o,
  input logic [PlaceBits-1:0] value_place_i,
  input bus_address_t value_address_i,
  input line_count_t value_count_i,

  // a line is stored: the address of its buffer
  input logic stored_i,
  input logic [PlaceBits-1:0] stored_place_i,
  input bus_address_t stored_address_i,

  // for each slot: see slot_reads; settled: no read is about to be offered either
  input logic [Slots-1:0] fails_i,
  input logic [Slots-1:0] leaves_i,
  input logic [Slots-1:0] wake_i,
  input logic [Slots-1:0] wakes_i,
  input logic [Slots-1:0] takes_i,
  output logic [Slots-1:0] flies_o,
  output flight_t [Slots-1:0] oldest_o,
  output logic [Slots-1:0] woken_o,
  output logic [Slots-1:0] settled_o,
  output logic [Slots-1:0] failed_o,
  output logic [Slots-1:0] copied_o,

  output logic [Slots-1:0] read_valid_o,
  input logic [Slots-1:0] read_ready_i,
  output line_read_t read_o,
  input line_beat_t [Slots-1:0] beat_i
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
  logic picked, takes_pick, pops, offers, is_accepted, starts, values;
  place_t pick, place_q;
  logic [Slots-1:0] fetches, settled;
  logic [Slots-1:0][FetchBits-1:0] first, last;
  line_read_t read_d, read_q;
  flight_t flight_d, flight_q;
  fetch_t fetch;
  bus_address_t address;

  picker #(
    .Count(Slots)
  ) u_picker (
    .clk_i,
    .rst_i,
    .asks_i(fetches),
    .valid_o(picked),
    .index_o(pick),
    .is_index_o(),
    .take_i(takes_pick)
  );

  // ---- fetches of the slots, and the addresses of their buffers, which come with the first line

  logic [Slots-1:0] has_address_q;

  always_ff @(posedge clk_i) begin
    if (stored_i) has_address_q[stored_place_i] <= 1'b1;
    if (starts) has_address_q[start_place_i] <= 1'b0;
  end

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

  ram #(
    .Width($bits(bus_address_t)),
    .Depth(2 ** PlaceBits)
  ) u_addresses (
    .clk_i,
    .rst_i,
    .write_i(stored_i && !has_address_q[stored_place_i]),
    .write_address_i(stored_place_i),
    .write_data_i(stored_address_i),
    .read_i(takes_pick),
    .read_address_i(pick),
    .read_data_o(address)
  );

  // ---- reads

  assign start_ready_o = state_q == Choose;
  assign value_ready_o = state_q == Choose && !start_valid_i && settled_o[value_place_i];
  assign values = value_valid_i && value_ready_o;
  assign takes_pick = state_q == Choose && !start_valid_i && !values && picked;
  // The leaf may have been left since the choice.
  assign pops = takes_pick && fetches[pick];
  assign starts = start_valid_i && start_ready_o;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Choose: if (starts || values) state_d = Offer; else if (pops) state_d = Load;
      Load: state_d = Offer;
      default: if (is_accepted) state_d = Choose;
    endcase
  end

  always_comb begin
    read_d = '0;
    flight_d = '0;
    if (state_q == Load) begin
      read_d.address = address;
      {read_d.first, read_d.count} = {fetch.first, line_count_t'(fetch.limit - fetch.first)};
      {read_d.follows, read_d.columns} = {1'b1, fetch.columns};
      {flight_d.wakes, flight_d.line} = {fetch.wakes, fetch.first};
    end else if (start_valid_i) begin
      {read_d.by_lid, read_d.columns} = {start_i.address == '0, 1'b1};
      {read_d.lid, read_d.address} = {start_i.lid, start_i.address};
      read_d.count = line_count_t'(HeadsLine);
      flight_d.wakes = 1'b1;
    end else begin
      {read_d.address, read_d.count} = {value_address_i, value_count_i};
      flight_d.is_value = 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= Choose;
    else state_q <= state_d;
    if (state_q inside {Choose, Load}) {read_q, flight_q} <= {read_d, flight_d};
    if (state_q == Choose) place_q <= start_valid_i ? start_place_i : values ? value_place_i : pick;
  end

  assign offers = state_q == Offer;
  assign is_accepted = offers && read_ready_i[place_q];
  assign read_o = read_q;

  for (genvar slot = 0; slot < Slots; slot++) begin : gen_slots
    assign read_valid_o[slot] = offers && place_q == place_t'(slot);
    assign settled_o[slot] = settled[slot] && !(state_q != Choose && place_q == place_t'(slot));

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
      .pop_i(pops && pick == place_t'(slot)),
      .first_o(first[slot]), .end_o(last[slot]),
      .fetches_o(fetches[slot]),
      .read_i(read_valid_o[slot] && read_ready_i[slot]),
      .flight_i(flight_q),
      .takes_i(takes_i[slot]),
      .beat_i(beat_i[slot]),
      .flies_o(flies_o[slot]), .oldest_o(oldest_o[slot]),
      .wake_i(wake_i[slot]), .wakes_i(wakes_i[slot]),
      .woken_o(woken_o[slot]),
      .settled_o(settled[slot]),
      .failed_o(failed_o[slot]),
      .copied_o(copied_o[slot])
    );
  end

  `ASSERT(ReadsHaveLines, !offers || read_o.count != '0)
  `ASSERT(FetchesAreNotEmpty, !fetch_i || fetch_lines_i.first < fetch_lines_i.limit)
  `ASSERT(FetchesHaveAnAddress, !pops || has_address_q[pick])
  `ASSERT(StartsWhenSettled, !starts || settled_o[start_place_i])
  `ASSERT_OFFER_STAYS(ReadStays, offers, is_accepted, {place_q, read_o})
  `COVER(LeftSinceTheChoice, takes_pick && !fetches[pick])

endmodule

`default_nettype wire
