// Writes the results of a range scan unit: pairs and values into answers, fence keys into the key buffers.

`default_nettype none

`include "assertions.svh"

module answer_writer
  import layout_pkg::*;
  import accelerator_pkg::*;
  import scan_pkg::*;
#(
  parameter int unsigned ResultLines = 32
) (
  input logic clk_i,
  input logic rst_i,

  input task_t request_i,
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
  output logic value_valid_o,
  input logic value_ready_i,
  output bus_address_t value_address_o,
  output line_count_t value_count_o,
  input logic value_line_valid_i,
  output logic value_line_ready_o,
  input line_t value_line_i,

  output logic key_write_valid_o,
  input logic key_write_ready_i,
  output key_write_t key_write_o,

  output logic answer_valid_o,
  input logic answer_ready_i,
  output answer_beat_t answer_o
);

  logic emitter_move_valid, fence_move_valid, move_ready, move_chunk_valid, move_chunk_last;
  logic emitter_chunk_ready, chunk_valid, chunk_ready, chunk_last;
  logic outcome_valid, outcome_ready, outcome_first;
  move_t emitter_move, fence_move;
  byte_chunk_t move_chunk, chunk;
  outcome_t outcome;

  chunk_mover u_mover (
    .clk_i,
    .rst_i,
    .move_valid_i(emitter_move_valid || fence_move_valid),
    .move_ready_o(move_ready),
    .move_i(fence_move_valid ? fence_move : emitter_move),
    .chunk_valid_o(move_chunk_valid),
    .chunk_ready_i(fence_move_valid || emitter_chunk_ready),
    .chunk_o(move_chunk),
    .chunk_last_o(move_chunk_last),
    .window_valid_o,
    .window_ready_i,
    .window_offset_o,
    .window_limit_o,
    .window_held_o,
    .window_fresh_i,
    .window_i,
    .value_valid_o,
    .value_ready_i,
    .value_address_o,
    .value_count_o,
    .value_line_valid_i,
    .value_line_ready_o,
    .value_line_i
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
    .move_chunk_last_i(move_chunk_last),
    .chunk_valid_o(chunk_valid),
    .chunk_ready_i(chunk_ready),
    .chunk_o(chunk),
    .chunk_last_o(chunk_last),
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

  result_buffer #(
    .LinesMax(ResultLines)
  ) u_results (
    .clk_i,
    .rst_i,
    .chunk_valid_i(chunk_valid),
    .chunk_ready_o(chunk_ready),
    .chunk_i(chunk),
    .chunk_last_i(chunk_last),
    .outcome_valid_i(outcome_valid),
    .outcome_ready_o(outcome_ready),
    .outcome_i(outcome),
    .outcome_first_i(outcome_first),
    .answer_valid_o,
    .answer_ready_i,
    .answer_o
  );

  `ASSERT(OneMove, !(emitter_move_valid && fence_move_valid))

endmodule

`default_nettype wire
