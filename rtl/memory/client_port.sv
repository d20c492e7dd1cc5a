// One client of the memory system: looks up the LID if need be, has the pieces read, and gives their lines in
// order.

`include "assertions.svh"

module client_port
  import accelerator_pkg::*;
  import memory_pkg::*;
#(
  // pieces in flight
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

  // A lookup is answered once, any time after it was taken; address 0: no such LID.
  output logic         lookup_valid_o,
  input  logic         lookup_ready_i,
  output lid_t         lookup_o,
  input  logic         found_valid_i,
  input  bus_address_t found_i,

  output logic                piece_valid_o,
  input  logic                piece_ready_i,
  output piece_t              piece_o,
  output logic [BankBits-1:0] piece_bank_o,
  // of all pieces of the read
  output node_name_t          name_o,

  input logic                line_valid_i,
  input logic [BankBits-1:0] line_bank_i,
  input piece_line_t         line_i
);

  typedef enum logic [2:0] {
    Idle,
    LooksUp,
    Waits,
    Reads,
    // ends a read of a LID that is not mapped
    Fails,
    // waits for what is left of a read that ended with an error
    Drains
  } state_e;

  state_e state_d, state_q;
  logic cacheable_q;
  lid_t lid_q;
  bus_address_t address_q;
  line_count_t first_q, count_q;
  logic starts, ends;

  logic buffer_ready, buffer_valid, buffer_last, buffer_error, drains;
  logic split_valid;

  assign ends = beat_valid_o && beat_ready_i && beat_o.last;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle: if (read_valid_i) state_d = read_i.by_lid ? LooksUp : Reads;
      LooksUp: if (lookup_ready_i) state_d = Waits;
      Waits: if (found_valid_i) state_d = found_i == '0 ? Fails : Reads;
      Reads: if (ends) state_d = drains ? Drains : Idle;
      Fails: if (ends) state_d = Idle;
      Drains: if (!drains) state_d = Idle;
      default: state_d = Idle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= Idle;
    else state_q <= state_d;
  end

  always_ff @(posedge clk_i) begin
    starts <= state_q != Reads && state_d == Reads;
    if (state_q == Idle) begin
      cacheable_q <= read_i.cacheable;
      lid_q <= read_i.lid;
      address_q <= read_i.address;
      first_q <= read_i.first;
      count_q <= read_i.count;
    end
    if (state_q == Waits) address_q <= found_i;
  end

  read_splitter u_read_splitter (
    .clk_i,
    .rst_i,
    .start_i(starts),
    .first_i(address_q[LineIndexBits+:LineAddressBits] + line_address_t'(first_q)),
    .count_i(count_q),
    .piece_valid_o(split_valid),
    .piece_ready_i(piece_valid_o && piece_ready_i),
    .piece_o
  );

  piece_buffer #(
    .Banks(Banks)
  ) u_piece_buffer (
    .clk_i,
    .rst_i,
    .ask_ready_o(buffer_ready),
    .ask_i(piece_valid_o && piece_ready_i),
    .ask_lines_i(piece_o.lines),
    .ask_last_i(piece_o.last),
    .more_i(split_valid),
    .bank_o(piece_bank_o),
    .line_valid_i,
    .line_bank_i,
    .line_i,
    .out_valid_o(buffer_valid),
    .out_ready_i(beat_ready_i && state_q == Reads),
    .out_o(beat_o.data),
    .out_last_o(buffer_last),
    .out_error_o(buffer_error),
    .drains_o(drains)
  );

  assign read_ready_o = state_q == Idle;
  assign lookup_valid_o = state_q == LooksUp;
  assign lookup_o = lid_q;
  assign name_o = '{cacheable: cacheable_q, lid: lid_q, address: address_q};
  assign piece_valid_o = split_valid && buffer_ready;
  assign beat_valid_o = state_q == Fails || buffer_valid;
  assign beat_o.last = state_q == Fails || buffer_last;
  assign beat_o.error = state_q == Fails || buffer_error;
  assign beat_o.address = address_q;

  `ASSERT(ReadIsAllowed, !read_valid_i || read_i.count != '0)
  `ASSERT(FoundWasLookedUp, !found_valid_i || state_q == Waits)
  `ASSERT(LinesOnlyWhileReading, !line_valid_i || state_q == Reads || state_q == Drains)
  `ASSERT(NothingIsLeft, state_q != Idle || !(buffer_valid || split_valid || drains))
  `ASSERT_OFFER_STAYS(ReadStays, read_valid_i, read_ready_o, read_i)
  `ASSERT_OFFER_STAYS(LookupStays, lookup_valid_o, lookup_ready_i, lookup_o)
  `ASSERT_OFFER_STAYS(PieceStays, piece_valid_o, piece_ready_i, {piece_o, piece_bank_o})
  `ASSERT_OFFER_STAYS(BeatStays, beat_valid_o, beat_ready_i, beat_o)

endmodule
