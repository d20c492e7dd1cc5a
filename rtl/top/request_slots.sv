// Tracks the requests in flight. Requests are numbered from 1 in the order in which they begin; the slot of a
// request is its number modulo the number of slots. The window reaches from the oldest request that is not
// done to the newest one that has begun. The host must not reclaim memory that a request in the window may
// read.
//
// A request enters the window before it gets its read version, so the host knows every reader.

`default_nettype none

`include "assertions.svh"

module request_slots
  import layout_pkg::*;
  import accelerator_pkg::*;
#(
  // maximum number of requests in flight: a power of two
  parameter int unsigned SlotCount = 256
) (
  input logic clk_i,
  input logic rst_i,

  // the slot of the next request, which begins when its slot is accepted
  output logic  slot_valid_o,
  input  logic  slot_ready_i,
  output slot_t slot_o,

  input  logic            request_valid_i,
  output logic            request_ready_o,
  input  parsed_request_t request_i,

  // the root of its table: see root_table
  output logic        root_read_valid_o,
  input  logic        root_read_ready_i,
  output logic [15:0] root_table_o,
  input  lid_t        root_i,

  // read version of requests that do not name one
  input version_t read_version_i,

  // requests to execute
  output logic     descent_valid_o,
  input  logic     descent_ready_i,
  output descent_t descent_o,

  // completions of rejected requests
  output logic         rejection_valid_o,
  input  logic         rejection_ready_i,
  output answer_beat_t rejection_o,

  // identifier and read version of a request; valid one cycle after the read, stable until the next read
  input  logic        name_read_i,
  input  slot_t       name_slot_i,
  output logic [63:0] name_identifier_o,
  output version_t    name_read_version_o,

  // the last part of a completion was sent
  input logic  done_valid_i,
  input slot_t done_slot_i,

  output logic [63:0] window_oldest_o,
  output logic [63:0] window_newest_o,
  // no request is in flight
  output logic idle_o
);

  localparam int unsigned SlotBits = $clog2(SlotCount);
  localparam int unsigned CountBits = $clog2(SlotCount + 1);

  if (SlotCount < 2 || SlotCount > 256 || 2 ** SlotBits != SlotCount)
    $fatal(1, "SlotCount must be a power of two from 2 to 256");

  typedef logic [SlotBits-1:0] index_t;

  typedef enum logic [1:0] {
    Idle,
    // the root is known
    Roots,
    Dispatch,
    Reject
  } state_e;

  state_e state_d, state_q;
  logic [63:0] oldest_q, newest_q;
  // Requests in the window.
  logic [CountBits-1:0] count_q;
  logic has_slot_q;
  // Slots in the window whose requests are done.
  logic [SlotCount-1:0] done_q;
  parsed_request_t parsed_q;
  version_t read_version_q;
  lid_t root_q;
  logic is_rejected_q;

  logic begins, ends, accepts;
  // The module uses only some of their fields.
  // verilator lint_off UNUSEDSIGNAL
  request_t request;
  request_flags_t flags;
  // verilator lint_on UNUSEDSIGNAL

  // ---- the window ----

  assign slot_valid_o = has_slot_q;
  assign slot_o = slot_t'(index_t'(newest_q + 64'd1));
  assign begins = slot_valid_o && slot_ready_i;
  assign ends = count_q != '0 && done_q[index_t'(oldest_q)];

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      oldest_q <= 64'd1;
      newest_q <= '0;
      done_q <= '0;
      count_q <= '0;
      has_slot_q <= 1'b1;
    end else begin
      count_q <= count_q + CountBits'(begins) - CountBits'(ends);
      has_slot_q <= ends || count_q != CountBits'(begins ? SlotCount - 1 : SlotCount);
      if (begins) newest_q <= newest_q + 64'd1;
      if (ends) oldest_q <= oldest_q + 64'd1;
      if (ends) done_q[index_t'(oldest_q)] <= 1'b0;
      if (done_valid_i) done_q[index_t'(done_slot_i)] <= 1'b1;
    end
  end

  // ---- roots and versions ----

  assign request = parsed_q.request;
  assign flags = request.flags;
  assign accepts = request_valid_i && request_ready_o;

  always_comb begin
    state_d = state_q;
    case (state_q)
      Idle: if (accepts) state_d = Roots;
      Roots: state_d = Dispatch;
      Dispatch: begin
        if (is_rejected_q) state_d = Reject;
        else if (descent_ready_i) state_d = Idle;
      end
      default: if (rejection_ready_i) state_d = Idle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= Idle;
    else state_q <= state_d;
  end

  always_ff @(posedge clk_i) begin
    if (accepts) begin
      parsed_q <= request_i;
      read_version_q <= request_i.request.read_version;
      if (request_i.request.read_version == '0) read_version_q <= read_version_i;
    end
    if (state_q == Roots) begin
      root_q <= root_i;
      is_rejected_q <= parsed_q.status != 8'(StatusFound) || root_i == '0;
      if (parsed_q.status == 8'(StatusFound) && root_i == '0) parsed_q.status <= 8'(StatusUnknownTable);
    end
  end

  ram #(.Width(128), .Depth(SlotCount)) u_names (
    .clk_i,
    .rst_i,
    .write_i(state_q == Dispatch),
    .write_address_i(index_t'(parsed_q.slot)),
    // A rejected request has no read version.
    .write_data_i({is_rejected_q ? '0 : read_version_q, request.identifier}),
    .read_i(name_read_i),
    .read_address_i(index_t'(name_slot_i)),
    .read_data_o({name_read_version_o, name_identifier_o})
  );

  // ---- descents and rejections ----

  direction_e direction;
  always_comb begin
    direction = DirectionKey;
    if (flags.backward && request.upper_length == '0) direction = DirectionLast;
    if (!flags.backward && request.lower_length == '0) direction = DirectionFirst;
  end

  assign root_read_valid_o = state_q == Idle && request_valid_i;
  assign root_table_o = request_i.request.table_number;
  assign request_ready_o = state_q == Idle && root_read_ready_i;
  assign descent_valid_o = state_q == Dispatch && !is_rejected_q;
  assign descent_o = '{
    direction: direction,
    by_upper: flags.backward,
    repeated: 1'b0,
    request: '{
      slot: parsed_q.slot,
      is_scan: request.opcode == 8'(OpcodeScan),
      keys_only: flags.keys_only,
      backward: flags.backward,
      floor_start: flags.floor_start,
      upper_excluded: flags.upper_excluded,
      lower_excluded: flags.lower_excluded,
      lower_length: key_length_t'(request.lower_length),
      upper_length: key_length_t'(request.upper_length),
      pairs_max: request.pairs_max,
      bytes_max: request.bytes_max,
      read_version: read_version_q,
      root: root_q
    }
  };
  assign rejection_valid_o = state_q == Reject;
  assign rejection_o = '{slot: parsed_q.slot, status: parsed_q.status, last: 1'b1, default: '0};

  assign window_oldest_o = oldest_q;
  assign window_newest_o = newest_q;
  assign idle_o = count_q == '0;

  logic is_live;
  index_t distance;
  assign distance = index_t'(done_slot_i) - index_t'(oldest_q);
  assign is_live = 64'(distance) <= newest_q - oldest_q && oldest_q <= newest_q;

  `ASSERT(SlotIsCounted, has_slot_q == (count_q != CountBits'(SlotCount)))
  `ASSERT(NameSlotExists, 32'(name_slot_i) < SlotCount || !name_read_i)
  `ASSERT(DoneSlotExists, 32'(done_slot_i) < SlotCount || !done_valid_i)
  `ASSERT(WindowIsBounded, newest_q - oldest_q + 64'd1 <= 64'(SlotCount))
  `ASSERT(DoneWasInFlight, !done_valid_i || (is_live && !done_q[index_t'(done_slot_i)]))
  `ASSERT(CountIsWindow, 64'(count_q) == newest_q - oldest_q + 64'd1)
  `ASSERT(RequestHasBegun, !request_valid_i || count_q != '0)
  `ASSERT(RequestIsNew, !request_valid_i || request_i.slot == slot_t'(index_t'(newest_q))
          || (request_i.slot == slot_t'(index_t'(newest_q - 64'd1)) && count_q > CountBits'(1)))
  `ASSERT_OFFER_STAYS(DescentStays, descent_valid_o, descent_ready_i, descent_o)
  `ASSERT_OFFER_STAYS(RejectionStays, rejection_valid_o, rejection_ready_i, rejection_o)
  `COVER(WindowIsFull, !slot_valid_o)
  `COVER(OutOfOrder, done_valid_i && 64'(done_slot_i) != 64'(index_t'(oldest_q)))
  `COVER(IsRejected, state_q == Reject)
  `COVER(NamesVersion, accepts && request_i.request.read_version != '0)
  `COVER(DescentStalls, descent_valid_o && !descent_ready_i)
  // A number of 32 or 40 bits errs.
  `COVER(WindowPasses32Bits, begins && newest_q[31:0] == '1)
  `COVER(WindowPasses40Bits, begins && newest_q[39:0] == '1)

endmodule

`default_nettype wire
