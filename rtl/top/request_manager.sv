// Receives requests, tracks them while they are in flight, and sends their completions. It contains the state
// of a request that outlives a single unit: keys, slot, identifier and read version.

`default_nettype none

`include "assertions.svh"

module request_manager
  import layout_pkg::*;
  import accelerator_pkg::*;
#(
  // maximum number of requests in flight: a power of two up to 256
  parameter int unsigned SlotCount = 256,
  // readers of keys, and writers of keys besides the parser
  parameter int unsigned KeyReaders = 1,
  parameter int unsigned KeyWriters = 1,
  localparam int unsigned RequestEvents = 4
) (
  input logic clk_i,
  input logic rst_i,

  // requests: see request_parser
  input  logic                 request_valid_i,
  output logic                 request_ready_o,
  input  line_t                request_data_i,
  input  logic [LineBytes-1:0] request_keep_i,
  input  logic                 request_last_i,

  // completions: see completion_writer
  output logic                 completion_valid_o,
  input  logic                 completion_ready_i,
  output line_t                completion_data_o,
  output logic [LineBytes-1:0] completion_keep_o,
  output logic                 completion_last_o,

  // state that the host writes: see control
  input  logic        root_valid_i,
  output logic        root_ready_o,
  input  logic [15:0] root_table_i,
  input  lid_t        root_i,
  input  version_t    read_version_i,

  // descents to the search engine, and answers
  output logic         descent_valid_o,
  input  logic         descent_ready_i,
  output descent_t     descent_o,
  input  logic         answer_valid_i,
  output logic         answer_ready_o,
  input  answer_beat_t answer_i,

  // keys: see key_buffers
  input  logic       [KeyReaders-1:0] key_valid_i,
  output logic       [KeyReaders-1:0] key_ready_o,
  input  key_read_t  [KeyReaders-1:0] key_i,
  output logic       [KeyReaders-1:0] key_line_valid_o,
  output line_t                       key_line_o,
  input  logic       [KeyWriters-1:0] key_write_valid_i,
  output logic       [KeyWriters-1:0] key_write_ready_o,
  input  key_write_t [KeyWriters-1:0] key_write_i,

  output logic [63:0] window_oldest_o,
  output logic [63:0] window_newest_o,
  // no packet begins; no packet has begun, and all completions were sent
  input  logic drain_i,
  output logic idle_o,
  output event_t [RequestEvents-1:0] events_o
);

  // A request may be done before the last beats of its completion were accepted.
  logic parser_idle, slots_idle;
  assign idle_o = parser_idle && slots_idle && !completion_valid_o;

  logic slot_valid, slot_ready;
  slot_t slot;
  logic parsed_valid, parsed_ready;
  parsed_request_t parsed;
  logic key_write_valid, key_write_ready;
  key_write_t key_write;

  request_parser u_request_parser (
    .clk_i,
    .rst_i,
    .drain_i,
    .idle_o(parser_idle),
    .in_valid_i(request_valid_i),
    .in_ready_o(request_ready_o),
    .in_data_i(request_data_i),
    .in_keep_i(request_keep_i),
    .in_last_i(request_last_i),
    .slot_valid_i(slot_valid),
    .slot_ready_o(slot_ready),
    .slot_i(slot),
    .key_valid_o(key_write_valid),
    .key_ready_i(key_write_ready),
    .key_o(key_write),
    .request_valid_o(parsed_valid),
    .request_ready_i(parsed_ready),
    .request_o(parsed)
  );

  key_buffers #(
    .SlotCount(SlotCount),
    .ReaderCount(KeyReaders),
    .WriterCount(KeyWriters)
  ) u_key_buffers (
    .clk_i,
    .rst_i,
    .new_valid_i(key_write_valid),
    .new_ready_o(key_write_ready),
    .new_i(key_write),
    .write_valid_i(key_write_valid_i),
    .write_ready_o(key_write_ready_o),
    .write_i(key_write_i),
    .read_valid_i(key_valid_i),
    .read_ready_o(key_ready_o),
    .read_i(key_i),
    .line_valid_o(key_line_valid_o),
    .line_o(key_line_o)
  );

  logic root_read_valid, root_read_ready;
  logic [15:0] root_read_table;
  lid_t root;

  root_table u_root_table (
    .clk_i,
    .rst_i,
    .write_valid_i(root_valid_i),
    .write_ready_o(root_ready_o),
    .write_table_i(root_table_i),
    .write_root_i(root_i),
    .read_valid_i(root_read_valid),
    .read_ready_o(root_read_ready),
    .read_table_i(root_read_table),
    .root_o(root)
  );

  logic rejection_valid, rejection_ready;
  answer_beat_t rejection;
  logic name_read;
  slot_t name_slot;
  logic [63:0] name_identifier;
  version_t name_read_version;
  logic done_valid;
  slot_t done_slot;

  request_slots #(
    .SlotCount(SlotCount)
  ) u_request_slots (
    .clk_i,
    .rst_i,
    .slot_valid_o(slot_valid),
    .slot_ready_i(slot_ready),
    .slot_o(slot),
    .request_valid_i(parsed_valid),
    .request_ready_o(parsed_ready),
    .request_i(parsed),
    .root_read_valid_o(root_read_valid),
    .root_read_ready_i(root_read_ready),
    .root_table_o(root_read_table),
    .root_i(root),
    .read_version_i,
    .descent_valid_o,
    .descent_ready_i,
    .descent_o,
    .rejection_valid_o(rejection_valid),
    .rejection_ready_i(rejection_ready),
    .rejection_o(rejection),
    .name_read_i(name_read),
    .name_slot_i(name_slot),
    .name_identifier_o(name_identifier),
    .name_read_version_o(name_read_version),
    .done_valid_i(done_valid),
    .done_slot_i(done_slot),
    .window_oldest_o,
    .window_newest_o,
    .idle_o(slots_idle)
  );

  logic written_valid, written_ready;
  answer_beat_t written;

  arbiter #(
    .T(answer_beat_t),
    .Count(2)
  ) u_answers (
    .clk_i,
    .rst_i,
    .in_valid_i({answer_valid_i, rejection_valid}),
    .in_ready_o({answer_ready_o, rejection_ready}),
    .in_i({answer_i, rejection}),
    .in_last_i({answer_i.last, rejection.last}),
    .out_valid_o(written_valid),
    .out_ready_i(written_ready),
    .out_o(written),
    // verilator lint_off PINCONNECTEMPTY
    .out_last_o(),
    .out_index_o()
    // verilator lint_on PINCONNECTEMPTY
  );

  completion_writer u_completion_writer (
    .clk_i,
    .rst_i,
    .answer_valid_i(written_valid),
    .answer_ready_o(written_ready),
    .answer_i(written),
    .name_read_o(name_read),
    .name_slot_o(name_slot),
    .name_identifier_i(name_identifier),
    .name_read_version_i(name_read_version),
    .out_valid_o(completion_valid_o),
    .out_ready_i(completion_ready_i),
    .out_data_o(completion_data_o),
    .out_keep_o(completion_keep_o),
    .out_last_o(completion_last_o),
    .done_valid_o(done_valid),
    .done_slot_o(done_slot)
  );

  logic starts, rejects;

  assign starts = descent_valid_o && descent_ready_i;
  assign rejects = rejection_valid && rejection_ready;
  assign events_o = {
    event_if(done_valid, EventDone, done_slot, '0, '0),
    starts ? event_if(1'b1, EventStarted, descent_o.request.slot, '0, descent_o.request.read_version) :
        event_if(rejects, EventRejected, rejection.slot, '0, 64'(rejection.status)),
    event_if(parsed_valid && parsed_ready, EventParsed, parsed.slot, 32'(parsed.request.opcode),
        parsed.request.identifier),
    event_if(slot_valid && slot_ready, EventBegun, slot, '0, window_newest_o + 64'd1)
  };

  `ASSERT(IdleHasSentAllCompletions, !idle_o || !completion_valid_o)

endmodule

`default_nettype wire
