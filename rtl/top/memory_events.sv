// What goes over the interfaces of host memory and on-board memory for requests, as events. Tags and ids name
// the clients.

module memory_events
  import layout_pkg::*;
  import accelerator_pkg::*;
#(
  parameter int unsigned Clients = 2,
  parameter int unsigned TagBits = 2,
  parameter int unsigned DramAddressBits = 34,
  localparam int unsigned Events = 4,
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
  input logic                       dram_read_i,
  input logic [TagBits:0]           dram_read_id_i,
  input logic [DramAddressBits-1:0] dram_address_i,
  input logic [7:0]                 dram_len_i,
  input logic                       dram_last_i,
  input logic [TagBits:0]           dram_last_id_i,

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

  logic [31:0] dram_lines;

  assign dram_lines = {dram_read_id_i[TagBits], 31'(dram_len_i) + 31'd1};
  assign events_o = {
    event_if(dram_last_i, EventOnBoardLines, slot_of_id(dram_last_id_i, client_slots_i),
        {dram_last_id_i[TagBits], 31'd0}, '0),
    event_if(dram_read_i, EventOnBoardRead, slot_of_id(dram_read_id_i, client_slots_i), dram_lines,
        64'(dram_address_i)),
    event_if(host_last_i, EventHostLines, slot_of_tag(host_last_tag_i, client_slots_i), '0, '0),
    event_if(host_read_i, EventHostRead, slot_of_tag(host_read_tag_i, client_slots_i), 32'(host_bytes_i),
        host_address_i)
  };

endmodule
