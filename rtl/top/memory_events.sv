// Reports the transactions on the ports of host memory and on-board memory as events of the requests that
// they belong to. AXI ids contain the number of the client. The fillers follow the clients; their
// transactions belong to no request.

`default_nettype none

module memory_events
  import layout_pkg::*;
  import accelerator_pkg::*;
  import axi_pkg::*;
  import memory_pkg::*;
#(
  parameter int unsigned Clients = 2,
  parameter int unsigned TagBits = 2,
  parameter int unsigned Channels = 1,
  localparam int unsigned Events = 2 + 2 * Channels,
  localparam int unsigned ClientBits = client_bits(Clients)
) (
  input slot_t [Clients-1:0] client_slots_i,

  // The module uses only addresses and last beats of the ports, and only the client of an id.
  // verilator lint_off UNUSEDSIGNAL
  input axi_read_request_t  host_request_i,
  input axi_read_response_t host_response_i,
  input axi_read_request_t  dram_request_i[Channels],
  input axi_read_response_t dram_response_i[Channels],

  output event_t [Events-1:0] events_o
);

  function automatic logic [ClientBits-1:0] client_of_tag(logic [TagBits-1:0] tag);
    return tag[TagBits-1-:ClientBits];
  endfunction

  // The highest bit of an id distinguishes the tag of a burst from the client of a lookup: see dram_port.
  function automatic logic [ClientBits-1:0] client_of_id(logic [TagBits:0] id);
    return id[TagBits] ? client_of_tag(id[TagBits-1:0]) : id[ClientBits-1:0];
  endfunction

  // An event of the request of a client; none for a filler.
  function automatic event_t event_of(
    logic happens, int unsigned kind, logic [ClientBits-1:0] client, slot_t [Clients-1:0] slots,
    logic [31:0] detail, logic [63:0] argument
  );
    logic is_client = 32'(client) < Clients;
    return event_if(happens && is_client, kind, is_client ? slots[client] : '0, detail, argument);
  endfunction

  for (genvar channel = 0; channel < Channels; channel++) begin : gen_channels
    axi_read_request_t request;
    axi_read_response_t response;
    logic reads, ends;
    logic [TagBits:0] read_id, last_id;
    logic [31:0] lines;

    assign request = dram_request_i[channel];
    assign response = dram_response_i[channel];
    assign reads = request.arvalid && response.arready;
    assign ends = response.rvalid && request.rready && response.rlast;
    assign read_id = request.arid[TagBits:0];
    assign last_id = response.rid[TagBits:0];
    assign lines = {read_id[TagBits], 31'(request.arlen) + 31'd1};
    assign events_o[2+2*channel+:2] = {
      event_of(ends, EventOnBoardLines, client_of_id(last_id), client_slots_i, {last_id[TagBits], 31'd0}, '0),
      event_of(reads, EventOnBoardRead, client_of_id(read_id), client_slots_i, lines, request.araddr)
    };
  end

  logic host_reads, host_ends;
  logic [ClientBits-1:0] read_client, last_client;
  assign host_reads = host_request_i.arvalid && host_response_i.arready;
  assign host_ends = host_response_i.rvalid && host_request_i.rready && host_response_i.rlast;
  assign read_client = client_of_tag(host_request_i.arid[TagBits-1:0]);
  assign last_client = client_of_tag(host_response_i.rid[TagBits-1:0]);
  assign events_o[1:0] = {
    event_of(host_ends, EventHostLines, last_client, client_slots_i, '0, '0),
    event_of(host_reads, EventHostRead, read_client, client_slots_i,
        (32'(host_request_i.arlen) + 32'd1) << LineIndexBits, host_request_i.araddr)
  };
  // verilator lint_on UNUSEDSIGNAL

endmodule

`default_nettype wire
