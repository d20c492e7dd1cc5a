// Routes lines to the clients that requested them: from host memory, from the cache in each channel of
// on-board memory, and from the root on chip. All sources can deliver a line in the same cycle if their
// clients differ. For the same client, host memory has priority, then the channels in ascending order.

`default_nettype none

module line_router
  import memory_pkg::*;
#(
  parameter int unsigned ClientCount = 4,
  parameter int unsigned Banks = 2,
  // channels of on-board memory
  parameter int unsigned Channels = 1,
  localparam int unsigned ClientBits = ClientCount > 1 ? $clog2(ClientCount) : 1,
  localparam int unsigned BankBits = $clog2(Banks),
  localparam int unsigned TagBits = ClientBits + BankBits
) (
  input logic clk_i,
  input logic rst_i,

  // from host memory, which cannot wait
  input logic        [ClientCount-1:0] host_valid_i,
  input logic        [BankBits-1:0]    host_bank_i,
  input burst_line_t                   host_i,

  input  logic        [Channels-1:0]              cache_valid_i,
  output logic        [Channels-1:0]              cache_ready_o,
  input  logic        [Channels-1:0][TagBits-1:0] cache_tag_i,
  input  burst_line_t [Channels-1:0]              cache_i,

  input  logic               root_valid_i,
  output logic               root_ready_o,
  input  logic [TagBits-1:0] root_tag_i,
  input  burst_line_t        root_i,

  output logic        [ClientCount-1:0]               line_valid_o,
  output logic        [ClientCount-1:0][BankBits-1:0] line_bank_o,
  output burst_line_t [ClientCount-1:0]               line_o
);

  logic [Channels-1:0][ClientCount-1:0] cache_valid;
  logic [ClientCount-1:0] root_valid;
  logic [Channels-1:0][BankBits-1:0] cache_bank;
  logic [BankBits-1:0] root_bank;
  burst_line_t [Channels-1:0] cache_line;
  burst_line_t root_line;

  for (genvar channel = 0; channel < Channels; channel++) begin : gen_channels
    // Clients that receive a line from host memory or from a previous channel, and those that receive
    // one from this channel.
    logic [ClientCount-1:0] busy, valid, busy_after;

    if (channel == 0) assign busy = host_valid_i;
    else assign busy = gen_channels[channel-1].busy_after;
    assign busy_after = busy | valid;
    assign cache_valid[channel] = valid;

    hit_reader #(
      .ClientCount(ClientCount),
      .Banks(Banks)
    ) u_of_cache (
      .clk_i,
      .rst_i,
      .beat_valid_i(cache_valid_i[channel]),
      .beat_ready_o(cache_ready_o[channel]),
      .beat_tag_i(cache_tag_i[channel]),
      .beat_i(cache_i[channel]),
      .busy_i(busy),
      .line_valid_o(valid),
      .line_bank_o(cache_bank[channel]),
      .line_o(cache_line[channel])
    );
  end

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
    .busy_i(gen_channels[Channels-1].busy_after),
    .line_valid_o(root_valid),
    .line_bank_o(root_bank),
    .line_o(root_line)
  );

  for (genvar index = 0; index < ClientCount; index++) begin : gen_clients
    always_comb begin
      line_bank_o[index] = root_bank;
      line_o[index] = root_line;
      for (int unsigned channel = 0; channel < Channels; channel++) begin
        if (cache_valid[channel][index]) begin
          line_bank_o[index] = cache_bank[channel];
          line_o[index] = cache_line[channel];
        end
      end
      if (host_valid_i[index]) begin
        line_bank_o[index] = host_bank_i;
        line_o[index] = host_i;
      end
    end
  end
  assign line_valid_o = gen_channels[Channels-1].busy_after | root_valid;

endmodule

`default_nettype wire
