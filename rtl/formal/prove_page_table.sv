// Proves for a page table with concurrent lookups and mappings: a lookup that runs while no mapping is being
// written returns the current word of the table, from the table or from the cache on chip.

`default_nettype none

module prove_page_table
  import accelerator_pkg::*;
  import memory_pkg::*;
(
  input logic clk_i,
  input logic lookup_valid_i,
  input logic lookup_watched_i,
  input logic lookup_kept_i,
  input logic read_ready_i,
  // memory samples the table, and later returns the sample
  input logic samples_i,
  input logic answers_i,
  // a mapping begins, drops the cached word, changes the table, and is accepted
  input logic begins_i,
  input logic drops_i,
  input logic changes_i,
  input logic accepted_i,
  input logic [1:0] word_i
);

  // Both LIDs share an entry of the cache on chip and a line of the table. The word of the other LID
  // never changes.
  localparam int unsigned Watched = 1;
  localparam int unsigned Other = 3;
  localparam logic [1:0] OtherWord = 2'd2;

  logic rst, lookup_ready, found_valid, read_valid, line_valid, drop;
  lookup_t lookup;
  bus_address_t found;
  line_t line;

  neighbours u_neighbours (
    .clk_i,
    .rst_o(rst),
    .in_valid_i(lookup_valid_i),
    .in_ready_i(lookup_ready)
  );

  // The word in the table, and the sample of memory.
  logic [1:0] word_q, sample_q;
  logic map_q, dropped_q, changed_q, in_flight_q;
  // The lookup of the client: it waits for its result; no mapping was being written since it was offered.
  logic waits_q, offered_q, quiet_q, watched_q;

  assign lookup = '{
    kept: lookup_kept_i,
    columns: 1'b0,
    lid: lookup_watched_i ? lid_t'(Watched) : lid_t'(Other)
  };
  assign drop = map_q && drops_i && !dropped_q;
  assign line_valid = in_flight_q && answers_i;
  always_comb begin
    line = '0;
    line[64*Watched+:2] = sample_q;
    line[64*Other+:2] = OtherWord;
  end

  page_table #(
    .Ports(1),
    .ReaderBits(1),
    .CachedReaders(1),
    .LidCount(512),
    .KeptLids(2)
  ) u_page_table (
    .clk_i,
    .rst_i(rst),
    .lookup_valid_i,
    .lookup_ready_o(lookup_ready),
    .lookup_i(lookup),
    .lookup_reader_i('0),
    .map_valid_i(map_q),
    .drop_i(drop),
    .map_lid_i(lid_t'(Watched)),
    .failed_i(1'b0),
    .found_valid_o(found_valid),
    .found_reader_o(),
    .found_o(found),
    .found_columns_o(),
    .lacks_valid_o(),
    .lacks_lid_o(),
    .line_read_valid_o(read_valid),
    .line_read_ready_i(read_ready_i),
    .line_read_id_o(),
    .line_read_address_o(),
    .line_valid_i(line_valid),
    .line_id_i('0),
    .line_i(line),
    .line_error_i(1'b0)
  );

  always_ff @(posedge clk_i) begin
    if (rst) begin
      {map_q, dropped_q, changed_q, in_flight_q, waits_q, offered_q, quiet_q} <= '0;
      word_q <= '0;
    end else begin
      if (!map_q) {map_q, dropped_q, changed_q} <= {begins_i, 2'b00};
      else begin
        if (drop) dropped_q <= 1'b1;
        if (dropped_q && changes_i && !changed_q) {changed_q, word_q} <= {1'b1, word_i};
        if (changed_q && accepted_i) map_q <= 1'b0;
      end
      if (read_valid && read_ready_i) in_flight_q <= 1'b1;
      else if (line_valid) in_flight_q <= 1'b0;
      offered_q <= lookup_valid_i && !lookup_ready;
      if (lookup_valid_i && lookup_ready) {waits_q, watched_q} <= {1'b1, lookup_watched_i};
      else if (found_valid) waits_q <= 1'b0;
      quiet_q <= !map_q && (quiet_q || (lookup_valid_i && !offered_q && !waits_q));
    end
    if ((read_valid && read_ready_i) || samples_i) sample_q <= word_q;
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      OneAtATime : assume (!(waits_q && lookup_valid_i));
      LookupStays : assume (!offered_q || ($stable(lookup_watched_i) && $stable(lookup_kept_i)));
      ResultWasRequested : assert (!found_valid || waits_q);
      ResultIsCurrent : assert (!(found_valid && watched_q && quiet_q && !map_q)
          || found == bus_address_t'(word_q));
      OtherWordIsUnchanged : assert (!(found_valid && !watched_q) || found == bus_address_t'(OtherWord));
    end
  end

endmodule

`default_nettype wire
