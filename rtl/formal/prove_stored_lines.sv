// Proves for two slots with leaves of four lines: a line is known as stored if it was stored since its slot
// began to read its leaf, whatever the marks were at first.

`default_nettype none

module prove_stored_lines (
  input logic clk_i,
  input logic starts_i,
  input logic start_place_i,
  input logic [1:0] waits_i,
  input logic store_i,
  input logic store_place_i,
  input logic [1:0] store_line_i,
  input logic check_place_i,
  input logic [1:0] check_line_i
);

  logic rst, has_first, has_second;
  logic [1:0] may_start;

  neighbours #(.Count(2)) u_neighbours (
    .clk_i, .rst_o(rst), .in_valid_i(waits_i), .in_ready_i(may_start)
  );

  stored_lines #(
    .Slots(2),
    .NodeBytes(256)
  ) u_stored_lines (
    .clk_i,
    .rst_i(rst),
    .starts_i,
    .start_place_i,
    .may_start_o(may_start),
    .waits_i,
    .store_i,
    .store_place_i,
    .store_line_i,
    .check_place_i,
    .check_line_i,
    .has_first_o(has_first),
    .has_second_o(has_second)
  );

  // An arbitrary, constant line is watched. begun_q: its slot reads a leaf. stored_q: it was stored since
  // then.
  logic place_q, begun_q, stored_q;
  logic [1:0] line_q;
  // In the cycle before, the watched line was checked as the first or as the second one; and the expected
  // result.
  logic first_q, second_q, expected_q;

  logic stores;
  assign stores = store_i && {store_place_i, store_line_i} == {place_q, line_q};

  always_ff @(posedge clk_i) begin
    {place_q, line_q} <= {place_q, line_q};
    if (rst) {begun_q, stored_q, first_q, second_q} <= '0;
    else begin
      if (starts_i && start_place_i == place_q) {begun_q, stored_q} <= 2'b10;
      else if (stores) stored_q <= 1'b1;
      first_q <= begun_q && {check_place_i, check_line_i} == {place_q, line_q};
      second_q <= begun_q && check_place_i == place_q && check_line_i != '1 && check_line_i + 1'b1 == line_q;
    end
    // Lines that are stored in the cycle of a check are not known, also if they are stored once more.
    expected_q <= stored_q && !stores;
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      StartsIfItMay : assume (!starts_i || may_start[start_place_i]);
      StartsWithoutReads : assume (!(starts_i && store_i) || store_place_i != start_place_i);
      WaitsWithoutReads : assume (!store_i || !waits_i[store_place_i]);
      FirstIsKnown : assert (!first_q || has_first == expected_q);
      SecondIsKnown : assert (!second_q || has_second == expected_q);
    end
  end

endmodule

`default_nettype wire
