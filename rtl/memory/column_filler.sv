// Copies the columns of leaves to on-board memory, one leaf at a time, and marks them in the page table. It
// looks up the buffer of the leaf and reads its first lines, as a client of the memory system does.
//
// - The place of the columns depends only on the LID. Nothing is written while bursts are in flight from
//   on-board memory that began before: they may read the columns of an earlier buffer from the same place. A
//   read that begins later has the current word of the page table.
// - The columns are marked when memory has acknowledged all lines, and only if the LID was not mapped since
//   the fill began. So the mark is true as long as the word names this buffer.

`default_nettype none

`include "assertions.svh"

module column_filler
  import accelerator_pkg::*;
  import memory_pkg::*;
#(
  // reads of places
  parameter int unsigned Readers = 4,
  // channels of on-board memory
  parameter int unsigned Channels = 1
) (
  input logic clk_i,
  input logic rst_i,
  input logic enable_i,
  // lines of a node
  input line_count_t node_lines_i,

  // a leaf without columns in on-board memory; the filler ignores it while it is busy
  input logic lacks_valid_i,
  input lid_t lacks_lid_i,
  // a mapping is being written
  input logic map_valid_i,
  input lid_t map_lid_i,
  // for each read: its burst reads columns from on-board memory
  input logic [Readers-1:0] reads_columns_i,

  // Each lookup gets one result, at any later time. Address 0 means that the LID is not mapped.
  output logic         lookup_valid_o,
  input  logic         lookup_ready_i,
  output lookup_t      lookup_o,
  input  logic         found_valid_i,
  input  bus_address_t found_i,

  output logic       read_valid_o,
  input  logic       read_ready_i,
  output line_read_t read_o,
  input  logic       beat_valid_i,
  output logic       beat_ready_o,
  input  line_beat_t beat_i,

  output logic          write_valid_o,
  input  logic          write_ready_i,
  output column_place_t write_place_o,
  output line_t         write_o,
  input  logic [Channels-1:0] written_i,
  input  logic [Channels-1:0] written_error_i,

  // see page_table_writer
  output logic         mark_valid_o,
  input  logic         mark_ready_i,
  output lid_t         mark_lid_o,
  output bus_address_t mark_address_o
);

  typedef enum logic [2:0] {
    Idle,
    LooksUp,
    // waits for the result
    Finds,
    Read,
    // waits for the first line, then for the bursts that were in flight when it came
    Await,
    Write,
    // waits for the acknowledgements
    Settle,
    Mark
  } state_e;

  typedef logic [ColumnLineBits:0] column_count_t;

  state_e state_d, state_q;
  lid_t lid_q;
  bus_address_t address_q;
  logic [Readers-1:0] awaited_q;
  logic [ColumnLineBits-1:0] line_q;
  // writes that are not acknowledged
  column_count_t open_q;
  // the LID was mapped, or a read or write failed
  logic is_void_q, takes, writes;

  assign takes = beat_valid_i && beat_ready_o;
  assign writes = write_valid_o && write_ready_i;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle: if (enable_i && lacks_valid_i) state_d = LooksUp;
      LooksUp: if (lookup_ready_i) state_d = Finds;
      Finds: if (found_valid_i) state_d = found_i == '0 ? Idle : Read;
      Read: if (read_ready_i) state_d = Await;
      Await: if (beat_valid_i && awaited_q == '0) state_d = Write;
      Write: if (takes && beat_i.last) state_d = Settle;
      Settle: if (open_q == '0) state_d = is_void_q ? Idle : Mark;
      Mark: if (mark_ready_i || is_void_q) state_d = Idle;
      default: state_d = Idle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= Idle;
    else state_q <= state_d;
    if (rst_i || state_q == Idle) open_q <= '0;
    else open_q <= open_q + column_count_t'(writes) - column_count_t'($countones(written_i));
  end

  always_ff @(posedge clk_i) begin
    if (state_q == Idle) lid_q <= lacks_lid_i;
    if (state_q == Finds) address_q <= found_i;
    if (state_q == Read) awaited_q <= '1;
    else if (beat_valid_i) awaited_q <= awaited_q & reads_columns_i;
    line_q <= state_q == Write ? line_q + ColumnLineBits'(takes) : '0;
    if (state_q == Idle) is_void_q <= 1'b0;
    else if (map_valid_i && map_lid_i == lid_q) is_void_q <= 1'b1;
    else if ((takes && beat_i.error) || (written_i & written_error_i) != '0) is_void_q <= 1'b1;
  end

  always_comb begin
    read_o.address = address_q;
    read_o.count = node_lines_i < line_count_t'(ColumnLines) ? node_lines_i : line_count_t'(ColumnLines);
  end

  assign lookup_valid_o = state_q == LooksUp;
  assign lookup_o = '{kept: 1'b0, columns: 1'b0, lid: lid_q};
  assign read_valid_o = state_q == Read;
  assign beat_ready_o = state_q == Write && (write_ready_i || beat_i.error);
  assign write_valid_o = state_q == Write && beat_valid_i && !beat_i.error;
  assign write_place_o = '{lid: lid_q, line: line_q};
  assign write_o = beat_i.data;
  assign mark_valid_o = state_q == Mark && !is_void_q;
  assign mark_lid_o = lid_q;
  assign mark_address_o = address_q;

  `ASSERT(ResultFollowsLookup, !found_valid_i || state_q == Finds)
  `ASSERT(WritesAreAcknowledgedOnce, 32'($countones(written_i)) <= 32'(open_q))
  `ASSERT(MarksWhatIsWritten, !mark_valid_o || open_q == '0)
  `ASSERT(NoEarlierReader, !writes || awaited_q == '0)
  `ASSERT_OFFER_STAYS(LookupStays, lookup_valid_o, lookup_ready_i, lookup_o)
  `ASSERT_OFFER_STAYS(ReadStays, read_valid_o, read_ready_i, read_o)
  `ASSERT_OFFER_STAYS(WriteStays, write_valid_o, write_ready_i, {write_place_o, write_o})
  `COVER(IsNotMapped, found_valid_i && found_i == '0)
  `COVER(AwaitsReaders, state_q == Await && beat_valid_i && awaited_q != '0 && awaited_q != '1)
  `COVER(IsMappedMeanwhile, state_q != Idle && map_valid_i && map_lid_i == lid_q)
  `COVER(MarkIsWithdrawn, state_q == Mark && is_void_q)
  `COVER(Marks, mark_valid_o && mark_ready_i)

endmodule

`default_nettype wire
