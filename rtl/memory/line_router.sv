// Routes lines to the ports that requested them: from host memory, from the cache in each channel of on-board
// memory, and from each stream of the nodes on chip. A unit with places, or four other readers, are a group,
// which receives a line a cycle, so sources deliver lines in the same cycle if their groups differ. For the
// same group, host memory has priority, then the channels in ascending order, then the streams. Lines for no
// port are discarded. A line arrives in the cycle after it was routed. Lines of channels come from registers,
// and those of host memory and of nodes on chip from registers that know their group.

`default_nettype none

`include "assertions.svh"

module line_router
  import memory_pkg::*;
#(
  // see client_ports
  parameter int unsigned ClientCount = 4,
  parameter int unsigned Banks = 2,
  parameter int unsigned NodeUnits = 1,
  parameter int unsigned NodePlaces = 4,
  parameter int unsigned LeafUnits = 1,
  parameter int unsigned LeafPlaces = 4,
  // channels of on-board memory
  parameter int unsigned Channels = 1,
  // streams of nodes on chip
  parameter int unsigned Streams = 1,
  localparam int unsigned Units = NodeUnits + LeafUnits,
  localparam int unsigned Readers = ClientCount + 1,
  localparam int unsigned Ports = Readers + Units,
  localparam int unsigned BankBits = $clog2(Banks),
  localparam int unsigned AllNodePlaces = NodeUnits * NodePlaces,
  localparam int unsigned TagBits =
      reader_bits(ClientCount, AllNodePlaces + LeafUnits * LeafPlaces) + BankBits
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

  // The groups of readers, then the units.
  localparam int unsigned GroupReaders = 4;
  localparam int unsigned ReaderGroups = (Readers + GroupReaders - 1) / GroupReaders;
  localparam int unsigned Groups = ReaderGroups + Units;
  // host memory, the channels, the streams
  localparam int unsigned Sources = 1 + Channels + Streams;

  typedef logic [Groups-1:0] groups_t;
  typedef struct packed {
    logic [TagBits-1:0] tag;
    burst_line_t line;
  } element_t;
  typedef struct packed {
    groups_t group;
    element_t element;
  } grouped_t;

  logic [Sources-1:0] valid, blocked;
  element_t [Sources-1:0] element;
  // for each source: the group of its line, and whether it gives the line to it
  groups_t [Sources-1:0] wants, gives;
  groups_t earlier;

  groups_t host_wants_q;
  element_t host_q;

  always_ff @(posedge clk_i) begin
    host_wants_q <= host_valid_i && !rst_i ? group_of_tag(host_tag_i) : '0;
    host_q <= {host_tag_i, host_i};
  end

  assign valid[0] = host_wants_q != '0;
  assign wants[0] = host_wants_q;
  assign element[0] = host_q;

  for (genvar channel = 0; channel < Channels; channel++) begin : gen_channels
    assign valid[channel+1] = cache_valid_i[channel];
    assign wants[channel+1] = cache_valid_i[channel] ? group_of_tag(cache_tag_i[channel]) : '0;
    assign element[channel+1] = {cache_tag_i[channel], cache_i[channel]};
    assign cache_ready_o[channel] = !blocked[channel+1];
  end

  for (genvar stream = 0; stream < Streams; stream++) begin : gen_streams
    grouped_t line;

    skid_buffer #(
      .T(grouped_t)
    ) u_of_chip (
      .clk_i,
      .rst_i,
      .in_valid_i(chip_valid_i[stream]),
      .in_ready_o(chip_ready_o[stream]),
      .in_i({group_of_tag(chip_tag_i[stream]), chip_tag_i[stream], chip_i[stream]}),
      .out_valid_o(valid[1+Channels+stream]),
      .out_ready_i(!blocked[1+Channels+stream]),
      .out_o(line)
    );

    assign wants[1+Channels+stream] = line.group & {Groups{valid[1+Channels+stream]}};
    assign element[1+Channels+stream] = line.element;
  end

  // The filler of nodes on chip has no group. Constants tell the readers of a group: two levels of logic,
  // where two comparisons have more.
  // verilator lint_off UNUSEDSIGNAL
  function automatic groups_t group_of_tag(logic [TagBits-1:0] tag);
  // verilator lint_on UNUSEDSIGNAL
    for (int unsigned group = 0; group < Groups; group++)
      group_of_tag[group] = readers_of(group)[tag[TagBits-1:BankBits]];
  endfunction

  function automatic logic [2**(TagBits-BankBits)-1:0] readers_of(int unsigned group);
    for (int unsigned reader = 0; reader < 2 ** (TagBits - BankBits); reader++)
      readers_of[reader] = reader >= first_of(group) && reader < end_of(group);
  endfunction

  // The numbers of the readers of a group: from the first one up to the end.
  function automatic int unsigned first_of(int unsigned group);
    if (group < ReaderGroups) return group * GroupReaders;
    if (group < ReaderGroups + NodeUnits)
      return first_place(ClientCount) + (group - ReaderGroups) * NodePlaces;
    return first_leaf_place(ClientCount, AllNodePlaces) + (group - ReaderGroups - NodeUnits) * LeafPlaces;
  endfunction

  function automatic int unsigned end_of(int unsigned group);
    if (group < ReaderGroups)
      return first_of(group) + GroupReaders < Readers ? first_of(group) + GroupReaders : Readers;
    return first_of(group) + (group < ReaderGroups + NodeUnits ? NodePlaces : LeafPlaces);
  endfunction

  // The first source that has a line for a group gives it, and the others wait.
  always_comb begin
    earlier = '0;
    for (int unsigned at = 0; at < Sources; at++) begin
      gives[at] = wants[at] & ~earlier;
      blocked[at] = (wants[at] & earlier) != '0;
      earlier |= wants[at];
    end
  end

  for (genvar group = 0; group < Groups; group++) begin : gen_groups
    logic [Sources-1:0] is_from;
    logic valid_q;
    element_t out_d, out_q;

    always_comb begin
      out_d = '0;
      for (int unsigned at = 0; at < Sources; at++) begin
        is_from[at] = gives[at][group];
        if (is_from[at]) out_d |= element[at];
      end
    end

    always_ff @(posedge clk_i) begin
      if (rst_i) valid_q <= 1'b0;
      else valid_q <= |is_from;
      out_q <= out_d;
    end

    `ASSERT(OneLine, $onehot0(is_from))
  end

  for (genvar port = 0; port < Ports; port++) begin : gen_ports
    localparam int unsigned Group = port < Readers ? port / GroupReaders : ReaderGroups + port - Readers;

    element_t out;
    assign out = gen_groups[Group].out_q;
    assign line_valid_o[port] = gen_groups[Group].valid_q &&
        (port >= Readers || 32'(out.tag) >> BankBits == port);
    assign {line_tag_o[port], line_o[port]} = out;
  end

  `COVER(LinesMeet, |(valid & blocked))

endmodule

`default_nettype wire
