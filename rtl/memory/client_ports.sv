// The ports of the memory system: those of units with places, first the units that read nodes, that of the
// filler of columns, and those of all clients, which look up no LIDs. Each burst gets a tag, and each lookup
// the number of its reader.

`default_nettype none

module client_ports
  import accelerator_pkg::*;
  import memory_pkg::*;
#(
  parameter int unsigned ClientCount = 4,
  // number of LIDs that can be mapped
  parameter int unsigned LidCount = 65536,
  // channels of on-board memory
  parameter int unsigned Channels = 1,
  // units that read nodes, and the places of each; those that read leaves
  parameter int unsigned NodeUnits = 1,
  parameter int unsigned NodePlaces = 4,
  parameter int unsigned LeafUnits = 1,
  parameter int unsigned LeafPlaces = 4,
  localparam int unsigned Units = NodeUnits + LeafUnits,
  // the units and the filler of columns, which look up LIDs, and all ports
  localparam int unsigned LidPorts = Units + 1,
  localparam int unsigned Ports = LidPorts + ClientCount,
  localparam int unsigned AllNodePlaces = NodeUnits * NodePlaces,
  localparam int unsigned Places = AllNodePlaces + LeafUnits * LeafPlaces,
  localparam int unsigned ReaderBits = reader_bits(ClientCount, Places),
  localparam int unsigned TagBits = tag_bits(ClientCount, Places)
) (
  input logic clk_i,
  input logic rst_i,

  input  logic       [ClientCount-1:0] read_valid_i,
  output logic       [ClientCount-1:0] read_ready_o,
  input  line_read_t [ClientCount-1:0] read_i,
  output logic       [ClientCount-1:0] beat_valid_o,
  input  logic       [ClientCount-1:0] beat_ready_i,
  output line_beat_t [ClientCount-1:0] beat_o,

  // see place_port
  input  logic        [Units-1:0] place_read_valid_i,
  output logic        [Units-1:0] place_read_ready_o,
  input  place_read_t [Units-1:0] place_read_i,
  output logic        [Units-1:0] place_line_valid_o,
  output place_line_t [Units-1:0] place_line_o,

  // columns of leaves are kept in on-board memory, and read from there; lines of a node
  input logic        columns_i,
  input line_count_t node_lines_i,
  // a mapping is being written
  input logic map_valid_i,
  input lid_t map_lid_i,

  // Each lookup gets one result, at any later time. Address 0 means that the LID is not mapped.
  output logic        [LidPorts-1:0]                 lookup_valid_o,
  input  logic        [LidPorts-1:0]                 lookup_ready_i,
  output lookup_t     [LidPorts-1:0]                 lookup_o,
  output logic        [LidPorts-1:0][ReaderBits-1:0] lookup_reader_o,
  input  logic                                       found_valid_i,
  input  logic        [ReaderBits-1:0]               found_reader_i,
  input  bus_address_t                               found_i,
  input  logic                                       found_columns_i,
  output logic        [Ports-1:0]                    burst_valid_o,
  input  logic        [Ports-1:0]                    burst_ready_i,
  output burst_t      [Ports-1:0]                    burst_o,
  output logic        [Ports-1:0][TagBits-1:0]       burst_tag_o,
  // the nodes of the bursts of units
  output node_name_t  [Units-1:0]                    name_o,
  input  logic        [Ports-1:0]                    line_valid_i,
  input  logic        [Ports-1:0][TagBits-1:0]       line_tag_i,
  input  burst_line_t [Ports-1:0]                    line_i,

  // of the filler: see column_filler
  input  logic          lacks_valid_i,
  input  lid_t          lacks_lid_i,
  output logic          write_valid_o,
  input  logic          write_ready_i,
  output column_place_t write_place_o,
  output line_t         write_o,
  input  logic [Channels-1:0] written_i,
  input  logic [Channels-1:0] written_error_i,
  output logic          mark_valid_o,
  input  logic          mark_ready_i,
  output lid_t          mark_lid_o,
  output bus_address_t  mark_address_o
);

  // The place of a reader in a port whose first reader is known: a lookup table for each bit. A subtraction
  // would be a carry chain between the memory system and an engine.
  function automatic port_place_t place_of(logic [ReaderBits-1:0] reader, int unsigned first);
    place_of = '0;
    for (int unsigned place = 0; place < PlacesMax; place++)
      if (port_place_t'(reader) == port_place_t'(first + place)) place_of |= port_place_t'(place);
  endfunction

  logic [LeafUnits-1:0][2*LeafPlaces-1:0] reads_columns;

  for (genvar unit = 0; unit < Units; unit++) begin : gen_units
    localparam bit ReadsNodes = unit < NodeUnits;
    localparam int unsigned UnitPlaces = ReadsNodes ? NodePlaces : LeafPlaces;
    localparam int unsigned First = ReadsNodes ? FirstPlace + unit * NodePlaces
        : first_leaf_place(AllNodePlaces) + (unit - NodeUnits) * LeafPlaces;

    logic is_found, number;
    // Nodes have no columns in on-board memory.
    // verilator lint_off UNUSEDSIGNAL
    logic [2*UnitPlaces-1:0] columns;
    // verilator lint_on UNUSEDSIGNAL
    logic [ReaderBits-1:0] line_reader;
    // verilator lint_off UNUSEDSIGNAL
    port_place_t lookup_place, burst_place;
    // verilator lint_on UNUSEDSIGNAL

    always_comb begin
      is_found = 1'b0;
      for (int unsigned place = 0; place < UnitPlaces; place++)
        if (found_reader_i == ReaderBits'(First + place)) is_found = 1'b1;
    end

    assign line_reader = line_tag_i[unit][TagBits-1:BurstNumberBits];
    assign lookup_reader_o[unit] = ReaderBits'(First) + ReaderBits'(lookup_place);
    assign burst_tag_o[unit] = {ReaderBits'(First) + ReaderBits'(burst_place), BurstNumberBits'(number)};

    place_port #(
      .Places(UnitPlaces),
      .LidCount(LidCount)
    ) u_place_port (
      .clk_i,
      .rst_i,
      .read_valid_i(place_read_valid_i[unit]), .read_ready_o(place_read_ready_o[unit]),
      .read_i(place_read_i[unit]),
      .line_valid_o(place_line_valid_o[unit]),
      .line_o(place_line_o[unit]),
      .lookup_valid_o(lookup_valid_o[unit]), .lookup_ready_i(lookup_ready_i[unit]),
      .lookup_o(lookup_o[unit]),
      .lookup_place_o(lookup_place),
      .found_valid_i(found_valid_i && is_found), .found_any_i(found_valid_i),
      .found_place_i(place_of(found_reader_i, First)),
      .found_i,
      .found_columns_i,
      .columns_i(columns_i && !ReadsNodes),
      .map_valid_i,
      .map_lid_i,
      .reads_columns_o(columns),
      .burst_valid_o(burst_valid_o[unit]), .burst_ready_i(burst_ready_i[unit]),
      .burst_o(burst_o[unit]),
      .burst_place_o(burst_place),
      .burst_number_o(number),
      .name_o(name_o[unit]),
      .line_valid_i(line_valid_i[unit]),
      .line_place_i(place_of(line_reader, First)),
      .line_number_i(line_tag_i[unit][0]),
      .line_i(line_i[unit])
    );

    if (!ReadsNodes) begin : gen_columns
      assign reads_columns[unit-NodeUnits] = columns;
    end
  end

  // ---- the filler of columns ----

  logic read_valid, read_ready, beat_valid, beat_ready;
  line_read_t read;
  line_beat_t beat;
  logic [BurstNumberBits-1:0] bank;

  assign lookup_reader_o[Units] = ReaderBits'(ColumnFiller);
  assign burst_tag_o[Units] = {ReaderBits'(ColumnFiller), bank};

  column_filler #(
    .Readers(2 * LeafUnits * LeafPlaces),
    .Channels(Channels)
  ) u_column_filler (
    .enable_i(columns_i),
    .reads_columns_i(reads_columns),
    .lookup_valid_o(lookup_valid_o[Units]), .lookup_ready_i(lookup_ready_i[Units]),
    .lookup_o(lookup_o[Units]),
    .found_valid_i(found_valid_i && found_reader_i == ReaderBits'(ColumnFiller)),
    .read_valid_o(read_valid), .read_ready_i(read_ready),
    .read_o(read),
    .beat_valid_i(beat_valid), .beat_ready_o(beat_ready),
    .beat_i(beat),
    .*
  );

  client_port #(
    .Banks(2 ** BurstNumberBits)
  ) u_filler_port (
    .clk_i,
    .rst_i,
    .read_valid_i(read_valid), .read_ready_o(read_ready),
    .read_i(read),
    .beat_valid_o(beat_valid), .beat_ready_i(beat_ready),
    .beat_o(beat),
    .burst_valid_o(burst_valid_o[Units]), .burst_ready_i(burst_ready_i[Units]),
    .burst_o(burst_o[Units]),
    .burst_bank_o(bank),
    .line_valid_i(line_valid_i[Units]),
    .line_bank_i(line_tag_i[Units][BurstNumberBits-1:0]),
    .line_i(line_i[Units])
  );

  // ---- clients ----

  for (genvar client = 0; client < ClientCount; client++) begin : gen_clients
    localparam int unsigned Port = LidPorts + client;
    localparam int unsigned First = first_client(Places) + client * ClientReaders;

    logic [ClientBankBits-1:0] client_bank;
    assign burst_tag_o[Port] = TagBits'(First << BurstNumberBits) | TagBits'(client_bank);

    client_port u_client_port (
      .clk_i,
      .rst_i,
      .read_valid_i(read_valid_i[client]), .read_ready_o(read_ready_o[client]),
      .read_i(read_i[client]),
      .beat_valid_o(beat_valid_o[client]), .beat_ready_i(beat_ready_i[client]),
      .beat_o(beat_o[client]),
      .burst_valid_o(burst_valid_o[Port]), .burst_ready_i(burst_ready_i[Port]),
      .burst_o(burst_o[Port]),
      .burst_bank_o(client_bank),
      .line_valid_i(line_valid_i[Port]),
      .line_bank_i(line_tag_i[Port][ClientBankBits-1:0]),
      .line_i(line_i[Port])
    );
  end

endmodule

`default_nettype wire
