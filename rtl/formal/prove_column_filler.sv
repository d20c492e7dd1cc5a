// Proves for columns in on-board memory with arbitrary mappings, readers and memories: while the page table
// says that the columns of a buffer are in on-board memory, they are, and a reader that began then finds them
// there until it ends, also after a mapping. The columns have two lines, and the contents of a line is the
// number of its buffer: each mapping of the watched LID names the next one.

`default_nettype none

module prove_column_filler
  import accelerator_pkg::*;
  import memory_pkg::*;
(
  input logic clk_i,
  input logic lacks_valid_i,
  input logic lacks_other_i,
  // a mapping: begins, takes effect in the page table, and is accepted
  input logic maps_i,
  input logic map_other_i,
  input logic map_happens_i,
  input logic map_ready_i,
  // the watched reader
  input logic reader_begins_i,
  input logic reader_ends_i,
  // the lookup of the filler: accepted, the word is read, and its address arrives
  input logic lookup_ready_i,
  input logic translates_i,
  input logic found_valid_i,
  // its read: accepted, and lines that arrive
  input logic read_ready_i,
  input logic beat_valid_i,
  input logic beat_error_i,
  // writes of lines: accepted, take effect, acknowledged
  input logic write_ready_i,
  input logic [1:0] write_happens_i,
  input logic written_i,
  input logic written_line_i,
  input logic written_error_i,
  input logic mark_ready_i
);

  localparam lid_t Watched = lid_t'(1);
  localparam lid_t Other = lid_t'(2);
  typedef logic [2:0] buffer_t;

  logic rst, lookup_valid, read_valid, beat_ready, write_valid, mark_valid;
  lookup_t lookup;
  line_read_t read;
  column_place_t write_place;
  line_t write;
  lid_t mark_lid;
  bus_address_t mark_address;

  // The word of the page table of the watched LID, and the contents of its columns.
  buffer_t buffer_q;
  logic has_columns_q;
  buffer_t [1:0] contents_q;
  // a mapping is offered; it has taken effect
  logic maps_q, map_happened_q, map_other_q;
  // the watched reader, and its buffer
  logic reads_q;
  buffer_t reader_buffer_q;
  // The lookup of the filler was accepted, and translated to a buffer; its read was accepted; the line that
  // comes next.
  logic looks_q, is_translated_q, open_q, line_q;
  buffer_t read_buffer_q;
  // for each line: a write that is not acknowledged, its LID and contents, and whether it has taken effect
  logic [1:0] written_q, is_other_q, happened_q;
  buffer_t [1:0] wrote_q;
  logic found_valid, beat_valid, is_last, written;

  neighbours u_neighbours (.clk_i, .rst_o(rst), .in_valid_i(1'b0), .in_ready_i(1'b0));

  assign found_valid = found_valid_i && looks_q && is_translated_q;
  assign beat_valid = beat_valid_i && open_q;
  assign is_last = line_q || beat_error_i;
  assign written = written_i && written_q[written_line_i] && (happened_q[written_line_i] || written_error_i);

  column_filler #(
    .Readers(1)
  ) u_column_filler (
    .clk_i,
    .rst_i(rst),
    .enable_i(1'b1),
    .node_lines_i(line_count_t'(2)),
    .lacks_valid_i,
    .lacks_lid_i(lacks_other_i ? Other : Watched),
    .map_valid_i(maps_q),
    .map_lid_i(map_other_q ? Other : Watched),
    .reads_columns_i(reads_q),
    .lookup_valid_o(lookup_valid),
    .lookup_ready_i,
    .lookup_o(lookup),
    .found_valid_i(found_valid),
    .found_i(address_of(read_buffer_q)),
    .read_valid_o(read_valid),
    .read_ready_i(read_ready_i),
    .read_o(read),
    .beat_valid_i(beat_valid),
    .beat_ready_o(beat_ready),
    .beat_i('{data: line_t'(read_buffer_q), last: is_last, error: beat_error_i}),
    .write_valid_o(write_valid),
    .write_ready_i(write_ready_i && !written_q[write_place.line[0]]),
    .write_place_o(write_place),
    .write_o(write),
    .written_i(written),
    .written_error_i(written_error_i),
    .mark_valid_o(mark_valid),
    .mark_ready_i(mark_ready_i && !maps_q),
    .mark_lid_o(mark_lid),
    .mark_address_o(mark_address)
  );

  // The page table and its readers.
  always_ff @(posedge clk_i) begin
    if (rst) begin
      {buffer_q, has_columns_q, maps_q, map_happened_q, reads_q} <= '0;
    end else begin
      if (!maps_q) begin
        {maps_q, map_other_q, map_happened_q} <= {maps_i, map_other_i, 1'b0};
      end else if (!map_happened_q) begin
        map_happened_q <= map_happens_i;
        if (map_happens_i && !map_other_q) {buffer_q, has_columns_q} <= {buffer_q + 3'd1, 1'b0};
      end else begin
        maps_q <= !map_ready_i;
      end
      if (mark_valid && mark_ready_i && !maps_q && mark_lid == Watched)
        {buffer_q, has_columns_q} <= {buffer_t'(mark_address), 1'b1};
      if (!reads_q) begin
        reads_q <= reader_begins_i && has_columns_q;
        reader_buffer_q <= buffer_q;
      end else begin
        reads_q <= !reader_ends_i;
      end
    end
  end

  // The lookup of the filler, and its read.
  always_ff @(posedge clk_i) begin
    if (rst) begin
      looks_q <= 1'b0;
    end else if (!looks_q) begin
      looks_q <= lookup_valid && lookup_ready_i;
      is_translated_q <= 1'b0;
    end else if (!is_translated_q) begin
      is_translated_q <= translates_i;
      read_buffer_q <= buffer_q;
    end else begin
      looks_q <= !found_valid;
    end
    if (rst) begin
      open_q <= 1'b0;
    end else if (!open_q) begin
      open_q <= read_valid && read_ready_i;
      line_q <= 1'b0;
    end else if (beat_valid && beat_ready) begin
      open_q <= !is_last;
      line_q <= 1'b1;
    end
  end

  // Writes to on-board memory. A write with an error takes effect or not.
  for (genvar line = 0; line < 2; line++) begin : gen_lines
    always_ff @(posedge clk_i) begin
      if (rst) begin
        written_q[line] <= 1'b0;
      end else if (!written_q[line]) begin
        if (write_valid && write_ready_i && write_place.line[0] == line) begin
          written_q[line] <= 1'b1;
          is_other_q[line] <= write_place.lid != Watched;
          wrote_q[line] <= buffer_t'(write);
          happened_q[line] <= 1'b0;
        end
      end else begin
        if (write_happens_i[line] && !happened_q[line]) begin
          happened_q[line] <= 1'b1;
          if (!is_other_q[line]) contents_q[line] <= wrote_q[line];
        end
        if (written && written_line_i == line) written_q[line] <= 1'b0;
      end
    end
  end

  // The address of a buffer, which is not 0.
  function automatic bus_address_t address_of(buffer_t buffer);
    return bus_address_t'({1'b1, buffer});
  endfunction

  always @(posedge clk_i) begin
    if (!rst) begin
      LackStays : assume (!$past(lacks_valid_i && !rst) || $stable(lacks_other_i));
      BeatStays : assume (!$past(beat_valid && !beat_ready && !rst)
          || (beat_valid_i && $stable(beat_error_i)));
      ColumnsAreThose : assert (!has_columns_q
          || (contents_q[0] == buffer_q && contents_q[1] == buffer_q));
      ReaderFindsColumns : assert (!reads_q
          || (contents_q[0] == reader_buffer_q && contents_q[1] == reader_buffer_q));
      MarksTheMappedBuffer : assert (!(mark_valid && mark_ready_i && !maps_q && mark_lid == Watched)
          || buffer_t'(mark_address) == buffer_q);
      ReadsItsBuffer : assert (!read_valid || read.address == address_of(read_buffer_q));
      LooksUpItsLid : assert (!lookup_valid || (lookup.lid inside {Watched, Other} && !lookup.kept));
    end
  end

endmodule

`default_nettype wire
