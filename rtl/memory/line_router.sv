// Brings lines to the clients that asked for them: from host memory, from the cache and from the root on
// chip. In a cycle each may have a line, for clients that differ; for the same client, host memory goes
// first, then the cache.

module line_router
  import memory_pkg::*;
#(
  parameter int unsigned ClientCount = 4,
  parameter int unsigned Banks = 2,
  localparam int unsigned ClientBits = ClientCount > 1 ? $clog2(ClientCount) : 1,
  localparam int unsigned BankBits = $clog2(Banks),
  localparam int unsigned TagBits = ClientBits + BankBits
) (
  input logic clk_i,
  input logic rst_i,

  // from host memory: cannot wait
  input logic        [ClientCount-1:0] host_valid_i,
  input logic        [BankBits-1:0]    host_bank_i,
  input piece_line_t                   host_i,

  input  logic               cache_valid_i,
  output logic               cache_ready_o,
  input  logic [TagBits-1:0] cache_tag_i,
  input  piece_line_t        cache_i,

  input  logic               root_valid_i,
  output logic               root_ready_o,
  input  logic [TagBits-1:0] root_tag_i,
  input  piece_line_t        root_i,

  output logic        [ClientCount-1:0]               line_valid_o,
  output logic        [ClientCount-1:0][BankBits-1:0] line_bank_o,
  output piece_line_t [ClientCount-1:0]               line_o
);

  logic [ClientCount-1:0] cache_valid, root_valid;
  logic [BankBits-1:0] cache_bank, root_bank;
  piece_line_t cache_line, root_line;

  hit_reader #(
    .ClientCount(ClientCount),
    .Banks(Banks)
  ) u_of_cache (
    .clk_i,
    .rst_i,
    .beat_valid_i(cache_valid_i),
    .beat_ready_o(cache_ready_o),
    .beat_tag_i(cache_tag_i),
    .beat_i(cache_i),
    .busy_i(host_valid_i),
    .line_valid_o(cache_valid),
    .line_bank_o(cache_bank),
    .line_o(cache_line)
  );

  hit_reader #(
    .ClientCount(ClientCount),
    .Banks(Banks)
  ) u_of_root (
    .clk_i,
    .rst_i,
    .beat_valid_i(root_valid_i),
    .beat_ready_o(root_ready_o),
    .beat_tag_i(root_tag_i),
    .beat_i(root_i),
    .busy_i(host_valid_i | cache_valid),
    .line_valid_o(root_valid),
    .line_bank_o(root_bank),
    .line_o(root_line)
  );

  for (genvar index = 0; index < ClientCount; index++) begin : gen_clients
    always_comb begin
      line_bank_o[index] = root_bank;
      line_o[index] = root_line;
      if (host_valid_i[index]) begin
        line_bank_o[index] = host_bank_i;
        line_o[index] = host_i;
      end else if (cache_valid[index]) begin
        line_bank_o[index] = cache_bank;
        line_o[index] = cache_line;
      end
    end
  end
  assign line_valid_o = host_valid_i | cache_valid | root_valid;

endmodule
