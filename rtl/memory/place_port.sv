// The port of the places of one unit. It looks up the LID if a read has one, requests the burst of the read,
// and passes its lines to the unit, which takes them at once. All places share the port; the state of each is
// in memories, except for what a mapping changes. A burst may leave in each cycle.
//
//   read by LID | lookup                    a read of a buffer, or the result of a lookup, which comes first
//               | ... result, in any order  | the buffer of the place | burst
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
  localparam int unsigned PlaceBits = Places > 1 ? $clog2(Places) : 1
) (
  input logic clk_i,
  input logic rst_i,

  input  logic        read_valid_i,
  output logic        read_ready_o,
  input  place_read_t read_i,
  output logic        line_valid_o,
  output place_line_t line_o,

  // A place has one lookup in flight. Address 0: no mapping. found_any_i: a result comes for any port.
  output logic         lookup_valid_o,
  input  logic         lookup_ready_i,
  output lookup_t      lookup_o,
  output port_place_t  lookup_place_o,
  input  logic         found_valid_i,
  input  logic         found_any_i,
  // verilator lint_off UNUSEDSIGNAL
  input  port_place_t  found_place_i,
  // verilator lint_on UNUSEDSIGNAL
  input  bus_address_t found_i,
  input  logic         found_columns_i,

  // Columns may be read from on-board memory. A mapping is being written.
  input  logic columns_i,
  input  logic map_valid_i,
  input  lid_t map_lid_i,
  // for each read of each place: its burst reads columns from on-board memory
  output logic [Places-1:0][1:0] reads_columns_o,

  output logic        burst_valid_o,
  input  logic        burst_ready_i,
  output burst_t      burst_o,
  output port_place_t burst_place_o,
  output logic        burst_number_o,
  // the node of the burst
  output node_name_t  name_o,

  input logic        line_valid_i,
  input port_place_t line_place_i,
  input logic        line_number_i,
  input burst_line_t line_i
);

  if (Places > PlacesMax) $fatal(1, "port_place_t has too few bits for all places");

  typedef logic [PlaceBits-1:0] index_t;

  // The last read by LID of a place.
  typedef struct packed {
    lid_t lid;
    logic number;
    logic columns;
    logic cacheable;
    depth_e depth;
    line_count_t first;
    line_count_t count;
  } request_t;

  typedef struct packed {
    logic has_columns;
    bus_address_t address;
  } buffer_t;

  // A burst. fails: a read of a LID that is not mapped, which ends instead.
  typedef struct packed {
    logic fails;
    index_t place;
    logic number;
    node_name_t name;
    burst_t burst;
  } element_t;

  logic takes, takes_lookup, takes_buffer, takes_address, takes_found, found_valid;
  logic loads_q, load_ready, ready, is_found_q, is_direct_q, is_on_board, offers, offer_ready;
  index_t taken, found_place, place_q;
  // verilator lint_off UNUSEDSIGNAL
  place_read_t read_q;
  // verilator lint_on UNUSEDSIGNAL
  request_t by_lid, request;
  buffer_t buffer;
  element_t offer;
  logic fails, number, reads_columns;
  line_count_t end_line;
  bus_address_t address;

  // ---- reads, and results of lookups

  logic looks_q;
  lookup_t lookup_q;
  port_place_t lookup_place_q;

  // A read at an address and a result both write the memory of buffers. Such a read, a rare one, waits.
  assign read_ready_o = read_i.by_lid ? !looks_q
      : load_ready && !found_valid && (read_i.follows || !found_any_i);
  assign takes = read_valid_i && read_ready_o;
  assign takes_lookup = takes && read_i.by_lid;
  assign takes_buffer = takes && !read_i.by_lid;
  assign takes_address = takes_buffer && !read_i.follows;
  assign takes_found = load_ready && found_valid;
  assign taken = index_t'(read_i.place);
  assign load_ready = !loads_q || ready;

  always_ff @(posedge clk_i) begin
    if (rst_i) {looks_q, loads_q} <= '0;
    else begin
      looks_q <= takes_lookup || (looks_q && !lookup_ready_i);
      loads_q <= takes_found || takes_buffer || !load_ready;
    end
    if (takes_lookup) begin
      lookup_q <= '{kept: read_i.cacheable, columns: by_lid.columns, lid: read_i.lid};
      lookup_place_q <= read_i.place;
    end
    if (load_ready) begin
      place_q <= takes_found ? found_place : taken;
      {is_found_q, is_direct_q} <= {takes_found, takes_address};
      read_q <= read_i;
      read_q.columns <= read_i.columns && columns_i;
    end
  end

  assign lookup_valid_o = looks_q;
  assign lookup_o = lookup_q;
  assign lookup_place_o = lookup_place_q;

  fifo #(
    .T(index_t),
    .Depth(2 ** PlaceBits)
  ) u_found (
    .clk_i,
    .rst_i,
    .in_valid_i(found_valid_i), .in_ready_o(), .in_i(index_t'(found_place_i)),
    .out_valid_o(found_valid), .out_ready_i(takes_found), .out_o(found_place),
    .count_o()
  );

  // ---- the places

  assign by_lid = '{
    lid: read_i.lid,
    number: read_i.number,
    columns: read_i.columns && columns_i,
    cacheable: read_i.cacheable,
    depth: read_i.depth,
    first: read_i.first,
    count: read_i.count
  };

  ram #(
    .Width($bits(request_t)),
    .Depth(2 ** PlaceBits)
  ) u_requests (
    .clk_i,
    .rst_i,
    .write_i(takes_lookup),
    .write_address_i(taken),
    .write_data_i(by_lid),
    .read_i(takes_found || takes_buffer),
    .read_address_i(takes_found ? found_place : taken),
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
    .read_i(takes_found || (takes_buffer && read_i.follows)),
    .read_address_i(takes_found ? found_place : taken),
    .read_data_o(buffer)
  );

  logic is_current;
  logic [Places-1:0][1:0] reads_on_board;

  place_columns #(
    .Places(Places),
    .LidCount(LidCount)
  ) u_columns (
    .clk_i,
    .rst_i,
    .begins_i(takes_lookup), .begin_place_i(taken), .begin_lid_i(read_i.lid),
    .map_valid_i, .map_lid_i,
    .place_i(place_q), .is_current_o(is_current),
    .leaves_i(loads_q && ready), .leave_number_i(number), .is_on_board_i(is_on_board),
    .ends_i(line_valid_i && line_i.last),
    .end_place_i(index_t'(line_place_i)), .end_number_i(line_number_i),
    .is_on_board_o(reads_on_board)
  );
  assign reads_columns_o = reads_on_board;

  // ---- the burst

  line_count_t first, count;
  node_name_t name;
  burst_t burst;

  always_comb begin
    {number, reads_columns} = {read_q.number, read_q.columns};
    {name.depth, name.buffer.cacheable} = {read_q.depth, read_q.cacheable};
    {first, count} = {read_q.first, read_q.count};
    if (is_found_q) begin
      {number, reads_columns} = {request.number, request.columns};
      {name.depth, name.buffer.cacheable} = {request.depth, request.cacheable};
      {first, count} = {request.first, request.count};
    end
    {name.buffer.lid, name.buffer.address} = {request.lid, address};
  end

  always_comb begin
    burst = '{on_board: is_on_board, address: '0, lines: burst_lines_t'(count), last: 1'b1};
    burst.address = address + (bus_address_t'(first) << LineIndexBits);
    if (is_on_board)
      burst.address = bus_address_t'({request.lid, first[ColumnLineBits-1:0], LineIndexBits'(0)});
  end

  assign fails = is_found_q && buffer.address == '0;
  assign address = is_direct_q ? read_q.address : buffer.address;
  assign end_line = first + count;
  assign is_on_board = !fails && reads_columns && !is_direct_q && buffer.has_columns
      && is_current && end_line <= line_count_t'(ColumnLines);

  skid_buffer #(
    .T(element_t)
  ) u_offer (
    .clk_i,
    .rst_i,
    .in_valid_i(loads_q), .in_ready_o(ready),
    .in_i('{fails: fails, place: place_q, number: number, name: name, burst: burst}),
    .out_valid_o(offers), .out_ready_i(offer_ready), .out_o(offer)
  );

  assign offer_ready = offer.fails ? !line_valid_i : burst_ready_i;
  assign burst_valid_o = offers && !offer.fails;
  assign burst_o = offer.burst;
  assign burst_place_o = port_place_t'(offer.place);
  assign burst_number_o = offer.number;
  assign name_o = offer.name;

  // ---- lines

  always_comb begin
    line_valid_o = line_valid_i || (offers && offer.fails);
    line_o = '0;
    {line_o.place, line_o.number} = {port_place_t'(offer.place), offer.number};
    {line_o.last, line_o.error} = '1;
    if (line_valid_i) begin
      line_o = '{
        place: line_place_i,
        number: line_number_i,
        last: line_i.last,
        error: line_i.error,
        copied: reads_on_board[index_t'(line_place_i)][line_number_i],
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
  `ASSERT(OnlyNodesOfLidsAreKept, !takes_address || !read_i.cacheable)
  `ASSERT(NothingPrecedesABuffer, !takes || read_i.follows || flying_q[taken] == '0)
  `ASSERT(LinesWereRequested, !line_valid_i || flying_q[index_t'(line_place_i)][line_number_i])
  `ASSERT(StaysWithinPage, !burst_valid_o || burst_o.on_board ||
      32'(burst_o.address[LineIndexBits+:PageLineBits]) + 32'(burst_o.lines) <= PageLines)
  `ASSERT_OFFER_STAYS(ReadStays, read_valid_i, read_ready_o, read_i)
  `ASSERT_OFFER_STAYS(LookupStays, lookup_valid_o, lookup_ready_i, {lookup_o, lookup_place_o})
  `ASSERT_OFFER_STAYS(BurstStays, burst_valid_o, burst_ready_i,
                      {burst_o, burst_place_o, burst_number_o, name_o})
  `ASSERT(ResultIsOfAnyPort, found_any_i || !found_valid_i)
  `COVER(ColumnsOnBoard, is_on_board && loads_q)
  `COVER(FailureWaitsForALine, offers && offer.fails && line_valid_i)
  `COVER(ReadWaitsForAResult, read_valid_i && !read_i.by_lid && found_valid)

endmodule

`default_nettype wire
