// The port of one client of the memory system. It looks up the LID if the read has one, requests the
// bursts, and returns their lines in order. A read with `follows` begins when all bursts of the previous
// read have been requested. An error ends all reads that were accepted. A burst has its bank when it is
// offered, so an offer waits for nothing but its acceptance.

`default_nettype none

`include "assertions.svh"

module client_port
  import accelerator_pkg::*;
  import memory_pkg::*;
#(
  // maximum number of bursts in flight
  parameter int unsigned Banks = 2,
  localparam int unsigned BankBits = $clog2(Banks)
) (
  input logic clk_i,
  input logic rst_i,

  input  logic       read_valid_i,
  output logic       read_ready_o,
  input  line_read_t read_i,

  output logic       beat_valid_o,
  input  logic       beat_ready_i,
  output line_beat_t beat_o,

  // Each lookup gets one result, at any later time. Address 0 means that the LID is not mapped.
  output logic         lookup_valid_o,
  input  logic         lookup_ready_i,
  output lookup_t      lookup_o,
  input  logic         found_valid_i,
  input  bus_address_t found_i,

  output logic                burst_valid_o,
  input  logic                burst_ready_i,
  output burst_t              burst_o,
  output logic [BankBits-1:0] burst_bank_o,
  // the node of all bursts of the read
  output node_name_t          name_o,

  input logic                line_valid_i,
  input logic [BankBits-1:0] line_bank_i,
  input burst_line_t         line_i
);

  typedef enum logic [2:0] {
    Idle,
    LooksUp,
    Waits,
    // requests its bursts
    Requests,
    // ends a read of a LID that is not mapped
    Fails
  } state_e;

  // Maximum number of accepted reads that have not ended.
  localparam int unsigned OpenMax = 3;
  typedef logic [$clog2(OpenMax + 1)-1:0] open_t;

  state_e state_d, state_q;
  logic cacheable_q;
  depth_e depth_q;
  lid_t lid_q;
  bus_address_t address_q;
  line_count_t first_q, count_q;
  open_t open_q;
  logic takes, starts_q, ends;

  logic buffer_ready, buffer_valid, buffer_last, buffer_error, drains, fails;
  logic split_valid, reserves;
  burst_t split;
  logic [BankBits-1:0] bank;
  // The burst that is offered.
  logic offers_q;
  burst_t burst_q;
  logic [BankBits-1:0] bank_q;

  assign takes = read_valid_i && read_ready_o;
  assign ends = beat_valid_o && beat_ready_i && beat_o.last;
  // An error is at the output, or the remaining lines of its reads are being discarded.
  assign fails = drains || (buffer_valid && buffer_error);

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle: if (takes) state_d = read_i.by_lid ? LooksUp : Requests;
      LooksUp: if (lookup_ready_i) state_d = Waits;
      Waits: if (found_valid_i) state_d = found_i == '0 ? Fails : Requests;
      Requests: if (!starts_q && !split_valid && !offers_q) state_d = Idle;
      Fails: if (ends) state_d = Idle;
      default: state_d = Idle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= Idle;
      open_q <= '0;
    end else begin
      state_q <= state_d;
      if (ends && beat_o.error) open_q <= '0;
      else open_q <= open_q + open_t'(takes) - open_t'(ends);
    end
  end

  always_ff @(posedge clk_i) begin
    starts_q <= state_q != Requests && state_d == Requests;
    if (takes) begin
      {cacheable_q, depth_q} <= {read_i.cacheable, read_i.depth};
      if (!read_i.follows) lid_q <= read_i.lid;
      address_q <= read_i.address;
      first_q <= read_i.first;
      count_q <= read_i.count;
    end
    if (state_q == Waits) address_q <= found_i;
  end

  // ---- bursts

  read_splitter u_read_splitter (
    .clk_i,
    .rst_i,
    .start_i(starts_q),
    .first_i(address_q[LineIndexBits+:LineAddressBits] + line_address_t'(first_q)),
    .count_i(count_q),
    .burst_valid_o(split_valid),
    .burst_ready_i(reserves),
    .burst_o(split)
  );

  assign reserves = split_valid && buffer_ready && !offers_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) offers_q <= 1'b0;
    else offers_q <= reserves || (offers_q && !burst_ready_i);
    if (reserves) {burst_q, bank_q} <= {split, bank};
  end

  burst_buffer #(
    .Banks(Banks)
  ) u_burst_buffer (
    .clk_i,
    .rst_i,
    .reserve_ready_o(buffer_ready),
    .reserve_i(reserves),
    .reserve_lines_i(split.lines),
    .reserve_last_i(split.last),
    .more_i(state_q == Requests),
    .bank_o(bank),
    .line_valid_i,
    .line_bank_i,
    .line_i,
    .out_valid_o(buffer_valid),
    .out_ready_i(beat_ready_i),
    .out_o(beat_o.data),
    .out_last_o(buffer_last),
    .out_error_o(buffer_error),
    .drains_o(drains)
  );

  assign read_ready_o = state_q == Idle && !fails
      && (open_q == '0 || (read_i.follows && open_q != open_t'(OpenMax)));
  assign lookup_valid_o = state_q == LooksUp;
  assign lookup_o = '{kept: cacheable_q, columns: 1'b0, lid: lid_q};
  assign name_o = '{depth: depth_q, buffer: '{cacheable: cacheable_q, lid: lid_q, address: address_q}};
  assign burst_valid_o = offers_q;
  assign burst_o = burst_q;
  assign burst_bank_o = bank_q;
  assign beat_valid_o = state_q == Fails || buffer_valid;
  assign beat_o.last = state_q == Fails || buffer_last;
  assign beat_o.error = state_q == Fails || buffer_error;
  assign beat_o.address = address_q;

  `ASSERT(ReadIsAllowed, !read_valid_i || read_i.count != '0)
  `ASSERT(ResultFollowsLookup, !found_valid_i || state_q == Waits)
  `ASSERT(FollowingReadIsByAddress, !read_valid_i || !read_i.follows || !read_i.by_lid)
  `ASSERT(FollowingReadIsOfSameBuffer, !takes || open_q == '0 || (read_i.address == address_q &&
      read_i.cacheable == cacheable_q && (read_i.lid == lid_q || !cacheable_q)))
  `ASSERT(LinesOnlyWhileReading, !line_valid_i || open_q != '0 || drains)
  `ASSERT(NoBurstIsLeft, open_q != '0 || drains || !(buffer_valid || split_valid || offers_q))
  `ASSERT(NothingFollowsAnError, !(takes && ends && beat_o.error))
  `ASSERT(FollowingReadHasTheLid, !takes || !read_i.follows || !read_i.cacheable || read_i.lid == lid_q)
  `ASSERT_OFFER_STAYS(ReadStays, read_valid_i, read_ready_o, read_i)
  `ASSERT_OFFER_STAYS(LookupStays, lookup_valid_o, lookup_ready_i, lookup_o)
  `ASSERT_OFFER_STAYS(BurstStays, burst_valid_o, burst_ready_i, {burst_o, burst_bank_o})
  `ASSERT_OFFER_STAYS(BeatStays, beat_valid_o, beat_ready_i, beat_o)

endmodule

`default_nettype wire
