// Routes lines to the ports that requested them: from host memory, from the cache in each channel of on-board
// memory, and from each stream of the nodes on chip. A unit with places receives a line a cycle, so sources
// deliver lines in the same cycle if their units differ. For the same unit, host memory has priority, then
// the channels in ascending order, then the streams. The filler of columns and the clients receive all their
// lines from host memory, so nothing delays these. Lines of host memory for no port are discarded. A line
// arrives in the cycle after it was routed. Lines of channels come from registers, and those of host memory
// and of nodes on chip from registers that know their unit.

`default_nettype none

`include "assertions.svh"

module line_router
  import memory_pkg::*;
#(
  // see client_ports
  parameter int unsigned ClientCount = 4,
  parameter int unsigned NodeUnits = 1,
  parameter int unsigned NodePlaces = 4,
  parameter int unsigned LeafUnits = 1,
  parameter int unsigned LeafPlaces = 4,
  // channels of on-board memory
  parameter int unsigned Channels = 1,
  // streams of nodes on chip
  parameter int unsigned Streams = 1,
  localparam int unsigned Units = NodeUnits + LeafUnits,
  localparam int unsigned Ports = Units + 1 + ClientCount,
  localparam int unsigned AllNodePlaces = NodeUnits * NodePlaces,
  localparam int unsigned Places = AllNodePlaces + LeafUnits * LeafPlaces,
  localparam int unsigned TagBits = tag_bits(ClientCount, Places)
) (
  input logic clk_i,
  input logic rst_i,

  // from host memory, which cannot wait
  input logic               host_valid_i,
  input logic [TagBits-1:0] host_tag_i,
  input burst_line_t        host_i,

  input  logic        [Channels-1:0]              cache_valid_i,
  output logic        [Channels-1:0]              cache_ready_o,
  input  logic        [Channels-1:0][TagBits-1:0] cache_tag_i,
  input  burst_line_t [Channels-1:0]              cache_i,

  input  logic        [Streams-1:0]              chip_valid_i,
  output logic        [Streams-1:0]              chip_ready_o,
  input  logic        [Streams-1:0][TagBits-1:0] chip_tag_i,
  input  burst_line_t [Streams-1:0]              chip_i,

  output logic        [Ports-1:0]              line_valid_o,
  output logic        [Ports-1:0][TagBits-1:0] line_tag_o,
  output burst_line_t [Ports-1:0]              line_o
);

  // host memory, the channels, the streams
  localparam int unsigned Sources = 1 + Channels + Streams;

  typedef logic [Units-1:0] units_t;
  typedef struct packed {
    logic [TagBits-1:0] tag;
    burst_line_t line;
  } element_t;
  typedef struct packed {
    units_t unit;
    element_t element;
  } of_unit_t;

  logic [Sources-1:0] valid, blocked;
  element_t [Sources-1:0] element;
  // for each source: the unit of its line, and whether it gives the line to it
  units_t [Sources-1:0] wants, gives;
  units_t earlier;

  logic host_valid_q;
  units_t host_wants_q;
  element_t host_q;

  always_ff @(posedge clk_i) begin
    host_valid_q <= host_valid_i && !rst_i;
    host_wants_q <= host_valid_i && !rst_i ? unit_of_tag(host_tag_i) : '0;
    host_q <= {host_tag_i, host_i};
  end

  assign valid[0] = host_wants_q != '0;
  assign wants[0] = host_wants_q;
  assign element[0] = host_q;

  for (genvar channel = 0; channel < Channels; channel++) begin : gen_channels
    assign valid[channel+1] = cache_valid_i[channel];
    assign wants[channel+1] = cache_valid_i[channel] ? unit_of_tag(cache_tag_i[channel]) : '0;
    assign element[channel+1] = {cache_tag_i[channel], cache_i[channel]};
    assign cache_ready_o[channel] = !blocked[channel+1];

    `ASSERT(HasUnit, !cache_valid_i[channel] || wants[channel+1] != '0)
  end

  for (genvar stream = 0; stream < Streams; stream++) begin : gen_streams
    of_unit_t line;

    skid_buffer #(
      .T(of_unit_t)
    ) u_of_chip (
      .clk_i,
      .rst_i,
      .in_valid_i(chip_valid_i[stream]),
      .in_ready_o(chip_ready_o[stream]),
      .in_i({unit_of_tag(chip_tag_i[stream]), chip_tag_i[stream], chip_i[stream]}),
      .out_valid_o(valid[1+Channels+stream]),
      .out_ready_i(!blocked[1+Channels+stream]),
      .out_o(line)
    );

    assign wants[1+Channels+stream] = line.unit & {Units{valid[1+Channels+stream]}};
    assign element[1+Channels+stream] = line.element;

    `ASSERT(HasUnit, !valid[1+Channels+stream] || line.unit != '0)
  end

  // Constants tell the readers of a unit: two levels of logic, where two comparisons have more.
  // verilator lint_off UNUSEDSIGNAL
  function automatic units_t unit_of_tag(logic [TagBits-1:0] tag);
  // verilator lint_on UNUSEDSIGNAL
    for (int unsigned unit = 0; unit < Units; unit++)
      unit_of_tag[unit] = readers_of(unit)[tag[TagBits-1:BurstNumberBits]];
  endfunction

  function automatic logic [2**(TagBits-BurstNumberBits)-1:0] readers_of(int unsigned unit);
    for (int unsigned reader = 0; reader < 2 ** (TagBits - BurstNumberBits); reader++)
      readers_of[reader] = reader >= first_of(unit) && reader < end_of(unit);
  endfunction

  // The numbers of the readers of a unit: from the first one up to the end.
  function automatic int unsigned first_of(int unsigned unit);
    if (unit < NodeUnits) return FirstPlace + unit * NodePlaces;
    return first_leaf_place(AllNodePlaces) + (unit - NodeUnits) * LeafPlaces;
  endfunction

  function automatic int unsigned end_of(int unsigned unit);
    return first_of(unit) + (unit < NodeUnits ? NodePlaces : LeafPlaces);
  endfunction

  // The first source that has a line for a unit gives it, and the others wait.
  always_comb begin
    earlier = '0;
    for (int unsigned at = 0; at < Sources; at++) begin
      gives[at] = wants[at] & ~earlier;
      blocked[at] = (wants[at] & earlier) != '0;
      earlier |= wants[at];
    end
  end

  for (genvar unit = 0; unit < Units; unit++) begin : gen_units
    logic [Sources-1:0] is_from;
    logic valid_q;
    element_t out_d, out_q;

    always_comb begin
      out_d = '0;
      for (int unsigned at = 0; at < Sources; at++) begin
        is_from[at] = gives[at][unit];
        if (is_from[at]) out_d |= element[at];
      end
    end

    always_ff @(posedge clk_i) begin
      if (rst_i) valid_q <= 1'b0;
      else valid_q <= |is_from;
      out_q <= out_d;
    end

    assign line_valid_o[unit] = valid_q;
    assign {line_tag_o[unit], line_o[unit]} = out_q;

    `ASSERT(OneLine, $onehot0(is_from))
  end

  // The line of host memory for the filler of columns and the clients.
  element_t other_q;
  always_ff @(posedge clk_i) other_q <= host_q;

  for (genvar port = Units; port < Ports; port++) begin : gen_others
    // The readers of a client have the same number above the lowest bits.
    localparam bit IsFiller = port == Units;
    localparam int unsigned Reader =
        IsFiller ? ColumnFiller : first_client(Places) + (port - Units - 1) * ClientReaders;
    localparam int unsigned LowBits = IsFiller ? BurstNumberBits : ClientBankBits;

    logic valid_q;
    always_ff @(posedge clk_i) begin
      valid_q <= host_valid_q && !rst_i
          && host_q.tag >> LowBits == TagBits'(Reader >> (LowBits - BurstNumberBits));
    end

    assign line_valid_o[port] = valid_q;
    assign {line_tag_o[port], line_o[port]} = other_q;
  end

  `COVER(LinesMeet, |(valid & blocked))

endmodule

`default_nettype wire
