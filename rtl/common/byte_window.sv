// Turns a stream of lines into a window of the next 64 bytes, at any alignment. The user consumes up to 64
// bytes per cycle; the window sustains one line per cycle.

`default_nettype none

`include "assertions.svh"

module byte_window
  import accelerator_pkg::*;
(
  input logic clk_i,
  input logic rst_i,

  // Discards all lines. The window then begins with the line that is accepted in this cycle, or else with the
  // next line.
  input logic start_i,

  input  logic  line_valid_i,
  output logic  line_ready_o,
  input  line_t line_i,
  // line_ready_o of the next cycle
  output logic  line_ready_next_o,

  // The next bytes, and the number of buffered bytes. bytes_o contains only the first 64 of them; its bytes
  // beyond the count are undefined.
  output line_t      bytes_o,
  output logic [7:0] count_o,
  // bytes that are consumed in this cycle: at most 64 and at most count_o
  input  logic [6:0] consume_i
);

  // Lines in order of arrival. The third register makes it possible to accept a line in every cycle.
  line_t lines_q[3];
  logic [1:0] count_kept, count_d, count_q;
  // There is room for a line. A register, as in a queue: its user may need it at a pin.
  logic has_room_q;
  // The first byte of the window in the first line.
  logic [LineIndexBits-1:0] skip_q;
  logic [6:0] skip_after;
  logic drops_line, accepts_line;
  // The line that arrives has this place, unless a line is dropped, which moves all lines by one.
  logic [2:0] place;

  assign skip_after = 7'(skip_q) + consume_i;
  assign drops_line = skip_after[LineIndexBits] && !start_i;
  assign accepts_line = line_valid_i && line_ready_o;
  assign count_kept = start_i ? 2'd0 : count_q - 2'(drops_line);
  assign count_d = count_kept + 2'(accepts_line);
  assign line_ready_next_o = count_d != 2'd3;
  assign place = 3'(accepts_line) << (start_i ? 2'd0 : count_q);

  always_ff @(posedge clk_i) begin
    for (int unsigned at = 0; at < 2; at++) begin
      if (drops_line) lines_q[at] <= place[at+1] ? line_i : lines_q[at+1];
      else if (place[at]) lines_q[at] <= line_i;
    end
    if (place[2]) lines_q[2] <= line_i;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      count_q <= '0;
      has_room_q <= 1'b1;
      skip_q <= '0;
    end else begin
      count_q <= count_d;
      has_room_q <= line_ready_next_o;
      skip_q <= start_i ? '0 : skip_after[LineIndexBits-1:0];
    end
  end

  logic [7:0] line_bytes;
  assign line_bytes = count_q > 2'd1 ? 8'(2 * LineBytes) : 8'(LineBytes);

  assign line_ready_o = has_room_q;
  assign bytes_o = LineBits'({lines_q[1], lines_q[0]} >> {skip_q, 3'b0});
  assign count_o = count_q == 2'd0 ? 8'd0 : line_bytes - 8'(skip_q);

  `ASSERT(RoomIsKnown, has_room_q == (count_q != 2'd3))
  `ASSERT(ConsumesBufferedBytes, consume_i <= 7'(LineBytes) && 8'(consume_i) <= count_o)

endmodule

`default_nettype wire
