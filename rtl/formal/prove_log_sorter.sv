// Proves for a log sorter with arbitrary entries: if the order hint of each entry is the number of existing
// entries with smaller keys, the entries are sorted by key, and among equal keys the newest comes first.

`default_nettype none

module prove_log_sorter
  import layout_pkg::*;
  import accelerator_pkg::*;
  import search_pkg::*;
  import scan_pkg::*;
(
  input logic clk_i,
  input logic clear_i,
  input logic insert_i,
  input logic [1:0] key_i,
  input logic repeats_i,
  input logic [2:0] index_i,
  input logic [1:0] offset_i
);

  localparam int unsigned Entries = 4;

  logic rst, overflow, hidden;
  logic [2:0] count, smaller;
  sorted_entry_t entry, inserted;

  // Key and flag of each entry in order of arrival, the number of entries, and whether an entry was lost.
  logic [Entries-1:0][1:0] keys_q;
  logic [Entries-1:0] repeats_q;
  logic [2:0] count_q, less_q;
  logic lost_q;

  neighbours u_neighbours (
    .clk_i,
    .rst_o(rst),
    .in_valid_i(1'b0),
    .in_ready_i(1'b0)
  );

  // Returns the number of entries so far with a smaller key.
  function automatic logic [2:0] count_less(logic [1:0] key, logic [2:0] entries);
    count_less = '0;
    for (int other = 0; other < int'(Entries); other++) begin
      if (3'(other) < entries && keys_q[other] < key) count_less += 3'd1;
    end
  endfunction

  // Returns the expected position of the entry with this number in order of arrival.
  function automatic logic [2:0] position(logic [1:0] arrival);
    position = count_less(keys_q[arrival], count_q);
    for (int other = 0; other < int'(Entries); other++) begin
      if (3'(other) < count_q && 2'(other) > arrival && keys_q[other] == keys_q[arrival]) position += 3'd1;
    end
  endfunction

  always_comb begin
    inserted = '0;
    inserted.back_pointer = number_t'(key_i);
    inserted.entry = offset_t'(count_q);
    inserted.repeats = repeats_i;
  end

  log_sorter #(
    .EntriesMax(Entries)
  ) u_log_sorter (
    .clk_i,
    .rst_i(rst),
    .clear_i,
    .insert_i,
    .insert_entry_i(inserted),
    .insert_rank_i(8'(count_less(key_i, count_q))),
    .overflow_o(overflow),
    .count_o(count),
    .index_i,
    .entry_o(entry),
    .hidden_o(hidden),
    .position_i(number_t'(offset_i)),
    .before_o(smaller)
  );

  always_ff @(posedge clk_i) begin
    if (rst || clear_i) begin
      {count_q, lost_q} <= '0;
    end else if (insert_i && count_q == 3'd4) begin
      lost_q <= 1'b1;
    end else if (insert_i) begin
      keys_q[count_q[1:0]] <= key_i;
      repeats_q[count_q[1:0]] <= repeats_i;
      count_q <= count_q + 3'd1;
    end
  end

  // The number that was requested, unless in reset.
  logic rst_q;
  always_ff @(posedge clk_i) {rst_q, less_q} <= {rst, count_less(offset_i, count_q)};

  logic is_entry, is_hidden;
  assign is_entry = index_i < count_q;
  always_comb begin
    is_hidden = 1'b0;
    for (int other = 0; other < int'(Entries); other++) begin
      if (3'(other) < count_q && position(2'(other)) + 3'd1 == index_i) is_hidden = repeats_q[other];
    end
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      CountIsBounded : assert (count_q <= 3'd4);
      CountIsCorrect : assert (count == count_q && overflow == lost_q);
      EntryIsSelected : assert (!is_entry || entry == u_log_sorter.entries_q[index_i[1:0]]);
      HiddenByNewerEntry : assert (!is_entry || hidden == is_hidden);
      BeforeIsCorrect : assert (rst_q || smaller == less_q);
    end
  end

  for (genvar at = 0; at < Entries; at++) begin : gen_entries
    sorted_entry_t sorted;
    logic is_used;
    logic [1:0] arrival;
    assign sorted = u_log_sorter.entries_q[at];
    assign is_used = 3'(at) < count_q;
    assign arrival = 2'(sorted.entry);
    always @(posedge clk_i) begin
      if (!rst) begin
        ArrivalIsValid : assert (!is_used || sorted.entry < offset_t'(count_q));
        InOrder : assert (!is_used || position(arrival) == 3'(at));
        EntryIsUnchanged : assert (!is_used || (sorted.back_pointer == number_t'(keys_q[arrival])
            && sorted.repeats == repeats_q[arrival]));
      end
    end
  end

endmodule

`default_nettype wire
