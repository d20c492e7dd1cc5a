// What goes over the interfaces of host memory and on-board memory for requests, as events. Tags and ids name
// the clients.

`default_nettype none

module memory_events
  import layout_pkg::*;
  import accelerator_pkg::*;
#(
  parameter int unsigned Clients = 2,
  parameter int unsigned TagBits = 2,
  parameter int unsigned Channels = 1,
  parameter int unsigned DramAddressBits = 34,
  localparam int unsigned Events = 2 + 2 * Channels,
  localparam int unsigned ClientBits = $clog2(Clients)
) (
  input slot_t [Clients-1:0] client_slots_i,

  // transfers: reads that are taken, last lines that come
  input logic                       host_read_i,
  input logic [63:0]                host_address_i,
  input logic [15:0]                host_bytes_i,
  // of a tag, and of an id, only the client is looked at
  // verilator lint_off UNUSEDSIGNAL
  input logic [TagBits-1:0]         host_read_tag_i,
  input logic                       host_last_i,
  input logic [TagBits-1:0]         host_last_tag_i,
  input logic                       dram_arvalid_i[Channels],
  input logic                       dram_arready_i[Channels],
  input logic [TagBits:0]           dram_arid_i   [Channels],
  input logic [DramAddressBits-1:0] dram_araddr_i [Channels],
  input logic [7:0]                 dram_arlen_i  [Channels],
  input logic                       dram_rvalid_i [Channels],
  input logic                       dram_rready_i [Channels],
  input logic                       dram_rlast_i  [Channels],
  input logic [TagBits:0]           dram_rid_i    [Channels],

  output event_t [Events-1:0] events_o
);

  function automatic slot_t slot_of_tag(logic [TagBits-1:0] tag, slot_t [Clients-1:0] slots);
    return slots[tag[TagBits-1-:ClientBits]];
  endfunction

  // The highest bit of an id tells the tag of a piece from the client of a lookup: see dram_port.
  function automatic slot_t slot_of_id(logic [TagBits:0] id, slot_t [Clients-1:0] slots);
    return id[TagBits] ? slot_of_tag(id[TagBits-1:0], slots) : slots[id[ClientBits-1:0]];
  endfunction
  // verilator lint_on UNUSEDSIGNAL

  for (genvar channel = 0; channel < Channels; channel++) begin : gen_channels
    logic reads, ends;
    logic [TagBits:0] read_id, last_id;
    logic [31:0] lines;

    assign reads = dram_arvalid_i[channel] && dram_arready_i[channel];
    assign ends = dram_rvalid_i[channel] && dram_rready_i[channel] && dram_rlast_i[channel];
    assign read_id = dram_arid_i[channel];
    assign last_id = dram_rid_i[channel];
    assign lines = {read_id[TagBits], 31'(dram_arlen_i[channel]) + 31'd1};
    assign events_o[2+2*channel+:2] = {
      event_if(ends, EventOnBoardLines, slot_of_id(last_id, client_slots_i), {last_id[TagBits], 31'd0}, '0),
      event_if(reads, EventOnBoardRead, slot_of_id(read_id, client_slots_i), lines,
          64'(dram_araddr_i[channel]))
    };
  end

  assign events_o[1:0] = {
    event_if(host_last_i, EventHostLines, slot_of_tag(host_last_tag_i, client_slots_i), '0, '0),
    event_if(host_read_i, EventHostRead, slot_of_tag(host_read_tag_i, client_slots_i), 32'(host_bytes_i),
        host_address_i)
  };

endmodule

`default_nettype wire
