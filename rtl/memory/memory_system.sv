// Reads lines for its clients from host memory; a node that is named by its LID is found in the page table,
// which is in on-board memory. Each client has one read at a time; those of several clients go on side by
// side.

`include "assertions.svh"

module memory_system
  import accelerator_pkg::*;
  import memory_pkg::*;
#(
  parameter int unsigned ClientCount = 4,
  // pieces that a client has in flight
  parameter int unsigned Banks = 2,
  // LIDs from 0 on that can be mapped, a multiple of 512; where their table begins, in pages of 4 KiB
  parameter int unsigned LidCount = 65536,
  parameter int unsigned PageTablePage = 0,
  parameter int unsigned DramAddressBits = 34,
  // The cache of nodes: entries of so many lines, at least those of a node.
  parameter int unsigned CacheSets = 1024,
  parameter int unsigned CacheWays = 4,
  parameter int unsigned CacheEntryLines = 128,
  localparam int unsigned ClientBits = ClientCount > 1 ? $clog2(ClientCount) : 1,
  localparam int unsigned TagBits = ClientBits + $clog2(Banks),
  localparam int unsigned DramIdBits = TagBits + 1
) (
  input logic clk_i,
  input logic rst_i,

  input  logic       [ClientCount-1:0] read_valid_i,
  output logic       [ClientCount-1:0] read_ready_o,
  input  line_read_t [ClientCount-1:0] read_i,
  output logic       [ClientCount-1:0] beat_valid_o,
  input  logic       [ClientCount-1:0] beat_ready_i,
  output line_beat_t [ClientCount-1:0] beat_o,

  // A mapping, address 0 for none, is taken when it is in force for every read that begins later.
  input  logic         map_valid_i,
  output logic         map_ready_o,
  input  lid_t         map_lid_i,
  input  bus_address_t map_address_i,

  // keep interior nodes on board, but read some from host memory all the same; keep the named root on chip
  input logic cache_i,
  input logic balance_i,
  input logic root_on_chip_i,
  input logic root_valid_i,
  input lid_t root_i,

  // Tagged reads of host memory, never across 4 KiB; beats in any order among tags, in order within one.
  output logic               host_read_valid_o,
  input  logic               host_read_ready_i,
  output logic [63:0]        host_read_address_o,
  output logic [15:0]        host_read_bytes_o,
  output logic [TagBits-1:0] host_read_tag_o,
  input  logic               host_beat_valid_i,
  output logic               host_beat_ready_o,
  input  logic [TagBits-1:0] host_beat_tag_i,
  input  line_t              host_beat_data_i,
  input  logic               host_beat_last_i,
  input  logic               host_beat_error_i,

  // On-board memory: AXI4.
  output logic                       dram_arvalid_o,
  input  logic                       dram_arready_i,
  output logic [DramIdBits-1:0]      dram_arid_o,
  output logic [DramAddressBits-1:0] dram_araddr_o,
  output logic [7:0]                 dram_arlen_o,
  output logic [2:0]                 dram_arsize_o,
  output logic [1:0]                 dram_arburst_o,
  input  logic                       dram_rvalid_i,
  output logic                       dram_rready_o,
  input  logic [DramIdBits-1:0]      dram_rid_i,
  input  line_t                      dram_rdata_i,
  input  logic [1:0]                 dram_rresp_i,
  input  logic                       dram_rlast_i,
  output logic                       dram_awvalid_o,
  input  logic                       dram_awready_i,
  output logic [DramIdBits-1:0]      dram_awid_o,
  output logic [DramAddressBits-1:0] dram_awaddr_o,
  output logic [7:0]                 dram_awlen_o,
  output logic [2:0]                 dram_awsize_o,
  output logic [1:0]                 dram_awburst_o,
  output logic                       dram_wvalid_o,
  input  logic                       dram_wready_i,
  output line_t                      dram_wdata_o,
  output logic [LineBytes-1:0]       dram_wstrb_o,
  output logic                       dram_wlast_o,
  input  logic                       dram_bvalid_i,
  output logic                       dram_bready_o,
  input  logic [DramIdBits-1:0]      dram_bid_i,
  input  logic [1:0]                 dram_bresp_i,

  output memory_counters_t counters_o
);

  localparam int unsigned BankBits = $clog2(Banks);
  localparam int unsigned CachePage = PageTablePage + LidCount / (PageBytes / 8);

  logic [ClientCount-1:0] lookup_valid, lookup_ready, found_valid;
  lid_t [ClientCount-1:0] lookup;
  bus_address_t found;
  logic [ClientCount-1:0] piece_valid, piece_ready, line_valid;
  piece_t [ClientCount-1:0] piece;
  logic [ClientCount-1:0][BankBits-1:0] piece_bank, line_bank;
  node_name_t [ClientCount-1:0] name;
  piece_line_t [ClientCount-1:0] line;

  for (genvar index = 0; index < ClientCount; index++) begin : gen_clients
    client_port #(
      .Banks(Banks)
    ) u_client_port (
      .clk_i,
      .rst_i,
      .read_valid_i(read_valid_i[index]),
      .read_ready_o(read_ready_o[index]),
      .read_i(read_i[index]),
      .beat_valid_o(beat_valid_o[index]),
      .beat_ready_i(beat_ready_i[index]),
      .beat_o(beat_o[index]),
      .lookup_valid_o(lookup_valid[index]),
      .lookup_ready_i(lookup_ready[index]),
      .lookup_o(lookup[index]),
      .found_valid_i(found_valid[index]),
      .found_i(found),
      .piece_valid_o(piece_valid[index]),
      .piece_ready_i(piece_ready[index]),
      .piece_o(piece[index]),
      .piece_bank_o(piece_bank[index]),
      .name_o(name[index]),
      .line_valid_i(line_valid[index]),
      .line_bank_i(line_bank[index]),
      .line_i(line[index])
    );
  end

  // ---- pieces ----

  logic hit_valid, hit_ready, dram_line_valid, dram_line_ready, drop_valid, drop_ready;
  logic write_valid, write_ready, written, written_error;
  cache_events_t events;
  logic [TagBits-1:0] hit_tag, write_tag, written_tag, dram_line_tag;
  logic [DramAddressBits-1:0] hit_address, write_address;
  piece_lines_t hit_lines;
  piece_line_t dram_line;
  line_t table_line, word, write;

  cached_reader #(
    .ClientCount(ClientCount),
    .Banks(Banks),
    .CacheSets(CacheSets),
    .CacheWays(CacheWays),
    .CacheEntryLines(CacheEntryLines),
    .CachePage(CachePage),
    .AddressBits(DramAddressBits)
  ) u_cached_reader (
    .piece_valid_i(piece_valid),
    .piece_ready_o(piece_ready),
    .piece_i(piece),
    .piece_bank_i(piece_bank),
    .name_i(name),
    .drop_valid_i(drop_valid),
    .drop_ready_o(drop_ready),
    .drop_lid_i(map_lid_i),
    .line_valid_o(line_valid),
    .line_bank_o(line_bank),
    .line_o(line),
    .hit_valid_o(hit_valid),
    .hit_ready_i(hit_ready),
    .hit_tag_o(hit_tag),
    .hit_address_o(hit_address),
    .hit_lines_o(hit_lines),
    .hit_line_valid_i(dram_line_valid),
    .hit_line_ready_o(dram_line_ready),
    .hit_line_tag_i(dram_line_tag),
    .hit_line_i(dram_line),
    .write_valid_o(write_valid),
    .write_ready_i(write_ready),
    .write_tag_o(write_tag),
    .write_address_o(write_address),
    .write_o(write),
    .written_i(written),
    .written_tag_i(written_tag),
    .written_error_i(written_error),
    .events_o(events),
    .*
  );

  // ---- the page table ----

  logic is_clear, table_read_valid, table_read_ready, table_line_valid, table_line_error, table_written;
  logic burst_valid, burst_ready, word_valid, word_ready, word_last;
  logic [ClientBits-1:0] table_read_id, table_line_id;
  logic [DramAddressBits-1:0] table_read_address, burst_address;
  logic [7:0] burst_len;
  logic [LineBytes-1:0] word_strobe;
  page_table #(
    .ClientCount(ClientCount),
    .LidCount(LidCount),
    .BasePage(PageTablePage),
    .AddressBits(DramAddressBits)
  ) u_page_table (
    .lookup_valid_i(lookup_valid),
    .lookup_ready_o(lookup_ready),
    .lookup_i(lookup),
    .found_valid_o(found_valid),
    .found_o(found),
    .line_read_valid_o(table_read_valid),
    .line_read_ready_i(table_read_ready && is_clear),
    .line_read_id_o(table_read_id),
    .line_read_address_o(table_read_address),
    .line_valid_i(table_line_valid),
    .line_id_i(table_line_id),
    .line_i(table_line),
    .line_error_i(table_line_error),
    .*
  );

  page_table_writer #(
    .LidCount(LidCount),
    .BasePage(PageTablePage),
    .AddressBits(DramAddressBits)
  ) u_page_table_writer (
    .drop_valid_o(drop_valid),
    .drop_ready_i(drop_ready),
    .is_clear_o(is_clear),
    .burst_valid_o(burst_valid),
    .burst_ready_i(burst_ready),
    .burst_address_o(burst_address),
    .burst_len_o(burst_len),
    .word_valid_o(word_valid),
    .word_ready_i(word_ready),
    .word_o(word),
    .word_strobe_o(word_strobe),
    .word_last_o(word_last),
    .done_valid_i(table_written),
    .done_ready_o(),
    .*
  );

  // ---- on-board memory ----

  dram_port #(
    .AddressBits(DramAddressBits),
    .ClientBits(ClientBits),
    .TagBits(TagBits)
  ) u_dram_port (
    .table_read_valid_i(table_read_valid && is_clear),
    .table_read_ready_o(table_read_ready),
    .table_read_id_i(table_read_id),
    .table_read_address_i(table_read_address),
    .table_line_valid_o(table_line_valid),
    .table_line_id_o(table_line_id),
    .table_line_o(table_line),
    .table_line_error_o(table_line_error),
    .hit_valid_i(hit_valid),
    .hit_ready_o(hit_ready),
    .hit_tag_i(hit_tag),
    .hit_address_i(hit_address),
    .hit_lines_i(hit_lines),
    .hit_line_valid_o(dram_line_valid),
    .hit_line_ready_i(dram_line_ready),
    .hit_line_tag_o(dram_line_tag),
    .hit_line_o(dram_line),
    .burst_valid_i(burst_valid),
    .burst_ready_o(burst_ready),
    .burst_address_i(burst_address),
    .burst_len_i(burst_len),
    .word_valid_i(word_valid),
    .word_ready_o(word_ready),
    .word_i(word),
    .word_strobe_i(word_strobe),
    .word_last_i(word_last),
    .table_written_o(table_written),
    .line_valid_i(write_valid),
    .line_ready_o(write_ready),
    .line_tag_i(write_tag),
    .line_address_i(write_address),
    .line_i(write),
    .line_written_o(written),
    .line_written_tag_o(written_tag),
    .line_written_error_o(written_error),
    .*
  );

  memory_counters #(
    .ClientCount(ClientCount)
  ) u_memory_counters (
    .reads_i(read_valid_i & read_ready_o),
    .lookups_i(lookup_valid & lookup_ready),
    .host_read_i(host_read_valid_o && host_read_ready_i),
    .host_line_i(host_beat_valid_i && !host_beat_error_i),
    .host_stall_i(host_read_valid_o && !host_read_ready_i),
    .events_i(events),
    .dram_read_error_i(dram_rvalid_i && dram_rready_o && dram_rresp_i != '0),
    .dram_write_error_i(dram_bvalid_i && dram_bready_o && dram_bresp_i != '0),
    .*
  );

endmodule
