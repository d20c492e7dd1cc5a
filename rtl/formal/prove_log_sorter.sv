// Proves for a log sorter with arbitrary entries: if the order hint of each entry is the number of existing
// entries with smaller keys, the entries are sorted by key, and among equal keys the newest comes first. The
// same holds for the entries that were taken, while others are sorted.

`default_nettype none

module prove_log_sorter
  import layout_pkg::*;
  import accelerator_pkg::*;
  import search_pkg::*;
  import scan_pkg::*;
(
  input logic clk_i,
  input logic take_i,
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
  typedef struct packed {
    logic [Entries-1:0][1:0] keys;
    logic [Entries-1:0] repeats;
    logic [2:0] count;
    logic lost;
  } log_t;

  // the entries that are sorted, and those that were taken
  log_t next_q, taken_q;
  logic [2:0] less_q;

  neighbours u_neighbours (
    .clk_i,
    .rst_o(rst),
    .in_valid_i(1'b0),
    .in_ready_i(1'b0)
  );

  // Returns the number of entries of a log with a smaller key.
  // verilator lint_off UNUSEDSIGNAL
  function automatic logic [2:0] count_less(log_t log, logic [1:0] key);
  // verilator lint_on UNUSEDSIGNAL
    count_less = '0;
    for (int other = 0; other < int'(Entries); other++) begin
      if (3'(other) < log.count && log.keys[other] < key) count_less += 3'd1;
    end
  endfunction

  // Returns the expected position of the entry with this number in order of arrival.
  // verilator lint_off UNUSEDSIGNAL
  function automatic logic [2:0] position(log_t log, logic [1:0] arrival);
  // verilator lint_on UNUSEDSIGNAL
    position = count_less(log, log.keys[arrival]);
    for (int other = 0; other < int'(Entries); other++) begin
      if (3'(other) < log.count && 2'(other) > arrival && log.keys[other] == log.keys[arrival])
        position += 3'd1;
    end
  endfunction

  always_comb begin
    inserted = '0;
    inserted.back_pointer = number_t'(key_i);
    inserted.entry = offset_t'(next_q.count);
    inserted.repeats = repeats_i;
  end

  log_sorter #(
    .EntriesMax(Entries)
  ) u_log_sorter (
    .clk_i,
    .rst_i(rst),
    .take_i,
    .insert_i(insert_i && !take_i),
    .insert_entry_i(inserted),
    .insert_rank_i(8'(count_less(next_q, key_i))),
    .overflow_o(overflow),
    .count_o(count),
    .index_i,
    .entry_o(entry),
    .hidden_o(hidden),
    .position_i(number_t'(offset_i)),
    .before_o(smaller)
  );

  always_ff @(posedge clk_i) begin
    if (rst || take_i) begin
      {next_q.count, next_q.lost} <= '0;
    end else if (insert_i && next_q.count == 3'd4) begin
      next_q.lost <= 1'b1;
    end else if (insert_i) begin
      next_q.keys[next_q.count[1:0]] <= key_i;
      next_q.repeats[next_q.count[1:0]] <= repeats_i;
      next_q.count <= next_q.count + 3'd1;
    end
    if (rst) {taken_q.count, taken_q.lost} <= '0;
    else if (take_i) taken_q <= next_q;
  end

  // The number that was requested, unless in reset.
  logic rst_q;
  always_ff @(posedge clk_i) {rst_q, less_q} <= {rst, count_less(taken_q, offset_i)};

  logic is_entry, is_hidden;
  assign is_entry = index_i < taken_q.count;
  always_comb begin
    is_hidden = 1'b0;
    for (int other = 0; other < int'(Entries); other++) begin
      if (3'(other) < taken_q.count && position(taken_q, 2'(other)) + 3'd1 == index_i)
        is_hidden = taken_q.repeats[other];
    end
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      CountIsBounded : assert (next_q.count <= 3'd4 && taken_q.count <= 3'd4);
      NextIsCorrect : assert (u_log_sorter.count_q == next_q.count && u_log_sorter.overflow_q == next_q.lost);
      CountIsCorrect : assert (count == taken_q.count && overflow == taken_q.lost);
      EntryIsSelected : assert (!is_entry || entry == u_log_sorter.u_sorted.entries_q[index_i[1:0]]);
      HiddenByNewerEntry : assert (!is_entry || hidden == is_hidden);
      BeforeIsCorrect : assert (rst_q || smaller == less_q);
    end
  end

  for (genvar at = 0; at < 2 * Entries; at++) begin : gen_entries
    sorted_entry_t sorted;
    log_t log;
    logic is_used;
    logic [1:0] arrival;
    if (at < Entries) begin : gen_next
      assign sorted = u_log_sorter.entries_q[at];
      assign log = next_q;
    end else begin : gen_taken
      assign sorted = u_log_sorter.u_sorted.entries_q[at-Entries];
      assign log = taken_q;
    end
    assign is_used = 3'(at % Entries) < log.count;
    assign arrival = 2'(sorted.entry);
    always @(posedge clk_i) begin
      if (!rst) begin
        ArrivalIsValid : assert (!is_used || sorted.entry < offset_t'(log.count));
        InOrder : assert (!is_used || position(log, arrival) == 3'(at % Entries));
        EntryIsUnchanged : assert (!is_used || (sorted.back_pointer == number_t'(log.keys[arrival])
            && sorted.repeats == log.repeats[arrival]));
      end
    end
  end

endmodule

`default_nettype wire
