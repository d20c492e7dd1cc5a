// Proves for a port with two places and arbitrary reads, results of lookups, and lines: each read has one
// burst, with the lines that it names of its buffer, or one line with an error if its LID is not mapped.
// Columns are left out.

`default_nettype none

module prove_place_port
  import accelerator_pkg::*;
  import memory_pkg::*;
(
  input logic clk_i,
  input logic read_valid_i,
  input logic place_i,
  input logic number_i,
  input logic by_lid_i,
  input logic follows_i,
  input logic lid_i,
  input logic [1:0] page_i,
  input logic first_i,
  input logic is_long_i,
  input logic lookup_ready_i,
  input logic found_valid_i,
  input logic others_find_i,
  input logic found_place_i,
  input logic [1:0] found_page_i,
  input logic burst_ready_i,
  input logic line_valid_i,
  input logic line_place_i,
  input logic line_number_i,
  input logic line_last_i,
  input logic data_i
);

  // A read, or its burst. The page is that of the buffer, 0 if there is none.
  typedef struct packed {
    logic lid;
    logic [1:0] page;
    logic first;
    logic is_long;
  } read_t;

  logic rst, read_ready, takes, lookup_valid, burst_valid, burst_number, line_valid, finds, leaves, fails;
  place_read_t read;
  burst_line_t line_in;
  // The other fields are constant here.
  // verilator lint_off UNUSEDSIGNAL
  place_line_t line;
  lookup_t lookup;
  port_place_t lookup_place, burst_place;
  burst_t burst;
  node_name_t name;
  // verilator lint_on UNUSEDSIGNAL

  function automatic bus_address_t address_of(logic [1:0] page);
    return bus_address_t'(page) << PageLineBits + LineIndexBits;
  endfunction

  always_comb begin
    read = '0;
    {read.place, read.number} = {port_place_t'(place_i), number_i};
    {read.by_lid, read.follows} = {by_lid_i, follows_i};
    {read.lid, read.address, read.cacheable} = {lid_t'(lid_i), address_of(page_i), by_lid_i};
    {read.first, read.count} = {line_count_t'(first_i), line_count_t'(is_long_i ? 2 : 1)};
    line_in = '{data: line_t'(data_i), last: line_last_i, error: 1'b0};
  end

  neighbours #(.Count(1)) u_reads (.clk_i, .rst_o(rst), .in_valid_i(read_valid_i), .in_ready_i(read_ready));

  place_port #(
    .Places(2),
    .LidCount(2)
  ) u_port (
    .clk_i,
    .rst_i(rst),
    .read_valid_i, .read_ready_o(read_ready), .read_i(read),
    .line_valid_o(line_valid), .line_o(line),
    .lookup_valid_o(lookup_valid), .lookup_ready_i, .lookup_o(lookup), .lookup_place_o(lookup_place),
    .found_valid_i, .found_any_i(found_valid_i || others_find_i),
    .found_place_i(port_place_t'(found_place_i)), .found_i(address_of(found_page_i)),
    .found_columns_i(1'b0),
    .columns_i(1'b0), .map_valid_i(1'b0), .map_lid_i('0), .reads_columns_o(),
    .burst_valid_o(burst_valid), .burst_ready_i, .burst_o(burst), .burst_place_o(burst_place),
    .burst_number_o(burst_number), .name_o(name),
    .line_valid_i, .line_place_i(port_place_t'(line_place_i)), .line_number_i, .line_i(line_in)
  );

  // For each place: its buffer, and whether it is known, or looked up; the number of the read by LID.
  logic [1:0][1:0] page_q;
  logic [1:0] lid_q;
  logic [1:0] has_buffer_q, looks_q, looked_q, looked_number_q;
  // For each read of each place: it was taken; its burst may leave; its burst has left.
  logic [1:0][1:0] taken_q, may_leave_q, flies_q;
  read_t [1:0][1:0] read_q;
  // Cycles in which a burst that may leave has not done so, although the neighbours allowed it.
  logic [1:0][1:0][2:0] delayed_q;
  // A read that waits was not changed.
  logic offered_q;
  logic [8:0] offer, offer_q;
  logic at_place, at_number;
  read_t left;

  assign offer = {place_i, number_i, by_lid_i, follows_i, lid_i, page_i, first_i, is_long_i};
  assign takes = read_valid_i && read_ready;
  assign finds = found_valid_i;
  assign leaves = burst_valid && burst_ready_i;
  assign fails = line_valid && !line_valid_i;
  assign at_place = burst_valid ? burst_place[0] : line.place[0];
  assign at_number = burst_valid ? burst_number : line.number;
  assign left = read_q[burst_place[0]][burst_number];

  always_ff @(posedge clk_i) begin
    {offered_q, offer_q} <= {read_valid_i && !read_ready, offer};
    if (lookup_valid && lookup_ready_i) looks_q[lookup_place[0]] <= 1'b1;
    if (finds) begin
      {looks_q[found_place_i], looked_q[found_place_i]} <= 2'b00;
      {has_buffer_q[found_place_i], page_q[found_place_i]} <= {found_page_i != '0, found_page_i};
      read_q[found_place_i][looked_number_q[found_place_i]].page <= found_page_i;
      may_leave_q[found_place_i][looked_number_q[found_place_i]] <= 1'b1;
    end
    if (takes) begin
      taken_q[place_i][number_i] <= 1'b1;
      read_q[place_i][number_i] <= '{
        lid: lid_i,
        page: follows_i ? page_q[place_i] : page_i,
        first: first_i,
        is_long: is_long_i
      };
      may_leave_q[place_i][number_i] <= !by_lid_i;
      if (by_lid_i) {looked_q[place_i], looked_number_q[place_i], lid_q[place_i]} <= {1'b1, number_i, lid_i};
      if (by_lid_i) has_buffer_q[place_i] <= 1'b0;
      else if (!follows_i) {has_buffer_q[place_i], page_q[place_i]} <= {1'b1, page_i};
    end
    if (leaves) {may_leave_q[burst_place[0]][burst_number], flies_q[burst_place[0]][burst_number]} <= 2'b01;
    if (fails) {may_leave_q[line.place[0]][line.number], taken_q[line.place[0]][line.number]} <= 2'b00;
    if (line_valid_i && line_last_i)
      {flies_q[line_place_i][line_number_i], taken_q[line_place_i][line_number_i]} <= 2'b00;
    for (int unsigned place = 0; place < 2; place++) begin
      for (int unsigned number = 0; number < 2; number++) begin
        if (!may_leave_q[place][number]) delayed_q[place][number] <= '0;
        else delayed_q[place][number] <= delayed_q[place][number] + 3'(burst_ready_i && !line_valid_i);
      end
    end
    if (rst) {looks_q, looked_q, has_buffer_q, taken_q, may_leave_q, flies_q, delayed_q} <= '0;
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      // As the units do: a read stays until it is taken; it follows one whose buffer is known, or nothing of
      // the place is in flight.
      ReadStays : assume (!offered_q || offer == offer_q);
      ReadIsOfOneKind : assume (!read_valid_i || !by_lid_i || !follows_i);
      PageIsABuffer : assume (!read_valid_i || page_i != '0);
      NumberIsFree : assume (!read_valid_i || !taken_q[place_i][number_i]);
      BufferIsKnown : assume (!read_valid_i || !follows_i || (has_buffer_q[place_i] && !looked_q[place_i]));
      NothingPrecedes : assume (!read_valid_i || follows_i || taken_q[place_i] == '0);
      // As memory does: it returns only results that were requested.
      FoundWasLookedUp : assume (!finds || looks_q[found_place_i]);
      LineIsOfABurst : assume (!line_valid_i || flies_q[line_place_i][line_number_i]);

      BurstIsOfARead : assert (!burst_valid || may_leave_q[burst_place[0]][burst_number]);
      BurstIsOfTheBuffer : assert (!burst_valid
          || burst.address == address_of(left.page) + (bus_address_t'(left.first) << LineIndexBits));
      BurstHasItsLines : assert (!burst_valid || burst.lines == burst_lines_t'(left.is_long ? 2 : 1));
      BurstHasABuffer : assert (!burst_valid || left.page != '0);
      KeptNodeHasItsLid : assert (!burst_valid || !name.buffer.cacheable
          || name.buffer.lid == lid_t'(lid_q[burst_place[0]]));
      LookupIsOfARead : assert (!lookup_valid
          || (looked_q[lookup_place[0]] && lookup.lid == lid_t'(lid_q[lookup_place[0]])));
      FailureIsOfARead : assert (!fails || (may_leave_q[line.place[0]][line.number]
          && read_q[line.place[0]][line.number].page == '0 && line.last && line.error));
      LinesPass : assert (!line_valid_i || (line_valid && line.place[0] == line_place_i
          && line.number == line_number_i && line.data == line_in.data && line.last == line_last_i
          && !line.error && !line.copied));
      BurstsLeave : assert (delayed_q[0][0] < 3'd5 && delayed_q[0][1] < 3'd5
          && delayed_q[1][0] < 3'd5 && delayed_q[1][1] < 3'd5);
    end
  end

endmodule

`default_nettype wire
