// Writes the results of a range scan unit: pairs and values into answers, fence keys into the key buffers.
// Overflow values are read here, and arrive while the unit executes other requests.

`default_nettype none

`include "assertions.svh"

module answer_writer
  import layout_pkg::*;
  import accelerator_pkg::*;
  import scan_pkg::*;
#(
  // slots of the unit
  parameter int unsigned Slots = 4,
  parameter int unsigned ResultLines = 32,
  localparam int unsigned PlaceBits = Slots > 1 ? $clog2(Slots) : 1
) (
  input logic clk_i,
  input logic rst_i,

  // the request that has the grant, and its slot
  input task_t request_i,
  input logic [PlaceBits-1:0] place_i,
  input logic failed_i,
  // the fence keys of the leaf, the offset of the low one, and its prefix
  input fences_t fences_i,
  input offset_t low_offset_i,
  input prefix_t prefix_i,
  input key_length_t prefix_length_i,

  // see pair_emitter
  input logic emit_valid_i,
  output logic emit_ready_o,
  input item_result_t emit_i,
  input item_result_t measure_i,
  input logic measured_i,
  output logic [31:0] value_bytes_o,
  output logic [31:0] bytes_o,
  input logic finish_valid_i,
  output logic finish_ready_o,
  input logic finish_continues_i,
  input logic [7:0] finish_status_i,
  input logic finish_more_i,

  // see fence_writer
  input logic fence_valid_i,
  output logic fence_ready_o,
  input logic fence_is_low_i,

  output logic part_valid_o,
  input logic part_ready_i,
  output part_read_t part_read_o,
  input part_t part_i,

  output logic window_valid_o,
  input logic window_ready_i,
  output offset_t window_offset_o,
  output offset_t window_limit_o,
  output logic window_held_o,
  input logic window_fresh_i,
  input line_t window_i,

  // the reads of overflow values, with the request that each belongs to, and their lines
  output logic value_read_valid_o,
  input logic value_read_ready_i,
  output line_read_t value_read_o,
  output slot_t value_read_slot_o,
  input logic beat_valid_i,
  output logic beat_ready_o,
  input line_beat_t beat_i,

  output logic key_write_valid_o,
  input logic key_write_ready_i,
  output key_write_t key_write_o,

  output logic answer_valid_o,
  input logic answer_ready_i,
  output answer_beat_t answer_o
);

  logic emitter_move_valid, fence_move_valid, move_ready, move_chunk_valid, emitter_chunk_ready;
  logic chunk_valid, chunk_ready, outcome_valid, outcome_ready, outcome_first;
  logic value_valid, value_ready, queue_ready, reader_ready;
  logic queued_chunk_valid, queued_chunk_ready, queued_chunk_last;
  logic queued_outcome_valid, queued_outcome_ready, queued_outcome_first;
  move_t emitter_move, fence_move;
  byte_chunk_t move_chunk, chunk, queued_chunk;
  outcome_t outcome, queued_outcome;
  value_t value;

  chunk_mover u_mover (
    .clk_i,
    .rst_i,
    .move_valid_i(emitter_move_valid || fence_move_valid),
    .move_ready_o(move_ready),
    .move_i(fence_move_valid ? fence_move : emitter_move),
    .chunk_valid_o(move_chunk_valid),
    .chunk_ready_i(fence_move_valid || emitter_chunk_ready),
    .chunk_o(move_chunk),
    .window_valid_o,
    .window_ready_i,
    .window_offset_o,
    .window_limit_o,
    .window_held_o,
    .window_fresh_i,
    .window_i
  );

  pair_emitter #(
    .LinesMax(ResultLines)
  ) u_emitter (
    .clk_i,
    .rst_i,
    .request_i,
    .emit_valid_i,
    .emit_ready_o,
    .emit_i,
    .measure_i,
    .measured_i,
    .value_bytes_o,
    .bytes_o,
    .prefix_i,
    .prefix_length_i,
    .prefix_offset_i(low_offset_i),
    .finish_valid_i,
    .finish_ready_o,
    .finish_continues_i,
    .finish_status_i,
    .finish_more_i,
    .failed_i,
    .part_valid_o,
    .part_ready_i,
    .part_read_o,
    .part_i,
    .move_valid_o(emitter_move_valid),
    .move_ready_i(move_ready),
    .move_o(emitter_move),
    .move_chunk_valid_i(move_chunk_valid && !fence_move_valid),
    .move_chunk_ready_o(emitter_chunk_ready),
    .move_chunk_i(move_chunk),
    .chunk_valid_o(chunk_valid),
    .chunk_ready_i(chunk_ready),
    .chunk_o(chunk),
    .value_valid_o(value_valid),
    .value_ready_i(value_ready),
    .value_o(value),
    .outcome_valid_o(outcome_valid),
    .outcome_ready_i(outcome_ready),
    .outcome_o(outcome),
    .outcome_first_o(outcome_first)
  );

  fence_writer u_fence (
    .clk_i,
    .rst_i,
    .write_valid_i(fence_valid_i),
    .write_ready_o(fence_ready_o),
    .is_low_i(fence_is_low_i),
    .slot_i(request_i.slot),
    // The start key of a backward scan is the upper key.
    .upper_i(request_i.backward),
    .low_offset_i,
    .low_length_i(key_length_t'(fences_i.low_length)),
    .high_length_i(key_length_t'(fences_i.high_length)),
    .prefix_length_i,
    .move_valid_o(fence_move_valid),
    // It is always ready.
    .move_ready_i(move_chunk_valid),
    .move_o(fence_move),
    .move_bytes_i(move_chunk.bytes),
    .key_write_valid_o,
    .key_write_ready_i,
    .key_write_o
  );

  // The queue and the reader accept a value together. After a failure the reference of the value may be
  // undefined, so it is not read.
  assign value_ready = queue_ready && (reader_ready || failed_i);

  value_reader u_reader (
    .clk_i,
    .rst_i,
    .value_valid_i(value_valid && queue_ready && !failed_i),
    .value_ready_o(reader_ready),
    .value_i(value),
    .slot_o(value_read_slot_o),
    .read_valid_o(value_read_valid_o),
    .read_ready_i(value_read_ready_i),
    .read_o(value_read_o)
  );

  answer_queue #(
    .Slots(Slots)
  ) u_queue (
    .clk_i,
    .rst_i,
    .place_i,
    .chunk_valid_i(chunk_valid),
    .chunk_ready_o(chunk_ready),
    .chunk_i(chunk),
    .outcome_valid_i(outcome_valid),
    .outcome_ready_o(outcome_ready),
    .outcome_i(outcome),
    .outcome_first_i(outcome_first),
    .value_valid_i(value_valid && (reader_ready || failed_i)),
    .value_ready_o(queue_ready),
    .value_bytes_i(value.bytes),
    .value_void_i(failed_i),
    .beat_valid_i,
    .beat_ready_o,
    .beat_i,
    .chunk_valid_o(queued_chunk_valid),
    .chunk_ready_i(queued_chunk_ready),
    .chunk_o(queued_chunk),
    .chunk_last_o(queued_chunk_last),
    .outcome_valid_o(queued_outcome_valid),
    .outcome_ready_i(queued_outcome_ready),
    .outcome_o(queued_outcome),
    .outcome_first_o(queued_outcome_first)
  );

  result_buffer #(
    .LinesMax(ResultLines)
  ) u_results (
    .clk_i,
    .rst_i,
    .chunk_valid_i(queued_chunk_valid),
    .chunk_ready_o(queued_chunk_ready),
    .chunk_i(queued_chunk),
    .chunk_last_i(queued_chunk_last),
    .outcome_valid_i(queued_outcome_valid),
    .outcome_ready_o(queued_outcome_ready),
    .outcome_i(queued_outcome),
    .outcome_first_i(queued_outcome_first),
    .answer_valid_o,
    .answer_ready_i,
    .answer_o
  );

  `ASSERT(OneMove, !(emitter_move_valid && fence_move_valid))

endmodule

`default_nettype wire
