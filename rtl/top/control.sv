// The registers of the accelerator, an AXI4-Lite subordinate. It executes one write at a time and responds
// when the write has taken effect, so a mapping is in force before a read version that the host writes after
// it. Its response has an error if the page table has failed. A register has 64 bits; a write of its high
// half writes the whole register, with the low half that the write before it has supplied. All outputs of the
// bus are registers, and no input of it goes through logic before its register.

`default_nettype none

`include "assertions.svh"

module control
  import layout_pkg::*;
  import axi_pkg::*;
  import accelerator_pkg::*;
#(
  parameter int unsigned Counters = 1,
  localparam int unsigned AddressBits = 12
) (
  input logic clk_i,
  input logic rst_i,

  // AXI4-Lite; an address and data wait for each other
  input  logic                   aw_valid_i,
  output logic                   aw_ready_o,
  input  logic [AddressBits-1:0] aw_address_i,
  input  logic                   w_valid_i,
  output logic                   w_ready_o,
  input  logic [31:0]            w_data_i,
  input  logic [3:0]             w_strobe_i,
  output logic                   b_valid_o,
  input  logic                   b_ready_i,
  output logic [1:0]             b_response_o,
  input  logic                   ar_valid_i,
  output logic                   ar_ready_o,
  input  logic [AddressBits-1:0] ar_address_i,
  output logic                   r_valid_o,
  input  logic                   r_ready_i,
  output logic [31:0]            r_data_o,
  output logic [1:0]             r_response_o,

  output geometry_t  geometry_o,
  output logic [7:0] cache_halvings_o,
  output version_t   read_version_o,
  output logic       cache_o,
  output balance_t   balance_o,
  output logic [1:0] levels_on_chip_o,
  output logic       leaf_columns_o,
  output logic       drain_o,

  output logic        root_valid_o,
  input  logic        root_ready_i,
  output logic [15:0] root_table_o,
  output lid_t        root_o,

  // Ready once the mapping is in force, or the page table has failed: then none is in force until reset.
  output logic         map_valid_o,
  input  logic         map_ready_i,
  output lid_t         map_lid_o,
  output bus_address_t map_address_o,
  input  logic         table_failed_i,
  // see host_reader
  input  logic         host_timed_out_i,

  // see request_manager
  input logic idle_i,
  input logic [63:0] window_oldest_i,
  input logic [63:0] window_newest_i,
  input logic [Counters-1:0][63:0] counters_i
);

  localparam int unsigned CounterBits = Counters > 1 ? $clog2(Counters) : 1;

  typedef logic [AddressBits-4:0] register_t;

  localparam register_t Geometry = register_t'(ControlNodeBytesOffset / 8);
  localparam register_t Switches = register_t'(ControlSwitchesOffset / 8);
  localparam register_t ReadVersion = register_t'(ControlReadVersionOffset / 8);
  localparam register_t TableNumber = register_t'(ControlTableNumberOffset / 8);
  localparam register_t Root = register_t'(ControlRootOffset / 8);
  localparam register_t MappedLid = register_t'(ControlMappedLidOffset / 8);
  localparam register_t MappedAddress = register_t'(ControlMappedAddressOffset / 8);
  localparam register_t WindowOldest = register_t'(ControlWindowOldestOffset / 8);
  localparam register_t WindowNewest = register_t'(ControlWindowNewestOffset / 8);
  localparam register_t CounterIndex = register_t'(ControlCounterIndexOffset / 8);
  localparam register_t Counter = register_t'(ControlCounterOffset / 8);
  localparam register_t Status = register_t'(ControlStatusOffset / 8);

  // ---- writes ----

  typedef enum logic [1:0] {
    Idle,
    // waits until the root is in force
    SetRoot,
    Map,
    Respond
  } state_e;

  state_e state_d, state_q;
  logic [1:0] response_d, response_q;
  logic responds_q;
  // No address waits, no data wait; those that wait.
  logic aw_ready_q, w_ready_q;
  logic [AddressBits-1:0] aw_address_q;
  logic [31:0] w_data_q;
  logic [3:0] w_strobe_q;
  // The last write was that of a low half; its register and its value.
  logic has_low_q;
  register_t low_register_q;
  logic [31:0] low_q;
  // The values of the registers.
  logic [63:0] geometry_q, read_version_q, table_number_q, root_q, mapped_lid_q, mapped_address_q;
  logic [63:0] counter_index_q, switches_q;

  logic accepts, is_high, is_valid;
  register_t written;
  logic [63:0] value;

  assign accepts = state_q == Idle && !aw_ready_q && !w_ready_q;
  assign written = aw_address_q[AddressBits-1:3];
  assign is_high = aw_address_q[2];
  assign value = {w_data_q, low_q};
  assign is_valid = aw_address_q[1:0] == '0 && w_strobe_q == '1
      && written inside {
        Geometry, ReadVersion, TableNumber, Root, MappedLid, MappedAddress, CounterIndex, Switches
      }
      && (!is_high || (has_low_q && low_register_q == written));

  always_comb begin
    state_d = state_q;
    response_d = response_q;
    case (state_q)
      Idle: begin
        if (accepts) begin
          response_d = is_valid ? AxiRespOkay : AxiRespSlaveError;
          state_d = Respond;
          if (is_valid && is_high && written == Root) state_d = SetRoot;
          if (is_valid && is_high && written == MappedAddress) state_d = Map;
        end
      end
      SetRoot: if (root_ready_i) state_d = Respond;
      Map: begin
        if (map_ready_i) state_d = Respond;
        if (table_failed_i) response_d = AxiRespSlaveError;
      end
      default: if (b_ready_i) state_d = Idle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= Idle;
      responds_q <= 1'b0;
      has_low_q <= 1'b0;
      aw_ready_q <= 1'b1;
      w_ready_q <= 1'b1;
      geometry_q <= '0;
      read_version_q <= '0;
      counter_index_q <= '0;
      switches_q <= '0;
    end else begin
      state_q <= state_d;
      responds_q <= state_d == Respond;
      if (accepts) has_low_q <= is_valid && !is_high;
      aw_ready_q <= accepts || (aw_ready_q && !aw_valid_i);
      w_ready_q <= accepts || (w_ready_q && !w_valid_i);
      if (accepts && is_valid && is_high && written == Geometry) geometry_q <= value;
      if (accepts && is_valid && is_high && written == ReadVersion) read_version_q <= value;
      if (accepts && is_valid && is_high && written == CounterIndex) counter_index_q <= value;
      if (accepts && is_valid && is_high && written == Switches) switches_q <= value;
    end
  end

  always_ff @(posedge clk_i) begin
    if (aw_ready_q) aw_address_q <= aw_address_i;
    if (w_ready_q) {w_data_q, w_strobe_q} <= {w_data_i, w_strobe_i};
    response_q <= response_d;
    if (accepts && !is_high) {low_register_q, low_q} <= {written, w_data_q};
    if (accepts && is_valid && is_high) begin
      case (written)
        TableNumber: table_number_q <= value;
        Root: root_q <= value;
        MappedLid: mapped_lid_q <= value;
        MappedAddress: mapped_address_q <= value;
        default: ;
      endcase
    end
  end

  assign aw_ready_o = aw_ready_q;
  assign w_ready_o = w_ready_q;
  assign b_valid_o = responds_q;
  assign b_response_o = response_q;

  // ---- reads ----

  // No address waits, and the one that waits.
  logic ar_ready_q;
  logic [AddressBits-1:0] ar_address_q;
  logic r_valid_q;
  logic [31:0] r_data_q, high_q;
  logic [1:0] r_response_q;
  logic reads, is_known;
  register_t read;
  logic [63:0] read_value;

  assign reads = !ar_ready_q && !r_valid_q;
  assign read = ar_address_q[AddressBits-1:3];

  always_comb begin
    is_known = ar_address_q[1:0] == '0;
    case (read)
      Geometry: read_value = geometry_q;
      ReadVersion: read_value = read_version_q;
      TableNumber: read_value = table_number_q;
      Root: read_value = root_q;
      MappedLid: read_value = mapped_lid_q;
      MappedAddress: read_value = mapped_address_q;
      WindowOldest: read_value = window_oldest_i;
      WindowNewest: read_value = window_newest_i;
      CounterIndex: read_value = counter_index_q;
      Switches: read_value = switches_q;
      Counter: read_value = counter_index_q < 64'(Counters) ? counters_i[CounterBits'(counter_index_q)] : '0;
      Status: begin
        read_value = '0;
        read_value[ControlStatusTableFailedShift] = table_failed_i;
        read_value[ControlStatusHostTimedOutShift] = host_timed_out_i;
        read_value[ControlStatusIdleShift] = idle_i;
      end
      default: begin
        read_value = '0;
        is_known = 1'b0;
      end
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      ar_ready_q <= 1'b1;
      r_valid_q <= 1'b0;
    end else begin
      ar_ready_q <= reads || (ar_ready_q && !ar_valid_i);
      r_valid_q <= reads || (r_valid_q && !r_ready_i);
    end
  end

  always_ff @(posedge clk_i) begin
    if (ar_ready_q) ar_address_q <= ar_address_i;
    if (reads) begin
      r_data_q <= ar_address_q[2] ? high_q : read_value[31:0];
      r_response_q <= is_known ? AxiRespOkay : AxiRespSlaveError;
      if (!ar_address_q[2]) high_q <= read_value[63:32];
    end
  end

  assign ar_ready_o = ar_ready_q;
  assign r_valid_o = r_valid_q;
  assign r_data_o = r_data_q;
  assign r_response_o = r_response_q;

  // ---- outputs ----

  assign geometry_o = '{
    node_bytes: offset_t'(geometry_q[8*(ControlNodeBytesOffset%8)+:8*ControlNodeBytesBytes])
  };
  assign cache_halvings_o = geometry_q[8*(ControlCacheHalvingsOffset%8)+:8*ControlCacheHalvingsBytes];
  assign cache_o = switches_q[ControlSwitchesCacheShift];
  assign balance_o = '{
    enable: switches_q[ControlSwitchesBalanceShift],
    on_board_lines: switches_q[ControlSwitchesOnBoardLinesShift+:ControlSwitchesOnBoardLinesBits],
    host_lines: switches_q[ControlSwitchesHostLinesShift+:ControlSwitchesHostLinesBits]
  };
  assign levels_on_chip_o = switches_q[ControlSwitchesLevelsOnChipShift+:ControlSwitchesLevelsOnChipBits];
  assign leaf_columns_o = switches_q[ControlSwitchesLeafColumnsShift];
  assign drain_o = switches_q[ControlSwitchesDrainShift];
  assign read_version_o = read_version_q;
  assign root_valid_o = state_q == SetRoot;
  assign root_table_o = 16'(table_number_q);
  assign root_o = lid_t'(root_q);
  assign map_valid_o = state_q == Map;
  assign map_lid_o = lid_t'(mapped_lid_q);
  assign map_address_o = bus_address_t'(mapped_address_q);

  `ASSERT_OFFER_STAYS(AwStays, aw_valid_i, aw_ready_o, aw_address_i)
  `ASSERT_OFFER_STAYS(WStays, w_valid_i, w_ready_o, {w_data_i, w_strobe_i})
  `ASSERT_OFFER_STAYS(BStays, b_valid_o, b_ready_i, b_response_o)
  `ASSERT_OFFER_STAYS(ArStays, ar_valid_i, ar_ready_o, ar_address_i)
  `ASSERT_OFFER_STAYS(RStays, r_valid_o, r_ready_i, {r_data_o, r_response_o})
  `ASSERT_OFFER_STAYS(RootStays, root_valid_o, root_ready_i, {root_table_o, root_o})
  `ASSERT_OFFER_STAYS(MapStays, map_valid_o, map_ready_i, {map_lid_o, map_address_o})
  `COVER(HighHalfLacksItsLowHalf, accepts && is_high && has_low_q && low_register_q != written)
  `ASSERT(ReadVersionNeverDecreases,
      !(accepts && is_valid && is_high && written == ReadVersion) || value >= read_version_q)

endmodule

`default_nettype wire
