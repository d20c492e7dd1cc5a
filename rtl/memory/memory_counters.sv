// Counts the activity of the memory system since reset.

`default_nettype none

module memory_counters
  import memory_pkg::*;
#(
  // clients, and units with places
  parameter int unsigned Clients = 2,
  parameter int unsigned Units = 2,
  // channels of on-board memory
  parameter int unsigned Channels = 1,
  localparam int unsigned Ports = Units + Clients
) (
  input logic clk_i,
  input logic rst_i,

  // accepted reads of units and clients, and lookups of units
  input logic [Ports-1:0] reads_i,
  input logic [Units-1:0] lookups_i,
  input logic                   host_read_i,
  input logic                   host_line_i,
  input logic                   host_stall_i,
  input cache_activity_t        activity_i,
  input logic                   table_line_i,
  input logic [Channels-1:0]    dram_read_error_i,
  input logic [Channels-1:0]    dram_write_error_i,

  output memory_counters_t counters_o
);

  // The transfers of ports in the last cycle; the sums of a cycle, and those of all cycles before it.
  logic [Ports-1:0] reads_q;
  logic [Units-1:0] lookups_q;
  memory_counters_t sums_q, counters_q;

  always_ff @(posedge clk_i) {reads_q, lookups_q} <= rst_i ? '0 : {reads_i, lookups_i};

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {sums_q, counters_q} <= '0;
    end else begin
      sums_q.reads <= 64'($countones(reads_q));
      sums_q.lookups <= 64'($countones(lookups_q));
      sums_q.host_reads <= 64'(host_read_i);
      sums_q.host_lines <= 64'(host_line_i);
      sums_q.host_stalls <= 64'(host_stall_i);
      sums_q.hits <= 64'(activity_i.hit);
      sums_q.misses <= 64'(activity_i.miss);
      sums_q.dram_lines <= 64'(activity_i.dram_lines);
      sums_q.chip_lines <= 64'($countones(activity_i.chip_lines));
      sums_q.column_lines <= 64'(activity_i.column_lines);
      sums_q.table_lines <= 64'(table_line_i);
      sums_q.dram_errors <= 64'($countones({dram_read_error_i, dram_write_error_i}));
      counters_q.reads <= counters_q.reads + sums_q.reads;
      counters_q.lookups <= counters_q.lookups + sums_q.lookups;
      counters_q.host_reads <= counters_q.host_reads + sums_q.host_reads;
      counters_q.host_lines <= counters_q.host_lines + sums_q.host_lines;
      counters_q.host_stalls <= counters_q.host_stalls + sums_q.host_stalls;
      counters_q.hits <= counters_q.hits + sums_q.hits;
      counters_q.misses <= counters_q.misses + sums_q.misses;
      counters_q.dram_lines <= counters_q.dram_lines + sums_q.dram_lines;
      counters_q.chip_lines <= counters_q.chip_lines + sums_q.chip_lines;
      counters_q.column_lines <= counters_q.column_lines + sums_q.column_lines;
      counters_q.table_lines <= counters_q.table_lines + sums_q.table_lines;
      counters_q.dram_errors <= counters_q.dram_errors + sums_q.dram_errors;
    end
  end

  assign counters_o = counters_q;

endmodule

`default_nettype wire
