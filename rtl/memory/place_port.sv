// The port of the places of one unit. It looks up the LID if a read has one, requests the burst of the read,
// and passes its lines to the unit, which takes them at once. All places share the port; the state of each is
// in memories, except for what a mapping changes.
//
//   read_i | LooksUp -> found_i, in any order | Load: the buffer of the place | Offer the burst
//
// Columns of a leaf are read from on-board memory if the word of its LID says that they are there, until the
// LID is mapped again: after that the columns of another buffer may take their place. A read by LID gets the
// header from there, too, and says so.

`default_nettype none

`include "assertions.svh"

module place_port
  import accelerator_pkg::*;
  import memory_pkg::*;
#(
  parameter int unsigned Places = 4,
  // number of LIDs that can be mapped
  parameter int unsigned LidCount = 65536,
  localparam int unsigned PlaceBits = Places > 1 ? $clog2(Places) : 1,
  localparam int unsigned LidBits = $clog2(LidCount)
) (
  input logic clk_i,
  input logic rst_i,

  input  logic        read_valid_i,
  output logic        read_ready_o,
  input  place_read_t read_i,
  output logic        line_valid_o,
  output place_line_t line_o,

  // A place has at most one lookup in flight. Address 0 means that the LID is not mapped.
  output logic         lookup_valid_o,
  input  logic         lookup_ready_i,
  output lookup_t      lookup_o,
  output port_place_t  lookup_place_o,
  input  logic         found_valid_i,
  // verilator lint_off UNUSEDSIGNAL
  input  port_place_t  found_place_i,
  // verilator lint_on UNUSEDSIGNAL
  input  bus_address_t found_i,
  input  logic         found_columns_i,

  // Columns may be read from on-board memory. A mapping is being written.
  input  logic columns_i,
  input  logic map_valid_i,
  // verilator lint_off UNUSEDSIGNAL
  input  lid_t map_lid_i,
  // verilator lint_on UNUSEDSIGNAL
  // for each read of each place: its burst reads columns from on-board memory
  output logic [Places-1:0][1:0] reads_columns_o,

  output logic        burst_valid_o,
  input  logic        burst_ready_i,
  output burst_t      burst_o,
  output port_place_t burst_place_o,
  output logic        burst_number_o,

  input logic        line_valid_i,
  input port_place_t line_place_i,
  input logic        line_number_i,
  input burst_line_t line_i
);

  if (Places > PlacesMax) $fatal(1, "port_place_t has too few bits for all places");

  typedef logic [PlaceBits-1:0] index_t;

  typedef enum logic [2:0] {
    Choose,
    LooksUp,
    // the buffer of the place comes from its memory
    Load,
    Offer,
    // a read of a LID that is not mapped ends
    Fails
  } state_e;

  // A read by LID.
  typedef struct packed {
    lid_t lid;
    logic number;
    logic columns;
    line_count_t first;
    line_count_t count;
  } request_t;

  typedef struct packed {
    logic has_columns;
    bus_address_t address;
  } buffer_t;

  state_e state_q, state_d;
  logic takes, takes_found, takes_address, found_valid, is_found_q, is_direct_q, is_on_board;
  index_t taken, found_place, place_q;
  // verilator lint_off UNUSEDSIGNAL
  place_read_t read_q;
  // verilator lint_on UNUSEDSIGNAL
  request_t by_lid, request;
  buffer_t buffer;
  burst_t burst_d, burst_q;
  logic read_number, number_q, reads_columns;
  line_count_t first, count, end_line;
  bus_address_t address;

  // ---- a read, or the result of a lookup

  // Both write the memory of buffers.
  assign read_ready_o = state_q == Choose && !found_valid && !found_valid_i;
  assign takes = read_valid_i && read_ready_o;
  assign takes_found = state_q == Choose && found_valid;
  assign takes_address = takes && !read_i.by_lid && !read_i.follows;
  assign taken = takes_found ? found_place : index_t'(read_i.place);

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Choose: if (takes_found) state_d = Load; else if (takes) state_d = read_i.by_lid ? LooksUp : Load;
      LooksUp: if (lookup_ready_i) state_d = Choose;
      Load: state_d = is_found_q && buffer.address == '0 ? Fails : Offer;
      Offer: if (burst_ready_i) state_d = Choose;
      Fails: if (!line_valid_i) state_d = Choose;
      default: state_d = Choose;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= Choose;
    else state_q <= state_d;
    if (state_q == Choose) begin
      place_q <= taken;
      {is_found_q, is_direct_q} <= {takes_found, takes_address};
    end
    if (takes) begin
      read_q <= read_i;
      read_q.columns <= read_i.columns && columns_i;
    end
  end

  fifo #(
    .T(index_t),
    .Depth(2 ** PlaceBits)
  ) u_found (
    .clk_i,
    .rst_i,
    .in_valid_i(found_valid_i),
    .in_ready_o(),
    .in_i(index_t'(found_place_i)),
    .out_valid_o(found_valid),
    .out_ready_i(takes_found),
    .out_o(found_place),
    .count_o()
  );

  // ---- the places

  assign by_lid = '{
    lid: read_i.lid,
    number: read_i.number,
    columns: read_i.columns && columns_i,
    first: read_i.first,
    count: read_i.count
  };

  ram #(
    .Width($bits(request_t)),
    .Depth(2 ** PlaceBits)
  ) u_requests (
    .clk_i,
    .rst_i,
    .write_i(takes && read_i.by_lid),
    .write_address_i(taken),
    .write_data_i(by_lid),
    .read_i(takes_found || (takes && !read_i.by_lid)),
    .read_address_i(taken),
    .read_data_o(request)
  );

  ram #(
    .Width($bits(buffer_t)),
    .Depth(2 ** PlaceBits)
  ) u_buffers (
    .clk_i,
    .rst_i,
    .write_i(found_valid_i || takes_address),
    .write_address_i(found_valid_i ? index_t'(found_place_i) : taken),
    .write_data_i(found_valid_i ? {found_columns_i, found_i} : {1'b0, read_i.address}),
    .read_i(takes_found || (takes && read_i.follows)),
    .read_address_i(taken),
    .read_data_o(buffer)
  );

  // The last read by LID of the place: its LID, which was not mapped since the read began.
  logic [Places-1:0][LidBits-1:0] lid_q;
  logic [Places-1:0] is_current_q, is_mapped_q;
  logic [Places-1:0][1:0] is_on_board_q;

  for (genvar place = 0; place < Places; place++) begin : gen_places
    logic is_taken;
    assign is_taken = takes && index_t'(read_i.place) == index_t'(place);

    always_ff @(posedge clk_i) begin
      if (is_taken && read_i.by_lid) lid_q[place] <= read_i.lid[LidBits-1:0];
      is_mapped_q[place] <= map_valid_i && map_lid_i[LidBits-1:0] == lid_q[place];
      if (rst_i) is_current_q[place] <= 1'b0;
      else if (is_taken && !read_i.follows) is_current_q[place] <= read_i.by_lid;
      else if (is_mapped_q[place]) is_current_q[place] <= 1'b0;
    end

    for (genvar number = 0; number < 2; number++) begin : gen_numbers
      always_ff @(posedge clk_i) begin
        if (rst_i) is_on_board_q[place][number] <= 1'b0;
        else if (state_q == Load && place_q == index_t'(place) && read_number == 1'(number))
          is_on_board_q[place][number] <= is_on_board;
        else if (line_valid_i && line_i.last && line_place_i == port_place_t'(place)
            && line_number_i == 1'(number)) is_on_board_q[place][number] <= 1'b0;
      end
    end
  end

  assign reads_columns_o = is_on_board_q;

  // ---- the burst

  always_comb begin
    {read_number, reads_columns} = {read_q.number, read_q.columns};
    {first, count} = {read_q.first, read_q.count};
    if (is_found_q) begin
      {read_number, reads_columns} = {request.number, request.columns};
      {first, count} = {request.first, request.count};
    end
  end

  assign address = is_direct_q ? read_q.address : buffer.address;
  assign end_line = first + count;
  assign is_on_board = state_d == Offer && reads_columns && !is_direct_q && buffer.has_columns
      && is_current_q[place_q] && !is_mapped_q[place_q] && end_line <= line_count_t'(ColumnLines);

  always_comb begin
    burst_d = '{on_board: is_on_board, address: '0, lines: burst_lines_t'(count), last: 1'b1};
    burst_d.address = address + (bus_address_t'(first) << LineIndexBits);
    if (is_on_board)
      burst_d.address = bus_address_t'({request.lid, first[ColumnLineBits-1:0], LineIndexBits'(0)});
  end

  always_ff @(posedge clk_i) begin
    if (state_q == Load) {burst_q, number_q} <= {burst_d, read_number};
  end

  assign lookup_valid_o = state_q == LooksUp;
  assign lookup_o = '{kept: 1'b0, columns: read_q.columns, lid: read_q.lid};
  assign lookup_place_o = read_q.place;
  assign burst_valid_o = state_q == Offer;
  assign burst_o = burst_q;
  assign burst_place_o = port_place_t'(place_q);
  assign burst_number_o = number_q;

  // ---- lines

  always_comb begin
    line_valid_o = line_valid_i || state_q == Fails;
    line_o = '0;
    {line_o.place, line_o.number} = {port_place_t'(place_q), number_q};
    {line_o.last, line_o.error} = '1;
    if (line_valid_i) begin
      line_o = '{
        place: line_place_i,
        number: line_number_i,
        last: line_i.last,
        error: line_i.error,
        copied: is_on_board_q[index_t'(line_place_i)][line_number_i],
        data: line_i.data
      };
    end
  end

  // Reads in flight.
  logic [2**PlaceBits-1:0][1:0] flying_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) flying_q <= '0;
    else begin
      if (line_valid_o && line_o.last) flying_q[index_t'(line_o.place)][line_o.number] <= 1'b0;
      if (takes) flying_q[taken][read_i.number] <= 1'b1;
    end
  end

  `ASSERT(PlaceExists, !read_valid_i || 32'(read_i.place) < Places)
  `ASSERT(ReadHasLines, !read_valid_i || read_i.count != '0)
  `ASSERT(NumberIsFree, !takes || !flying_q[taken][read_i.number])
  `ASSERT(FollowingReadIsByAddress, !read_valid_i || !read_i.follows || !read_i.by_lid)
  `ASSERT(NothingPrecedesABuffer, !takes || read_i.follows || flying_q[taken] == '0)
  `ASSERT(LinesWereRequested, !line_valid_i || flying_q[index_t'(line_place_i)][line_number_i])
  `ASSERT(StaysWithinPage, !burst_valid_o ||
      32'(burst_o.address[LineIndexBits+:PageLineBits]) + 32'(burst_o.lines) <= PageLines)
  `ASSERT_OFFER_STAYS(ReadStays, read_valid_i, read_ready_o, read_i)
  `ASSERT_OFFER_STAYS(LookupStays, lookup_valid_o, lookup_ready_i, {lookup_o, lookup_place_o})
  `ASSERT_OFFER_STAYS(BurstStays, burst_valid_o, burst_ready_i, {burst_o, burst_place_o, burst_number_o})
  `COVER(ColumnsOnBoard, is_on_board)
  `COVER(IsMappedMeanwhile, (is_mapped_q & is_current_q) != '0)
  `COVER(FailureWaitsForALine, state_q == Fails && line_valid_i)

endmodule

`default_nettype wire
