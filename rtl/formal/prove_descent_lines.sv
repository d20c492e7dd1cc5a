// Proves for the lines of two descents with arbitrary reads and passes: a pass returns the lines that it
// names, in order, each with the data that arrived last for it, and its last one is marked.

`default_nettype none

module prove_descent_lines
  import accelerator_pkg::*;
  import search_pkg::*;
(
  input logic clk_i,
  input logic read_i,
  input logic read_place_i,
  input logic read_number_i,
  input logic [1:0] read_line_i,
  input logic memory_valid_i,
  input logic memory_place_i,
  input logic memory_number_i,
  input logic [2:0] data_i,
  input logic [1:0] pass_valid_i,
  input logic [1:0] pass_number_i,
  input logic [1:0][1:0] pass_first_i,
  input logic [1:0] pass_is_long_i
);

  typedef logic [1:0] line_index_t;

  logic rst, line_valid, line_last, line_place;
  logic [1:0] pass_ready;
  place_line_t memory;
  column_pass_t [1:0] passes;
  // The other fields go with the line unchanged.
  // verilator lint_off UNUSEDSIGNAL
  column_line_t line;
  // verilator lint_on UNUSEDSIGNAL

  always_comb begin
    memory = '0;
    {memory.place, memory.number, memory.data} =
        {port_place_t'(memory_place_i), memory_number_i, line_t'(data_i)};
    for (int unsigned at = 0; at < 2; at++) begin
      passes[at] = '0;
      {passes[at].number, passes[at].first} = {pass_number_i[at], read_line_t'(pass_first_i[at])};
      passes[at].count = pass_is_long_i[at] ? group_lines_t'(2) : group_lines_t'(1);
      passes[at].skips_first = pass_is_long_i[at];
    end
  end

  neighbours #(.Count(2)) u_passes (
    .clk_i, .rst_o(rst), .in_valid_i(pass_valid_i), .in_ready_i(pass_ready)
  );

  descent_lines #(
    .Descents(2)
  ) u_descent_lines (
    .clk_i,
    .rst_i(rst),
    .read_i, .read_place_i, .read_number_i, .read_line_i(read_line_t'(read_line_i)),
    .memory_valid_i, .memory_i(memory),
    .pass_valid_i, .pass_ready_o(pass_ready), .pass_i(passes),
    .line_valid_o(line_valid), .line_o(line),
    .line_last_o(line_last), .line_place_o(line_place)
  );

  // Reads of which lines may arrive, the next line of each, and the data that arrived last for each line.
  logic [1:0][1:0] flies_q;
  line_index_t [1:0][1:0] next_q;
  logic [1:0][1:0][3:0] is_stored_q;
  logic [1:0][1:0][3:0][2:0] stored_q;
  // The pass of each descent that was accepted and has not ended, and its line that comes next.
  logic [1:0] passes_q, number_q, is_long_q, is_second_q;
  line_index_t [1:0] first_q;
  line_index_t next, wanted;

  assign next = next_q[memory_place_i][memory_number_i];
  assign wanted = first_q[line_place] + line_index_t'(is_second_q[line_place]);

  always_ff @(posedge clk_i) begin
    if (memory_valid_i) begin
      stored_q[memory_place_i][memory_number_i][next] <= data_i;
      is_stored_q[memory_place_i][memory_number_i][next] <= 1'b1;
      next_q[memory_place_i][memory_number_i] <= next + 1'b1;
      // Lines 0 to 3 are enough to tell lines apart.
      if (next == '1) flies_q[memory_place_i][memory_number_i] <= 1'b0;
    end
    if (read_i) begin
      next_q[read_place_i][read_number_i] <= read_line_i;
      flies_q[read_place_i][read_number_i] <= 1'b1;
    end
    for (int unsigned at = 0; at < 2; at++) begin
      if (line_valid && line_place == 1'(at)) {passes_q[at], is_second_q[at]} <= {!line_last, !line_last};
      if (pass_valid_i[at] && pass_ready[at]) begin
        {passes_q[at], number_q[at], is_second_q[at]} <= {1'b1, pass_number_i[at], 1'b0};
        {first_q[at], is_long_q[at]} <= {pass_first_i[at], pass_is_long_i[at]};
      end
    end
    if (rst) {passes_q, flies_q, is_stored_q} <= '0;
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      // As the descents do: no pass before the last one has ended, and no line of a read that is passed.
      OnePass : assume ((pass_valid_i & passes_q) == '0);
      LinesStay : assume (!memory_valid_i || !passes_q[memory_place_i]
          || number_q[memory_place_i] != memory_number_i);
      NoLineOfAnOffer : assume (!memory_valid_i || !pass_valid_i[memory_place_i]
          || pass_number_i[memory_place_i] != memory_number_i);
      ReadIsNew : assume (!read_i || !memory_valid_i
          || {read_place_i, read_number_i} != {memory_place_i, memory_number_i});
      LinesAreOfReads : assume (!memory_valid_i || flies_q[memory_place_i][memory_number_i]);
      FirstIsLow : assume ((pass_first_i[0] != 2'd3 || !pass_is_long_i[0])
          && (pass_first_i[1] != 2'd3 || !pass_is_long_i[1]));
      PassStays : assume ((($past(pass_valid_i & ~pass_ready) & {2{!$past(rst)}})
          & ((pass_number_i ^ $past(pass_number_i)) | (pass_is_long_i ^ $past(pass_is_long_i))
          | {pass_first_i[1] != $past(pass_first_i[1]), pass_first_i[0] != $past(pass_first_i[0])})) == '0);

      LineIsOfAPass : assert (!line_valid || passes_q[line_place]);
      LineIsTheWantedOne : assert (!line_valid || !is_stored_q[line_place][number_q[line_place]][wanted]
          || line.data[2:0] == stored_q[line_place][number_q[line_place]][wanted]);
      LastIsMarked : assert (!line_valid || line_last == (is_second_q[line_place] || !is_long_q[line_place]));
      OnlyTheFirstIsSkipped : assert (!line_valid
          || line.use_as.skips_first == (is_long_q[line_place] && !is_second_q[line_place]));
    end
  end

endmodule

`default_nettype wire
