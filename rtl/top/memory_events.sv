// Reports the transactions on the ports of host memory and on-board memory as events of the requests that
// they belong to. AXI ids contain the number of the reader: see memory_pkg. The transactions of the fillers
// belong to no request.

`default_nettype none

module memory_events
  import layout_pkg::*;
  import accelerator_pkg::*;
  import axi_pkg::*;
  import memory_pkg::*;
#(
  parameter int unsigned Clients = 2,
  parameter int unsigned Places = 4,
  parameter int unsigned Channels = 1,
  localparam int unsigned Events = 2 + 2 * Channels,
  localparam int unsigned ReaderBits = reader_bits(Clients, Places),
  localparam int unsigned TagBits = tag_bits(Clients, Places)
) (
  input logic clk_i,

  // the requests of the places of all units, and those for which the clients read
  input slot_t [Clients-1:0] client_slots_i,
  input slot_t [Places-1:0]  place_slots_i,

  // The module uses only addresses and last beats of the ports, and only the reader of an id.
  // verilator lint_off UNUSEDSIGNAL
  input axi_read_request_t  host_request_i,
  input axi_read_response_t host_response_i,
  input axi_read_request_t  dram_request_i[Channels],
  input axi_read_response_t dram_response_i[Channels],

  output event_t [Events-1:0] events_o
);

  typedef logic [ReaderBits-1:0] reader_t;

  // The requests of all readers.
  slot_t [2**ReaderBits-1:0] slots;
  always_comb begin
    slots = '0;
    slots[FirstPlace+:Places] = place_slots_i;
    for (int unsigned client = 0; client < Clients; client++) begin
      slots[first_client(Places)+client*ClientReaders+:ClientReaders] =
          {ClientReaders{client_slots_i[client]}};
    end
  end

  function automatic reader_t reader_of_tag(logic [TagBits-1:0] tag);
    return tag[TagBits-1-:ReaderBits];
  endfunction

  // The highest bit of an id distinguishes the tag of a burst from the reader of a lookup: see dram_port.
  function automatic reader_t reader_of_id(logic [TagBits:0] id);
    return id[TagBits] ? reader_of_tag(id[TagBits-1:0]) : id[ReaderBits-1:0];
  endfunction

  // An event of the request of a reader; none for a filler.
  function automatic event_t event_of(
    logic happens, int unsigned kind, reader_t reader, slot_t [2**ReaderBits-1:0] all_slots,
    logic [31:0] detail, logic [63:0] argument
  );
    logic is_filler = 32'(reader) < FirstPlace;
    return event_if(happens && !is_filler, kind, is_filler ? '0 : all_slots[reader], detail, argument);
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
      event_of(ends, EventOnBoardLines, reader_of_id(last_id), slots, {last_id[TagBits], 31'd0}, '0),
      event_of(reads, EventOnBoardRead, reader_of_id(read_id), slots, lines, request.araddr)
    };
  end

  logic host_reads, host_ends;
  logic [TagBits-1:0] host_tag, last_tag;
  // A client may read for other requests when the lines of a burst arrive. Other readers do not.
  slot_t [2**ReaderBits-1:0] ended_slots;
  slot_t slots_q[2**TagBits];
  assign host_reads = host_request_i.arvalid && host_response_i.arready;
  assign host_ends = host_response_i.rvalid && host_request_i.rready && host_response_i.rlast;
  assign host_tag = host_request_i.arid[TagBits-1:0];
  assign last_tag = host_response_i.rid[TagBits-1:0];
  always_ff @(posedge clk_i) if (host_reads) slots_q[host_tag] <= slots[reader_of_tag(host_tag)];
  always_comb begin
    ended_slots = slots;
    ended_slots[reader_of_tag(last_tag)] = slots_q[last_tag];
  end
  assign events_o[1:0] = {
    event_of(host_ends, EventHostLines, reader_of_tag(last_tag), ended_slots, '0, '0),
    event_of(host_reads, EventHostRead, reader_of_tag(host_tag), slots,
        (32'(host_request_i.arlen) + 32'd1) << LineIndexBits, host_request_i.araddr)
  };
  // verilator lint_on UNUSEDSIGNAL

endmodule

`default_nettype wire
