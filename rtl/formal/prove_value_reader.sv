// Proves for a value reader with arbitrary values that its reads are those of the value that was accepted
// last, without a gap and in order, that they end with its last line, and that it accepts a value only
// then.

`default_nettype none

module prove_value_reader
  import accelerator_pkg::*;
  import scan_pkg::*;
(
  input logic clk_i,
  input logic value_valid_i,
  // up to three reads
  input logic [13:0] bytes_i,
  input logic [1:0] page_i,
  input logic read_ready_i
);

  logic rst, value_ready, read_valid, takes;
  line_read_t read;
  value_t value;
  slot_t slot;
  // the first line that was not requested, and the end of the value, counted in lines; the value is known
  logic [8:0] line_q, end_q;
  logic [1:0] page_q;

  neighbours u_neighbours (.clk_i, .rst_o(rst), .in_valid_i(value_valid_i), .in_ready_i(value_ready));

  value_reader u_reader (
    .clk_i, .rst_i(rst), .value_valid_i, .value_ready_o(value_ready), .value_i(value), .slot_o(slot),
    .read_valid_o(read_valid), .read_ready_i, .read_o(read)
  );

  assign value = '{slot: slot_t'(page_i), address: bus_address_t'({page_i, 16'd0}), bytes: 32'(bytes_i)};
  assign takes = value_valid_i && value_ready;

  always_ff @(posedge clk_i) begin
    if (rst) {line_q, end_q} <= '0;
    else if (takes) {line_q, end_q, page_q} <= {9'd0, 9'((15'(bytes_i) + 15'd63) >> 6), page_i};
    else if (read_valid && read_ready_i) line_q <= line_q + 9'(read.count);
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      ValueIsNotEmpty : assume (bytes_i != '0);

      ReadIsNext : assert (!read_valid || (read.address == bus_address_t'({page_q, 1'b0, line_q, 6'd0})
          && slot == slot_t'(page_q)));
      ReadHasItsLines : assert (!read_valid || read.count == (end_q - line_q > 9'd64 ? line_count_t'(64)
          : line_count_t'(end_q - line_q)));
      ReadsUntilTheEnd : assert (read_valid == (line_q != end_q) && value_ready == !read_valid);
    end
  end

endmodule

`default_nettype wire
