// Proves for key buffers with arbitrary readers and writers: a line is valid two cycles after its read was
// accepted, for its reader only, and it is the line that was written last.

`default_nettype none

module prove_key_buffers
  import accelerator_pkg::*;
(
  input logic clk_i,
  // the port of new keys, and two writers
  input logic [2:0] write_valid_i,
  input logic [2:0][1:0] write_address_i,
  input logic [2:0][1:0] write_data_i,
  input logic [1:0] read_valid_i,
  input logic [1:0][1:0] read_address_i
);

  logic rst;
  logic [2:0] write_ready, writes;
  logic [1:0] read_ready, line_valid, reads;
  key_write_t [2:0] write;
  key_read_t [1:0] read;
  line_t line;

  // An arbitrary, constant address is watched. value_q was written there last. written_q: a write took
  // place in the previous cycle (bit 0), or in any earlier cycle (bit 1).
  logic [1:0] watched_q, value_q, written_q;
  // Reads that were accepted one and two cycles ago. known_q: the read was of the watched address and
  // its value, expected_q, is known.
  logic [1:0][1:0] accepted_q, expected_q;
  logic [1:0] known_q;

  neighbours #(.Count(5)) u_neighbours (
    .clk_i,
    .rst_o(rst),
    .in_valid_i({write_valid_i, read_valid_i}),
    .in_ready_i({write_ready, read_ready})
  );

  for (genvar at = 0; at < 3; at++) begin : gen_writers
    // Two bits select one of two lines of one of the two keys of the single slot.
    assign write[at] = '{
        slot: '0, upper: write_address_i[at][0], line: key_line_t'(write_address_i[at][1]),
        data: line_t'(write_data_i[at])
    };
    always @(posedge clk_i) begin
      if (!rst) begin
        WriteStays : assume (!$past(write_valid_i[at] && !write_ready[at] && !rst)
            || ($stable(write_address_i[at]) && $stable(write_data_i[at])));
      end
    end
  end

  for (genvar at = 0; at < 2; at++) begin : gen_readers
    assign read[at] = '{slot: '0, upper: read_address_i[at][0], line: key_line_t'(read_address_i[at][1])};
    always @(posedge clk_i) begin
      if (!rst) begin
        ReadStays : assume (!$past(read_valid_i[at] && !read_ready[at] && !rst)
            || $stable(read_address_i[at]));
      end
    end
  end

  key_buffers #(
    .SlotCount(1),
    .ReaderCount(2),
    .WriterCount(2)
  ) u_key_buffers (
    .clk_i,
    .rst_i(rst),
    .new_valid_i(write_valid_i[0]),
    .new_ready_o(write_ready[0]),
    .new_i(write[0]),
    .write_valid_i(write_valid_i[2:1]),
    .write_ready_o(write_ready[2:1]),
    .write_i(write[2:1]),
    .read_valid_i,
    .read_ready_o(read_ready),
    .read_i(read),
    .line_valid_o(line_valid),
    .line_o(line)
  );

  assign writes = write_valid_i & write_ready;
  assign reads = read_valid_i & read_ready;

  logic watched_write, watched_read;
  logic [1:0] watched_data;
  always_comb begin
    {watched_write, watched_data} = '0;
    // Of two writes in one cycle, that of the new key takes place first.
    for (int unsigned at = 0; at < 3; at++)
      if (writes[at] && write_address_i[at] == watched_q)
        {watched_write, watched_data} = {1'b1, write_data_i[at]};
  end
  assign watched_read = (reads[1] && read_address_i[1] == watched_q)
      || (reads[0] && read_address_i[0] == watched_q);

  always_ff @(posedge clk_i) begin
    watched_q <= watched_q;
    if (watched_write) value_q <= watched_data;
    expected_q <= {expected_q[0], value_q};
    if (rst) begin
      {written_q, accepted_q, known_q} <= '0;
    end else begin
      written_q <= {|written_q || watched_write, watched_write};
      accepted_q <= {accepted_q[0], reads};
      // The value is not checked if it was written in the same or the previous cycle.
      known_q <= {known_q[0], watched_read && written_q == 2'b10 && !watched_write};
    end
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      OneReaderIsAnswered : assert (line_valid == accepted_q[1]);
      LineIsTheLastWrite : assert (!known_q[1] || line[1:0] == expected_q[1]);
    end
  end

endmodule

`default_nettype wire
