// A channel of on-board memory whose controller is not reset with the accelerator. While it drains, it
// completes the accepted transactions of an accelerator in reset: it sends the missing beats of writes
// without any byte enabled, and discards the answers. A beat of a write follows its address, so that no beat
// waits for an address that a reset has lost.

`default_nettype none

`include "assertions.svh"

module dram_drain
  import axi_pkg::*;
#(
  // most bursts of reads, and of writes, in flight
  parameter int unsigned Bursts = 1023
) (
  input logic clk_i,
  // the reset of the controller
  input logic rst_i,

  // accepts nothing of the accelerator; no transaction is in flight
  input  logic drains_i,
  output logic idle_o,

  // the accelerator
  input  axi_read_request_t   read_i,
  output axi_read_response_t  read_o,
  input  axi_write_request_t  write_i,
  output axi_write_response_t write_o,

  // the controller
  output axi_read_request_t   dram_read_o,
  input  axi_read_response_t  dram_read_i,
  output axi_write_request_t  dram_write_o,
  input  axi_write_response_t dram_write_i
);

  localparam int unsigned CountBits = $clog2(Bursts + 1);
  // bursts of writes whose beats are missing
  localparam int unsigned OpenBursts = 4;

  typedef struct packed {
    logic [AxiIdBits-1:0] id;
    logic [AxiAddressBits-1:0] address;
    logic [7:0] len;
    logic [2:0] size;
    logic [1:0] burst;
  } address_t;

  typedef struct packed {
    logic last;
    logic [accelerator_pkg::LineBytes-1:0] strobe;
    accelerator_pkg::line_t data;
  } beat_t;

  address_t read, write;
  beat_t beat_in, beat;
  logic [CountBits-1:0] reads_q, writes_q;
  logic read_has_room, write_has_room, beat_has_room, open_has_room, is_open;
  logic takes_read, takes_write, takes_beat, read_ends, write_ends;
  logic [7:0] len, beat_q;

  // ---- reads

  assign takes_read = read_i.arvalid && read_o.arready;
  assign read_ends = dram_read_i.rvalid && dram_read_o.rready && dram_read_i.rlast;

  skid_buffer #(
    .T(address_t)
  ) u_reads (
    .clk_i,
    .rst_i,
    .in_valid_i(takes_read),
    .in_ready_o(read_has_room),
    .in_i({read_i.arid, read_i.araddr, read_i.arlen, read_i.arsize, read_i.arburst}),
    .out_valid_o(dram_read_o.arvalid),
    .out_ready_i(dram_read_i.arready),
    .out_o(read)
  );

  assign dram_read_o.arid = read.id;
  assign dram_read_o.araddr = read.address;
  assign dram_read_o.arlen = read.len;
  assign dram_read_o.arsize = read.size;
  assign dram_read_o.arburst = read.burst;
  assign dram_read_o.rready = drains_i || read_i.rready;

  always_comb begin
    read_o = dram_read_i;
    read_o.arready = read_has_room && !drains_i && reads_q != CountBits'(Bursts);
    read_o.rvalid = dram_read_i.rvalid && !drains_i;
  end

  // ---- writes

  assign takes_write = write_i.awvalid && write_o.awready;
  assign takes_beat = is_open && beat_has_room && (write_i.wvalid || drains_i);
  assign write_ends = dram_write_i.bvalid && dram_write_o.bready;
  assign beat_in = '{
    last: beat_q == len,
    strobe: drains_i ? '0 : write_i.wstrb,
    data: write_i.wdata
  };

  skid_buffer #(
    .T(address_t)
  ) u_writes (
    .clk_i,
    .rst_i,
    .in_valid_i(takes_write),
    .in_ready_o(write_has_room),
    .in_i({write_i.awid, write_i.awaddr, write_i.awlen, write_i.awsize, write_i.awburst}),
    .out_valid_o(dram_write_o.awvalid),
    .out_ready_i(dram_write_i.awready),
    .out_o(write)
  );

  // The lengths of bursts whose beats are missing.
  fifo #(
    .T(logic [7:0]),
    .Depth(OpenBursts)
  ) u_open (
    .clk_i,
    .rst_i,
    .in_valid_i(takes_write),
    .in_ready_o(open_has_room),
    .in_i(write_i.awlen),
    .out_valid_o(is_open),
    .out_ready_i(takes_beat && beat_in.last),
    .out_o(len),
    .count_o()
  );

  skid_buffer #(
    .T(beat_t)
  ) u_beats (
    .clk_i,
    .rst_i,
    .in_valid_i(takes_beat),
    .in_ready_o(beat_has_room),
    .in_i(beat_in),
    .out_valid_o(dram_write_o.wvalid),
    .out_ready_i(dram_write_i.wready),
    .out_o(beat)
  );

  assign dram_write_o.awid = write.id;
  assign dram_write_o.awaddr = write.address;
  assign dram_write_o.awlen = write.len;
  assign dram_write_o.awsize = write.size;
  assign dram_write_o.awburst = write.burst;
  assign dram_write_o.wdata = beat.data;
  assign dram_write_o.wstrb = beat.strobe;
  assign dram_write_o.wlast = beat.last;
  assign dram_write_o.bready = drains_i || write_i.bready;

  always_comb begin
    write_o = dram_write_i;
    write_o.awready = write_has_room && open_has_room && !drains_i && writes_q != CountBits'(Bursts);
    write_o.wready = is_open && beat_has_room && !drains_i;
    write_o.bvalid = dram_write_i.bvalid && !drains_i;
  end

  // ---- transactions in flight

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {reads_q, writes_q} <= '0;
      beat_q <= '0;
    end else begin
      reads_q <= reads_q + CountBits'(takes_read) - CountBits'(read_ends);
      writes_q <= writes_q + CountBits'(takes_write) - CountBits'(write_ends);
      if (takes_beat) beat_q <= beat_in.last ? '0 : beat_q + 1'b1;
    end
  end

  assign idle_o = reads_q == '0 && writes_q == '0;

  `ASSERT(LineIsExpected, !dram_read_i.rvalid || reads_q != '0)
  `ASSERT(ResponseIsExpected, !dram_write_i.bvalid || writes_q != '0)
  `ASSERT(LastBeatIsMarked, drains_i || !takes_beat || write_i.wlast == beat_in.last)
  `ASSERT(NoBeatIsMissing, !idle_o || !is_open)
  `COVER(CompletesAWrite, takes_beat && drains_i)
  `COVER(DiscardsAnAnswer, drains_i && dram_write_i.bvalid)
  `COVER(DiscardsALine, drains_i && dram_read_i.rvalid)

endmodule

`default_nettype wire
