// Stores search keys and returns any eight bytes of one of them as a head: a big-endian number, with zeros
// after the end of the key.
//
// The lines of a key can be written in any order, even while another key is read. A read can begin in every
// cycle; its result follows after four cycles.
//
//   lanes | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |    a line has eight bytes in each lane
//         |   |   |  <------>  |   |   |  |    the result comes from two adjacent lanes

`default_nettype none

`include "assertions.svh"

module search_key
  import accelerator_pkg::*;
  import search_pkg::*;
#(
  // number of keys
  parameter int unsigned Keys = 1,
  // bits of the tag of a read
  parameter int unsigned TagBits = 1,
  localparam int unsigned KeyIndexBits = Keys > 1 ? $clog2(Keys) : 1
) (
  input logic clk_i,
  input logic rst_i,

  input logic write_i,
  input logic [KeyIndexBits-1:0] write_key_i,
  input key_line_t write_line_i,
  input line_t write_data_i,

  input logic read_valid_i,
  input logic [KeyIndexBits-1:0] read_key_i,
  input head_read_t read_i,
  input logic [TagBits-1:0] read_tag_i,

  output logic head_valid_o,
  output head_t head_o,
  output logic [TagBits-1:0] head_tag_o
);

  if (Keys < 1) $fatal(1, "Keys must be at least 1");

  localparam int unsigned Lanes = LineBytes / 8;
  localparam int unsigned LaneBits = $clog2(Lanes);
  localparam int unsigned Stages = 4;

  typedef logic [LaneBits-1:0] lane_t;
  typedef logic [$clog2(Keys * KeyLines)-1:0] address_t;

  // A bit for each cycle of a read, and its tag.
  logic [Stages-1:0] valid_q;
  logic [Stages-1:0][TagBits-1:0] tags_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) valid_q <= '0;
    else valid_q <= {valid_q[Stages-2:0], read_valid_i};
    tags_q <= {tags_q[Stages-2:0], read_tag_i};
  end

  // ---- cycle 1: the lanes; those before the first one are read from the next line

  lane_t first;
  key_line_t line;
  logic [Lanes-1:0][63:0] lanes;

  assign first = read_i.offset[LineIndexBits-1-:LaneBits];
  assign line = read_i.offset[KeyLengthBits-1-:KeyLineBits];

  for (genvar lane = 0; lane < Lanes; lane++) begin : gen_lanes
    key_line_t lane_line;
    assign lane_line = line + key_line_t'(lane_t'(lane) < first);

    ram #(
      .Width(64),
      .Depth(Keys * KeyLines)
    ) u_ram (
      .clk_i,
      .rst_i,
      .write_i,
      .write_address_i(address_t'({write_key_i, write_line_i})),
      .write_data_i(write_data_i[64*lane+:64]),
      .read_i(read_valid_i),
      .read_address_i(address_t'({read_key_i, lane_line})),
      .read_data_o(lanes[lane])
    );
  end

  // ---- cycles 2 and 3: two lanes, and the bytes after the first ones; cycle 4: the bytes of the key

  lane_t first_q;
  logic [1:0][2:0] skip_q;
  logic [2:0][3:0] count_q;
  logic [127:0] pair_q;
  logic [63:0] bytes_q;
  head_t head_d, head_q;
  key_length_t left;

  assign left = read_i.length > read_i.offset ? read_i.length - read_i.offset : '0;

  for (genvar i = 0; i < 8; i++) begin : gen_bytes
    assign head_d[8*(7-i)+:8] = 4'(i) < count_q[2] ? bytes_q[8*i+:8] : '0;
  end

  always_ff @(posedge clk_i) begin
    first_q <= first;
    skip_q <= {skip_q[0], read_i.offset[2:0]};
    count_q <= {count_q[1:0], left > 8 ? 4'd8 : 4'(left)};
    pair_q <= {lanes[lane_t'(first_q + 1'b1)], lanes[first_q]};
    bytes_q <= 64'(pair_q >> {skip_q[1], 3'b0});
    head_q <= head_d;
  end

  assign head_valid_o = valid_q[Stages-1];
  assign head_tag_o = tags_q[Stages-1];
  assign head_o = head_q;

  `ASSERT(KeyIndexIsValid,
      (!read_valid_i || 32'(read_key_i) < Keys) && (!write_i || 32'(write_key_i) < Keys))
  `ASSERT(KeyLengthIsValid, !read_valid_i || read_i.length <= key_length_t'(layout_pkg::KeyBytesMax))
  `COVER(CrossesLines, read_valid_i && first == '1 && read_i.length > read_i.offset + 9'd8)

endmodule

`default_nettype wire
