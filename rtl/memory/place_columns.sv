// Knows for which places of a port the columns of their leaf may be read from on-board memory, and which
// reads in flight do so. After a mapping of the LID, the columns of another buffer may take their place.

`default_nettype none

`include "assertions.svh"

module place_columns
  import accelerator_pkg::*;
#(
  parameter int unsigned Places = 4,
  // number of LIDs that can be mapped
  parameter int unsigned LidCount = 65536,
  localparam int unsigned PlaceBits = Places > 1 ? $clog2(Places) : 1,
  localparam int unsigned LidBits = $clog2(LidCount)
) (
  input logic clk_i,
  input logic rst_i,

  // A read by LID begins. A buffer that is read by address has no columns on board.
  input logic begins_i,
  input logic [PlaceBits-1:0] begin_place_i,
  // LIDs beyond the table are not mapped.
  // verilator lint_off UNUSEDSIGNAL
  input lid_t begin_lid_i,
  input lid_t map_lid_i,
  // verilator lint_on UNUSEDSIGNAL
  // a mapping is being written
  input logic map_valid_i,

  // The LID of this place was not mapped since its read by LID began.
  input logic [PlaceBits-1:0] place_i,
  output logic is_current_o,

  // The burst of a read leaves, and reads columns from on-board memory or not; its last line arrives.
  input logic leaves_i,
  input logic leave_number_i,
  input logic is_on_board_i,
  input logic ends_i,
  input logic [PlaceBits-1:0] end_place_i,
  input logic end_number_i,
  // for each read of each place: its burst reads columns from on-board memory
  output logic [Places-1:0][1:0] is_on_board_o
);

  typedef logic [PlaceBits-1:0] index_t;

  // The last read by LID of the place: its LID, which was not mapped since the read began.
  logic [Places-1:0][LidBits-1:0] lid_q;
  logic [Places-1:0] is_current_q, is_mapped_q;
  logic [Places-1:0][1:0] is_on_board_q;

  for (genvar place = 0; place < Places; place++) begin : gen_places
    logic begins;
    assign begins = begins_i && begin_place_i == index_t'(place);

    always_ff @(posedge clk_i) begin
      if (begins) lid_q[place] <= begin_lid_i[LidBits-1:0];
      is_mapped_q[place] <= map_valid_i && map_lid_i[LidBits-1:0] == lid_q[place];
      if (rst_i) is_current_q[place] <= 1'b0;
      else if (begins) is_current_q[place] <= 1'b1;
      else if (is_mapped_q[place]) is_current_q[place] <= 1'b0;
    end

    for (genvar number = 0; number < 2; number++) begin : gen_numbers
      always_ff @(posedge clk_i) begin
        if (rst_i) is_on_board_q[place][number] <= 1'b0;
        else if (leaves_i && place_i == index_t'(place) && leave_number_i == 1'(number))
          is_on_board_q[place][number] <= is_on_board_i;
        else if (ends_i && end_place_i == index_t'(place) && end_number_i == 1'(number))
          is_on_board_q[place][number] <= 1'b0;
      end
    end
  end

  assign is_current_o = is_current_q[place_i] && !is_mapped_q[place_i];
  assign is_on_board_o = is_on_board_q;

  `COVER(IsMappedMeanwhile, (is_mapped_q & is_current_q) != '0)

endmodule

`default_nettype wire
